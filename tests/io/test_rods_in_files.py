"""Rods are stored in trajectory files, and pictures, the viewer and VTK show them from the file alone."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

import jostle as jo
from jostle.viz.encoding import Encoder
from jostle.viz.scene import Scene

T, H = 0.3, 0.05


def double_pendulum(points=((3.0, 0.0),)):
    rods = jo.Rods([(0, -1), (0, 1)], lengths=[1.0, 0.5], points=points)
    floor = jo.HalfSpace([0.0, 1.0], offset=-5.0)
    return jo.Motion(q0=[[4.0, 0.0], [4.5, 0.0]], force=[0.0, -9.81], within=rods & floor)


@pytest.fixture
def stored(tmp_path):
    jo.solve(double_pendulum(), jo.Maury(), t=T, h=H, output=tmp_path / "a.vtkhdf")
    return tmp_path / "a.vtkhdf"


def ends_of(q):
    return np.array([[q[0], [3.0, 0.0]], [q[0], q[1]]])


def test_rods_end_at_the_points_of_their_numbers(tmp_path):
    hangers = jo.Rods([(0, -1), (0, -3), (0, -2)], [5.0, 5.0, 3.0], points=[[4.0, 0.0], [0.0, 6.0], [-4.0, 0.0]])
    jo.solve(jo.Motion(q0=[[0.0, 3.0]], within=hangers), jo.Maury(), t=H, h=H, output=tmp_path / "a.vtkhdf")
    scene = Scene(jo.io.read(tmp_path / "a.vtkhdf"))
    ends = scene.rods(scene.frame(0))
    np.testing.assert_allclose(ends[:, 0], [[0.0, 3.0]] * 3, atol=1e-6)
    np.testing.assert_allclose(ends[:, 1], [[4.0, 0.0], [-4.0, 0.0], [0.0, 6.0]], atol=1e-6)


def test_a_file_shows_its_rods_in_pictures_and_in_the_viewer(stored):
    sol = jo.io.read(stored)
    assert sol.problem is None
    scene = Scene(sol)
    for k in (0, -1):
        frame = scene.frame(k)
        np.testing.assert_allclose(scene.rods(frame), ends_of(np.asarray(sol.q[k])), atol=1e-6)
    encoder = Encoder.of(scene)
    assert encoder.walls is None, "lines are sent with each frame"
    walls = np.frombuffer(encoder.encoded(frame), "<f4")[-8:].reshape(2, 2, 2) + encoder.origin
    np.testing.assert_allclose(walls, ends_of(np.asarray(sol.q[-1])), atol=1e-5)


def test_vtk_reads_one_line_for_each_rod(stored):
    reader = pytest.importorskip("vtkmodules.vtkIOHDF").vtkHDFReader()
    from vtkmodules.util.numpy_support import vtk_to_numpy

    reader.SetFileName(str(stored))
    reader.SetStep(6)
    reader.Update()
    found = reader.GetOutput()
    points = vtk_to_numpy(found.GetPoints().GetData())[:, :2]
    lines = vtk_to_numpy(found.GetLines().GetConnectivityArray()).reshape(-1, 2)
    q = np.asarray(jo.io.read(stored).q[6])
    np.testing.assert_allclose(points[lines[-2:]], ends_of(q), atol=1e-5)
    assert len(lines) == 3, "the floor and two rods"
    assert vtk_to_numpy(found.GetPointData().GetArray("body")).tolist()[:2] == [0, 1]


def test_a_resumed_file_with_rods_is_the_file_of_an_uninterrupted_run(stored, tmp_path):
    for t, resume in ((T / 2, False), (T, True)):
        output = jo.io.Output(tmp_path / "b.vtkhdf", checkpoint=tmp_path / "b.checkpoint", resume=resume)
        jo.solve(double_pendulum(), jo.Maury(), t=t, h=H, output=output)
    for name in ("Points", "Lines/Connectivity", "Lines/Offsets"):
        with h5py.File(tmp_path / "b.vtkhdf") as found, h5py.File(stored) as expected:
            np.testing.assert_array_equal(found[f"VTKHDF/{name}"], expected[f"VTKHDF/{name}"])
    assert Scene(jo.io.read(tmp_path / "b.vtkhdf")).facts.rods[0].pairs.tolist() == [[0, -1], [0, 1]]
    copy = jo.io.write(jo.io.read(tmp_path / "b.vtkhdf"), tmp_path / "c.vtkhdf")
    assert jo.io.read(copy).facts.rods[0].points.tolist() == [[3.0, 0.0]]


def test_rods_to_points_that_move_are_shown_from_memory_only(tmp_path):
    moving = double_pendulum(lambda t: np.array([[3.0 + 0.1 * np.sin(t), 0.0]]))
    sol = jo.solve(moving, jo.Maury(), t=T, h=H)
    jo.io.write(sol, tmp_path / "a.vtkhdf")
    scene = Scene(sol)
    frame = scene.frame(-1)
    q, point = sol.q[-1], [3.0 + 0.1 * np.sin(T), 0.0]
    np.testing.assert_allclose(scene.rods(frame), [[q[0], point], [q[0], q[1]]], atol=1e-9)
    assert not Scene(jo.io.read(tmp_path / "a.vtkhdf")).facts.rods


def test_a_pendulum_whose_q_is_flat_has_the_dimension_of_its_point(tmp_path):
    rods = jo.Rods([(0, -1)], 1.0, points=[[0.0, 0.0]])
    sol = jo.solve(jo.Motion(q0=[1.0, 0.0], within=rods), jo.Maury(), t=0.1, h=0.1, output=tmp_path / "a.vtkhdf")
    assert sol.facts.dimension == 2
    scene = Scene(jo.io.read(tmp_path / "a.vtkhdf"))
    np.testing.assert_allclose(scene.rods(scene.frame(0)), [[[1.0, 0.0], [0.0, 0.0]]])


def test_the_overlap_of_rods_is_a_fraction_of_their_lengths(stored):
    assert "of a radius or of the length of a rod" in repr(jo.io.read(stored))
