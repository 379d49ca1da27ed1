"""Crowds handed over to PedPy and JuPedSim: the real packages read them, and PedPy finds what we find."""

from __future__ import annotations

import importlib
import os
import platform
import sqlite3
import sys
from contextlib import closing
from functools import cache

import numpy as np
import pytest
import shapely

import jostle as jo
from jostle.crowds.measure.crowding import densities, density_map, speed_map
from jostle.crowds.measure.crowding import voronoi as density
from jostle.crowds.measure.leaving import crossings, flow
from jostle.crowds.measure.pedestrians import frame_rate, frames, to_pedpy, walkable, write_jupedsim, write_text
from jostle.errors import InvalidValue, MissingPackage, WriteFailed
from jostle.io.exports import write
from jostle.io.reading import read
from plain import crowd
from rows import whole


class Lazily:
    """A package that is imported when a test uses it: its import takes seconds in each process that collects."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, attribute):
        if attribute.startswith("_"):  # pytest asks each name of a module whether it is a fixture
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self.name), attribute)


pd, pedpy = Lazily("pandas"), Lazily("pedpy")

ROOM = jo.crowds.Room([(0, 0), (6, 0), (6, 5), (0, 5)], doors=[((6, 1.7), (6, 3.3))])
DOOR = ((6.0, 1.7), (6.0, 3.3))
MEASURE = [(3.5, 1.5), (5.5, 1.5), (5.5, 3.5), (3.5, 3.5)]
SAME = 1e-12
"""Densities are of the order of 1: sums of some tens of cells in another order."""


@pytest.fixture(scope="module")
def sol():
    """Forty people leave a room; a metre behind the door they are taken out, and the last one walks on for a second."""
    people = crowd(40, radius=0.25, room=ROOM, speed=1.4)
    out = jo.Outlet(lambda q: q[:, 0] > 7.0)
    found = jo.solve(people, jo.Venel(), t=8.0, h=0.05, changes=out)
    assert np.isnan(found.q[-1]).all()
    return found


@pytest.fixture(scope="module")
def inside(sol):
    return to_pedpy(sol, inside=ROOM)


@cache
def area():
    return pedpy.WalkableArea(walkable(ROOM))


def rows_of(sol):
    """id, frame, x, y of all who are there, one frame after the other."""
    k, person = np.nonzero(np.isfinite(sol.q).all(axis=2))
    return person, k, *sol.q[k, person].T


def assert_same_trajectory(data, sol, rate=20.0):
    assert data.frame_rate == rate
    for name, expected in zip(("id", "frame", "x", "y"), rows_of(sol), strict=True):
        np.testing.assert_array_equal(data.data[name].to_numpy(), expected)


# The packages read what we write, to the last bit


@pytest.mark.parametrize("stored", [whole(False), True], ids=["memory", "file"])
def test_pedpy_takes_reads_and_loads_the_same_trajectory(sol, stored, tmp_path):
    source = read(write(sol, tmp_path / "run.vtkhdf", dtype=np.float64)) if stored else sol
    assert_same_trajectory(to_pedpy(source), sol)
    text = write_text(source, tmp_path / "run.txt")
    assert_same_trajectory(pedpy.load_trajectory(trajectory_file=text), sol)
    database = write_jupedsim(source, tmp_path / "run.sqlite", ROOM)
    assert_same_trajectory(pedpy.load_trajectory_from_jupedsim_sqlite(trajectory_file=database), sol)
    area = pedpy.load_walkable_area_from_jupedsim_sqlite(trajectory_file=database)
    assert area.polygon.equals(shapely.box(0, 0, 6, 5))
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "run.vtkhdf") == ["run.sqlite", "run.txt"]


@pytest.fixture
def jupedsim():
    """The package, which has wheels for some machines only; where it has one it is not missed in silence."""
    if os.environ.get("CI") and platform.machine() in ("x86_64", "AMD64"):
        return importlib.import_module("jupedsim")
    return pytest.importorskip("jupedsim")


def test_jupedsim_plays_the_recording(jupedsim, sol, tmp_path):
    recording = jupedsim.Recording(str(write_jupedsim(sol, tmp_path / "run.sqlite", ROOM)))
    with closing(recording.db):
        assert recording.num_frames == len(sol.t)
        assert recording.fps == 20.0
        assert recording.geometry().equals(shapely.box(0, 0, 6, 5))
        bounds = recording.bounds()
        assert [bounds.xmin, bounds.ymin, bounds.xmax, bounds.ymax] == [0, 0, 6, 5]
        assert {recording.geometry_id_for_frame(k) for k in (0, len(sol.t) - 1)} == {recording.geometry_id_for_frame(1)}
        known = recording.db.execute("SELECT hash FROM geometry").fetchall()
        assert known == [(recording.geometry_id_for_frame(1),)]
        for k in (0, 50, len(sol.t) - 1):
            agents = recording.frame(k).agents
            person = np.flatnonzero(np.isfinite(sol.q[k, :, 0]))
            assert [agent.id for agent in agents] == person.tolist()
            np.testing.assert_array_equal([agent.position for agent in agents], sol.q[k, person].tolist())
            facing = np.array([agent.orientation for agent in agents]).reshape(-1, 2)
            np.testing.assert_allclose(np.linalg.norm(facing, axis=1), 1.0)
            speed = np.linalg.norm(sol.u[k, person], axis=1)
            np.testing.assert_allclose(facing * speed[:, None], sol.u[k, person], atol=1e-12)


def test_the_tables_are_those_of_jupedsim_itself(jupedsim, sol, tmp_path):
    simulation = jupedsim.Simulation(
        model=jupedsim.CollisionFreeSpeedModel(), geometry=shapely.box(0, 0, 6, 5), dt=0.05,
        trajectory_writer=jupedsim.SqliteTrajectoryWriter(output_file=tmp_path / "theirs.sqlite", every_nth_frame=1),
    )  # fmt: skip
    goal = simulation.add_exit_stage([(5, 2), (6, 2), (6, 3), (5, 3)])
    journey = simulation.add_journey(jupedsim.JourneyDescription([goal]))
    simulation.add_agent(
        jupedsim.CollisionFreeSpeedModelAgentParameters(journey_id=journey, stage_id=goal, position=(1, 1))
    )
    simulation.iterate(3)
    simulation._writer.close()
    ours = write_jupedsim(sol, tmp_path / "ours.sqlite", ROOM)
    found = []
    for path in (tmp_path / "theirs.sqlite", ours):
        with closing(sqlite3.connect(path)) as file:
            names = ("trajectory_data", "metadata", "geometry", "frame_data", "geometry_hash", "frame_id_idx")
            tables = [file.execute(f"PRAGMA table_info({name})").fetchall() for name in names[:4]]
            indices = [file.execute(f"PRAGMA index_info({name})").fetchall() for name in names[4:]]
            keys = sorted(file.execute("SELECT key FROM metadata").fetchall())
            kinds = file.execute("SELECT typeof(frame), typeof(id), typeof(pos_x) FROM trajectory_data").fetchone()
            version = file.execute("SELECT value FROM metadata WHERE key = 'version'").fetchone()
            found.append((tables, indices, keys, kinds, version))
    assert all(len(columns) > 1 for columns in found[0][0])
    assert found[0] == found[1]


def test_who_stands_still_faces_as_he_last_walked(tmp_path):
    within = jo.Balls([0.2]) & jo.Box([0, 0], [2, 2], radii=0.2)
    walker = jo.Sweeping(q0=[[1.0, 1.0]], velocity=[0.0, -1.0], within=within)
    path = write_jupedsim(jo.solve(walker, jo.Venel(), t=1.5, h=0.5), tmp_path / "run.sqlite", shapely.box(0, 0, 2, 2))
    with closing(sqlite3.connect(path)) as file:
        facing = file.execute("SELECT ori_x, ori_y FROM trajectory_data ORDER BY frame").fetchall()
    assert facing == [(1.0, 0.0), (0.0, -1.0), (0.0, -1.0), (0.0, -1.0)]


# PedPy finds what we find


def speeds(data, frame_step=5):
    """PedPy's speeds of all people, with the number of frames before and after that its guide takes."""
    border = pedpy.SpeedCalculation.BORDER_SINGLE_SIDED  # the only one that gives everybody a speed
    return pedpy.compute_individual_speed(traj_data=data, frame_step=frame_step, speed_calculation=border)


