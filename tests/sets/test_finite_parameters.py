"""NaN and infinity as parameters: refused, or what the documentation says; a wall never disappears in silence."""

import numpy as np
import pytest

import jostle as jo
from jostle.contacts import check_start
from jostle.crowds.model.gates import ClosedGates
from jostle.crowds.model.stairs import ClosedLifts
from jostle.sets.base import BodySet, ConstraintSet, Free, Intersection
from jostle.sets.joints import Joints
from jostle.sets.walls import Obstacles, Walls

BODIES = np.array([[0.5, 0.5], [2.0, 2.0]])
BALL = np.array([[1.0, 0.0, 1.0]])
ROW = np.array([0.0, 5.0])
BAD = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}

PARAMETERS = {
    "HalfSpace normal": (lambda v: jo.HalfSpace([v, 1.0], radii=0.1), BODIES, ()),
    "HalfSpace offset": (lambda v: jo.HalfSpace([0.0, 1.0], v, radii=0.1), BODIES, ()),
    "HalfSpace offset in time": (lambda v: jo.HalfSpace([0.0, 1.0], lambda t: v, radii=0.1), BODIES, ()),
    "HalfSpace radii": (lambda v: jo.HalfSpace([0.0, 1.0], radii=[0.1, v]), BODIES, ()),
    "Box lower": (lambda v: jo.Box([v, 0.0], [9.0, 9.0], radii=0.1), BODIES, ("-inf",)),
    "Box upper": (lambda v: jo.Box([0.0, 0.0], [v, 9.0], radii=0.1), BODIES, ("inf",)),
    "Box lower in time": (lambda v: jo.Box(lambda t: [v, 0.0], [9.0, 9.0], radii=0.1), BODIES, ("-inf",)),
    "Box radii": (lambda v: jo.Box([0.0, 0.0], [9.0, 9.0], radii=v), BODIES, ()),
    "Outside centre": (lambda v: jo.Outside([v, 9.0], 1.0, radii=0.1), BODIES, ()),
    "Outside centre in time": (lambda v: jo.Outside(lambda t: [v, 9.0], 1.0, radii=0.1), BODIES, ()),
    "Outside radius": (lambda v: jo.Outside([9.0, 9.0], v, radii=0.1), BODIES, ()),
    "Outside radii": (lambda v: jo.Outside([9.0, 9.0], 1.0, radii=v), BODIES, ()),
    "Inside centre": (lambda v: jo.Inside([v, 0.0], 9.0, radii=0.1), BODIES, ()),
    "Inside radius": (lambda v: jo.Inside([0.0, 0.0], v, radii=0.1), BODIES, ()),
    "Inside radius in time": (lambda v: jo.Inside([0.0, 0.0], lambda t: v, radii=0.1), BODIES, ()),
    "Segments ends": (lambda v: jo.Segments([[[v, 0.0], [4.0, 5.0]]], radii=0.1), BODIES, ()),
    "Segments radii": (lambda v: jo.Segments([[[4.0, 0.0], [4.0, 5.0]]], radii=v), BODIES, ()),
    "Polygons vertices": (lambda v: jo.Polygons([[v, 0.0], [9.0, 5.0], [7.0, 7.0]], radii=0.1), BODIES, ()),
    "Polygons radii": (lambda v: jo.Polygons([[8.0, 0.0], [9.0, 5.0], [7.0, 7.0]], radii=v), BODIES, ()),
    "Vessel profile": (lambda v: jo.Vessel([(v, 0.0), (9.0, 5.0)], radii=0.1), BALL, ()),
    "Vessel radii": (lambda v: jo.Vessel([(9.0, 0.0), (9.0, 5.0)], radii=v), BALL, ()),
    "Vessel axis": (lambda v: jo.Vessel([(9.0, 0.0), (9.0, 5.0)], radii=0.1, axis=(0.0, v, 1.0)), BALL, ()),
    "Vessel base": (lambda v: jo.Vessel([(9.0, 0.0), (9.0, 5.0)], radii=0.1, base=(0.0, v, 1.0)), BALL, ()),
    "Vessel staves": (lambda v: jo.Vessel([(9.0, 0.0), (9.0, 5.0)], radii=0.1, staves=v), BALL, ()),
    "Balls radii": (lambda v: jo.Balls([0.1, v]), BODIES, ()),
    "Balls radii in time": (lambda v: jo.Balls(lambda t: [0.1, v]), BODIES, ()),
    "Balls period": (lambda v: jo.Balls([0.1, 0.1], period=[9.0, v]), BODIES, ("inf",)),
    "Clumps arms": (lambda v: jo.Clumps([([[0.0, v]], 0.1), ([[0.0, 0.0]], 0.1)]), BODIES, ()),
    "Clumps radii": (lambda v: jo.Clumps([([[0.0, 0.0]], v), ([[0.0, 0.0]], 0.1)]), BODIES, ()),
    "Line radii": (lambda v: jo.Line([0.1, v]), ROW, ()),
    "Line lower": (lambda v: jo.Line([0.1, 0.1], lower=v), ROW, ("-inf",)),
    "Line upper": (lambda v: jo.Line([0.1, 0.1], upper=v), ROW, ("inf",)),
    "Rods lengths": (lambda v: jo.Rods([(0, 1)], v), BODIES, ()),
    "Rods lengths in time": (lambda v: jo.Rods([(0, 1)], lambda t: v), BODIES, ()),
    "Rods points": (lambda v: jo.Rods([(0, -1)], 1.0, points=[[0.5, v]]), BODIES, ()),
    "Rods points in time": (lambda v: jo.Rods([(0, -1)], 1.0, points=lambda t: [[0.5, v]]), BODIES, ()),
    "constraints length": (lambda v: jo.constraints(length=v)(lambda t, q: [q[0]]), ROW + 1.0, ()),
    "constraints gap": (lambda v: jo.constraints(lambda t, q: [q[0], v]), ROW + 1.0, ()),
}
"""A set with one bad parameter, a configuration, and the values that stand for an open side."""


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(("make", "q", "open_side"), PARAMETERS.values(), ids=PARAMETERS)
def test_a_set_refuses_what_is_not_finite(make, q, open_side, bad):
    if bad in open_side:
        check_start(make(BAD[bad]).linearise(0.0, q, 0.0))
        return
    with pytest.raises((jo.InvalidValue, jo.errors.NotFinite, jo.errors.UndefinedGradient)):
        check_start(make(BAD[bad]).linearise(0.0, q, 0.0))


