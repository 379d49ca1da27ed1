"""Walls for many bodies: near rows only, block by block; moving segments and polygons; curvatures; what is refused."""

import gc
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import jostle as jo
from jostle.sets import walls as wall_sets
from jostle.sets.polygons import Polygons
from jostle.sets.vessels import Vessel
from rows import whole

T = 0.7
N = 200
RANDOM = np.random.default_rng(7)
PLANE = RANDOM.uniform(-1.0, 5.0, (N, 2))
SPACE = RANDOM.uniform(-1.0, 3.0, (N, 3))
RADII = RANDOM.uniform(0.05, 0.2, N)
TRIANGLE = np.array([[0.0, 0.0], [2.0, 0.0], [0.5, 1.5]])
SQUARE = np.array([[3.0, 3.0], [3.0, 4.0], [4.0, 4.0], [4.0, 3.0]])
ENDS = np.array([[[0.0, 0.0], [4.0, 1.0]], [[2.0, 2.0], [2.0, 4.0]], [[1.0, 3.0], [1.0, 3.0]]])


def turned(points, t):
    """The points after a turn by the angle t around the origin."""
    c, s = np.cos(t), np.sin(t)
    return np.asarray(points) @ np.array([[c, s], [-s, c]])


MAKE = {
    "half-space": (lambda r: jo.HalfSpace([1.0, 2.0], 0.5, radii=r), PLANE),
    "half-space, turning": (lambda r: jo.HalfSpace(lambda t: turned([0.0, 1.0], t), radii=r), PLANE),
    "box": (lambda r: jo.Box([0.0, 0.0, -np.inf], [2.0, 2.0, 2.5], radii=r), SPACE),
    "box of points": (lambda r: jo.Box([0.0, 0.0], [4.0, 4.0]), PLANE),
    "box, closing": (lambda r: jo.Box(lambda t: [t, 0.0], [4.0, 4.0], radii=r), PLANE),
    "outside": (lambda r: jo.Outside([[0.0, 0.0], [3.0, 3.0]], [0.5, 1.0], radii=r), PLANE),
    "outside, moving": (lambda r: jo.Outside(lambda t: [[t, 0.0, 0.0], [1.0, 1.0, t]], 0.5, radii=r), SPACE),
    "inside": (lambda r: jo.Inside([2.0, 2.0], 3.0, radii=r), PLANE),
    "inside, growing bodies": (lambda r: jo.Inside([2.0, 2.0], 3.0, radii=lambda t: r * (1.0 + t)), PLANE),
    "segments": (lambda r: jo.Segments(ENDS, radii=r), PLANE),
    "segments, turning": (lambda r: jo.Segments(lambda t: turned(ENDS, t), radii=r), PLANE),
    "polygons": (lambda r: Polygons([TRIANGLE, SQUARE], radii=r), PLANE),
    "polygons, turning": (lambda r: Polygons(lambda t: [turned(TRIANGLE, t), SQUARE], radii=r), PLANE),
    "vessel": (lambda r: Vessel([(0.3, 0.0), (1.0, 1.0), (1.0, 2.0)], radii=r), SPACE),
    "vessel, shaken": (
        lambda r: Vessel([(0.0, 0.0), (1.0, 0.0), (1.0, 2.0)], radii=r, base=lambda t: [0.0, t, 0.0]), SPACE),
}  # fmt: skip
every_wall = pytest.mark.parametrize(("make", "q"), MAKE.values(), ids=MAKE)


@pytest.fixture
def small_blocks(monkeypatch):
    """Many blocks for few bodies."""
    monkeypatch.setattr(wall_sets, "MAX_TABLE_ENTRIES", 50)


# --- only the near rows, and only what they need ---