@pytest.mark.parametrize("line", [DOOR, ((5, 0), (5, 5)), ((5.0, 1.0), (5.3, 4.0))])
def test_pedpy_counts_the_same_people_at_the_same_frames(sol, line):
    n_t, crossed = pedpy.compute_n_t(traj_data=to_pedpy(sol), measurement_line=pedpy.MeasurementLine(line))
    ours = flow(sol, line)
    assert ours.count[-1] > 30
    frame = n_t.frame.to_numpy()
    assert len(frame) > 100
    np.testing.assert_array_equal(ours.count[frame], n_t.cumulative_pedestrians.to_numpy())
    first = crossings(sol, line)
    _, index = np.unique(first.person, return_index=True)
    theirs = crossed.set_index("id").frame
    by_frame = np.ceil((first.t[index] - sol.t[0]) * 20.0 - 1e-9)
    np.testing.assert_array_equal(theirs[first.person[index]].to_numpy(), by_frame)


def test_pedpy_forgets_who_crosses_in_his_last_frame(sol):
    """Why the people above walk on for a metre: PedPy 1.5 looks at no movement into the last frame of a person."""
    short = to_pedpy(sol, inside=shapely.box(0, 0, 6.01, 5))
    n_t, _ = pedpy.compute_n_t(traj_data=short, measurement_line=pedpy.MeasurementLine(DOOR))
    assert n_t.cumulative_pedestrians.iloc[-1] < flow(sol, DOOR).count[-1] == 40