def test_every_set_is_tried():
    def descendants(kind):
        return {kind} | {deeper for child in kind.__subclasses__() for deeper in descendants(child)}

    own = {
        kind
        for kind in descendants(ConstraintSet)
        if kind.__module__.startswith("jostle.") and not kind.__name__.startswith("_")
    }
    tried = {name.split()[0] for name in PARAMETERS} | {"UserSet"}
    own -= {jo.Hinges, jo.Motors, jo.Shapes}  # tests of hinges and of shapes try their parameters
    internal = {ConstraintSet, BodySet, Free, Intersection, Joints, Obstacles, Walls, ClosedGates, ClosedLifts}
    assert {kind.__name__ for kind in own - internal} == tried - {"constraints"}


def test_a_wall_that_becomes_infinite_during_a_run_is_noticed():
    floor = jo.HalfSpace([0.0, 1.0], lambda t: 0.0 if t < 0.45 else -np.inf)
    with pytest.raises(jo.errors.NotFinite, match=r"offset of the plane .* is -inf at t = 0\.5") as raised:
        jo.solve(jo.Motion(q0=[0.0, 0.0], force=[0.0, -1.0], within=floor), jo.Maury(), t=1.0, h=0.1)
    assert raised.value.step == 5


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize(
    "make",
    [
        lambda v: jo.models.impact_oscillator(omega=v),
        lambda v: jo.models.double_pendulum(gravity=v),
        lambda v: jo.models.vibrating_table(v, e=0.5),
        lambda v: jo.models.chain(gravity=v),
        lambda v: jo.models.cradle(gap=v),
        lambda v: jo.models.rack(gap=v),
        lambda v: jo.models.spheres([0.1, 0.1], box=([0, 0], [4, 4]), gravity=v),
        lambda v: jo.crowds.AvoidJams(None, flow=v),
    ],
)
def test_a_model_refuses_what_is_not_finite(make, bad):
    with pytest.raises((jo.InvalidValue, jo.errors.NotFinite)):
        make(bad)