@every_wall
@pytest.mark.parametrize("cutoff", [0.0, 0.3])
@pytest.mark.usefixtures("small_blocks")
def test_the_rows_within_reach_are_those_of_all_rows(make, q, cutoff):
    """Gaps, gradients, pairs, curvatures and words, in the same order, whichever block they come from."""
    Q = make(RADII)
    full, near = Q.linearise(T, q), Q.linearise(T, q, cutoff)
    rows = np.flatnonzero(full.gap <= cutoff)
    assert 0 < len(rows) < len(full.gap)
    assert len(full.gap) == N * len(Q.names)
    np.testing.assert_array_equal(near.gap, full.gap[rows])
    np.testing.assert_array_equal(near.pairs, full.pairs[rows])
    np.testing.assert_allclose(near.G.toarray(), full.G.toarray()[rows], atol=1e-15)
    assert (near.curvature is None) == (full.curvature is None)
    if full.curvature is not None:
        np.testing.assert_allclose(near.curvatures, full.curvatures[rows], rtol=1e-14)
    assert [near.describe(row) for row in range(5)] == [full.describe(int(row)) for row in rows[:5]]
    assert (near.cutoff, full.cutoff) == (cutoff, np.inf)
    np.testing.assert_array_equal(near.length, full.length[rows])
    assert (near.constraint_count, near.part_count) == (len(Q.names), N)


@every_wall
@pytest.mark.usefixtures("small_blocks")
def test_gaps_need_no_gradients_and_are_the_same(make, q):
    Q = make(RADII)
    full = Q.linearise(T, q)
    np.testing.assert_array_equal(Q.gaps(T, q), full.gap)
    assert Q.gap(T, q) == full.gap.min()


@every_wall
def test_each_body_has_the_rows_that_it_has_alone(make, q):
    """One body is written as a dense matrix, many as pairs."""
    Q = make(0.1)
    full = Q.linearise(T, q)
    G = full.G.toarray().reshape(N, len(Q.names), N, -1)
    for body in range(0, N, 40):
        alone = Q.linearise(T, q[body], cutoff=0.1)  # one body keeps all its rows
        np.testing.assert_allclose(alone.gap, full.gap.reshape(N, -1)[body], atol=1e-15)
        np.testing.assert_allclose(alone.G.toarray(), G[body, :, body], atol=1e-15)
        assert not G[body, :, np.arange(N) != body].any()
        assert alone.cutoff == np.inf


def test_a_box_with_a_million_gaps_needs_no_table_of_them():
    """Few of the bodies are near a wall: memory for those, and for one block."""
    n = 200_000
    q = np.random.default_rng(0).uniform(0.0, 100.0, (n, 3))
    box = jo.Box([0.0, 0.0, 0.0], [100.0, 100.0, 100.0], radii=np.full(n, 1e-3))
    box.linearise(0.0, q, cutoff=1e-2)
    tracemalloc.start()
    contacts = box.linearise(0.0, q, cutoff=1e-2)
    box.gap(0.0, q)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0 < len(contacts.gap) < n / 100
    assert peak < 8 * n  # bytes: the table would take 6 x 8 n


@pytest.mark.parametrize("cutoff", [np.inf, 100.0])
def test_a_flat_set_that_keeps_all_rows_keeps_its_map(cutoff):
    box = jo.Box([0.0, 0.0], [4.0, 4.0])
    first, second = (box.linearise(0.0, q, cutoff) for q in (PLANE, PLANE + 0.1))
    assert first.G is second.G
    assert first.pairs is second.pairs
    assert first.G is not box.linearise(0.0, PLANE, 0.5).G


def test_rows_that_are_left_out_need_no_gradient():
    """In the centre of a container no direction leads to the wall; at the wall it does."""
    bowl = jo.Inside([0.0, 0.0], 1.0, radii=0.1)
    q = np.array([[0.0, 0.0], [0.8, 0.0]])
    assert bowl.linearise(0.0, q, cutoff=0.5).pairs.tolist() == [[1, -1]]
    assert np.isfinite(bowl.linearise(0.0, q).G.toarray()).all()


def test_a_box_without_walls_has_no_rows():
    box = jo.Box([-np.inf, -np.inf], [np.inf, np.inf])
    assert len(box.linearise(0.0, PLANE).gap) == len(box.linearise(0.0, PLANE, 1.0).gap) == 0
    assert box.gap(0.0, PLANE) == np.inf