@pytest.mark.parametrize("cutoff", [whole(None), 0.8])
def test_pedpy_finds_the_same_cells_densities_and_speeds(sol, inside, cutoff):
    cut = None if cutoff is None else pedpy.Cutoff(radius=cutoff)
    cells = pedpy.compute_individual_voronoi_polygons(traj_data=inside, walkable_area=area(), cut_off=cut)
    M = pedpy.MeasurementArea(MEASURE)
    theirs, shared = pedpy.compute_voronoi_density(individual_voronoi_data=cells, measurement_area=M)
    ours = densities(sol, ROOM, MEASURE, cutoff=cutoff)
    frame = theirs.frame.to_numpy()
    assert ours.voronoi.max() > 2.5
    np.testing.assert_allclose(ours.voronoi[frame], theirs.density, rtol=0, atol=SAME)
    assert not ours.voronoi[frame[-1] + 1 :].any()
    for k, group in cells.groupby("frame"):
        if k % 10 == 0:
            found = density(sol, int(k), ROOM, cutoff=cutoff)
            np.testing.assert_array_equal(found.person, group.id)
            np.testing.assert_allclose(found.density, group.density, rtol=SAME)
    speed = speeds(inside)
    fast = pedpy.compute_voronoi_speed(
        traj_data=inside, individual_speed=speed, individual_voronoi_intersection=shared, measurement_area=M
    )
    assert ours.voronoi_speed.max() > 0.5
    unknown = speed.frame[speed.speed.isna()].unique()  # PedPy counts people who are there for a moment as standing
    assert len(unknown) < 4
    known = ~np.isin(frame, unknown)
    np.testing.assert_allclose(ours.voronoi_speed[frame[known]], fast.speed[known], rtol=0, atol=SAME)
    assert (ours.voronoi_speed[unknown] >= fast.speed[unknown]).all()


