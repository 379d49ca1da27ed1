"""Walls, masses, groups and units: a file holds what is needed to draw and to measure its run."""

from pathlib import Path

import by_vtk
import h5py
import numpy as np
import pytest

import jostle as jo
from jostle.errors import BrokenFile, InvalidValue
from jostle.io import layout
from jostle.io import layout as saved_facts
from jostle.io.trajectory import Writer
from jostle.plans.stored import plan_of
from jostle.result.facts import Facts
from jostle.sets.outlines import Shape, may_move, same, shapes_of
from numbers_of_files import contents
from plain import crowd
from rows import few, whole

DATA = Path(__file__).parents[1] / "data"
SQUARE = np.array([[2.0, 4.0], [3.0, 4.0], [3.0, 5.0], [2.0, 5.0]])


def turned(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


WALLS = {
    "floor": jo.HalfSpace([0.0, 2.0], offset=-1.0, radii=0.2),
    "shaken floor": jo.HalfSpace([0.0, 1.0], offset=lambda t: 0.01 * np.sin(9.0 * t) - 1.0, radii=0.2),
    "open box": jo.Box([-5, -5], [5, np.inf], radii=0.2),
    "disc": jo.Outside([[3.0, 3.0], [4.0, 0.0]], [0.5, 1.0], radii=0.2),
    "bowl": jo.Inside([0.0, 0.0], 7.0, radii=0.2),
    "turnstile": jo.Segments(lambda t: [[[3, 3], 3 + turned(t)[0]]], radii=0.2),
    "turning square": jo.Polygons(lambda t: SQUARE @ turned(0.1 * t).T, radii=0.2),
    "two squares": jo.Polygons([SQUARE, SQUARE - np.array([8.0, 0.0])], radii=0.2),
    "sphere": jo.Outside([3.0, 0.0, 0.0], 0.5, radii=0.2),
    "rocking vessel": jo.Vessel([(1.0, -1.0), (2.0, 3.0)], radii=0.2, axis=lambda t: [0.1 * t, 0.0, 1.0]),
    "ends of a line": jo.HalfSpace([1.0], offset=-4.0, radii=0.2),
}


def run(wall, path=None, contacts=False, **options):
    """Two bodies beside a wall, three frames."""
    q0 = np.zeros((2, wall.dimension))
    q0[1, 0] = 1.0
    problem = jo.Motion(q0=q0, mass=[1.0, 3.0], within=jo.Balls([0.2, 0.2]) & wall)
    scheme = jo.Maury() if wall.convex_gaps or wall.curved else jo.Paoli()
    output = None if path is None else jo.io.Output(path, contacts=contacts, dtype=float, **options)
    return jo.solve(problem, scheme, t=0.2, h=0.1, output=output)


@pytest.mark.parametrize(
    ("name", "written"),
    [*((name, "while it runs") for name in WALLS), *few((name, "afterwards") for name in WALLS)],
)
def test_the_walls_of_a_file_are_those_of_the_run(tmp_path, name, written):
    wall, path = WALLS[name], tmp_path / "run.vtkhdf"
    if written == "while it runs":
        run(wall, path)
    else:
        jo.io.write(run(wall), path)
    sol = jo.io.read(path)
    for k, t in enumerate(sol.t):
        assert same(sol.shapes(k), shapes_of(wall, t))
    assert sol.facts.walls_move == may_move(wall)
    with h5py.File(path) as file:
        assert len(file[layout.WALL_STATES]) == (3 if may_move(wall) else 1)
    copy = jo.io.read(jo.io.export(path, tmp_path / "copy.vtkhdf"))
    assert all(same(copy.shapes(k), sol.shapes(k)) for k in range(3))


@pytest.mark.parametrize(
    ("name", "contacts"), [*((name, True) for name in WALLS), *few((name, False) for name in WALLS)]
)
def test_vtk_sees_the_walls_of_every_time_and_bodies_as_without_them(tmp_path, name, contacts):
    wall = WALLS[name]
    sol = run(wall, tmp_path / "run.vtkhdf", contacts)
    reader = by_vtk.reader(tmp_path / "run.vtkhdf")
    for k in (2, 0, 1):
        found = by_vtk.at(reader, sol.t[k])
        np.testing.assert_array_equal(found.points[:, : wall.dimension], sol.q[k])
        assert found.point_data["body"].tolist() == [0, 1]
        assert found.vertices.tolist() == [[0, 1]]
        assert len(found.walls) > 0
        points = np.concatenate(found.walls)[:, : wall.dimension]
        assert max(abs(wall.gap(sol.t[k], point) + 0.2) for point in points) < 1e-9
        assert not found.wall_points["radius"].any()
        assert not found.wall_points["velocity"].any()
        for name, values in found.wall_cells.items():
            assert (values == (-1 if name in ("first_body", "second_body") else 0)).all()
        assert bool(found.cell_data) == contacts


def test_a_floor_is_drawn_for_vtk_below_all_bodies_wherever_they_go(tmp_path):
    fast = jo.Motion(
        q0=[[0.0, 1.0], [3.0, 1.0]], v0=[[-50.0, 0.0], [80.0, 0.0]],
        within=jo.Balls([0.2, 0.2]) & jo.HalfSpace([0.1, 1.0], offset=-99.0),
    )  # fmt: skip
    sol = jo.solve(fast, jo.Maury(), t=10.0, h=1.0, output=tmp_path / "run.vtkhdf")
    reader = by_vtk.reader(tmp_path / "run.vtkhdf")
    for k, t in enumerate(sol.t):
        (floor,) = by_vtk.at(reader, t).walls
        assert floor[:, 0].min() <= sol.q[k][:, 0].min()
        assert floor[:, 0].max() >= sol.q[k][:, 0].max()


def test_a_run_with_moving_walls_that_is_resumed_equals_one_that_was_not_interrupted(tmp_path):
    sieve = jo.Segments(lambda t: [[[-4, -1 + 0.1 * np.sin(t)], [4, -1 + 0.1 * np.sin(t)]]], radii=0.2)
    within = jo.Balls([0.2, 0.2]) & sieve & jo.HalfSpace([1.0, 0.0], offset=-30.0, radii=0.2)
    problem = jo.Motion(q0=[[0.0, 0.0], [1.0, 0.0]], v0=[[5.0, 0.0], [9.0, 0.0]], force=[0.0, -1.0], within=within)

    def solved(name, t, resume=False):
        path = tmp_path / f"{name}.vtkhdf"
        output = jo.io.Output(path, checkpoint=path.with_suffix(".checkpoint"), resume=resume)
        return jo.solve(problem, jo.Maury(), t=t, h=0.125, output=output)

    solved("whole", 4.0)
    solved("parts", 1.0)
    for t in (2.0, 3.0, 4.0):
        solved("parts", t, resume=True)
    whole, parts = (contents(tmp_path / f"{name}.vtkhdf") for name in ("whole", "parts"))
    for found in (whole, parts):
        del found["jostle/changes"]
    assert whole == parts


@pytest.mark.parametrize("keep", [whole(0), 1, whole(3), 5])
def test_walls_that_come_and_go_are_cut_with_their_frames(tmp_path, keep):
    states = [
        (), (Shape("line", np.zeros((2, 2))),), (Shape("line", np.zeros((2, 2))),), (), (Shape("solid", SQUARE),) * 2,
        (Shape("solid", SQUARE + 1.0),),
    ]  # fmt: skip

    def add(file, k):
        file.frame(0.1 * k, np.full((2, 2), float(k)), np.zeros((2, 2)), 1.0, walls=states[k])

    whole, cut = tmp_path / "whole.vtkhdf", tmp_path / "cut.vtkhdf"
    for path in (whole, cut):
        with Writer(path, shape=(2, 2), contacts=True, about={}) as file:
            for k in range(6):
                add(file, k)
    with Writer.reopen(cut, keep, 0) as file:
        for k in range(keep, 6):
            add(file, k)
    assert contents(whole) == contents(cut)
    sol = jo.io.read(cut)
    assert all(same(sol.shapes(k), states[k]) for k in range(6))
    reader = by_vtk.reader(cut)
    assert [len(by_vtk.at(reader, 0.1 * k).walls) for k in (5, 0, 4, 1, 3, 2)] == [1, 0, 2, 1, 0, 1]


def test_bodies_that_leave_do_not_move_the_walls_of_vtk(tmp_path):
    room = jo.Segments([[[0, 0], [9, 0]], [[9, 0], [9, 4]]], radii=0.2)
    walk = jo.Sweeping(q0=[[1.0, 1.0], [3.0, 1.0], [5.0, 1.0]], velocity=[2.0, 0.0], within=jo.Balls([0.2] * 3) & room)
    out = jo.Outlet(lambda q: q[:, 0] > 6.0)
    path = tmp_path / "run.vtkhdf"
    jo.solve(walk, jo.Venel(), t=2.0, h=0.5, changes=out, output=jo.io.Output(path, contacts=True))
    reader = by_vtk.reader(path)
    seen = [by_vtk.at(reader, t) for t in by_vtk.times(reader)]
    assert [len(one.points) for one in seen] == [3, 3, 2, 2, 1]
    for one in seen:
        assert [line.tolist() for line in one.walls] == [[[0, 0, 0], [9, 0, 0]], [[9, 0, 0], [9, 4, 0]]]
    assert np.isnan(jo.io.read(path).q[-1]).any(axis=1).tolist() == [False, True, True]


def test_masses_force_period_groups_and_units_come_back(tmp_path):
    within = jo.Balls([0.2, 0.2, 0.2], period=[8.0, np.inf]) & jo.HalfSpace([0.0, 1.0], radii=0.2)
    problem = jo.Motion(q0=[[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], mass=[1.0, 2.0, 3.0], force=[0.0, -9.0], within=within)
    groups = {"light": [0, 1], "heavy": [2]}
    output = jo.io.Output(tmp_path / "run.vtkhdf", units=jo.io.SI, groups=groups)
    jo.solve(problem, jo.Maury(), t=0.1, h=0.1, output=output)
    found = jo.io.read(tmp_path / "run.vtkhdf").facts
    assert (found.order, found.dimension, found.walls) == (2, 2, 1)
    assert found.wall_names == ("plane with normal [0.0, 1.0], at offset 0",)
    assert found.masses.tolist() == [1.0, 2.0, 3.0]
    assert found.force.tolist() == [[0.0, -9.0]] * 3
    assert found.period.tolist() == [8.0, np.inf]
    assert (found.groups.names, found.groups.number.tolist()) == (("light", "heavy"), [0, 0, 1])
    assert (found.units, found.units.mass) == (jo.io.SI, "kg")
    again = jo.io.read(jo.io.export(tmp_path / "run.vtkhdf", tmp_path / "again.vtkhdf")).facts
    assert again.groups.number.tolist() == [0, 0, 1]
    assert again.units == found.units


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"a": [0, 1], "b": [1]}, "body 1 belongs to two groups, 'a' and 'b'"),
        ({"a": [0, 7]}, "the group 'a' must be body numbers from 0 to 1"),
        ({"a": [0.5]}, "the group 'a' must be body numbers"),
    ],
)
def test_groups_that_make_no_sense_are_refused(tmp_path, groups, words):
    with pytest.raises(InvalidValue, match=words):
        run(WALLS["floor"], tmp_path / "run.vtkhdf", groups=groups)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [3, None, ["m"]])
