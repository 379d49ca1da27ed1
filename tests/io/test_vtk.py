"""VTK reads our files: the packages of ParaView are the judge of the layout."""

import tempfile
from pathlib import Path

import by_vtk
import numpy as np
import pytest
from frames import points, runs
from hypothesis import given, settings
from hypothesis import strategies as st
from vtkmodules.vtkFiltersCore import vtkCellCenters, vtkTriangleFilter

import jostle as jo
from jostle.io.trajectory import Writer
from rows import examples


def drawn(shape, q):
    """(n, 3) the points of those who are there, and their numbers."""
    n = points(shape)
    flat = q.reshape(n, -1 if n else 1) if len(shape) == 2 and shape[1] <= 3 else q.reshape(n, 1)
    here = np.flatnonzero(~np.isnan(flat).any(axis=1))
    return np.pad(flat[here], ((0, 0), (0, 3 - flat.shape[1]))), here


@settings(max_examples=examples(25), deadline=None)
@given(runs(), st.booleans(), st.randoms(use_true_random=False))
def test_vtk_sees_the_bodies_and_contacts_of_every_frame_in_any_order(run, contacts, random):
    shape, frames = run
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.vtkhdf"
        with Writer(path, shape=shape, contacts=contacts, about={}) as file:
            for k, frame in enumerate(frames):
                file.frame(0.5 * k, *frame)
        reader = by_vtk.reader(path)
        if len(frames) > 1:
            assert by_vtk.times(reader) == [0.5 * k for k in range(len(frames))]
        for k in random.sample(range(len(frames)), len(frames)):
            q, u, radii, pairs, multipliers, normals = frames[k]
            found, (expected, here) = by_vtk.at(reader, 0.5 * k), drawn(shape, q)
            np.testing.assert_array_equal(found.points, expected)
            assert set(found.point_data) == {"velocity", "body", "radius"}
            if len(here) == 0:
                assert len(found.vertices) == len(found.lines) == 0
                continue
            np.testing.assert_array_equal(found.point_data["body"], here)
            np.testing.assert_array_equal(found.point_data["radius"], radii[here])
            np.testing.assert_array_equal(found.point_data["velocity"], drawn(shape, np.where(np.isnan(q), q, u))[0])
            assert found.vertices.tolist() == [list(range(len(here)))]
            if not contacts:
                assert len(found.lines) == 0
                continue
            active = multipliers != 0.0
            assert len(found.lines) == active.sum()
            np.testing.assert_array_equal(found.cell_data["impulse"], [0.0, *multipliers[active]])
            np.testing.assert_array_equal(found.cell_data["first_body"][1:], pairs[active, 0])
            np.testing.assert_array_equal(found.cell_data["second_body"][1:], pairs[active, 1])
            if normals.shape[1] <= 3:
                np.testing.assert_array_equal(found.cell_data["normal"][1:, : normals.shape[1]], normals[active])
            for line, (i, j) in zip(found.lines, pairs[active], strict=True):
                bodies = here[line]
                if i < 0:
                    assert line.tolist() == [0, 0]
                elif i in here:
                    assert bodies.tolist() == [i, j if j in here else i]
                elif j in here:
                    assert bodies.tolist() == [j, j]


def test_filters_of_vtk_survive_frames_without_bodies_or_contacts(tmp_path):
    path = tmp_path / "run.vtkhdf"
    with Writer(path, shape=(3, 2), contacts=True, about={}) as file:
        for k, present in enumerate([0, 3, 0, 0, 2, 3, 1, 0]):
            q = np.where(np.arange(3)[:, None] < present, np.arange(6.0).reshape(3, 2), np.nan)
            p = np.array([1.0, 2.0])[: 2 * (k % 3 == 1)]
            file.frame(k, q, q, 1.0, np.array([[0, 1], [1, -1]])[: len(p)], p, np.ones((len(p), 2)))
    reader = by_vtk.reader(path)
    for k in (7, 4, 1, 0, 5, 2, 3, 6):
        reader.UpdateTimeStep(k)
        for kind in (vtkCellCenters, vtkTriangleFilter):
            judge = kind()
            judge.SetInputData(reader.GetOutputDataObject(0))
            judge.Update()
            assert judge.GetOutput().GetNumberOfPoints() >= 0
    assert len(by_vtk.at(reader, 4).lines) == 2


def test_vtk_sees_a_pile_of_discs_with_its_contact_forces(tmp_path):
    q0 = np.array([[0.0, 1.0], [0.0, 3.0]])
    within = jo.Balls([1.0, 1.0]) & jo.HalfSpace([0.0, 1.0], radii=1.0)
    pile = jo.Motion(q0=q0, force=np.tile([0.0, -10.0], (2, 1)), within=within)
    path = jo.io.write(jo.solve(pile, jo.Maury(), t=0.1, h=0.01), tmp_path / "pile.vtkhdf")
    reader = by_vtk.reader(path)
    assert len(by_vtk.times(reader)) == 11
    found = by_vtk.at(reader, 0.1)
    np.testing.assert_allclose(found.points, [[0, 1, 0], [0, 3, 0]], atol=1e-6)
    assert found.point_data["radius"].tolist() == [1.0, 1.0]
    pairs = np.stack([found.cell_data["first_body"], found.cell_data["second_body"]], axis=1)[1:]
    of = {tuple(pair): k for k, pair in enumerate(pairs.tolist(), start=1)}
    assert found.cell_data["impulse"][of[0, 1]] == pytest.approx(0.1)
    assert found.cell_data["impulse"][of[0, -1]] == pytest.approx(0.2)
    assert found.cell_data["normal"][of[0, 1]].tolist() == [0, 1, 0]
    assert found.cell_data["normal"][of[0, -1]].tolist() == [0, -1, 0]
    assert found.lines[of[0, 1] - 1].tolist() == [0, 1]