def test_pedpy_finds_the_same_classic_densities_and_mean_speeds(sol, inside):
    M = pedpy.MeasurementArea(MEASURE)
    theirs = pedpy.compute_classic_density(traj_data=inside, measurement_area=M)
    ours = densities(sol, ROOM, MEASURE)
    assert ours.classic.max() > 2.0
    np.testing.assert_array_equal(ours.classic[theirs.frame], theirs.density)
    speed = speeds(inside)
    mean = pedpy.compute_mean_speed_per_frame(traj_data=inside, measurement_area=M, individual_speed=speed)
    somebody = np.isfinite(ours.classic_speed[mean.frame])
    np.testing.assert_allclose(ours.classic_speed[mean.frame][somebody], mean.speed[somebody], rtol=0, atol=SAME)


def test_pedpy_draws_the_same_maps(sol, inside):
    """Of one frame, on squares that fit into the room; PedPy's rows run from above."""
    k = 40
    cells = pedpy.compute_individual_voronoi_polygons(traj_data=inside[k : k + 1], walkable_area=area())
    data = cells.merge(inside.data, on=["id", "frame"])
    data = data.merge(speeds(inside), on=["id", "frame"])
    profiles = {
        (which, how): pedpy.compute_profiles(
            data=data, walkable_area=area(), grid_size=0.5, density_method=density_method, speed_method=speed_method
        )[which == "speed"][0][::-1]
        for how, density_method, speed_method in (
            ("voronoi", pedpy.DensityMethod.VORONOI, pedpy.SpeedMethod.VORONOI),
            ("classic", pedpy.DensityMethod.CLASSIC, pedpy.SpeedMethod.MEAN),
        )
        for which in ("density", "speed")
    }
    thick, fast = (one(sol, k, ROOM, size=0.5) for one in (density_map, speed_map))
    for how in ("voronoi", "classic"):
        np.testing.assert_allclose(getattr(thick, how), profiles["density", how], rtol=0, atol=SAME)
        ours = getattr(fast, how)
        np.testing.assert_allclose(np.nan_to_num(ours), np.nan_to_num(profiles["speed", how]), rtol=0, atol=SAME)
        assert np.nanmax(ours) > 0.5


@pytest.fixture(scope="module")
def evacuation(tmp_path_factory):
    """People of the pedestrian model, who push to a door, saved five times a second; and the files for PedPy."""
    folder = tmp_path_factory.mktemp("pedpy")
    people = crowd(
        45, radius=0.2, room=ROOM, speed=1.3, behaviour=jo.crowds.Pedestrians(), seed=4,
    )  # fmt: skip
    sol = jo.solve(people, jo.Venel(), t=6.0, h=0.05, every=0.2)
    run = jo.io.write(sol, folder / "run.vtkhdf", dtype=np.float64)
    return read(run), [jo.io.export(run, folder / f"run.{kind}") for kind in ("sqlite", "txt")]


def loaded(path):
    if path.suffix == ".txt":
        return pedpy.load_trajectory(trajectory_file=path)
    return pedpy.load_trajectory_from_jupedsim_sqlite(trajectory_file=path)


@pytest.mark.parametrize("kind", [0, 1], ids=["sqlite", "txt"])
def test_pedpy_accepts_what_export_writes_and_finds_the_same_densities_and_speeds(evacuation, kind):
    sol, paths = evacuation
    data, W = loaded(paths[kind]), pedpy.load_walkable_area_from_jupedsim_sqlite(trajectory_file=paths[0])
    outside = np.isfinite(sol.q).all(axis=2) & (sol.q[..., 0] >= 6.0)
    assert outside.sum() > 5, "people who have passed the door are still there for a moment"
    assert pedpy.is_trajectory_valid(traj_data=data, walkable_area=W)
    assert len(data.data) == (np.isfinite(sol.q).all(axis=2) & ~outside).sum()
    cells = pedpy.compute_individual_voronoi_polygons(traj_data=data, walkable_area=W)
    M = pedpy.MeasurementArea([(4.4, 1.4), (5.9, 1.4), (5.9, 3.6), (4.4, 3.6)])
    theirs, shared = pedpy.compute_voronoi_density(individual_voronoi_data=cells, measurement_area=M)
    ours, frame = densities(sol, ROOM, M), theirs.frame.to_numpy()
    np.testing.assert_allclose(ours.voronoi[frame], theirs.density, rtol=0, atol=SAME)
    for frame_step, window in ((5, None), (2, 0.8)) if kind == 0 else ((5, 2.0),):
        speed = speeds(data, frame_step)
        fast = pedpy.compute_voronoi_speed(
            traj_data=data, individual_speed=speed, individual_voronoi_intersection=shared, measurement_area=M
        )
        known = ~np.isin(frame, speed.frame[speed.speed.isna()])
        assert known.sum() > 15
        found = densities(sol, ROOM, M, window=window)
        np.testing.assert_allclose(found.voronoi_speed[frame[known]], fast.speed[known], rtol=0, atol=SAME)
        diagram = jo.crowds.fundamental_diagram(sol, M, window=window)
        np.testing.assert_array_equal(diagram.speed, found.voronoi_speed[found.classic > 0.0])


