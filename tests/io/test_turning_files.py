"""Files of bodies that turn: turns, spins, friction and clumps come back as they were, and VTK sees them."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import by_vtk
import h5py
import numpy as np
import pytest
import turning
from turning import ALL, T, same, solved

import jostle as jo
import rows
from jostle._tools.rotations import matrices
from jostle.bodies import Parts
from jostle.errors import BrokenFile, InvalidValue
from jostle.io import layout
from jostle.io.trajectory import Writer
from jostle.viz.scene import Scene


@pytest.fixture(scope="module")
def runs():
    """Each run once, in memory."""
    return {name: solved(name) for name in ALL}


@pytest.fixture(scope="module")
def files(runs, tmp_path_factory):
    """Each run once, in a file."""
    folder = tmp_path_factory.mktemp("files")
    for name, sol in runs.items():
        jo.io.write(sol, folder / f"{name}.vtkhdf", dtype="float64")
    return folder


@pytest.mark.parametrize("name", ALL)
def test_a_written_run_comes_back_as_it_was(runs, files, name):
    same(jo.io.read(files / f"{name}.vtkhdf"), runs[name])


@pytest.mark.parametrize("name", [*map(rows.whole, ("discs", "spheres", "clumps")), "crosses"])
def test_so_does_a_run_that_went_into_its_file(runs, tmp_path, name):
    output = jo.io.Output(tmp_path / "run.vtkhdf", contacts=True, dtype="float64")
    sol = solved(name, output=output)
    same(sol, runs[name])
    assert sol.gaps() == pytest.approx(runs[name].gaps(), abs=1e-12)
    jo.io.export(tmp_path / "run.vtkhdf", tmp_path / "copy.vtkhdf")
    same(jo.io.read(tmp_path / "copy.vtkhdf"), runs[name])


@pytest.mark.parametrize("name", ALL)
def test_energies_need_no_problem(runs, files, name):
    found, expected = jo.io.read(files / f"{name}.vtkhdf"), runs[name]
    assert found.energy().total.tolist() == pytest.approx(expected.energy().total.tolist(), rel=1e-12)
    assert found.energy_balance().dissipated.tolist() == expected.energy_balance().dissipated.tolist()
    without = expected.energy().kinetic - jo.io.read(files / f"{name}.vtkhdf").energy().kinetic
    assert np.abs(without).max() <= 1e-12 * expected.energy().kinetic.max()
    moving = np.asarray(expected.spin).reshape(len(expected.t), -1).any(axis=1)
    flat = 0.5 * (np.asarray(found.u) ** 2 * found.facts.masses[:, None]).sum(axis=(1, 2))
    assert (found.energy().kinetic[moving] > flat[moving]).all()


@pytest.mark.parametrize("name", ["clumps", "crosses"])
def test_places_of_balls_need_no_problem(runs, files, name):
    found = jo.io.read(files / f"{name}.vtkhdf")
    made_of, expected = found.facts.parts, ALL[name]().bodies.parts
    assert isinstance(made_of, Parts)
    for here, there in zip(made_of, expected, strict=True):
        np.testing.assert_array_equal(here, there)
    for k in (0, 7, -1):
        np.testing.assert_array_equal(found.places(k), runs[name].places(k))
    assert len(found.facts.radii) == len(found.places(0))


@pytest.mark.parametrize("name", ALL)
def test_single_precision_is_near(runs, tmp_path, name):
    jo.io.write(runs[name], tmp_path / "a.vtkhdf", dtype="float32")
    found = jo.io.read(tmp_path / "a.vtkhdf")
    for part in ("q", "u", "orientation", "spin"):
        here, there = np.asarray(getattr(found, part)), getattr(runs[name], part)
        assert np.abs(here - there).max() <= 1e-6 * np.abs(there).max()
        assert part == "q" or not np.array_equal(here, there)


def test_some_frames_and_bodies_are_read_at_a_time(runs, files):
    found, expected = jo.io.read(files / "spheres.vtkhdf"), runs["spheres"]
    assert found.spin.shape == expected.spin.shape
    assert found.spin[3:5].tolist() == expected.spin[3:5].tolist()
    assert found.orientation[-1, 1].tolist() == expected.orientation[-1, 1].tolist()
    assert "States of shape (31, 2, 4)" in repr(found.orientation)


@pytest.mark.parametrize("name", ALL)
def test_vtk_sees_spins_and_orientations_and_friction(runs, files, name):
    sol, reader = runs[name], by_vtk.reader(files / f"{name}.vtkhdf")
    d = sol.q.shape[2]
    owner = np.arange(len(sol.q[0])) if sol.facts.parts is None else sol.facts.parts.owner
    touched = 0
    for k in (0, 11, 29, len(sol.t) - 1):
        seen = by_vtk.at(reader, sol.t[k])
        assert seen.points[:, :d] == pytest.approx(sol.places(k), abs=1e-12)
        assert seen.point_data["body"].tolist() == owner.tolist()
        spin = np.asarray(sol.spin[k])[owner]
        expected = np.pad(spin[:, None], ((0, 0), (2, 0))) if d == 2 else spin
        assert seen.point_data["spin"].tolist() == expected.tolist()
        w, x, y, z = seen.point_data["orientation"].T
        assert w * w + x * x + y * y + z * z == pytest.approx(1.0)
        turned = matrices(np.stack([w, x, y, z], axis=1))[:, :d, :d]
        assert turned == pytest.approx(matrices(np.asarray(sol.orientation[k]))[owner], abs=1e-12)
        assert np.linalg.norm(seen.wall_points["orientation"], axis=1).tolist() == [1.0] * len(seen.wall_points["body"])
        active = sol.multipliers[k] != 0.0
        cells = seen.cell_data["tangential"][1:]
        assert cells[:, :d].tolist() == sol.tangential[k][active].tolist()
        assert cells.shape == (active.sum(), 3)
        assert np.abs(cells).max(initial=0.0) <= 0.5 * seen.cell_data["impulse"].max() + 1e-9
        start = np.searchsorted(owner, owner)
        for which, part in (("first_body", "first_part"), ("second_body", "second_part")):
            pair = sol.pairs[k][active, 0 if which == "first_body" else 1]
            own, ball = pair >= 0, np.maximum(pair, 0)
            assert seen.cell_data[which][1:].tolist() == np.where(own, owner[ball], pair).tolist()
            if sol.facts.parts is not None:
                expected = np.where(own, ball - start[ball], -1)
                assert seen.cell_data[part][1:].tolist() == expected.tolist()
        if sol.facts.parts is not None:
            assert seen.point_data["part"].tolist() == (np.arange(len(owner)) - start).tolist()
        assert seen.cell_data["point"][1:, :d].tolist() == sol.contact_points(k)[active].tolist()
        touched += int((np.abs(cells).max(axis=1) > 0.0).sum()) if len(cells) else 0
    assert touched > 0
    assert ("turn" in seen.point_data) == (d == 2)
    assert ("centre" in seen.point_data) == (name in ("clumps", "crosses"))


@pytest.mark.parametrize("name", ALL)
def test_contact_points_are_on_the_surface_of_both_balls_and_come_back(runs, files, name):
    sol, found = runs[name], jo.io.read(files / f"{name}.vtkhdf")
    touched = 0
    for k in (11, 29, -1):
        active, pairs = sol.multipliers[k] != 0.0, sol.pairs[k]
        at, x = sol.contact_points(k), sol.places(k)
        assert found.contact_points(k).tolist() == at[active].tolist()
        assert found.pairs[k].tolist() == pairs[active].tolist()
        radii = sol.problem.bodies.radii_at(0.0)
        away = np.linalg.norm(at - x[pairs[:, 0]], axis=1)
        assert away == pytest.approx(np.broadcast_to(radii, len(x))[pairs[:, 0]])
        touched += int(active.sum())
    assert touched > 0


def test_rolling_resistance_is_about_the_third_axis_in_the_plane(runs, files):
    sol, seen = runs["discs"], by_vtk.at(by_vtk.reader(files / "discs.vtkhdf"), runs["discs"].t[20])
    active = sol.multipliers[20] != 0.0
    assert seen.cell_data["rolling"][1:, 2].tolist() == sol.rolling[20][active, 0].tolist()
    assert np.abs(sol.rolling[20]).max() > 0.0
    assert not seen.cell_data["rolling"][:, :2].any()


def test_files_of_bodies_that_do_not_turn_have_nothing_new(tmp_path):
    ball = jo.Motion(q0=[[0.0, 1.0]], force=[0.0, -10.0], within=jo.Balls([0.5]) & jo.HalfSpace([0.0, 1.0]))
    sol = jo.solve(ball, jo.Maury(), t=0.2, h=0.1, output=jo.io.Output(tmp_path / "a.vtkhdf", contacts=True))
    assert sol.orientation is None
    assert sol.spin is None
    assert sol.tangential is None
    with h5py.File(tmp_path / "a.vtkhdf") as file:
        assert sorted(file["VTKHDF/PointData"]) == ["body", "radius", "velocity"]
        assert sorted(file["VTKHDF/CellData"]) == ["first_body", "impulse", "normal", "second_body"]
        assert not {"axes", "balls"} & set(file["jostle/run"].attrs)
        assert sorted(file["jostle/problem"]) == ["force", "groups", "masses", "radii", "text"]


def test_a_file_without_contacts_has_spins(tmp_path):
    sol = solved("clumps", t=0.1, output=jo.io.Output(tmp_path / "a.vtkhdf", dtype="float64"))
    expected = solved("clumps", t=0.1)
    assert np.asarray(sol.spin).tolist() == expected.spin.tolist()
    assert [len(one) for one in sol.tangential] == [0] * len(sol.t)
    assert sol.tangential[0].shape == (0, 2)
    assert sol.rolling[0].shape == (0, 1)


def test_bodies_that_leave_have_no_place_and_the_others_keep_their_spins(tmp_path):
    problem, leaves = turning.discs(), jo.Outlet(lambda q: q[:, 0] > 2.2)
    expected = jo.solve(problem, jo.Maury(), t=0.3, h=0.02, changes=leaves)
    output = jo.io.Output(tmp_path / "a.vtkhdf", contacts=True, dtype="float64")
    jo.solve(problem, jo.Maury(), t=0.3, h=0.02, changes=leaves, output=output)
    found, gone = jo.io.read(tmp_path / "a.vtkhdf"), np.isnan(expected.q[:, :, 0])
    assert 0 < gone.sum() < gone.size
    np.testing.assert_array_equal(np.asarray(found.q), expected.q)
    assert np.asarray(found.spin)[~gone].tolist() == expected.spin[~gone].tolist()
    assert not np.asarray(found.spin)[gone].any()


def test_clumps_that_are_absent_are_absent_with_all_their_balls(tmp_path):
    facts = solved("clumps", t=0.02).facts
    q = np.array([[0.0, 2.0], [np.nan, np.nan], [1.0, 5.0]])
    with Writer(tmp_path / "a.vtkhdf", shape=(3, 2), contacts=True, dtype="float64", facts=facts, about={}) as file:
        contacts = [[3, 5], [5, -1]], [1.0, 2.0], [[1.0, 0.0], [0.0, -1.0]]
        file.frame(
            0.0, q, np.ones((3, 2)), facts.radii, *contacts, orientation=[0.1, 0.2, 0.3], spin=[1.0, 2.0, 3.0],
            tangential=[[0.0, 0.5], [0.25, 0.0]], rolling=[[1.0], [2.0]],
        )  # fmt: skip
    found = jo.io.read(tmp_path / "a.vtkhdf")
    np.testing.assert_array_equal(found.q[0], q)
    assert found.orientation[0].tolist() == [0.1, 0.0, 0.3]
    assert found.spin[0].tolist() == [1.0, 0.0, 3.0]
    assert found.tangential[0].tolist() == [[0.0, 0.5], [0.25, 0.0]]
    assert found.rolling[0].tolist() == [[1.0], [2.0]]
    assert found.radii[0].tolist() == [0.5, 0.5, 0.0, 0.0, 0.0, 0.3]
    seen = by_vtk.at(by_vtk.reader(tmp_path / "a.vtkhdf"), 0.0)
    assert seen.point_data["body"].tolist() == [0, 0, 2]
    assert seen.lines.tolist() == [[2, 2], [2, 2]]  # the ball of the absent worm, and the wall


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "belong to bodies that turn"),
        ({"orientation": [0.0]}, "orientation and spin must have the shapes"),
        ({"orientation": [0.0] * 3, "spin": np.zeros((3, 3))}, "orientation and spin must have the shapes"),
        ({"orientation": [0.0] * 3, "tangential": np.zeros((2, 2))}, "there are 0 multipliers, tangential impulses"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused(tmp_path, given, message):
    facts = solved("clumps", t=0.02).facts
    with (
        Writer(tmp_path / "a.vtkhdf", shape=(3, 2), contacts=True, facts=facts, about={}) as file,
        pytest.raises(InvalidValue, match=message),
    ):
        file.frame(0.0, np.zeros((3, 2)), np.zeros((3, 2)), facts.radii, **given)


def test_spins_of_bodies_that_do_not_turn_are_refused(tmp_path):
    with Writer(tmp_path / "a.vtkhdf", shape=(1, 2), about={}) as file, pytest.raises(InvalidValue, match="belong to"):
        file.frame(0.0, [[0.0, 0.0]], [[0.0, 0.0]], orientation=[0.0])


NEW_DATA = [f"VTKHDF/PointData/{name}" for name in ("spin", "orientation", "turn", "centre")]
NEW_DATA += [f"VTKHDF/CellData/{name}" for name in ("tangential", "rolling")]
NEW_DATA += [f"jostle/problem/{name}" for name in ("inertia", "owner", "arms", "axes", "shape_inertia")]


def read_all(path):
    """Everything that a file has."""
    sol = jo.io.read(path)
    sol.q.source.columns(layout.ORIENTATION, 0.0, np.arange(3), slice(4))  # in the plane only VTK reads it
    return [np.asarray(part) for part in (sol.q, sol.orientation, sol.spin)], [*sol.tangential, *sol.rolling]


@pytest.mark.parametrize("name", NEW_DATA)
def test_damage_is_noticed(files, tmp_path, name):
    path = tmp_path / "a.vtkhdf"
    shutil.copy(files / "clumps.vtkhdf", path)
    with h5py.File(path, "r+") as file:
        file[name][...] = file[name][...] + 1
    with pytest.raises(BrokenFile, match="checksum"):
        read_all(path)


@pytest.mark.parametrize(("attribute", "value"), [("axes", 2), ("axes", 3), ("axes", 0), ("balls", 5), ("balls", -1)])
def test_a_file_that_contradicts_itself_is_refused(files, tmp_path, attribute, value):
    path = tmp_path / "a.vtkhdf"
    shutil.copy(files / "clumps.vtkhdf", path)
    with h5py.File(path, "r+") as file:
        file["jostle/run"].attrs[attribute] = value
    with pytest.raises(BrokenFile, match="damaged"):
        jo.io.read(path)


def test_facts_must_say_how_bodies_turn(files, tmp_path):
    """Spins without inertia: each part of the file is sound by itself."""
    path = tmp_path / "a.vtkhdf"
    shutil.copy(files / "discs.vtkhdf", path)
    with h5py.File(path, "r+") as file:
        del file["jostle/problem/inertia"]
        facts = {name: file[f"jostle/problem/{name}"][...] for name in layout.COLUMNS}
        file["jostle/problem"].attrs["checksum"] = np.uint32(layout._check(facts))
    with pytest.raises(BrokenFile, match="inertia or the clumps"):
        jo.io.read(path)


@pytest.mark.parametrize("name", ["discs", "crosses"])
def test_forces_of_frames_that_are_read_together_are_those_of_single_frames(runs, files, name):
    numbers = range(20, 31)
    together = Scene(jo.io.read(files / f"{name}.vtkhdf")).frames(numbers)
    single, bars = Scene(runs[name]), 0
    for k, frame in zip(numbers, together, strict=True):
        expected = single.frame(k)
        assert frame.k == k
        for part in ("start", "end", "force", "rows"):
            np.testing.assert_array_equal(getattr(frame.bars, part), getattr(expected.bars, part))
        bars += len(frame.bars.force)
    assert bars > 0
    assert np.abs(np.diff([np.abs(sol_k).sum() for sol_k in runs[name].tangential[20:31]])).max() > 0.0


@pytest.mark.each_value
@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean()])
@pytest.mark.parametrize("name", ALL)
def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(tmp_path, name, scheme):
    problem, file = ALL[name](), tmp_path / "a.checkpoint"
    whole = jo.solve(problem, scheme, t=0.5, h=0.02)
    jo.solve(problem, scheme, t=0.3, h=0.02, output=jo.io.Output(checkpoint=file))
    rest = jo.solve(ALL[name](), scheme, t=0.5, h=0.02, output=jo.io.Output(checkpoint=file, resume=True))
    same(rest, whole, len(whole.t) - len(rest.t))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed")
@pytest.mark.parametrize("name", [rows.whole("discs"), "crosses"])
def test_so_has_a_run_that_was_killed(runs, tmp_path, name):
    command = [sys.executable, str(Path(turning.__file__)), name, str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == -9
    output = jo.io.Output(
        tmp_path / "run.vtkhdf", contacts=True, dtype="float64", checkpoint=tmp_path / "run.checkpoint", resume=True
    )
    found = solved(name, output=output)
    same(found, runs[name])
    assert found.t[-1] == pytest.approx(T)
    assert found.stats["t"].tolist() == runs[name].stats["t"].tolist()


def test_tables_have_columns_of_spins(runs, tmp_path):
    heads = {}
    for name, sol in runs.items():
        jo.io.export(sol, tmp_path / f"{name}.csv")
        with open(tmp_path / f"{name}.csv") as file:
            head, *rows = csv.reader(file)
        clumps = sol.facts.parts is not None
        assert head[:3] == (["t", "body", "ball"] if clumps else ["t", "body", "x"])
        heads[name] = head[9 + clumps :]
        names = [f"{sol.facts.called} {row[1]}" + (f", ball {row[2]}" if clumps else "") for row in rows]
        assert names == [sol.facts.bodies.name(k) for k in range(len(sol.places(0)))] * len(sol.t)
        last = dict(zip(head, rows[-1], strict=True))
        assert float(last["spin_z"]) == float(np.ravel(sol.spin[-1])[-1])
        assert len(rows) == len(sol.t) * len(sol.places(0))
        if "centre_x" in last:
            assert float(last["centre_x"]) == sol.q[-1, -1, 0]
        assert float(last["x"]) == pytest.approx(sol.places(-1)[-1, 0])
    spins, quaternions = ["spin_x", "spin_y", "spin_z"], ["qw", "qx", "qy", "qz"]
    centre = ["centre_x", "centre_y", "centre_z"]
    assert heads["discs"] == [*spins, "turn"]
    assert heads["spheres"] == [*spins, *quaternions]
    assert heads["clumps"] == [*spins, "turn", *centre]
    assert heads["crosses"] == [*spins, *quaternions, *centre]


@pytest.mark.parametrize("name", ["spheres", "clumps"])
def test_arrays_have_turns_spins_and_friction(runs, tmp_path, name):
    sol = runs[name]
    with np.load(jo.io.export(sol, tmp_path / "a.npz")) as found:
        assert found["spin"].tolist() == sol.spin.tolist()
        assert found["orientation"].tolist() == sol.orientation.tolist()
        assert found["tangential"].tolist() == np.concatenate(sol.tangential).tolist()
        assert found["rolling"].tolist() == np.concatenate(sol.rolling).tolist()
        if name == "clumps":
            assert found["owner"].tolist() == [0, 0, 1, 1, 1, 2]
            assert found["places"][-1].tolist() == sol.places(-1).tolist()


def test_a_series_for_paraview_has_them(runs, tmp_path):
    sol = runs["clumps"]
    jo.io.export(sol, tmp_path / "a.pvd")
    seen = by_vtk.vtp(tmp_path / "a_000030.vtp")
    assert seen.point_data["spin"][:, 2].tolist() == np.asarray(sol.spin[30])[[0, 0, 1, 1, 1, 2]].tolist()
    assert seen.point_data["centre"][:, :2].tolist() == sol.q[30][[0, 0, 1, 1, 1, 2]].tolist()
    assert seen.cell_data["tangential"][1:, :2].tolist() == sol.tangential[30][sol.multipliers[30] != 0.0].tolist()


def test_ovito_gets_orientations(runs, tmp_path):
    hoomd = pytest.importorskip("gsd.hoomd")
    sol = runs["crosses"]
    jo.io.export(sol, tmp_path / "a.gsd")
    with hoomd.open(str(tmp_path / "a.gsd")) as frames:
        last = frames[-1]
    owner = [0] * 4 + [1] * 4
    assert last.particles.body.tolist() == owner
    assert last.particles.position == pytest.approx(sol.places(-1), rel=1e-6)
    assert last.particles.orientation == pytest.approx(sol.orientation[-1][owner], abs=1e-6)
    assert last.log["particles/spin"] == pytest.approx(sol.spin[-1][owner], rel=1e-6)


def test_the_file_tells_the_law(tmp_path):
    solved("discs", t=0.02, output=jo.io.Output(tmp_path / "a.vtkhdf"))
    assert jo.io.about(tmp_path / "a.vtkhdf")["law"] == "Coulomb(mu=0.5, e=0.0, rolling=0.05)"