def test_units_are_texts(wrong):
    with pytest.raises(InvalidValue, match="length must be a text"):
        jo.io.Units(length=wrong)


@pytest.mark.parametrize("units", [jo.io.Units("cm", "s", "kg"), jo.io.Units("m", "min")])
def test_people_are_measured_in_metres_and_seconds(tmp_path, units):
    room = jo.crowds.Room([(0, 0), (500, 0), (500, 400), (0, 400)], doors=[((500, 150), (500, 250))])
    people = crowd(2, radius=25.0, room=room, speed=140.0)
    with pytest.raises(InvalidValue, match=r"Crowd is measured in (m, not in cm|s, not in min): convert its data"):
        jo.solve(people, jo.Venel(), t=0.1, h=0.1, output=jo.io.Output(tmp_path / "run.vtkhdf", units=units))
    assert list(tmp_path.iterdir()) == []


def test_a_mass_that_is_a_matrix_is_not_recorded_as_masses(tmp_path):
    problem = jo.Motion(q0=[[0.0, 1.0]], mass=[[2.0, 0.5], [0.5, 1.0]])
    jo.solve(problem, jo.Maury(), t=0.1, h=0.1, output=tmp_path / "run.vtkhdf")
    assert jo.io.read(tmp_path / "run.vtkhdf").facts.masses is None


