"""Vessels: distances against hand and brute force, gradients, staves, and balls that move in them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial import KDTree

import jostle as jo
from jostle.sets.vessels import Vessel
from rows import few

CYLINDER = [(1.0, 0.0), (1.0, 2.0)]
CONE = [(0.0, 0.0), (1.0, 1.0)]
SILO = [(0.2, 0.0), (1.0, 1.0), (1.0, 3.0)]
HOURGLASS = [(1.0, 1.0), (0.25, 0.0), (1.0, -1.0)]
GLASS = [(0.0, 0.0), (1.0, 0.0), (1.0, 2.0)]
LID = [(0.5, 1.0), (1.0, 1.0)]
PROFILES = {"cylinder": CYLINDER, "cone": CONE, "silo": SILO, "hourglass": HOURGLASS, "glass": GLASS, "lid": LID}
every_profile = pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
TILTED, BASE = np.array([1.0, -2.0, 2.0]) / 3.0, np.array([0.3, 0.5, -0.2])
UP = np.array([0.0, 0.0, 1.0])


def parts(profile, q, **options):
    """(n, parts) the gaps of the parts, without the staves."""
    q = np.atleast_2d(q)
    return Vessel(profile, radii=0.1, **options).gaps(0.0, q).reshape(len(q), -1)[:, : len(profile) - 1]


def frame(axis):
    """A rotation that takes the third unit vector to the axis."""
    first = np.cross(axis, [1.0, 0.0, 0.0])
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(axis, first), axis], axis=1)


def surface(start, end, spacing=0.01):
    """Points of the part between two points of a profile, around the third axis."""
    start, end = np.array(start), np.array(end)
    points = []
    for s in np.linspace(0.0, 1.0, 1 + int(np.linalg.norm(end - start) / spacing)):
        rho, z = start + s * (end - start)
        angle = np.linspace(0.0, 2.0 * np.pi, 1 + int(2.0 * np.pi * rho / spacing), endpoint=False)
        points.append(np.stack([rho * np.cos(angle), rho * np.sin(angle), np.full_like(angle, z)], axis=1))
    return np.concatenate(points)


# --- gaps ---


@pytest.mark.parametrize(
    ("profile", "q", "expected"),
    [
        (CYLINDER, [0.3, 0.4, 1.0], [0.4]),
        (CYLINDER, [0.0, 3.0, 1.0], [1.9]),  # from outside
        (CYLINDER, [0.0, 0.0, 1.0], [0.9]),  # on the axis
        (CYLINDER, [0.6, 0.8, 4.0], [1.9]),  # above the rim
        (CYLINDER, [0.0, 0.4, 2.8], [0.9]),  # across the rim: 3, 4, 5
        (CONE, [0.0, 0.0, 0.5], [np.sqrt(0.125) - 0.1]),
        (CONE, [0.3, 0.0, 0.5], [0.1 * np.sqrt(2.0) - 0.1]),
        (CONE, [0.0, 0.0, -2.0], [1.9]),  # below the tip
        (GLASS, [0.3, 0.4, 0.75], [0.65, 0.4]),
        (GLASS, [0.0, 0.0, 0.5], [0.4, 0.9]),
        (GLASS, [4.0, 0.0, -4.0], [4.9, 4.9]),
        (LID, [0.0, 0.0, 1.0], [0.4]),  # in the hole
        (LID, [0.0, 0.7, 1.25], [0.15]),
        (SILO, [0.2, 0.0, 0.0], [-0.1, np.sqrt(0.64 + 1.0) - 0.1]),  # the centre on the rim
        (HOURGLASS, [0.0, 0.0, 0.0], [0.15, 0.15]),
    ],
)
def test_gaps_by_hand(profile, q, expected):
    np.testing.assert_allclose(parts(profile, q)[0], expected, atol=1e-15)


@every_profile
def test_the_gap_is_the_distance_to_the_nearest_point_of_the_surface(profile):
    """Points of the surface 0.01 apart: the nearest is at most 0.01 / sqrt 2 beside the true one."""
    q = np.random.default_rng(0).uniform(-1.5, 2.5, (300, 3))
    gaps = parts(profile, q)
    for k, (start, end) in enumerate(pairwise(profile)):
        sampled = KDTree(surface(start, end)).query(q)[0] - 0.1
        assert (gaps[:, k] <= sampled + 1e-12).all()
        far = gaps[:, k] > 0.1
        assert (sampled[far] - gaps[far, k]).max() < 0.01**2 / 0.4
        assert (sampled - gaps[:, k]).max() < 0.01


@every_profile
@pytest.mark.parametrize("axis", [TILTED, -UP, 5.0 * TILTED])
def test_a_vessel_may_stand_in_any_direction(profile, axis):
    q = np.random.default_rng(1).uniform(-1.5, 2.5, (50, 3))
    there = BASE + q @ frame(axis / np.linalg.norm(axis)).T
    moved = parts(profile, there, axis=axis, base=BASE)
    np.testing.assert_allclose(moved, parts(profile, q), atol=1e-14)


def test_the_smallest_gap_is_that_of_a_part():
    """It is found without the staves."""
    q = np.random.default_rng(2).uniform(-1.5, 2.5, (50, 3))
    for profile in PROFILES.values():
        vessel = Vessel(profile, radii=0.1)
        assert vessel.gap(0.0, q) == vessel.gaps(0.0, q).min() == parts(profile, q).min()


# --- gradients ---


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(PROFILES)), st.sampled_from([(0.0, 0.0, 1.0), tuple(TILTED)]))
def test_the_gradient_is_the_derivative_of_the_gap(seed, name, axis):
    """Of parts and of staves."""
    vessel = Vessel(PROFILES[name], radii=0.1, axis=axis, base=BASE)
    x, step = np.random.default_rng(seed).uniform(-1.5, 2.5, 3), 1e-6
    contacts = vessel.linearise(0.0, x)
    assume(contacts.gap.min() > -0.09)  # a centre in the wall is on an edge of the distance
    G = contacts.G.toarray()
    columns = [(vessel.gaps(0.0, x + step * e) - vessel.gaps(0.0, x - step * e)) / (2.0 * step) for e in np.eye(3)]
    nearby = [vessel.linearise(0.0, x + step * e).G.toarray() for e in (*np.eye(3), *-np.eye(3))]
    assume(max(np.abs(other - G).max() for other in nearby) < 1e-3)  # not across an edge
    np.testing.assert_allclose(G, np.stack(columns, axis=1), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(G, axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("axis", [UP, TILTED])
@pytest.mark.parametrize("staves", [0, 6])
def test_on_the_axis_some_side_is_the_nearest(axis, staves):
    """No error, whether it touches or not: one of the directions across the axis."""
    for radius in (0.5, 1.0):
        tube = Vessel(CYLINDER, radii=radius, axis=axis, staves=staves)
        contacts = tube.linearise(0.0, 0.9 * axis)
        np.testing.assert_allclose(contacts.gap, 1.0 - radius, atol=1e-15)
        G = contacts.G.toarray()
        np.testing.assert_allclose(np.linalg.norm(G, axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(G @ axis, 0.0, atol=1e-14)


def test_on_the_axis_a_floor_is_below():
    contacts = Vessel(GLASS, radii=0.1).linearise(0.0, np.array([0.0, 0.0, 0.5]))
    assert contacts.G.toarray()[0].tolist() == [0.0, 0.0, 1.0]


def test_a_centre_on_the_wall_has_no_direction():
    q = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.5]])
    with pytest.raises(
        jo.errors.UndefinedGradient, match="centre of body 1 lies on vessel part 1; move it off the wall"
    ):
        Vessel(SILO, radii=0.1).linearise(0.0, q, 0.2)


# --- staves ---


@every_profile
@pytest.mark.parametrize("axis", [UP, TILTED])
def test_staves_forbid_nothing_that_the_wall_allows(profile, axis):
    """Inside, outside, above and below: no stave is nearer than its part."""
    q = np.random.default_rng(3).uniform(-1.5, 2.5, (400, 3))
    vessel = Vessel(profile, radii=0.1, axis=axis, base=BASE)
    gaps = vessel.gaps(0.0, q).reshape(len(q), -1)
    names = vessel.names
    for row, name in enumerate(names):
        if name.startswith("stave"):
            part = names.index(name.split(" of ")[1])
            assert (gaps[:, row] >= gaps[:, part] - 1e-14).all()


def test_staves_of_a_cylinder_are_planes_for_those_inside():
    """The gap of the stave at e is R - r - e . q: a prism around the cylinder, of as many sides."""
    q = np.random.default_rng(4).uniform(-0.6, 0.6, (20, 3)) + UP
    gaps = Vessel(CYLINDER, radii=0.1, staves=4).gaps(0.0, q).reshape(20, 5)
    e = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    np.testing.assert_allclose(gaps[:, 1:], 0.9 - q @ e.T, atol=1e-14)


def test_staves_of_a_cylinder_are_lines_for_those_outside():
    gaps = Vessel(CYLINDER, radii=0.1, staves=4).gaps(0.0, np.array([0.0, 4.0, 1.0]))
    np.testing.assert_allclose(gaps, [2.9, np.sqrt(17.0) - 0.1, 2.9, np.sqrt(17.0) - 0.1, 4.9], atol=1e-14)


@given(st.integers(0, 2**32 - 1))
def test_gaps_of_staves_are_convex_inside(seed):
    random = np.random.default_rng(seed)
    angle, rho, z = (
        random.uniform(0.0, 6.3, (2, 30)),
        random.uniform(0.0, 0.9, (2, 30)),
        random.uniform(0.1, 0.9, (2, 30)),
    )
    a, b = np.stack([rho * z * np.cos(angle), rho * z * np.sin(angle), z], axis=2)
    cone = Vessel(CONE, radii=0.1)
    at_a, at_b, between = (cone.gaps(0.0, q).reshape(30, -1)[:, 1:] for q in (a, b, (a + b) / 2.0))
    assert (between <= (at_a + at_b) / 2.0 + 1e-13).all()


def test_a_floor_without_a_hole_has_no_staves():
    assert Vessel(GLASS, radii=0.1, staves=2).names == (
        "vessel part 0", "vessel part 1", "stave 0 of vessel part 1", "stave 1 of vessel part 1",
    )  # fmt: skip
    assert len(Vessel(LID, radii=0.1, staves=2).names) == 3


def test_rows_are_described_in_words():
    q = np.zeros((4, 3)) + UP
    contacts = Vessel(SILO, radii=0.1, staves=3).linearise(0.0, q)
    assert contacts.describe(3 * 8 + 1) == "body 3 and vessel part 1"
    assert contacts.describe(2 * 8 + 7) == "body 2 and stave 2 of vessel part 1"
    assert contacts.pairs[3 * 8 + 1].tolist() == [3, -2]


# --- balls that move in them ---


def run(vessel, q0, v0=(0.0, 0.0, 0.0), *, t=1.5, h=0.01, gravity=9.81):
    ball = jo.Motion(q0=q0, v0=v0, force=[0.0, 0.0, -gravity], within=vessel)
    return jo.solve(ball, jo.Maury(), t=t, h=h)


@pytest.mark.parametrize("q0", few([[0.0, 0.0, 0.8], [1e-3, 0.0, 0.8], [0.3, 0.0, 0.8], [0.2, 0.1, 0.8]]))
def test_a_ball_comes_to_rest_in_the_tip_of_a_cone(q0):
    """At the height r sqrt 2. With one row, that of the nearest side, it never does and goes in by a tenth of r."""
    cone = Vessel(CONE, radii=0.2)
    sol = run(cone, q0)
    np.testing.assert_allclose(sol.q[-1], [0.0, 0.0, 0.2 * np.sqrt(2.0)], atol=1e-9)
    np.testing.assert_allclose(sol.u[-1], 0.0, atol=1e-9)
    assert min(cone.gap(0.0, q) for q in sol.q) > -1e-3
    bare = Vessel(CONE, radii=0.2, staves=0)
    assert min(bare.gap(0.0, q) for q in run(bare, q0).q) < -1e-2


def test_along_the_wall_the_overshoot_is_of_second_order():
    """A ball that goes around in a cylinder, l = h v a step: l^2 / (2 rho) beyond, and no more for it."""
    overshoot = []
    for h in (0.02, 0.01):
        tube = Vessel([(1.0, -1.0), (1.0, 1.0)], radii=0.2, staves=0)
        sol = run(tube, [0.8, 0.0, 0.0], [0.0, 1.0, 0.0], t=3.0, h=h, gravity=0.0)
        overshoot.append(-min(tube.gap(0.0, q) for q in sol.q))
        assert overshoot[-1] < 1.1 * h**2 / 1.6
    np.testing.assert_allclose(np.divide(overshoot[:-1], overshoot[1:]), 4.0, rtol=0.02)


def test_balls_run_out_of_a_hopper():
    """Twelve balls in a silo, none through its wall, all through its outlet."""
    silo = Vessel([(0.45, 0.0), (1.0, 1.0), (1.0, 3.0)], radii=0.15)
    angle = 2.0 * np.pi * np.arange(4) / 4 + 0.3
    ring = np.stack([0.5 * np.cos(angle), 0.5 * np.sin(angle), np.zeros(4)], axis=1)
    q0 = np.concatenate([ring + z * UP for z in (1.4, 1.8, 2.2)])
    problem = jo.Motion(q0=q0, force=[0.0, 0.0, -9.81], within=silo & jo.Balls(np.full(12, 0.15)))
    sol = jo.solve(problem, jo.Maury(), t=2.0, h=0.005)
    assert sol.q[-1, :, 2].max() < -1.0
    assert min(silo.gap(0.0, q) for q in sol.q) > -0.01 * 0.15
    passing = np.abs(sol.q[:, :, 2]) < 0.05
    assert passing.any()
    assert np.linalg.norm(sol.q[passing][:, :2], axis=1).max() < 0.45


def test_the_nearest_place_for_a_ball_too_low_in_a_cone_is_its_tip():
    cone = Vessel(CONE, radii=0.2)
    for w in ([0.0, 0.0, 0.1], [0.05, 0.02, 0.1], [1e-9, 0.0, 0.2]):
        np.testing.assert_allclose(jo.nearest(w, cone).point, [0.0, 0.0, 0.2 * np.sqrt(2.0)], atol=1e-10)
    np.testing.assert_allclose(
        jo.nearest([0.54, 0.72, 1.0], Vessel(CYLINDER, radii=0.2)).point, [0.48, 0.64, 1.0], atol=1e-10
    )


# --- in time ---


def test_a_vessel_is_that_of_the_moment():
    q = np.random.default_rng(5).uniform(-1.0, 2.0, (30, 3))
    axis, base = (lambda t: [np.sin(t), 0.0, np.cos(t)]), (lambda t: [0.0, 0.1 * t, 0.0])
    wider = lambda t: [(1.0 + t, 0.0), (1.0, 2.0)]  # noqa: E731
    tilting, shaken, growing = (
        Vessel(CYLINDER, radii=0.1, axis=axis), Vessel(CYLINDER, radii=0.1, base=base), Vessel(wider, radii=0.1)
    )  # fmt: skip
    assert tilting.moving
    assert shaken.moving
    assert growing.moving
    assert not Vessel(CYLINDER, radii=0.1).moving
    assert Vessel(CYLINDER, radii=lambda t: 0.1 + t).moving
    for t in (0.0, 0.5):
        for vessel, then in (
            (tilting, Vessel(CYLINDER, radii=0.1, axis=axis(t))),
            (shaken, Vessel(CYLINDER, radii=0.1, base=base(t))),
            (growing, Vessel(wider(t), radii=0.1)),
            (Vessel(CYLINDER, radii=lambda t: 0.1 + t), Vessel(CYLINDER, radii=0.1 + t)),
        ):
            np.testing.assert_array_equal(vessel.gaps(t, q), then.gaps(0.0, q))


def test_a_shaken_glass_takes_its_ball_along():
    """Lifted by 1 in a second, without gravity: the ball stays on its floor."""
    glass = Vessel(GLASS, radii=0.1, base=lambda t: [0.0, 0.0, min(t, 1.0)])
    sol = run(glass, [0.3, 0.2, 0.1], t=1.0, gravity=0.0)
    np.testing.assert_allclose(sol.q[-1], [0.3, 0.2, 1.1], atol=1e-9)


def test_a_vessel_is_curved_and_not_convex():
    assert Vessel.curved
    assert Vessel.convex_gaps is False
    assert Vessel(CONE, radii=0.1).linearise(0.0, UP).curvature is None


# --- what is refused ---


@pytest.mark.parametrize(
    ("make", "error", "what"),
    [
        (lambda: Vessel([(1.0, 0.0)], radii=0.1), jo.InvalidValue, r"shape \(1, 2\); it is a list of two"),
        (lambda: Vessel([1.0, 0.0], radii=0.1), jo.InvalidValue, r"points \(radius, height\)"),
        (lambda: Vessel([(1.0, 0.0, 0.0), (1.0, 0.0, 1.0)], radii=0.1), jo.InvalidValue, r"shape \(2, 3\)"),
        (lambda: Vessel([(1.0, 0.0), (-1.0, 2.0)], radii=0.1), jo.InvalidValue, "point 1 of the profile has radius -1"),
        (lambda: Vessel([(1.0, 0.0), (np.inf, 2.0)], radii=0.1), jo.errors.NotFinite,
         r"profile is inf at index \(1, 0\)"),
        (lambda: Vessel([(1.0, 0.0), (1.0, 0.0), (1.0, 1.0)], radii=0.1), jo.InvalidValue,
         r"points 0 and 1 of the profile are the same, \[1.0, 0.0\]"),
        (lambda: Vessel([*GLASS, (0.0, 2.0), (0.0, 0.0)], radii=0.1), jo.InvalidValue,
         "points 3 and 4 of the profile are both on the axis"),
        (lambda: Vessel(CYLINDER, radii=0.1, axis=(0.0, 0.0, 0.0)), jo.InvalidValue, "axis of a vessel is a direction"),
        (lambda: Vessel(CYLINDER, radii=0.1, axis=(0.0, 1.0)), jo.InvalidValue, r"axis of the vessel has shape \(2,\)"),
        (lambda: Vessel(CYLINDER, radii=0.1, axis=(0.0, np.nan, 1.0)), jo.errors.NotFinite, "axis of the vessel"),
        (lambda: Vessel(CYLINDER, radii=0.1, base=(0.0, 1.0)), jo.InvalidValue, r"base of the vessel has shape \(2,\)"),
        (lambda: Vessel(CYLINDER, radii=0.1, base=(0.0, np.nan, 0.0)), jo.errors.NotFinite, "base of the vessel"),
        (lambda: Vessel(CYLINDER, radii=0.1, staves=-1), jo.InvalidValue, "cannot have -1 staves"),
        (lambda: Vessel(CYLINDER, radii=0.1).gap(0.0, [0.0, 0.0]), jo.InvalidValue, "lives in dimension 3"),
        (lambda: Vessel(lambda t: SILO if t < 1 else CYLINDER, radii=0.1).gap(2.0, UP), jo.InvalidValue,
         "there are 1 vessel parts at t = 2, and 2 at t = 0"),
        (lambda: Vessel(CYLINDER, radii=-0.1).gap(0.0, UP), jo.InvalidValue, "radius of body 0 is -0.1"),
    ],
)  # fmt: skip
def test_vessels_that_are_no_vessels_are_refused(make, error, what):
    with pytest.raises(error, match=what):
        make()
