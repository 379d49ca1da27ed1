"""Exports, read back by the programs they are for."""

import csv
import os
import sys
import xml.etree.ElementTree as xml

import by_vtk
import gsd.hoomd
import numpy as np
import pytest
from frames import assert_same

import jostle as jo
from jostle.errors import FileIsThere, InvalidValue, MissingPackage, WriteFailed
from jostle.io.exports import EXPORTS, export, write
from jostle.io.new_files import beside, whole
from jostle.io.reading import about, read

OF_PEOPLE = ("sqlite", "txt")
"""Formats that need people on a plan: tests/cli/test_cli_crowds.py."""
SUFFIXES = [f".{name}" for name in EXPORTS.names() if name not in OF_PEOPLE]


def swelling(t):
    return np.array([0.5, 0.5 + 0.1 * t, 0.25])


@pytest.fixture(params=["memory", "file"])
def sol(request, tmp_path):
    """Three discs on a plane, one swells, one leaves; in memory or in a file of double precision."""
    q0 = np.array([[0.0, 0.5], [1.2, 0.6], [4.0, 0.25]])
    within = jo.Balls(swelling) & jo.HalfSpace([0.0, 1.0], radii=swelling)
    v0 = [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    problem = jo.Motion(q0=q0, v0=v0, force=np.tile([0.0, -10.0], (3, 1)), within=within)
    leaves = jo.Outlet(lambda q: q[:, 0] > 4.2)
    found = jo.solve(problem, jo.Maury(), t=0.5, h=0.05, changes=leaves)
    assert np.isnan(found.q[-1]).any()
    if request.param == "memory":
        return found
    return read(write(found, tmp_path / "source.vtkhdf", dtype=np.float64), problem, found.scheme)


def here(sol, k):
    """Who is there in frame k, and where: numbers, (n, 3) points, velocities, radii."""
    body = np.flatnonzero(~np.isnan(sol.q[k]).any(axis=1))
    flat = [np.pad(np.asarray(values[k])[body], ((0, 0), (0, 1))) for values in (sol.q, sol.u)]
    return body, *flat, swelling(sol.t[k])[body]


def test_gsd_is_read_by_its_own_package(sol, tmp_path):
    path = export(sol, tmp_path / "run.gsd")
    with gsd.hoomd.open(str(path)) as file:
        assert len(file) == len(sol.t)
        for k, frame in enumerate(file):
            body, points, velocity, radius = here(sol, k)
            assert frame.log["time"].item() == sol.t[k]
            assert frame.configuration.step == k
            assert frame.configuration.dimensions == 2
            assert len(body) == frame.particles.N
            assert frame.log["particles/body"].tolist() == body.tolist()
            np.testing.assert_array_equal(frame.particles.position, points.astype(np.float32))
            np.testing.assert_array_equal(frame.particles.velocity, velocity.astype(np.float32))
            np.testing.assert_array_equal(frame.particles.diameter, 2 * radius.astype(np.float32))
            farthest = np.abs(frame.particles.position) + frame.particles.diameter[:, None] / 2
            assert (farthest <= (1 + 1e-6) * frame.configuration.box[:3] / 2).all()
            frame.validate()


def test_vtp_and_pvd_are_read_by_vtk(sol, tmp_path):
    path = export(sol, tmp_path / "run.vtp")
    assert path == tmp_path / "run.pvd"
    entries = xml.parse(path).getroot().findall("Collection/DataSet")
    assert [float(entry.get("timestep")) for entry in entries] == sol.t.tolist()
    for k, entry in enumerate(entries):
        body, points, velocity, radius = here(sol, k)
        found = by_vtk.vtp(tmp_path / entry.get("file"))
        np.testing.assert_array_equal(found.points, points)
        np.testing.assert_array_equal(found.point_data["velocity"], velocity)
        np.testing.assert_array_equal(found.point_data["body"], body)
        np.testing.assert_array_equal(found.point_data["radius"], radius)
        active = sol.multipliers[k] != 0.0
        np.testing.assert_array_equal(found.cell_data["impulse"], [0.0, *sol.multipliers[k][active]])
        pairs = np.stack([found.cell_data["first_body"], found.cell_data["second_body"]], axis=1)[1:]
        np.testing.assert_array_equal(pairs, sol.pairs[k][active])
        normals = sol.normals[k][active]
        np.testing.assert_array_equal(found.cell_data["normal"][1:, : normals.shape[1]], normals)
        assert found.vertices.tolist() == [list(range(len(body)))]
        assert len(found.lines) == active.sum()
    assert (sol.multipliers[-1] > 0.0).any()


def test_vtp_files_have_no_appended_data_which_paraview_of_debian_12_refuses(sol, tmp_path):
    export(sol, tmp_path / "run.pvd")
    (file,) = tmp_path.glob("run_000000.vtp")
    assert xml.parse(file).getroot().find("AppendedData") is None


def test_csv_is_a_table_with_a_row_for_each_body_that_is_there(sol, tmp_path):
    with open(export(sol, tmp_path / "run.csv"), newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["t", "body", "x", "y", "z", "vx", "vy", "vz", "radius"]
    table, start = np.array(rows, dtype=float), 0
    for k, t in enumerate(sol.t):
        body, points, velocity, radius = here(sol, k)
        block = table[start : start + len(body)]
        expected = np.column_stack([np.full(len(body), t), body, points, velocity, radius])
        np.testing.assert_array_equal(block, expected)
        start += len(body)
    assert start == len(table)


def test_numbers_of_single_precision_are_written_with_the_digits_they_have(tmp_path):
    drop = jo.Motion(q0=[[0.1, 0.7]], within=jo.Free())
    path = write(jo.solve(drop, jo.Maury(), t=0.2, h=0.1), tmp_path / "drop.vtkhdf")
    lines = export(path, tmp_path / "drop.csv").read_text().splitlines()
    assert lines[1] == "0.0,0,0.1,0.7,0.0,0.0,0.0,0.0,0.0"


def test_npz_has_all_arrays(sol, tmp_path):
    with np.load(export(sol, tmp_path / "run.npz")) as file:
        found = {name: file[name] for name in file.files}
    np.testing.assert_array_equal(found["t"], sol.t)
    np.testing.assert_array_equal(found["q"], np.asarray(sol.q))
    np.testing.assert_array_equal(found["u"], np.asarray(sol.u))
    np.testing.assert_array_equal(found["stats"], sol.stats)
    assert found["status"] == "finished"
    begin = 0
    for k, end in enumerate(found["contact_ends"]):
        assert_same([found["pairs"][begin:end], found["multipliers"][begin:end]], [sol.pairs[k], sol.multipliers[k]])
        if len(sol.normals[k]):
            np.testing.assert_array_equal(found["normals"][begin:end], sol.normals[k])
        body, _, _, radius = here(sol, k)
        np.testing.assert_array_equal(found["radii"][k][body], radius)
        begin = end
    assert begin == len(found["multipliers"])


def test_a_trajectory_is_copied_with_all_it_holds(sol, tmp_path):
    path = export(sol, tmp_path / "run.vtkhdf")
    back = read(path)
    assert_same([back.t, back.q[:], back.u[:]], [sol.t, np.asarray(sol.q), np.asarray(sol.u)])
    again = export(path, tmp_path / "again.vtkhdf")
    assert about(again) == about(path)
    for k in range(len(sol.t)):
        active = sol.multipliers[k] != 0.0
        for copy in (back, read(again)):
            assert_same([copy.pairs[k], copy.multipliers[k]], [sol.pairs[k][active], sol.multipliers[k][active]])
    assert read(again).status == "finished"
    assert (read(again).stats == sol.stats).all()


@pytest.mark.each_value
@pytest.mark.parametrize("q0", [np.zeros(3), np.zeros((2, 4)), np.zeros((1, 1)), np.zeros((2, 3))])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_configurations_of_every_shape_are_exported(tmp_path, q0, suffix):
    run = jo.Motion(q0=q0, within=jo.HalfSpace(np.eye(q0.shape[-1])[0]), force=-np.ones(q0.shape))
    path = export(jo.solve(run, jo.Maury(), t=0.2, h=0.1), tmp_path / f"run{suffix}")
    assert path.stat().st_size > 0
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".new")]