def test_a_file_has_the_energy_of_its_run(tmp_path):
    within = jo.Balls([0.3, 0.2]) & jo.HalfSpace([0.0, 1.0], radii=[0.3, 0.2])
    problem = jo.Motion(q0=[[0.0, 1.0], [1.0, 2.0]], mass=[2.0, 3.0], force=[[0, -20.0], [0, -30.0]], within=within)
    sol = jo.solve(problem, jo.Maury(), t=0.5, h=0.01)
    found = jo.io.read(jo.io.write(sol, tmp_path / "run.vtkhdf", dtype=float)).energy()
    np.testing.assert_allclose(found.kinetic, sol.energy().kinetic, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.total, sol.energy().total, rtol=1e-12, atol=1e-12)
    pendulum = jo.Motion(q0=[0.1, 0.2], mass=[[2.0, 0.5], [0.5, 1.0]], force=lambda t, q: -q)
    path = jo.io.write(jo.solve(pendulum, jo.Maury(), t=0.1, h=0.1), tmp_path / "matrix.vtkhdf")
    with pytest.raises(InvalidValue, match="the masses are not in the file"):
        jo.io.read(path).energy()
    assert jo.io.read(path, pendulum).energy().potential is None
    with pytest.raises(InvalidValue, match="gaps need the admissible set"):
        jo.io.read(path).gaps()


