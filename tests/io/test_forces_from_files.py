"""What is measured in a solution, or shown of it, is the same when it was read from a file."""

from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import jostle as jo
from jostle import analysis
from jostle.analysis.forces import _walls
from jostle.errors import InvalidValue
from jostle.viz.encoding import Encoder, Scales
from jostle.viz.scene import Scene
from rows import few, whole

OLD = Path(__file__).parents[1] / "data" / "two_balls_format_1.vtkhdf.gz"
UNEVEN = [0.01, 0.02, 0.005, 0.02, 0.025, 0.01, 0.03]
"""Steps that lead to t = 0.12."""
EVEN = 0.04
AREA = [(-5.0, -5.0), (5.0, -5.0), (5.0, 5.0), (-5.0, 5.0)]


def at_rest(mass=2.0):
    """A disc of weight 19.62 on the floor, and one that falls on it."""
    within = jo.Balls([1.0, 0.5]) & jo.Box([-2.0, 0.0], [2.0, np.inf], radii=[1.0, 0.5])
    q0 = [[0.0, 1.0], [0.3, 2.49]]
    return jo.Motion(q0=q0, mass=mass, force=[0.0, -9.81 * mass], within=within)


def bouncing():
    return jo.Motion(
        q0=[[0.0, 1.0], [0.3, 2.49]], mass=2.0, force=[0.0, -19.62], law=jo.Restitution(0.5),
        within=jo.Balls([1.0, 0.5]) & jo.Box([-2.0, 0.0], [2.0, np.inf], radii=[1.0, 0.5]),
    )  # fmt: skip


def glued():
    """Pressed to the floor for a while, then pulled off it."""
    return jo.Motion(
        q0=[[0.0, 1.0], [3.0, 1.0]], force=lambda t, q: np.full((2, 2), [0.0, -10.0 if t < 0.05 else 10.0]),
        within=jo.Balls([1.0, 1.0]) & jo.HalfSpace([0, 1], radii=1.0),
    )  # fmt: skip


def queue():
    """Three people who push each other against a wall, and one who comes later."""
    q0 = [[0.5, 0.0], [-0.55, 0.0], [-1.6, 0.1], [0.0, 3.0]]
    within = jo.Balls([0.5] * 4) & jo.Box([-np.inf, -4.0], [1.0, 4.0], radii=0.5)
    return jo.Sweeping(q0=q0, velocity=[1.0, 0.0], within=within, present=[True, True, True, False])


RUNS = {
    "Maury": (at_rest, jo.Maury()),
    "Paoli": (bouncing, jo.Paoli()),
    "MoreauJean": (bouncing, jo.MoreauJean()),
    "Gluey": (glued, jo.Gluey()),
    "Venel": (queue, jo.Venel()),
}


def same(one, other, what=""):
    if is_dataclass(one):
        for field in fields(one):
            same(getattr(one, field.name), getattr(other, field.name), f"{what}.{field.name}")
    elif isinstance(one, tuple):
        for k, (left, right) in enumerate(zip(one, other, strict=True)):
            same(left, right, f"{what}[{k}]")
    elif isinstance(one, np.ndarray) and one.dtype == object:  # polygons
        assert [str(cell) for cell in one] == [str(cell) for cell in other], what
    else:
        np.testing.assert_array_equal(other, one, err_msg=what)


def radii_of(sol, k):
    return sol.radii[k] if sol.problem is None else sol.problem.within.bodies.radii_at(sol.t[k])


LINE = ((0.4, -3.0), (0.4, 3.0))
OF_A_FRAME = {
    "forces": analysis.forces,
    "stress": lambda sol, k: analysis.stress(sol, k, radii=radii_of(sol, k), volume=8.0),
    "pressure": lambda sol, k: analysis.pressure(sol, k, radii=radii_of(sol, k), volume=8.0),
    "wall_force": analysis.wall_force,
    "wall_pressure": lambda sol, k: analysis.wall_pressure(sol, k, area=2.0),
    "wall_torque": lambda sol, k: analysis.wall_torque(sol, k, about=np.zeros(2)),
    "force_chains": analysis.force_chains,
    "coordination": analysis.coordination,
    "crowd_pressure": jo.crowds.crowd_pressure,
    "density": lambda sol, k: jo.crowds.voronoi(sol, k, AREA),
    "force_distribution": lambda sol, k: (
        analysis.force_distribution(sol, k) if len(analysis.forces(sol, k).magnitude) else None
    ),
}
OF_A_RUN = {
    "time_in_contact": jo.crowds.time_in_contact,
    "wall_labels": analysis.wall_labels,
    "pressed": lambda sol: jo.crowds.pressed(sol, 1.0),
    "densities": lambda sol: jo.crowds.densities(sol, AREA),
    "crossings": lambda sol: jo.crowds.crossings(sol, LINE),
    "flow": lambda sol: jo.crowds.flow(sol, LINE),
    "leaving_times": lambda sol: jo.crowds.leaving_times(sol, AREA),
    "evacuation_time": lambda sol: jo.crowds.evacuation_time(sol, AREA),
    "density_map": lambda sol: jo.crowds.density_map(sol, None, AREA, size=2.0),
    "speed_map": lambda sol: jo.crowds.speed_map(sol, None, AREA, size=2.0),
}
OF_NO_SOLUTION = {
    "Forces",
    "Order",
    "acute",
    "coordination_by_gap",
    "eta",
    "gamma",
    "impulse_range",
    "inverse_triangle",
    "most_neighbours",
}
OF_NO_SOLUTION |= {"order", "orthogonal", "packing_fraction", "band", "summary", "people_inside"}
NEED_THE_PROBLEM = {"load_range", "mobilised", "multiplier_range"}


