"""Sets, problems and laws keep copies: what becomes of the arrays they were given does not matter to them."""

import inspect
import pickle

import numpy as np
import pytest

import jostle as jo
from plain import crowd

CORNERS = [[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0]]
PLACES = [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]


def numbers(*values):
    return np.array(values, dtype=float)


def room():
    return jo.crowds.Room(CORNERS, doors=[[[4.0, 1.0], [4.0, 2.0]]])


def grid():
    return jo.macro.Grid([0, 0], [1, 1], h=0.25)


def saturated():
    return np.eye(4, dtype=bool)


BALLS = {"q0": numbers(*PLACES), "mass": numbers(1, 2, 3)}
MADE = {
    jo.convex.Polyhedron: {
        "G": np.eye(2), "c": numbers(1, 1), "length": numbers(1, 1), "noise": numbers(0, 0),
        "equal": np.array([True, False]),
    },
    jo.convex.Cone: {"G": np.eye(2)},
    jo.HalfSpace: {"normal": numbers(0, 1), "offset": numbers(0.5), "radii": numbers(1, 1)},
    jo.Box: {"lower": numbers(0, 0), "upper": numbers(1, 1), "radii": numbers(0.1, 0.1)},
    jo.Outside: {"centre": numbers(0, 0), "radius": numbers(1), "radii": numbers(1, 1)},
    jo.Inside: {"centre": numbers(0, 0), "radius": numbers(1), "radii": numbers(0.1, 0.1)},
    jo.Balls: {"radii": numbers(1, 1), "period": numbers(9, np.inf)},
    jo.Line: {"radii": numbers(1, 1)},
    jo.Segments: {"ends": numbers([[0, 0], [1, 0]]), "radii": numbers(0.1)},
    jo.Polygons: {"vertices": numbers([[2, 2], [3, 2], [3, 3]]), "radii": numbers(0.1)},
    jo.Vessel: {"profile": numbers([1, 0], [1, 2]), "axis": numbers(0, 0, 1), "base": numbers(0, 0, 0)},
    jo.Rods: {"pairs": np.array([[0, 1], [1, -1]]), "lengths": numbers(1, 1), "points": numbers([0, 0])},
    jo.Motion: {**BALLS, "v0": numbers(*PLACES), "force": numbers(*PLACES), "present": np.array([True, True, False])},
    jo.Sweeping: {**BALLS, "velocity": numbers(*PLACES)},
    jo.vibro.Copies: {
        "q0": numbers([1]), "force": numbers(1), "v0": numbers([1]), "parameters": numbers([1]),
        "restitution": numbers(0.5), "mass": numbers(1), "t0": numbers(0),
    },
    jo.crowds.Stop: {"place": numbers(1, 1)},
    jo.crowds.WaitingArea: {"corners": numbers(*CORNERS)},
    jo.macro.StickyBlocks: {"x": numbers(0, 2), "lengths": numbers(1, 1), "v": numbers(1, -1)},
    jo.macro.Interval: {"edges": numbers(0, 1, 2), "saturated": np.array([True, False])},
    jo.macro.Grid: {"lower": numbers(0, 0), "upper": numbers(1, 1), "h": 0.25},
    jo.macro.Disc: {"centre": numbers(0, 0), "radius": 1.0},
    jo.macro.Polygon: {"points": numbers(*CORNERS)},
}  # fmt: skip


def source(lower, upper, velocity):
    return jo.Source((lower, upper), rate=1.0, within=jo.Balls([0.1]), velocity=velocity)


def table(steel):
    return jo.Restitution({("steel", "wall 0"): 0.5}, groups={"steel": steel})


def plan(area, exit_, wall):
    return jo.crowds.Plan(area, exits={"east": exit_}, walls=[wall])


def group(start, radius, speed):
    return jo.crowds.Group("some", 2, radius=radius, start=start, speed=speed)


def people(q0, radius, speed, reaction):
    return crowd(3, room=room(), q0=q0, radius=radius, speed=speed, reaction=reaction)


def law(zone, walls):
    return jo.macro.Isotropic(grid(), zone, walls=walls)


def dense_crowd(density, walls, exits):
    return jo.macro.Crowd(grid=grid(), density=density, velocity=grid().velocity(1, 0), walls=walls, exits=exits)


MADE |= {
    source: {"lower": numbers(0, 0), "upper": numbers(1, 1), "velocity": numbers(0, 1)},
    table: {"steel": np.array([0, 1])},
    plan: {"area": numbers(*CORNERS), "exit_": numbers([4, 1], [4, 2]), "wall": numbers([1, 1], [2, 2])},
    group: {"start": numbers(*CORNERS), "radius": numbers(0.2, 0.2), "speed": numbers(1, 1)},
    people: {"q0": numbers(*PLACES), "radius": np.full(3, 0.2), "speed": np.ones(3), "reaction": np.zeros(3)},
    law: {"zone": saturated(), "walls": saturated()[::-1].copy()},
    dense_crowd: {"density": 0.5 * saturated(), "walls": np.zeros((4, 4), bool), "exits": np.zeros((4, 4), bool)},
}


def arrays_in(value, path="", seen=None):
    """All arrays that an object holds, in its fields, in containers, and in functions."""
    seen = {} if seen is None else seen
    if id(value) in seen or isinstance(value, str | bytes | int | float | type) or inspect.ismodule(value):
        return
    seen[id(value)] = value
    inner = {}
    if isinstance(value, np.ndarray):
        yield path, value
    elif isinstance(value, dict):
        inner = {f"[{key!r}]": one for key, one in value.items()}
    elif isinstance(value, tuple | list | set | frozenset):
        inner = {f"[{key}]": one for key, one in enumerate(value)}
    elif inspect.isfunction(value):
        inner = {f"<{k}>": cell.cell_contents for k, cell in enumerate(value.__closure__ or ())}
    else:
        slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        inner = {f".{name}": getattr(value, name, None) for name in [*getattr(value, "__dict__", ()), *slots]}
    for name, one in inner.items():
        yield from arrays_in(one, path + name, seen)


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_no_array_of_the_caller_is_kept(make):
    given = {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in MADE[make].items()}
    made = make(**given)
    kept = [
        f"{name} at {path}"
        for path, inside in arrays_in(made)
        for name, value in given.items()
        if isinstance(value, np.ndarray) and np.shares_memory(value, inside)
    ]
    assert not kept


def test_an_array_that_is_kept_is_found():
    c = np.ones(1)
    rows = jo.convex.NormalRows(np.zeros(1, int), c.astype(int), c[:, None], 2)
    assert [path for path, inside in arrays_in(rows)] == [
        ".i", ".j", ".normal",
    ]  # fmt: skip
    assert any(inside is c for _, inside in arrays_in({"a": [lambda: c]}))


def test_a_polyhedron_and_a_pickled_problem_are_what_was_given():
    c, force = np.array([-1.0]), np.array([0.0, -1.0])
    K, problem = jo.convex.Polyhedron([[1.0]], c), jo.Motion(q0=[0.0, 0.0], force=force)
    c[:], force[:] = 7.0, 7.0
    assert K.slack([3.0]).tolist() == [2.0]
    for one in (problem, pickle.loads(pickle.dumps(problem))):
        assert one.force(0.0, one.q0, one.v0).tolist() == [0.0, -1.0]