def test_the_default_window_is_that_of_pedpy_and_no_longer_than_two_seconds():
    """Somebody walks to and fro with a period of two seconds, which a window of ten seconds would not see."""
    t = np.arange(0.0, 12.01, 0.5)
    x = 2.0 + 0.4 * np.sin(np.pi * t)
    q = np.stack([x, np.ones_like(x)], axis=1)[:, None]
    sol = jo.Solution(None, None, t, q, np.zeros_like(q), (), (), (), np.zeros(0), "finished")
    room = shapely.box(0, 0, 4, 2)
    found = densities(sol, room)
    np.testing.assert_allclose(found.classic_speed, densities(sol, room, window=2.0).classic_speed)
    np.testing.assert_allclose(densities(sol, room, window=1.0).classic_speed[1:-1], np.abs(x[2:] - x[:-2]) / 1.0)
    np.testing.assert_allclose(densities(sol, room, window=0.1).classic_speed[1:-1], np.abs(x[2:] - x[:-2]) / 1.0)


def test_a_window_ends_where_a_person_is_put_elsewhere_or_taken_out():
    """The speed of 1 m/s is not that of the way back to the start, nor of an absence."""
    t = np.arange(0.0, 6.01, 0.1)
    x = 0.5 + t % 3.0
    absent = (t > 4.0) & (t < 4.35)
    q = np.stack([np.where(absent, np.nan, x), np.where(absent, np.nan, 1.0)], axis=1)[:, None]
    q[t >= 4.35] -= [0.4, 0.0]
    u = np.where(np.isfinite(q), [1.0, 0.0], np.nan)
    sol = jo.Solution(None, None, t, q, u, (), (), (), np.zeros(0), "finished")
    for window in (None, 2.0, 0.3):
        speed = densities(sol, shapely.box(0, 0, 4, 2), window=window).classic_speed
        np.testing.assert_allclose(speed[~absent], 1.0, rtol=1e-9)
        assert np.isnan(speed[absent]).all()


def test_uneven_times_have_windows_of_about_the_same_length():
    t = np.cumsum(np.tile([0.1, 0.2, 0.15], 12))
    q = np.stack([0.2 + 0.5 * t, np.ones_like(t)], axis=1)[:, None]
    sol = jo.Solution(None, None, t, q, np.zeros_like(q), (), (), (), np.zeros(0), "finished")
    speed = densities(sol, shapely.box(0, 0, 4, 2)).classic_speed
    np.testing.assert_allclose(speed, 0.5, rtol=1e-9)


# Rates, and what is refused


def walker(t=1.0, h=0.25, **options):
    problem = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    return jo.solve(problem, jo.Venel(), t=t, h=h, **options)


@pytest.mark.parametrize("rate", [4.0, 10.0, 3.0])
def test_at_another_rate_people_are_interpolated(rate):
    found = to_pedpy(walker(t=0.95), rate=rate)
    assert found.frame_rate == rate
    k = np.arange(int(0.95 * rate) + 1)
    np.testing.assert_array_equal(found.data.frame, k)
    np.testing.assert_allclose(found.data.x, 0.5 + k / rate, rtol=1e-12)


