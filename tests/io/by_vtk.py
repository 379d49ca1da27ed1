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
    vertices, lines = cells(data.GetVerts()), cells(data.GetLines())
    contacts, walls = ([line for line in lines if (line < n).all() == inside] for inside in (True, False))
    ours = len(vertices) + len(contacts)
    assert all((line >= n).all() for line in walls)
    return Seen(
        points[:n],
        np.array(vertices).reshape(len(vertices), -1) if vertices else np.zeros((0, 0)),
        np.array(contacts).reshape(-1, 2),
        {name: values[:n] for name, values in point_data.items()},
        {name: values[:ours] for name, values in cell_data.items()},
        [points[line] for line in walls],
        {name: values[n:] for name, values in point_data.items()},
        {name: values[ours:] for name, values in cell_data.items()},
    )


def cells(array):
    """The points of each cell."""
    ids, offsets = (vtk_to_numpy(part()).copy() for part in (array.GetConnectivityArray, array.GetOffsetsArray))
    return [ids[begin:end] for begin, end in pairwise(offsets)]


def fields(data):
    """The arrays of points or cells by name."""
    return {data.GetArrayName(k): vtk_to_numpy(data.GetArray(k)).copy() for k in range(data.GetNumberOfArrays())}