def test_what_is_there_is_replaced_but_for_a_trajectory(tmp_path):
    ball = jo.Motion(q0=[[1.0]], within=jo.Free())
    sol = jo.solve(ball, jo.Maury(), t=0.2, h=0.1)
    for _ in range(2):
        export(sol, tmp_path / "run.csv")
    export(sol, tmp_path / "run.vtkhdf")
    with pytest.raises(FileIsThere, match="exists already"):
        export(sol, tmp_path / "run.vtkhdf")
    with pytest.raises(FileIsThere, match="exists already"):
        export(tmp_path / "run.vtkhdf", tmp_path / "run.vtkhdf")
    assert sorted(os.listdir(tmp_path)) == ["run.csv", "run.vtkhdf"]


def test_an_export_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    ball = jo.Motion(q0=[[1.0]], within=jo.Balls(lambda t: [1.0] if t < 0.15 else 1 / 0))
    sol = jo.solve(jo.Motion(q0=[[1.0]], within=jo.Free()), jo.Maury(), t=0.2, h=0.1)
    object.__setattr__(sol, "problem", ball)
    for suffix in SUFFIXES:
        with pytest.raises(ZeroDivisionError):
            export(sol, tmp_path / f"run{suffix}")
        assert [name for name in os.listdir(tmp_path) if not name.endswith(".vtp")] == []


def test_an_unknown_suffix_is_refused_with_those_that_are_known(tmp_path):
    ball = jo.Motion(q0=[[1.0]], within=jo.Free())
    sol = jo.solve(ball, jo.Maury(), t=0.2, h=0.1)
    with pytest.raises(InvalidValue, match=r"\.vtkhdf, \.pvd, \.vtp, \.gsd, \.csv, \.npz"):
        export(sol, tmp_path / "run.xyz")


def test_without_the_package_gsd_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gsd", None)
    monkeypatch.setitem(sys.modules, "gsd.hoomd", None)
    sol = jo.solve(jo.Motion(q0=[[1.0]], within=jo.Free()), jo.Maury(), t=0.2, h=0.1)
    with pytest.raises(MissingPackage, match=r"pip install 'jostle\[export\]'"):
        export(sol, tmp_path / "run.gsd")


def test_a_file_is_whole_or_not_there(tmp_path):
    """Whatever its name; and what is not written for want of a folder is said, not hidden."""
    target = tmp_path / ("é" * 125 + ".txt")
    with whole(target) as new:
        assert new.read_bytes() == b""
        assert new.parent == target.parent
        new.write_text("all")
    assert target.read_text() == "all"
    with pytest.raises(KeyError), whole(tmp_path / "other"):
        raise KeyError
    for wrong, words in ((target / "x", "Not a directory"), (tmp_path / "no" / "x", "No such"), (tmp_path, "Is a dir")):
        with pytest.raises(WriteFailed, match=f"cannot be written: {words}"), whole(wrong):
            pytest.fail("nothing can be written there")
    assert list(tmp_path.iterdir()) == [target]
    alike = [beside(tmp_path / ("a" * 100 + end)) for end in "bc"]
    assert alike[0] != alike[1]
