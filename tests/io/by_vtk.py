"""What VTK's own readers make of a file."""

from typing import NamedTuple

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOHDF import vtkHDFReader
from vtkmodules.vtkIOXML import vtkXMLPolyDataReader


class Seen(NamedTuple):
    """A vtkPolyData as arrays."""

    points: np.ndarray
    vertices: np.ndarray
    lines: np.ndarray
    point_data: dict
    cell_data: dict


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
    return Seen(
        points, cells(data.GetVerts()), cells(data.GetLines()), fields(data.GetPointData()), fields(data.GetCellData())
    )


def cells(array):
    """(number of cells, points of each), all cells alike."""
    ids, count = vtk_to_numpy(array.GetConnectivityArray()), array.GetNumberOfCells()
    offsets = vtk_to_numpy(array.GetOffsetsArray())
    assert len(set(np.diff(offsets))) <= 1
    return ids.reshape(count, -1).copy() if count else np.zeros((0, 0))


def fields(data):
    """The arrays of points or cells by name."""
    return {data.GetArrayName(k): vtk_to_numpy(data.GetArray(k)).copy() for k in range(data.GetNumberOfArrays())}