def test_every_analysis_of_a_solution_is_compared_with_the_one_of_a_file():
    of_a_solution = {name for name in {*OF_A_FRAME, *OF_A_RUN} if hasattr(analysis, name)}
    assert set(analysis.__all__) == of_a_solution | OF_NO_SOLUTION | NEED_THE_PROBLEM


def compare(sol, back):
    assert back.order == sol.order
    for k in range(len(sol.t)):
        for name, measured in OF_A_FRAME.items():
            same(measured(sol, k), measured(back, k), f"{name} of frame {k}")
    for name, measured in OF_A_RUN.items():
        same(measured(sol), measured(back), name)
    here, there = Scene(sol), Scene(back)
    assert here.force_name == there.force_name
    encoders = [Encoder.of(scene) for scene in (here, there)]
    scales = [Scales(), Scales()]
    for k in range(len(sol.t)):
        frames = [here.frame(k), there.frame(k)]
        same(*frames, f"picture of frame {k}")
        for quantity, again in zip(*(encoder.quantities for encoder in encoders), strict=True):
            assert quantity.name == again.name
            same(quantity.of(frames[0]), again.of(frames[1]), quantity.name)
        for scale, frame, encoder in zip(scales, frames, encoders, strict=True):
            scale.take(frame, encoder)
    one, other = (scale.about(encoder) for scale, encoder in zip(scales, encoders, strict=True))
    assert [one[key] for key in ("quantities", "strong", "median")] == [
        other[key] for key in ("quantities", "strong", "median")
    ]


def compare_forces(sol, back, frames):
    """Those of the last frames."""
    for k in range(-frames, 0):
        same(analysis.forces(sol, k), analysis.forces(back, k), f"forces of frame {k}")


@pytest.mark.parametrize(
    ("name", "h", "every"),
    [
        *few((name, UNEVEN, 3) for name in RUNS),
        *(whole((name, EVEN, None)) for name in list(RUNS)[1:]),
        whole((next(iter(RUNS)), EVEN, None)),
    ],
)
def test_a_file_gives_the_numbers_of_the_solution_in_memory(tmp_path, name, every, h):
    problem, scheme = RUNS[name]
    call = {"t": 0.12, "h": h, "every": every}
    sol = jo.solve(problem(), scheme, **call)
    assert any(p.any() for p in sol.multipliers)
    output = jo.io.Output(tmp_path / "run.vtkhdf", contacts=True, dtype=float)
    jo.solve(problem(), scheme, **call, output=output)
    compare(sol, jo.io.read(output.path))
    again = jo.io.write(sol, tmp_path / "again.vtkhdf", dtype=float)
    compare_forces(sol, jo.io.read(again), len(sol.t))
    compare_forces(sol, jo.io.read(jo.io.export(again, tmp_path / "third.vtkhdf")), len(sol.t))


@pytest.mark.parametrize("name", few(RUNS))
def test_a_resumed_run_has_the_forces_of_one_that_was_not_interrupted(tmp_path, name):
    (problem, scheme), h = RUNS[name], UNEVEN
    sol = jo.solve(problem(), scheme, t=0.12, h=h)
    stop = float(sol.t[4])

    def half(output):
        jo.solve(problem(), scheme, t=0.12, h=h, output=output, until=lambda state: state.t >= stop)
        return jo.solve(problem(), scheme, t=0.12, h=h, output=replace(output, resume=True))

    output = jo.io.Output(tmp_path / "run.vtkhdf", contacts=True, dtype=float, checkpoint=tmp_path / "a")
    half(output)
    compare_forces(sol, jo.io.read(output.path), len(sol.t))
    rest = half(jo.io.Output(checkpoint=tmp_path / "b"))
    assert rest.t[0] == sol.t[3]  # the step that met the condition is computed again
    compare_forces(sol, rest, len(rest.t))