def test_round_off_loses_no_frame():
    assert 0.29 * 100 < 29
    assert len(to_pedpy(walker(t=0.29, h=0.01), rate=100.0).data) == 30


def test_who_leaves_between_two_frames_is_not_there_in_between():
    sol = walker(t=2.0, changes=jo.Outlet(lambda q: q[:, 0] > 1.1))
    numbers = [people.number for people in frames(sol, rate=8.0) if len(people.person)]
    assert numbers == [0, 1, 2, 3, 4]
    assert to_pedpy(sol).data.frame.tolist() == [0, 1, 2]


def test_uneven_times_need_a_rate():
    with pytest.raises(InvalidValue, match=r"not evenly spaced.*rate"):
        to_pedpy(walker(t=0.9))
    with pytest.raises(InvalidValue, match="positive"):
        to_pedpy(walker(), rate=0.0)
    assert frame_rate(walker(t=3.0, h=0.1)) == 10.0


def write_database(sol, path):
    return write_jupedsim(sol, path, ROOM)


every_writer = pytest.mark.parametrize("writer", [write_text, write_database])


@every_writer
def test_a_solution_that_is_no_crowd_is_refused_and_leaves_no_file(writer, tmp_path):
    in_space = jo.solve(
        jo.Sweeping(q0=[[0.5, 0.5, 0.5]], velocity=[1.0, 0.0, 0.0], within=jo.Balls([0.2])), jo.Venel(), t=1.0, h=0.5
    )
    gone = walker(changes=jo.Outlet(lambda q: q[:, 0] > -9.0))
    nobody = jo.Solution(None, None, gone.t[1:], gone.q[1:], gone.u[1:], (), (), (), gone.stats, "finished")
    one = jo.Solution(None, None, gone.t[:1], gone.q[:1], gone.u[:1], (), (), (), gone.stats, "finished")
    none = jo.Solution(None, None, gone.t[:0], gone.q[:0], gone.u[:0], (), (), (), gone.stats, "finished")
    for bad, message in ((in_space, "plane"), (nobody, "nobody"), (one, "one frame"), (none, "no frames")):
        with pytest.raises(InvalidValue, match=message):
            writer(bad, tmp_path / "run")
        with pytest.raises(InvalidValue, match=message):
            to_pedpy(bad)
    assert list(tmp_path.iterdir()) == []


class Torn:
    """Positions whose third frame cannot be read."""

    def __init__(self, q):
        self.q, self.shape, self.ndim = q, q.shape, q.ndim

    def __iter__(self):
        yield from self.q[:2]
        raise OSError(5, "the disk is gone")


@every_writer
def test_a_file_is_replaced_as_a_whole_or_not_at_all(writer, tmp_path):
    sol, path = walker(), tmp_path / "run"
    writer(sol, path)
    before = path.read_bytes()
    broken = jo.Solution(None, None, sol.t, Torn(sol.q), sol.u, (), (), (), sol.stats, "finished")
    with pytest.raises(WriteFailed, match="the disk is gone"):
        writer(broken, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    writer(walker(t=0.5), path)
    assert path.read_bytes() != before


@every_writer
def test_a_folder_that_is_not_there_is_named(writer, tmp_path):
    with pytest.raises(WriteFailed, match="missing"):
        writer(walker(), tmp_path / "missing" / "run")


@pytest.mark.parametrize("package", ["pedpy", "pandas", "shapely"])
def test_a_package_that_is_missing_is_named(package, monkeypatch, sol):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage, match=rf"need the package {package}.*\n  .* install 'jostle\[crowd\]'"):
        to_pedpy(sol, inside=ROOM)


def test_pandas_sees_plain_numbers(sol):
    kinds = to_pedpy(sol).data[["id", "frame", "x", "y"]].dtypes
    assert all(pd.api.types.is_integer_dtype(kinds[name]) for name in ("id", "frame"))
    assert all(pd.api.types.is_float_dtype(kinds[name]) for name in ("x", "y"))
