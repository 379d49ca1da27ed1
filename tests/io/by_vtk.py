"""What VTK's own readers make of a file."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOHDF import vtkHDFReader
from vtkmodules.vtkIOXML import vtkXMLPolyDataReader


class Seen(NamedTuple):
    """A vtkPolyData as arrays: the bodies and their contacts, and the walls."""

    points: np.ndarray
    vertices: np.ndarray
    lines: np.ndarray
    point_data: dict
    cell_data: dict
    walls: list
    """The points of each polyline."""
    wall_points: dict
    """What the points of walls have as point data."""
    wall_cells: dict
    """What the lines of walls have as cell data."""


def reader(path):
    """VTK's reader of VTKHDF."""
    return listened(vtkHDFReader(), path)


def listened(found, path):
    """A reader that keeps what it complains about; VTK goes on after an error."""
    found.complaints = []
    for event in ("ErrorEvent", "WarningEvent"):
        found.AddObserver(event, lambda _, what: found.complaints.append(what))
    found.SetFileName(str(path))
    found.UpdateInformation()
    assert not found.complaints
    return found


def times(found):
    """The times of a reader."""
    information, key = found.GetOutputInformation(0), vtkStreamingDemandDrivenPipeline.TIME_STEPS()
    return [information.Get(key, k) for k in range(information.Length(key))]


def at(found, t):
    """What there is at time t."""
    found.UpdateTimeStep(t)
    assert not found.complaints
    return seen(found.GetOutputDataObject(0))


def vtp(path):
    """What there is in an XML file."""
    found = listened(vtkXMLPolyDataReader(), path)
    found.Update()
    assert not found.complaints
    return seen(found.GetOutput())


def seen(data):
    """A copy as arrays: VTK may change its own."""
    points = np.zeros((0, 3)) if data.GetNumberOfPoints() == 0 else vtk_to_numpy(data.GetPoints().GetData()).copy()
    point_data, cell_data = fields(data.GetPointData()), fields(data.GetCellData())
    n = len(points) if "body" not in point_data else int((point_data["body"] >= 0).sum())
    vertices, (lines, starts) = corners(data.GetVerts()), cells(data.GetLines())
    of_bodies = np.logical_and.reduceat(lines < n, starts[:-1]) if len(lines) else np.zeros(0, dtype=bool)
    first = int(of_bodies.sum())
    assert of_bodies[:first].all(), "contacts come before walls"
    contacts, walls = lines[: starts[first]], lines[starts[first] :]
    assert (np.diff(starts[: first + 1]) == 2).all()
    assert (walls >= n).all()
    ours = len(vertices) + first
    return Seen(
        points[:n],
        vertices,
        contacts.reshape(first, 2),
        {name: values[:n] for name, values in point_data.items()},
        {name: values[:ours] for name, values in cell_data.items()},
        [points[lines[begin:end]] for begin, end in pairwise(starts[first:])],
        {name: values[n:] for name, values in point_data.items()},
        {name: values[ours:] for name, values in cell_data.items()},
    )


def cells(array):
    """The points of all cells, and where each begins."""
    return tuple(vtk_to_numpy(part()).copy() for part in (array.GetConnectivityArray, array.GetOffsetsArray))


def corners(array):
    """The points of each cell; all have as many."""
    ids, starts = cells(array)
    if len(starts) < 2:
        return np.zeros((0, 0))
    assert len(set(np.diff(starts))) == 1
    return ids.reshape(len(starts) - 1, -1)


def fields(data):
    """The arrays of points or cells by name."""
    return {data.GetArrayName(k): vtk_to_numpy(data.GetArray(k)).copy() for k in range(data.GetNumberOfArrays())}