def test_the_weight_of_a_disc_at_rest_is_the_force_under_it(tmp_path):
    ball = jo.Motion(
        q0=[[0.0, 1.0]], mass=2.0, force=[0.0, -19.62], within=jo.Balls([1.0]) & jo.HalfSpace([0, 1], radii=1.0)
    )
    for h in (0.01, [0.01, 0.02, 0.07]):
        sol = jo.solve(ball, jo.Maury(), t=0.1, h=h)
        back = jo.io.read(jo.io.write(sol, tmp_path / f"{np.size(h)}.vtkhdf", dtype=float))
        assert analysis.forces(back).magnitude.tolist() == pytest.approx([19.62], rel=1e-12)
        assert jo.crowds.crowd_pressure(back).pressure.tolist() == pytest.approx([19.62 / (2.0 * np.pi)], rel=1e-12)


def test_the_force_under_a_disc_at_rest_is_its_weight_in_pictures_too_whatever_the_steps_of_paoli():
    ball = jo.Motion(
        q0=[[0.0, 1.0]], mass=2.0, force=[0.0, -19.62], within=jo.Balls([1.0]) & jo.HalfSpace([0, 1], radii=1.0)
    )
    sol = jo.solve(ball, jo.Paoli(), t=0.12, h=UNEVEN)
    for k in range(1, len(sol.t)):
        assert analysis.forces(sol, k).magnitude.tolist() == pytest.approx([19.62], rel=1e-9)
        assert Scene(sol).frame(k).bars.force.tolist() == pytest.approx([19.62], rel=1e-9)


def test_a_file_without_contacts_has_no_forces_and_says_so(tmp_path):
    sol = jo.solve(at_rest(), jo.Maury(), t=0.05, h=0.01, output=tmp_path / "run.vtkhdf")
    for measured in (analysis.forces, analysis.wall_force, jo.crowds.crowd_pressure, analysis.coordination):
        with pytest.raises(InvalidValue, match=r"contains no contacts.*contacts=True"):
            measured(sol)
    with pytest.raises(InvalidValue, match=r"'pressure' needs contacts.*contacts=True"):
        jo.viz.draw(sol, colour="pressure")


def test_forces_are_not_guessed_where_the_writer_gave_no_duration(tmp_path):
    path = tmp_path / "run.vtkhdf"
    with jo.io.Writer(path, shape=(2, 2), contacts=True, facts=jo.io.Facts(order=2), about={}) as file:
        file.frame(0.5, np.ones((2, 2)), np.zeros((2, 2)), 1.0, [[0, 1]], [3.0], [[1.0, 0.0]])
    sol = jo.io.read(path)
    for measured in (analysis.forces, jo.crowds.crowd_pressure, analysis.coordination, analysis.force_chains):
        with pytest.raises(InvalidValue, match=r"impulses of t = 0.5 acted is not known.*impulse_time="):
            measured(sol)
    with pytest.raises(InvalidValue, match="number of walls"):
        _walls(sol, -1)


def test_a_problem_of_the_wrong_order_is_refused(tmp_path):
    path = jo.io.write(jo.solve(at_rest(), jo.Maury(), t=0.02, h=0.01), tmp_path / "run.vtkhdf")
    with pytest.raises(InvalidValue, match=r"second-order \(Motion\) problem, but problem is a Sweeping"):
        jo.io.read(path, jo.Sweeping(q0=np.zeros((2, 2)), velocity=0.0))


def test_who_left_in_the_first_step_of_a_file_is_not_taken_to_have_stood_still(tmp_path):
    walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    out = jo.Outlet(lambda q: q[:, 0] > 0.7)
    sol = jo.solve(walker, jo.Venel(), t=1.0, h=0.5, every=2, changes=out)
    path = jo.io.write(sol, tmp_path / "run.vtkhdf", dtype=float)
    line = ((0.6, -1.0), (0.6, 1.0))
    assert len(jo.crowds.crossings(sol, line)) == len(jo.crowds.crossings(jo.io.read(path, walker), line)) == 1
    with pytest.raises(InvalidValue, match="people left before t = 1"):
        jo.crowds.crossings(jo.io.read(path), line)
    assert jo.crowds.leaving_times(jo.io.read(path)).tolist() == [1.0]


def test_the_file_of_a_swelling_run_has_the_radii_of_each_time(tmp_path):
    swelling = jo.Motion(q0=[[0.0, 0.0], [9.0, 0.0]], within=jo.Balls(lambda t: np.array([1.0, 2.0]) + t))
    output = jo.io.Output(tmp_path / "run.vtkhdf", dtype=float)
    sol = jo.solve(swelling, jo.Maury(), t=1.0, h=0.25, every=2, output=output)
    again = jo.io.write(jo.solve(swelling, jo.Maury(), t=1.0, h=0.25, every=2), tmp_path / "again.vtkhdf", dtype=float)
    for back in (sol, jo.io.read(output.path), jo.io.read(again)):
        assert np.array(list(back.radii)).tolist() == [[1.0, 2.0], [1.5, 2.5], [2.0, 3.0]]
    table = jo.io.export(output.path, tmp_path / "run.csv").read_text().splitlines()
    assert [float(line.rsplit(",", 1)[1]) for line in table[1:]] == [1.0, 2.0, 1.5, 2.5, 2.0, 3.0]