def test_a_file_knows_the_plan_of_its_crowd(tmp_path):
    pytest.importorskip("shapely")
    area = [(0, 0), (6, 0), (6, 2), (2, 2), (2, 5), (0, 5)]
    plan = jo.crowds.Plan(area, exits={"north": ((0.4, 5), (1.6, 5))})
    people = crowd(5, radius=0.2, room=plan)
    path = tmp_path / "run.vtkhdf"
    sol = jo.solve(people, jo.Venel(), t=20.0, h=0.05, until=plan.empty, output=jo.io.Output(path, dtype=float))
    alone = jo.io.read(path)
    assert plan_of(alone).area.equals(plan.area)
    assert plan_of(alone).exits["north"].tolist() == [[0.4, 5.0], [1.6, 5.0]]
    assert jo.crowds.evacuation_time(alone) == jo.crowds.evacuation_time(sol)
    assert alone.facts.groups.names == ("people",)


def test_a_file_knows_the_stairs_of_its_building(tmp_path):
    pytest.importorskip("shapely")
    floors = [[(0, 0), (4, 0), (4, 3), (0, 3)], [(10, 0), (16, 0), (16, 3), (10, 3)]]
    stairs = jo.crowds.Link("down", ((4, 1), (4, 2)), ((10, 1), (10, 2)), length=2.0)
    plan = jo.crowds.Plan(floors, exits={"out": ((16, 1), (16, 2))}, links=[stairs])
    people = crowd(3, radius=0.2, room=plan, start=floors[0])
    path = tmp_path / "run.vtkhdf"
    sol = jo.solve(
        people, jo.Venel(), t=30.0, h=0.05, every=0.25, until=plan.empty,
        output=jo.io.Output(path, dtype=float),
    )  # fmt: skip
    line = ((13, 0), (13, 3))
    alone = jo.io.read(path)
    assert len(jo.crowds.crossings(sol, line)) == 3
    np.testing.assert_array_equal(jo.crowds.crossings(alone, line).t, jo.crowds.crossings(sol, line).t)
    assert jo.crowds.evacuation_time(alone) == jo.crowds.evacuation_time(sol)


DAMAGE = [*layout.WALL_COLUMNS, *(f"{saved_facts.PROBLEM}/{name}" for name in saved_facts.COLUMNS)]


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_walls_and_facts_are_found(tmp_path, name):
    path = tmp_path / "run.vtkhdf"
    run(WALLS["turning square"], path, groups={"a": [0]})
    with h5py.File(path, "r+") as file:
        data = file[name]
        if len(data) == 0:
            data.resize(2, axis=0)
        row = len(data) - 1
        data[row] = data[row] + 1
    with pytest.raises(BrokenFile, match=r"is damaged: .*checksum|is damaged: .* ends after") as caught:
        list(jo.io.read(path).saved_shapes)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        b"{}", b"[]", b"\xff", b'{"dimension": "x"}', b"[" * 10_000,
        b'{"dimension": 2, "period": [1], "wall_names": [], "walls_move": 0, "groups": [], "units": {}, "carried": {}}',
        b'{"dimension": 2, "period": null, "wall_names": [], "walls_move": 0, "groups": [], "units": 3, "carried": {}}',
    ],
)  # fmt: skip
def test_facts_of_a_stranger_never_raise_an_error_of_others(tmp_path, text):
    path = tmp_path / "run.vtkhdf"
    run(WALLS["floor"], path)
    with h5py.File(path, "r+") as file:
        group = file[saved_facts.PROBLEM]
        group["text"].resize(len(text), axis=0)
        group["text"][:] = np.frombuffer(text, dtype=np.uint8)
        group.attrs[saved_facts.CHECK] = np.uint32(
            saved_facts._check({name: group[name][:] for name in saved_facts.COLUMNS})
        )
    with pytest.raises(BrokenFile, match=r"run\.vtkhdf is damaged: its facts about the problem"):
        jo.io.read(path)


def test_shapes_that_are_none_are_refused_and_leave_the_file_as_it_was(tmp_path):
    path = tmp_path / "run.vtkhdf"
    with Writer(path, shape=(1, 2), facts=Facts(dimension=2), about={}) as file:
        file.frame(0.0, [[0, 0]], [[0, 0]])
        with pytest.raises(InvalidValue, match="walls have dimension 3, the bodies 2"):
            file.frame(1.0, [[0, 0]], [[0, 0]], walls=[Shape("line", np.zeros((2, 3)))])
        file.frame(2.0, [[0, 0]], [[0, 0]])
    assert jo.io.read(path).t.tolist() == [0.0, 2.0]