@pytest.mark.parametrize("cutoff", [0.0, 1.0, np.inf])
def test_no_bodies_have_no_rows(cutoff):
    contacts = jo.Box([0.0, 0.0], [1.0, 1.0], radii=0.1).linearise(0.0, np.zeros((0, 2)), cutoff)
    assert contacts.gap.shape == (0,)
    assert contacts.G.shape == (0, 0)


# --- a wall that is lost is not a wall that is not there ---


@pytest.mark.parametrize(
    ("Q", "who"),
    [
        (
            jo.HalfSpace([0.0, 1.0], lambda t: -5.0 if t < 0.35 else np.nan),
            r"offset of the plane .* is nan at t = 0\.4",
        ),
        (
            jo.Box(lambda t: [-5.0, -5.0 if t < 0.35 else np.nan], [9.0, 9.0]),
            r"lower\[1\] of the box is nan at t = 0\.4",
        ),
        (
            jo.Outside(lambda t: [[-9.0, -9.0], [9.0, 9.0 if t < 0.35 else np.nan]], 1.0),
            r"centre of obstacles at t = 0\.4 is nan at index \(1, 1\)",
        ),
        (jo.Segments(lambda t: [[[-9.0, 0.0], [-9.0, 1.0 if t < 0.35 else np.nan]]], radii=0.1), "ends at t = 0.4"),
        (Polygons(lambda t: TRIANGLE + (9.0 if t < 0.35 else np.nan)), "polygon 0 at t = 0.4"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_wall_that_becomes_nan_is_an_error_for_many_bodies_too(Q, who):
    """Rows are chosen by gap <= cutoff, which is false for NaN: they must not fall out of sight."""
    problem = jo.Motion(q0=[[0.0, 0.0], [0.0, 3.0]], v0=[[1.0, 0.0], [1.0, 0.0]], within=Q)
    with pytest.raises(jo.errors.NotFinite, match=who) as caught:
        jo.solve(problem, jo.Maury(), t=1.0, h=0.1)
    assert caught.value.step == 4


@pytest.mark.usefixtures("small_blocks")
def test_the_smallest_gap_is_nan_if_one_is():
    q = PLANE.copy()
    q[150] = np.nan  # in one of the later blocks
    assert np.isnan(jo.Box([0.0, 0.0], [4.0, 4.0]).gap(0.0, q))


# --- curvatures: d^2 g = b (I - n n^T) ---


@pytest.mark.parametrize("name", ["outside", "inside", "segments", "polygons", "half-space", "box"])
def test_the_bend_is_the_curvature_of_the_gap(name):
    make, q = MAKE[name]
    Q, q, step = make(0.1), q[:40], 1e-6
    contacts = Q.linearise(T, q)
    n, d = q.shape
    body, rows = contacts.pairs[:, 0], np.arange(len(contacts.gap))

    def own_gradient(at):
        return Q.linearise(T, at).G.toarray().reshape(-1, n, d)[rows, body]

    normal = own_gradient(q)
    for axis in range(d):
        shift = step * np.eye(d)[axis]
        change = (own_gradient(q + shift) - own_gradient(q - shift)) / (2.0 * step)
        expected = contacts.curvatures[:, None] * (np.eye(d)[axis] - normal[:, [axis]] * normal)
        np.testing.assert_allclose(change, expected, atol=1e-7)
    if name in ("outside", "inside", "segments", "polygons"):
        assert np.abs(contacts.curvatures).max() > 0.1
    if name in ("segments", "polygons"):
        assert (contacts.curvatures == 0.0).any()


# --- segments in time ---


def test_moving_segments_are_those_of_the_moment():
    Q = jo.Segments(lambda t: turned(ENDS, t), radii=RADII)
    assert Q.moving
    assert not jo.Segments(ENDS, radii=RADII).moving
    for t in (0.0, T, 3.0):
        then = jo.Segments(turned(ENDS, t), radii=RADII)
        np.testing.assert_array_equal(Q.gaps(t, PLANE), then.gaps(0.0, PLANE))
        np.testing.assert_array_equal(Q.linearise(t, PLANE).G.toarray(), then.linearise(0.0, PLANE).G.toarray())
    assert Q.linearise(T, PLANE).describe(4) == "body 1 and segment 1, moving"


def test_segments_do_not_change_when_the_array_they_were_made_of_does():
    ends = np.array([[[0.0, 0.0], [4.0, 0.0]]])
    Q = jo.Segments(ends, radii=0.5)
    ends += 9.0
    assert Q.gap(0.0, [2.0, 1.5]) == 1.0


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Venel()], ids=lambda scheme: type(scheme).__name__)
def test_a_turning_arm_sweeps_discs_along_and_passes_none(scheme):
    """An arm of length 4 turns; a disc near its pivot goes with it and out along it, one beyond its cutoff stays."""
    arm = jo.Segments(lambda t: [[[0.0, 0.0], turned([4.0, 0.0], t)]], radii=0.1)
    q0 = [[0.7, 0.7], [0.0, 4.5]]
    problem = (
        jo.Motion(q0=q0, within=arm) if isinstance(scheme, jo.Maury) else jo.Sweeping(q0=q0, velocity=0.0, within=arm)
    )
    sol = jo.solve(problem, scheme, t=2.0, h=0.01)
    assert min(arm.gap(t, q) for t, q in zip(sol.t, sol.q, strict=True)) >= -1e-12
    assert sol.q[-1, 0] @ turned([0.0, 1.0], 2.0) >= 0.1 - 1e-12  # still ahead of the arm
    assert np.linalg.norm(sol.q[-1, 0] - q0[0]) > 0.5
    np.testing.assert_allclose(sol.q[-1, 1], q0[1], atol=1e-12)


# --- polygons ---


def inside(polygon, x):
    """By the number of times that a ray crosses the edges."""
    a, b = polygon, np.roll(polygon, -1, axis=0)
    straddles = (a[:, 1] > x[1]) != (b[:, 1] > x[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = a[:, 0] + (x[1] - a[:, 1]) / (b[:, 1] - a[:, 1]) * (b[:, 0] - a[:, 0])
    return np.count_nonzero(straddles & (crossing > x[0])) % 2 == 1


def sampled_distance(polygon, x, points=20_000):
    """The signed distance to many points of the edges."""
    s = np.linspace(0.0, 1.0, points)[:, None]
    edges = [a + s * (b - a) for a, b in zip(polygon, np.roll(polygon, -1, axis=0), strict=True)]
    distance = np.linalg.norm(np.concatenate(edges) - x, axis=1).min()
    return -distance if inside(polygon, x) else distance


def random_polygon(random, corners=6):
    """Points of an ellipse, turned: strictly convex."""
    angle = 2.0 * np.pi * (np.arange(corners) + random.uniform(0.0, 0.7, corners)) / corners
    ellipse = np.stack([2.0 * np.cos(angle), np.sin(angle)], axis=1)
    return turned(ellipse, random.uniform(0.0, 3.0)) + random.normal(size=2)


@pytest.mark.parametrize("seed", [0, *map(whole, range(1, 5))])
def test_the_gap_of_a_polygon_is_the_distance_to_its_nearest_point(seed):
    random = np.random.default_rng(seed)
    polygons = [random_polygon(random, corners) for corners in (3, 4, 7)]
    q = random.uniform(-3.0, 3.0, (30, 2))
    gaps = Polygons(polygons, radii=0.1).linearise(0.0, q).gap.reshape(30, 3)
    expected = [[sampled_distance(polygon, x) - 0.1 for polygon in polygons] for x in q]
    np.testing.assert_allclose(gaps, expected, atol=2e-4)
    assert 5 < np.count_nonzero(gaps < -0.1) < 60


def test_gaps_of_a_square_by_hand():
    """One of its edges has a vertex in the middle."""
    table = Polygons([[0, 0], [1, 0], [2, 0], [2, 2], [0, 2]], radii=0.5)
    for x, gap, normal, curvature in (
        ([1.0, 3.0], 0.5, [0.0, 1.0], 0.0),
        ([-1.0, 0.5], 0.5, [-1.0, 0.0], 0.0),
        ([5.0, 6.0], 4.5, [0.6, 0.8], 0.2),
        ([-3.0, -4.0], 4.5, [-0.6, -0.8], 0.2),
        ([1.0, 1.75], -0.75, [0.0, 1.0], 0.0),
        ([0.25, 1.0], -0.75, [-1.0, 0.0], 0.0),
        ([1.0, 0.25], -0.75, [0.0, -1.0], 0.0),
        ([2.0, 1.0], -0.5, [1.0, 0.0], 0.0),
    ):
        contacts = table.linearise(0.0, np.array(x))
        assert contacts.gap.tolist() == pytest.approx([gap], abs=1e-15)
        np.testing.assert_allclose(contacts.G.toarray(), [normal], atol=1e-15)
        assert contacts.curvatures.tolist() == pytest.approx([curvature], abs=1e-15)
    assert table.linearise(0.0, np.array([[9.0, 9.0], [1.0, 1.0]])).describe(1) == "body 1 and polygon 0"


@pytest.mark.parametrize("seed", range(20))
def test_on_the_border_there_is_a_way_out(seed):
    """In vertices and in edges, whichever side of the border round-off puts them on."""
    polygon = random_polygon(np.random.default_rng(seed), 4)
    x = np.vstack([polygon, (polygon + np.roll(polygon, 1, axis=0)) / 2.0])
    contacts = Polygons(polygon, radii=0.1).linearise(0.0, x)
    np.testing.assert_allclose(contacts.gap, -0.1, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(contacts.G.normal, axis=1), 1.0, rtol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_the_gap_of_a_polygon_is_convex_and_its_gradient_supports_it(seed):
    """g((a + b) / 2) <= (g(a) + g(b)) / 2, and g(b) >= g(a) + grad g(a) . (b - a), inside, outside and across."""
    random = np.random.default_rng(seed)
    Q = Polygons([random_polygon(random, 5)], radii=0.1)
    a, b = random.uniform(-3.0, 3.0, (2, 50, 2))
    b = np.where(random.uniform(size=(50, 1)) < 0.5, b, a + 0.1 * (b - a))
    at_a, at_b, between = Q.linearise(0.0, a), Q.gaps(0.0, b), Q.gaps(0.0, (a + b) / 2.0)
    assert (between <= (at_a.gap + at_b) / 2.0 + 1e-13).all()
    assert (at_b >= at_a.gap + at_a.G @ (b - a).ravel() - 1e-13).all()


@given(st.integers(0, 2**32 - 1))
def test_the_gradient_of_a_polygon_is_the_derivative_of_the_gap(seed):
    random = np.random.default_rng(seed)
    Q = Polygons([random_polygon(random, 5), random_polygon(random, 3)], radii=0.1)
    x, step = random.uniform(-3.0, 3.0, 2), 1e-6
    columns = [(Q.gaps(0.0, x + step * e) - Q.gaps(0.0, x - step * e)) / (2.0 * step) for e in np.eye(2)]
    nearby = [Q.linearise(0.0, x + step * e).G.toarray() for e in (*np.eye(2), *-np.eye(2))]
    G = Q.linearise(0.0, x).G.toarray()
    assume(max(np.abs(other - G).max() for other in nearby) < 1e-3)  # not across a ridge
    np.testing.assert_allclose(G, np.stack(columns, axis=1), atol=1e-5)


def test_vertices_may_run_either_way_and_close():
    once = Polygons([TRIANGLE, SQUARE], radii=0.1).gaps(0.0, PLANE)
    other = Polygons([TRIANGLE[::-1], SQUARE[::-1]], radii=0.1).gaps(0.0, PLANE)
    closed = Polygons([np.vstack([TRIANGLE, TRIANGLE[:1]]), [*SQUARE.tolist(), [3.0, 3.0]]], radii=0.1)
    np.testing.assert_allclose(other, once, atol=1e-15)
    np.testing.assert_array_equal(closed.gaps(0.0, PLANE), once)


@pytest.mark.parametrize("angle", np.linspace(0.0, 3.0, 10))
def test_vertices_in_the_middle_of_an_edge_change_nothing(angle):
    """Up to round-off they are on it: the polygon is convex, and the way out of it the same."""
    thirds = np.array([TRIANGLE[0] + s * (TRIANGLE[1] - TRIANGLE[0]) for s in (1 / 3, 2 / 3)])
    few, more = turned(TRIANGLE, angle), turned(np.vstack([TRIANGLE[:1], thirds, TRIANGLE[1:]]), angle)
    few, more = (Polygons(polygon, radii=0.1).linearise(0.0, PLANE) for polygon in (few, more))
    np.testing.assert_allclose(more.gap, few.gap, atol=1e-14)
    np.testing.assert_allclose(more.G.toarray(), few.G.toarray(), atol=1e-13)
    np.testing.assert_allclose(more.curvatures, few.curvatures, atol=1e-12)


def test_one_polygon_and_a_list_of_one_are_the_same():
    np.testing.assert_array_equal(Polygons(SQUARE).gaps(0.0, PLANE), Polygons([SQUARE.tolist()]).gaps(0.0, PLANE))
    np.testing.assert_array_equal(Polygons(np.stack([SQUARE])).gaps(0.0, PLANE), Polygons(SQUARE).gaps(0.0, PLANE))


def test_moving_polygons_are_those_of_the_moment():
    Q = Polygons(lambda t: turned(TRIANGLE, t), radii=0.1)
    assert Q.moving
    assert not Polygons(TRIANGLE, radii=0.1).moving
    assert Polygons(TRIANGLE, radii=lambda t: 0.1 + t).moving
    for t in (0.0, T, 3.0):
        then = Polygons(turned(TRIANGLE, t), radii=0.1)
        np.testing.assert_array_equal(Q.gaps(t, PLANE), then.gaps(0.0, PLANE))


def test_the_length_of_polygons_is_the_radius_of_an_inner_circle():
    assert Polygons([SQUARE, 9.0 * TRIANGLE]).linearise(0.0, PLANE).length[0] == pytest.approx(0.5, rel=1e-14)
    assert Polygons(SQUARE, radii=0.2).linearise(0.0, PLANE).length[0] == 0.2


def test_a_disc_comes_out_of_a_polygon_through_the_nearest_edge():
    table = Polygons([[0, 0], [2, 0], [2, 2], [0, 2]], radii=0.5)
    assert jo.nearest([1.2, 1.75], table).point.tolist() == pytest.approx([1.2, 2.5], abs=1e-12)
    corner = jo.nearest([2.3, 2.4], table).point
    assert np.linalg.norm(corner - [2.0, 2.0]) == pytest.approx(0.5, rel=1e-12)


def test_a_disc_rests_on_a_polygon_and_rolls_over_its_corner():
    """On the top of a square it stays; beyond the corner it falls, and never enters."""
    square = Polygons([[-1, -1], [1, -1], [1, 0], [-1, 0]], radii=0.25)
    rest = jo.solve(jo.Motion(q0=[0.5, 1.0], force=[0.0, -9.81], within=square), jo.Maury(), t=2.0, h=0.01)
    np.testing.assert_allclose(rest.q[-1], [0.5, 0.25], atol=1e-10)
    falls = jo.solve(jo.Motion(q0=[1.05, 1.0], force=[0.0, -9.81], within=square), jo.Maury(), t=1.0, h=0.01)
    assert falls.q[-1, 0] > 1.2
    assert falls.q[-1, 1] < -1.0
    assert min(square.gap(0.0, q) for q in falls.q) >= -1e-12


def test_a_turning_polygon_pushes_discs_away_in_time():
    """A propeller turns within two discs that try to reach its centre."""
    propeller = Polygons(lambda t: turned([[-1.0, -0.1], [1.0, -0.1], [1.0, 0.1], [-1.0, 0.1]], t), radii=0.1)
    within = propeller & jo.Balls([0.1, 0.1])
    crowd = jo.Sweeping(q0=[[0.0, 1.2], [0.3, -1.2]], velocity=lambda t, q: -q, within=within)
    sol = jo.solve(crowd, jo.Venel(), t=6.0, h=0.02)
    gaps = [propeller.gap(t, q) for t, q in zip(sol.t, sol.q, strict=True)]
    assert min(gaps) >= -1e-12
    assert min(gaps[50:]) < 1e-9  # it does touch them


# --- what is refused ---


@pytest.mark.parametrize(
    ("make", "error", "what"),
    [
        (lambda: Polygons([SQUARE, [[0, 0], [2, 0], [1, 0.5], [1, 2]]]), jo.InvalidValue,
         r"polygon 1 is not convex: it turns inwards at vertex 2, \[1.0, 0.5\]; cut it"),
        (lambda: Polygons([[0, 0], [1, 2], [1, 0.5], [2, 0]]), jo.InvalidValue, r"not convex.* vertex 2, \[1.0, 0.5\]"),
        (lambda: Polygons([[np.cos(4 * k * np.pi / 5), np.sin(4 * k * np.pi / 5)] for k in range(5)]), jo.InvalidValue,
         "polygon 0 is not convex: it crosses itself and winds around 2 times"),
        (lambda: Polygons([[0, 0], [1, 1], [2, 2]]), jo.InvalidValue, "polygon 0 has no area.*jo.Segments"),
        (lambda: Polygons([[0, 0], [1, 1]]), jo.InvalidValue, "polygon 0 has 2 corners; it needs three"),
        (lambda: Polygons([SQUARE, [[0, 0], [1, 1], [0, 0]]]), jo.InvalidValue, "polygon 1 has 2 corners"),
        (lambda: Polygons([[0, 0], [1, 0], [1, 0], [0, 1]]), jo.InvalidValue,
         r"vertices 1 and 2 of polygon 0 are the same point \[1.0, 0.0\]"),
        (lambda: Polygons([SQUARE, [[0, 0], [1, np.nan], [0, 1]]]), jo.errors.NotFinite,
         r"polygon 1 is nan at index \(1, 1\)"),
        (lambda: Polygons([[0, 0, 0], [1, 0, 0], [0, 1, 0]]), jo.InvalidValue, r"polygon 0 has shape \(3, 3\)"),
        (lambda: Polygons([]), jo.InvalidValue, "must be one polygon"),
        (lambda: Polygons(3.0), jo.InvalidValue, "must be one polygon"),
        (lambda: Polygons(lambda t: TRIANGLE if t < 1 else TRIANGLE[:, :1]).gap(2.0, PLANE), jo.InvalidValue,
         "polygon 0 at t = 2 has shape"),
        (lambda: Polygons(lambda t: TRIANGLE if t < 1 else [TRIANGLE, SQUARE]).gap(2.0, PLANE), jo.InvalidValue,
         "there are 2 polygons at t = 2, and 1 at t = 0"),
        (lambda: jo.Segments(lambda t: ENDS if t < 1 else ENDS[:2], radii=1.0).gap(2.0, PLANE), jo.InvalidValue,
         "there are 2 segments at t = 2, and 3 at t = 0"),
        (lambda: jo.Segments([[0, 0], [1, 1], [2, 2]], radii=1.0), jo.InvalidValue, r"shape \(k, 2, 2\)"),
        (lambda: jo.Segments([[[0, 0], [1, np.nan]]], radii=1.0), jo.errors.NotFinite, "ends is nan"),
        (lambda: jo.Outside(lambda t: [[0, 0]] if t < 1 else [[0, 0], [1, 1]], 1.0).gap(2.0, PLANE), jo.InvalidValue,
         "there are 2 obstacles at t = 2, and 1 at t = 0"),
        (lambda: jo.HalfSpace([0, 1], lambda t: [t, t]).gap(2.0, PLANE), jo.InvalidValue,
         "offset of a half-space is one number"),
        (lambda: Polygons(SQUARE).linearise(0.0, SPACE), jo.InvalidValue, "lives in dimension 2"),
        (lambda: jo.Segments(ENDS, radii=0.1).linearise(0.0, np.array([[9.0, 9.0], [2.0, 3.0]]), 0.5),
         jo.errors.UndefinedGradient, r"centre of body 1 lies on segment \[2.0, 2.0\] to \[2.0, 4.0\]"),
        (lambda: jo.Outside([[0, 0], [1, 1]], 0.5).linearise(0.0, np.array([[9.0, 9.0], [1.0, 1.0]]), 0.5),
         jo.errors.UndefinedGradient, "body 1 sits exactly on the centre of obstacle 1"),
    ],
)  # fmt: skip
def test_walls_that_are_no_walls_are_refused_by_name(make, error, what):
    with pytest.raises(error, match=what):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda place: jo.HalfSpace([1.0, 0.0], lambda t: place[0]),
        lambda place: jo.Box(lambda t: [place[0], -9.0], [9.0, 9.0]),
        lambda place: jo.Outside(lambda t: [place[0] - 1.0, 0.0], 1.0),
        lambda place: jo.Inside(lambda t: [place[0] + 5.0, 0.0], 5.0),
    ],
    ids=["half-space", "box", "outside", "inside"],
)
def test_a_moving_wall_is_where_it_is_now(make):
    """The same time in the next run may be another place: a control loop moves the wall between runs."""
    place = [0.0]
    wall, q = make(place), np.array([0.5, 0.0])
    for place[0] in (0.0, 0.3, 0.6, 0.9):
        q = jo.nearest(q, wall).point
        q = jo.solve(jo.Sweeping(q0=q, within=wall), jo.CatchingUp(), t=0.1, h=0.1).q[-1]
        assert wall.gap(0.0, q) == pytest.approx(max(0.5 - place[0], 0.0), abs=1e-9)
    assert q == pytest.approx([0.9, 0.0])


@pytest.mark.parametrize(
    "wall",
    [
        jo.HalfSpace([0.0, 1.0], lambda t: 0.2 * t),
        jo.Box(lambda t: [-9.0, 0.2 * t], [9.0, 9.0]),
        jo.Outside(lambda t: [0.0, 0.2 * t - 1.0], 1.0),
        jo.HalfSpace([0.0, 1.0], radii=lambda t: 0.2 * t),
    ],
    ids=["half-space", "box", "outside", "radii"],
)
def test_threads_may_share_a_moving_wall(wall):
    """Whenever a function begins or ends, another thread may take over and ask for the wall at another time."""
    q = np.array([[0.0, 1.5], [0.4, 2.0]])

    def work(t=0.3):
        contacts = wall.near(t, q, np.inf)
        found = contacts.gap, contacts.drifts(t, 0.1)[0], contacts.G.toarray().ravel(), wall.gaps(t, q)
        return np.concatenate(found).tolist()

    def interrupted(moment):
        """What the work finds if the wall is asked for another time at this moment, and whether it came to that."""
        left = moment

        def count(*_):
            nonlocal left
            left -= 1
            if left == 0:
                sys.setprofile(None)
                wall.near(7.0, q, np.inf)

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            return work(), left <= 0
        finally:
            sys.setprofile(before)

    alone, moment = work(), 0
    assert work(7.0) != alone
    while True:
        found, came = interrupted(moment := moment + 1)
        assert found == alone
        if not came:
            break
    assert moment > 100


@pytest.mark.parametrize("kind", ["motion", "sweeping"])
def test_a_problem_that_is_deleted_leaves_no_memory(kind):
    def run(n):
        q0, room = np.stack([2.0 * np.arange(n), np.ones(n)], axis=1), jo.HalfSpace([0.0, 1.0], radii=0.5)
        if kind == "motion":
            problem, scheme = jo.Motion(q0=q0, within=room, force=[0.0, -1.0]), jo.Maury()
        else:
            problem, scheme = jo.Sweeping(q0=q0, within=room, velocity=[0.0, -1.0]), jo.Venel()
        room.linearise(0.0, q0)
        jo.solve(problem, scheme, t=0.1, h=0.1)

    run(20_000)  # which loads the kernels of many bodies
    tracemalloc.start()
    try:
        for n in range(20_000, 20_005):
            run(n)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 20_000 * 8


@pytest.mark.parametrize("d", [2, 3, 6])
def test_planes_have_the_same_gaps_for_one_point_for_many_and_with_gradients(d):
    random = np.random.default_rng(d)
    x, normal = random.normal(size=(200, d)), random.normal(size=d)
    plane = jo.HalfSpace(normal, 0.3)
    many = plane.linearise(0.0, x).gap
    np.testing.assert_array_equal(many, plane.gaps(0.0, x))
    np.testing.assert_array_equal(many, [plane.linearise(0.0, one).gap[0] for one in x])
