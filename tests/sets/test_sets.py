"""Admissible sets: gaps against formulas, gradients against differences, stacking, words, and what users write."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jostle as jo
from jostle.contacts import check_start
from jostle.convex.linear_map import Dense, NormalRows
from jostle.sets.balls import MAX_ALL_PAIRS
from jostle.sets.gradient_search import Differences
from rows import examples

T = 0.7
STEP = 1e-6


def norm(v):
    return np.sqrt(np.sum(np.square(v), axis=-1))


def rotation(angle):
    return np.array([-np.sin(angle), np.cos(angle)])


def segment_distance(q, a, b):
    """The smallest distance to points of the segment: interior foot, or an end."""
    a, b = np.array(a, float), np.array(b, float)
    along = (b - a) / norm(b - a)
    foot = (q - a) @ along
    if 0.0 <= foot <= norm(b - a):
        return abs(along[0] * (q - a)[1] - along[1] * (q - a)[0])
    return min(norm(q - a), norm(q - b))


ONE = np.array([1.3, 2.1])
THREE = np.array([[1.0, 2.0], [4.0, 1.5], [2.5, 5.0]])
RADII = np.array([0.3, 0.5, 0.2])
SPHERES = np.array([[0.0, 0.0, 0.0], [2.0, 1.0, 0.5], [-1.0, 2.0, 1.0], [0.5, -1.5, 2.0]])
ROW = np.array([0.5, 2.0, 3.7])
CENTRES = np.array([[0.0, 0.0], [5.0, 3.0], [7.0, 7.0]])
WALL = [[[0.0, 0.0], [2.0, 0.0]], [[4.0, 3.0], [4.0, 9.0]]]


def growing(t):
    return RADII * (1.0 + 0.5 * t)


def pair_gaps(q, radii):
    n = len(q)
    return [norm(q[j] - q[i]) - radii[i] - radii[j] for i in range(n) for j in range(i + 1, n)]


@jo.constraints
def parabola(t, q):
    """Above a parabola that rises, and to the left of a line."""
    return [q[1] - q[0] ** 2 - t, 5.0 - q[0] - q[1]]


SETS = {
    "half-space": (jo.HalfSpace([3.0, 4.0], 2.0), ONE, lambda t, q: [(3.0 * q[0] + 4.0 * q[1] - 2.0) / 5.0]),
    "half-space, bodies with radii": (
        jo.HalfSpace([0, 2.0], 1.0, radii=RADII), THREE, lambda t, q: q[:, 1] - 0.5 - RADII),
    "half-space, rising": (
        jo.HalfSpace([0.0, 1.0], lambda t: t**2), ONE, lambda t, q: [q[1] - t**2]),
    "half-space, turning": (
        jo.HalfSpace(rotation, radii=0.1), THREE, lambda t, q: q @ rotation(t) - 0.1),
    "half-space, growing bodies": (
        jo.HalfSpace([1.0, 0.0], radii=growing), THREE, lambda t, q: q[:, 0] - growing(t)),
    "box": (jo.Box([0, 0], [4, np.inf]), ONE, lambda t, q: [q[0], q[1], 4.0 - q[0]]),
    "box, bodies with radii": (
        jo.Box([0, -np.inf], [9, 8], radii=RADII), THREE,
        lambda t, q: np.stack([q[:, 0], 9.0 - q[:, 0], 8.0 - q[:, 1]], axis=1) - RADII[:, None]),
    "box, moving": (
        jo.Box(lambda t: [t, -t], [9, 9]), ONE, lambda t, q: [q[0] - t, q[1] + t, 9.0 - q[0], 9.0 - q[1]]),
    "outside": (jo.Outside([0.5, 0.5], 1.0), ONE, lambda t, q: [norm(q - 0.5) - 1.0]),
    "outside, more obstacles than bodies": (
        jo.Outside(CENTRES, [0.5, 0.6, 0.7], radii=RADII[:2]), THREE[:2],
        lambda t, q: norm(q[:, None] - CENTRES) - [0.5, 0.6, 0.7] - RADII[:2, None]),
    "outside, moving and growing": (
        jo.Outside(lambda t: [t, 0.0], lambda t: 0.5 + t), ONE, lambda t, q: [norm(q - [t, 0.0]) - 0.5 - t]),
    "inside": (jo.Inside([1.0, 1.0], 2.0), ONE, lambda t, q: [2.0 - norm(q - 1.0)]),
    "inside, moving, bodies with radii": (
        jo.Inside(lambda t: [2.0, 2.0 + t], 6.0, radii=RADII), THREE,
        lambda t, q: 6.0 - norm(q - [2.0, 2.0 + t]) - RADII),
    "segments": (
        jo.Segments(WALL, radii=RADII), THREE,
        lambda t, q: [segment_distance(x, *ends) - r for x, r in zip(q, RADII, strict=True) for ends in WALL]),
    "balls, discs": (jo.Balls(RADII), THREE, lambda t, q: pair_gaps(q, RADII)),
    "balls, spheres": (jo.Balls(np.full(4, 0.4)), SPHERES, lambda t, q: pair_gaps(q, np.full(4, 0.4))),
    "balls, growing": (jo.Balls(growing), THREE, lambda t, q: pair_gaps(q, growing(t))),
    "line": (jo.Line(RADII), ROW, lambda t, q: np.diff(q) - RADII[1:] - RADII[:-1]),
    "line, growing, between walls": (
        jo.Line(growing, lower=-1.0, upper=9.0), ROW,
        lambda t, q: [q[0] - growing(t)[0] + 1.0, *(np.diff(q) - growing(t)[1:] - growing(t)[:-1]),
                      9.0 - q[2] - growing(t)[2]]),
    "a user's": (parabola, ONE, lambda t, q: [q[1] - q[0] ** 2 - t, 5.0 - q[0] - q[1]]),
    "free": (jo.Free(), THREE, lambda t, q: []),
    "intersection": (
        jo.Balls(RADII) & jo.HalfSpace(rotation, radii=RADII) & jo.Outside(CENTRES[:1], 0.5, radii=0.0), THREE,
        lambda t, q: [*pair_gaps(q, RADII), *(q @ rotation(t) - RADII), *(norm(q - CENTRES[0]) - 0.5)]),
}  # fmt: skip
every_set = pytest.mark.parametrize(("Q", "q", "formula"), SETS.values(), ids=SETS)


@every_set
@pytest.mark.parametrize("t", [0.0, T])
def test_the_gaps_are_their_formula(Q, q, formula, t):
    expected = np.ravel(formula(t, q))
    np.testing.assert_allclose(Q.linearise(t, q).gap, expected, atol=1e-14)
    np.testing.assert_allclose(Q.gaps(t, q), expected, atol=1e-14)
    assert Q.gap(t, q) == pytest.approx(expected.min(initial=np.inf), abs=1e-14)


@every_set
@pytest.mark.parametrize("t", [0.0, T])
def test_the_gradient_is_the_derivative_of_the_gap(Q, q, formula, t):
    columns = []
    for k in range(q.size):
        ahead, behind = q.copy(), q.copy()
        ahead.flat[k] += STEP
        behind.flat[k] -= STEP
        columns.append((np.ravel(formula(t, ahead)) - np.ravel(formula(t, behind))) / (2.0 * STEP))
    contacts = Q.linearise(t, q)
    assert contacts.G.shape == (len(contacts.gap), q.size)
    np.testing.assert_allclose(contacts.G.toarray(), np.stack(columns, axis=1), atol=1e-8)
    u = np.random.default_rng(0).normal(size=q.size)
    np.testing.assert_allclose(contacts.G @ u, np.stack(columns, axis=1) @ u, atol=1e-7)


@every_set
def test_a_set_moves_if_its_gaps_change_with_time(Q, q, formula):
    changes = len(formula(0.0, q)) > 0 and not np.array_equal(np.ravel(formula(0.0, q)), np.ravel(formula(T, q)))
    assert Q.moving == changes or Q is parabola  # what a user writes cannot be known before it is tried


@every_set
def test_every_row_has_its_own_pair_and_its_own_words(Q, q, formula):
    contacts = Q.linearise(T, q)
    m = len(contacts.gap)
    assert contacts.pairs.shape == (m, 2)
    assert len({tuple(pair) for pair in contacts.pairs.tolist()}) == m
    assert len({contacts.describe(row) for row in range(m)}) == m


# --- the three sets of the papers, from one linearisation ---


def test_contacts_make_the_three_sets_of_the_papers():
    """K_h = {g / h + G u >= 0}, Q~ = {g + G (x - q) >= 0}, C = {G_i u >= 0 where g_i = 0}; lengths go along."""
    q = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
    contacts = jo.Balls([0.5, 0.5, 0.6]).linearise(0.0, q)
    G, u, h = contacts.G.toarray(), np.arange(6.0), 0.1
    np.testing.assert_allclose(contacts.velocities(h).slack(u), contacts.gap / h + G @ u, rtol=1e-14)
    np.testing.assert_allclose(contacts.positions(q).slack(u), contacts.gap + G @ (u - q.ravel()), rtol=1e-13)
    assert contacts.gap.round(12).tolist() == [0.0, round(np.sqrt(5.0) - 1.1, 12), 0.9]
    np.testing.assert_array_equal(contacts.cone().G.toarray(), G[:1])
    np.testing.assert_array_equal(contacts.cone(closed=1.0).G.toarray(), G[[0, 2]])
    np.testing.assert_allclose(contacts.velocities(h).length, 5.0, rtol=1e-15)
    assert contacts.positions(q).length.tolist() == [0.5, 0.5, 0.5]
    assert contacts.velocities(h).describe(2) == "balls 1 and 2"


def test_the_length_is_the_smallest_radius_in_sight():
    def length(Q, q, t=0.0):
        return Q.linearise(t, q).smallest_length()

    assert length(jo.Balls(RADII), THREE) == 0.2
    assert length(jo.Balls(growing), THREE, t=2.0) == pytest.approx(0.4, rel=1e-15)
    assert length(jo.Line(RADII), ROW) == 0.2
    assert length(jo.Line([0.0, 0.0]), ROW[:2]) is None
    assert length(jo.HalfSpace([0, 1]), ONE) is None
    assert length(jo.Box([0, 0], [9, 9], radii=0.4), ONE) == 0.4
    assert length(jo.Outside(CENTRES, [0.5, 0.6, 0.7]), ONE) == 0.5
    assert length(jo.Outside(CENTRES, [0.5, 0.6, 0.7], radii=0.1), ONE) == 0.1
    assert length(jo.HalfSpace([0, 1]) & jo.Balls(RADII) & jo.Outside(CENTRES, 0.1), THREE) == 0.1
    assert length(jo.HalfSpace([0, 1]) & jo.HalfSpace([1, 0]), ONE) is None
    assert length(jo.constraints(length=3.0)(lambda t, q: [q[0]]), ONE) == 3.0


def test_each_row_of_an_intersection_keeps_its_own_length():
    angle = jo.constraints(length=np.pi)(lambda t, q: [q[0, 0]])
    free = jo.constraints(lambda t, q: [q[1, 1], q[2, 1]])
    contacts = (jo.Balls(RADII) & angle & free).linearise(0.0, THREE)
    assert contacts.length.tolist() == [0.2, 0.2, 0.2, np.pi, 0.0, 0.0]
    assert contacts.only(np.array([3, 0])).length.tolist() == [np.pi, 0.2]
    assert contacts.tolerance()[:4].tolist() == [1e-9 * length for length in (0.2, 0.2, 0.2, np.pi)]


def test_a_point_at_the_origin_is_close_to_a_wall_by_the_way_that_led_it_there():
    contacts = jo.HalfSpace([1.0]).linearise(0.0, np.array([0.0]))
    assert contacts.tolerance().tolist() == [0.0]
    assert contacts.tolerance(np.array([2.0])) == pytest.approx([2e-9])


def test_an_overlap_is_measured_by_the_length_of_its_own_row():
    """1e-3 of a degree of freedom that runs to 1000 is little, though it is five small radii."""
    wide = jo.constraints(length=1000.0)(lambda t, q: [q[0, 0] + 1.0])
    Q = jo.Balls(RADII) & wide
    q = THREE.copy()
    q[0, 0] = -2.0
    assert Q.overlap(0.0, q) == pytest.approx(1e-3)
    assert jo.Free().overlap(0.0, q) == 0.0


# --- words ---


@pytest.mark.parametrize(
    ("Q", "q", "row", "words"),
    [
        (jo.HalfSpace([0, 1], 2.0), ONE, 0, "body 0 and plane with normal [0.0, 1.0], at offset 2"),
        (jo.HalfSpace([1.0, 0.0], np.sin), THREE, 2, "body 2 and plane with normal [1.0, 0.0], moving"),
        (jo.HalfSpace(rotation), ONE, 0, "body 0 and plane with normal turning, moving"),
        (jo.Box([0, 0], [4, np.inf]), THREE, 4, "body 1 and wall q[1] >= lower"),
        (jo.Box([0, 0], [4, np.inf]), THREE, 5, "body 1 and wall q[0] <= upper"),
        (jo.Outside(CENTRES, 0.5), THREE, 5, "body 1 and obstacle 2"),
        (jo.Inside(CENTRES[0], 9.0), ONE, 0, "body 0 and container 0"),
        (jo.Segments(WALL, radii=0.1), THREE, 1, "body 0 and segment [4.0, 3.0] to [4.0, 9.0]"),
        (jo.Balls(RADII), THREE, 2, "balls 1 and 2"),
        (jo.Line(RADII, lower=-1.0, upper=9.0), ROW, 0, "ball 0 and the lower wall"),
        (jo.Line(RADII, lower=-1.0, upper=9.0), ROW, 1, "balls 0 and 1"),
        (jo.Line(RADII, lower=-1.0, upper=9.0), ROW, 3, "ball 2 and the upper wall"),
        (parabola, ONE, 1, "constraint 1 of parabola"),
        (jo.Balls(RADII) & jo.Outside(CENTRES, 0.1) & jo.HalfSpace([0, 1]), THREE, 2, "balls 1 and 2"),
        (jo.Balls(RADII) & jo.Outside(CENTRES, 0.1) & jo.HalfSpace([0, 1]), THREE, 3, "ball 0 and obstacle 0"),
        (jo.Balls(RADII) & jo.Outside(CENTRES, 0.1) & jo.HalfSpace([0, 1]), THREE, 11, "ball 2 and obstacle 2"),
        (jo.Balls(RADII) & jo.Outside(CENTRES, 0.1) & jo.HalfSpace([0, 1]), THREE, 12,
         "ball 0 and plane with normal [0.0, 1.0], at offset 0"),
    ],
)  # fmt: skip
def test_rows_are_described_in_words(Q, q, row, words):
    assert Q.linearise(0.0, q).describe(row) == words


# --- intersections ---


def crowded():
    return jo.Balls(RADII) & jo.Outside(CENTRES, 0.1) & parabola_of_bodies & jo.Box([0, 0], [9, 9]) & second_user


@jo.constraints
def parabola_of_bodies(t, q):
    return [q[0, 1], q[1, 1], 9.0 - q[2, 0]]


@jo.constraints
def second_user(t, q):
    return [9.0 - q[:, 1].max()]


def test_an_intersection_stacks_its_parts_in_order():
    Q = crowded()
    parts = [part.linearise(0.0, THREE) for part in Q.sets]
    whole = Q.linearise(0.0, THREE)
    assert len(Q.sets) == 5
    assert [len(part.gap) for part in parts] == [3, 9, 3, 12, 1]
    np.testing.assert_array_equal(whole.gap, np.concatenate([part.gap for part in parts]))
    np.testing.assert_array_equal(whole.G.toarray(), np.vstack([part.G.toarray() for part in parts]))


def test_pairs_of_an_intersection_are_unique_and_stay_the_same():
    """Whether balls are near or far, a contact keeps its numbers: (i, j), (i, -1 - wall), (-1, constraint)."""
    Q = crowded()
    near, far = Q.linearise(0.0, THREE), Q.linearise(0.0, THREE, cutoff=0.0)
    assert 0 < len(far.gap) <= len(near.gap) - 3
    assert len({tuple(pair) for pair in near.pairs.tolist()}) == len(near.gap)
    words = {near.describe(row): tuple(near.pairs[row]) for row in range(len(near.gap))}
    assert all(words[far.describe(row)] == tuple(far.pairs[row]) for row in range(len(far.gap)))
    assert near.pairs[:3].tolist() == [[0, 1], [0, 2], [1, 2]]
    assert near.pairs[3:6].tolist() == [[0, -1], [0, -2], [0, -3]]
    assert (near.pairs[[12, 13, 14, 27], 0] == -1).all()


def test_an_intersection_is_associative():
    a, b, c = jo.HalfSpace([1, 0]), jo.Outside(CENTRES, 0.1), jo.Balls(RADII)
    left, right = ((a & b) & c).linearise(0.0, THREE), (a & (b & c)).linearise(0.0, THREE)
    np.testing.assert_array_equal(left.gap, right.gap)
    np.testing.assert_array_equal(left.pairs, right.pairs)
    np.testing.assert_array_equal(left.G.toarray(), right.G.toarray())


def test_what_is_known_of_the_parts_is_known_of_the_whole():
    convex, concave, moving = jo.Balls(RADII), jo.Inside([0.0, 0.0], 9.0), jo.HalfSpace([1.0, 0.0], np.sin)
    assert (convex & moving).convex_gaps is True
    assert (convex & parabola).convex_gaps is None
    assert (convex & parabola & concave).convex_gaps is False
    assert not (convex & concave).moving
    assert (convex & moving).moving


def test_contacts_of_pairs_stay_pairs():
    """The compact form survives, where all parts have it."""
    assert isinstance((jo.Balls(RADII) & jo.HalfSpace([0, 1])).linearise(0.0, THREE).G, NormalRows)
    assert isinstance((jo.HalfSpace([1, 0]) & jo.HalfSpace([0, 1])).linearise(0.0, ONE).G, Dense)


# --- neighbours ---


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("cutoff", [0.0, 0.05, 0.6])
def test_the_tree_finds_the_pairs_that_all_pairs_finds(d, cutoff):
    """Above 64 balls neighbours come from a tree: the same rows in the same order."""
    n = MAX_ALL_PAIRS + 60
    random = np.random.default_rng(d)
    q, radii = random.uniform(0.0, 8.0, (n, d)), random.uniform(0.1, 0.4, n)
    i, j = np.triu_indices(n, k=1)
    gap = norm(q[j] - q[i]) - radii[i] - radii[j]
    near = gap <= cutoff
    contacts = jo.Balls(radii).linearise(0.0, q, cutoff)
    assert 0 < near.sum() < len(gap) / 4
    np.testing.assert_array_equal(contacts.pairs, np.stack([i[near], j[near]], axis=1))
    np.testing.assert_allclose(contacts.gap, gap[near], atol=1e-14)
    normal = (q[j] - q[i])[near] / norm(q[j] - q[i])[near, None]
    np.testing.assert_allclose(contacts.G.normal, normal, atol=1e-14)
    assert contacts.cutoff == cutoff


def test_without_a_reach_no_pair_is_left_out():
    n = MAX_ALL_PAIRS + 6
    q = np.random.default_rng(0).uniform(0.0, 99.0, (n, 2))
    contacts = jo.Balls(np.full(n, 0.1)).linearise(0.0, q)
    assert len(contacts.gap) == n * (n - 1) // 2
    assert contacts.cutoff == np.inf


# --- shapes ---


def test_a_flat_configuration_is_the_same_as_rows_of_bodies():
    flat = jo.Balls(RADII).linearise(0.0, THREE.ravel())
    np.testing.assert_array_equal(flat.gap, jo.Balls(RADII).linearise(0.0, THREE).gap)


@pytest.mark.parametrize(
    ("Q", "q"),
    [
        (jo.HalfSpace([0, 1]), np.zeros((3, 3))),
        (jo.Box([0, 0], [1, 1]), np.zeros(3)),
        (jo.Outside(CENTRES, 1.0), np.zeros((2, 1))),
        (jo.Balls(RADII), np.zeros((4, 2))),
        (jo.Line(RADII), np.zeros(4)),
        (jo.HalfSpace([0, 1], radii=RADII), np.zeros((2, 2))),
        (jo.Balls(RADII.reshape(1, 3)), THREE),
    ],
)
def test_a_configuration_of_another_shape_is_refused(Q, q):
    with pytest.raises(jo.InvalidValue, match="shape"):
        Q.linearise(0.0, q)


# --- what is no set ---


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: jo.Box([0, 2], [1, 1]), "box is empty"),
        (lambda: jo.Outside([0.0, 0.0], -1.0), "radius must not be negative"),
        (lambda: jo.HalfSpace([0.0, 0.0]), "normal of a half-space"),
    ],
)
def test_impossible_sets_are_refused_when_made(make, what):
    with pytest.raises(ValueError, match=what):
        make()


def test_radii_are_positive_at_all_times():
    shrinking = jo.Balls(lambda t: np.array([1.0, 1.0 - t]))
    q = np.array([[0.0, 0.0], [5.0, 0.0]])
    assert shrinking.gap(0.5, q) == pytest.approx(3.5, rel=1e-15)
    for t, size in ((1.0, "0"), (1.5, "-0.5")):
        with pytest.raises(jo.InvalidValue, match=f"radius of ball 1 is {size} at t = {t:g}; it must be positive"):
            shrinking.linearise(t, q)
    with pytest.raises(jo.InvalidValue, match="radius of body 0 is -1"):
        jo.HalfSpace([0, 1], radii=-1.0).linearise(0.0, ONE)
    with pytest.raises(jo.errors.NotFinite, match="radius of ball 1 is not finite"):
        jo.Balls([1.0, np.nan]).linearise(0.0, q)


def test_coincident_centres_have_no_direction():
    q = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]])
    with pytest.raises(jo.errors.UndefinedGradient, match=r"balls 1 and 2 have the same centre \[3.0, 4.0\]"):
        jo.Balls(RADII).linearise(0.0, q)
    many = np.vstack([q, 50.0 + np.arange(2.0 * MAX_ALL_PAIRS).reshape(-1, 2) * 5.0])
    with pytest.raises(jo.errors.UndefinedGradient, match="balls 1 and 2"):
        jo.Balls(np.full(len(many), 0.1)).linearise(0.0, many, cutoff=0.5)
    with pytest.raises(jo.errors.UndefinedGradient, match="body 0 sits exactly on the centre of obstacle 1"):
        jo.Outside(CENTRES, 1.0).linearise(0.0, CENTRES[1])
    with pytest.raises(jo.errors.UndefinedGradient, match="centre of body 0 lies on segment"):
        jo.Segments(WALL, radii=0.1).linearise(0.0, np.array([1.0, 0.0]))


def test_balls_of_different_sizes_and_points_of_clumps_with_one_centre_are_refused():
    q = np.array([[0.0, 0.0], [9.0, 0.0], [9.0, 0.0]])
    with pytest.raises(jo.errors.UndefinedGradient, match=r"balls 1 and 2 have the same centre \[9.0, 0.0\]"):
        jo.Balls([0.1, 4.0, 2.0]).linearise(0.0, q)
    # balls of two clumps: only points among them have no overlap by which a common centre shows
    ends = np.array([[-1.0, 0.0], [1.0, 0.0]])
    clumps = jo.Clumps([(ends, [0.5, 0.0]), (ends, [0.0, 0.5])])
    places = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 0.0], [4.0, 0.0]])
    assert clumps.linearise(0.0, places + 0.1 * np.arange(4)[:, None]).gap.min() > -np.inf
    with pytest.raises(jo.errors.UndefinedGradient, match="same centre"):
        jo.Clumps([(ends, [0.5, 0.0]), (ends, [0.3, 0.5])]).linearise(0.0, places)


def test_the_middle_of_a_container_is_far_from_its_wall():
    """There the gap has no gradient either, but it does not matter."""
    contacts = jo.Inside([1.0, 1.0], 2.0).linearise(0.0, np.array([1.0, 1.0]))
    assert contacts.gap.tolist() == [2.0]
    assert np.isfinite(contacts.G.toarray()).all()


def test_a_start_outside_names_the_worst_pairs_first():
    q = np.array([[0.0, 0.0], [0.9, 0.0], [0.0, 0.2], [9.0, 0.0]])
    with pytest.raises(jo.InfeasibleStart) as caught:
        check_start(jo.Balls(np.full(4, 0.5)).linearise(0.0, q, 0.0))
    text = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert text.index("balls 0 and 2") < text.index("balls 0 and 1") < text.index("balls 1 and 2")
    assert "the gap of balls 0 and 2 is -8.00e-01" in text
    assert "jo.nearest(q0, within).point" in text


def test_touching_is_not_overlapping_up_to_round_off_of_the_radius():
    Q = jo.Balls([1e-3, 1e-3])
    check_start(Q.linearise(0.0, np.array([[0.0, 0.0], [2e-3 * (1.0 - 1e-12), 0.0]]), 0.0))
    with pytest.raises(jo.InfeasibleStart):
        check_start(Q.linearise(0.0, np.array([[0.0, 0.0], [2e-3 * (1.0 - 1e-8), 0.0]]), 0.0))


def test_a_start_at_another_time_is_judged_at_that_time():
    table = jo.HalfSpace([1.0], lambda t: t)
    check_start(table.linearise(0.0, np.array([0.5]), 0.0))
    with pytest.raises(jo.InfeasibleStart, match=r"is -5\.00e-01"):
        check_start(table.linearise(1.0, np.array([0.5]), 0.0))


def test_sets_do_not_change_when_the_arrays_they_were_made_of_do():
    centre, radii = np.zeros(2), np.array([0.5, 0.5])
    outside, balls = jo.Outside(centre, 1.0), jo.Balls(radii)
    centre += 9.0
    radii += 9.0
    assert outside.gap(0.0, [3.0, 0.0]) == 2.0
    assert balls.gap(0.0, [[0.0, 0.0], [3.0, 0.0]]) == 2.0


# --- sets that users write ---


def test_a_users_function_stays_a_function():
    assert parabola(0.25, [1.0, 2.0]).tolist() == [0.75, 2.0]
    assert parabola.name == "parabola"
    assert parabola.__doc__.startswith("Above a parabola")
    assert parabola.convex_gaps is None
    assert jo.constraints(convex=True)(lambda t, q: [q[0]]).convex_gaps is True


def test_a_given_gradient_is_used_as_it_is():
    """Checked once against differences, then trusted: the gap is not differenced any more."""
    calls = []

    def slope(t, q):
        return [[1.0, -2.0 * q[1]]]

    @jo.constraints(gradient=slope)
    def above(t, q):
        calls.append(t)
        return [q[0] - q[1] ** 2]

    np.testing.assert_array_equal(above.linearise(0.0, ONE).G.toarray(), [[1.0, -4.2]])
    checked = len(calls)
    above.linearise(0.0, 2.0 * ONE)
    assert checked > 4  # the gap, and two differences in each of two directions at least
    assert len(calls) == checked + 1


def test_a_gradient_of_bodies_has_the_shape_of_the_bodies():
    @jo.constraints(gradient=lambda t, q: 2.0 * q[None])
    def far(t, q):
        return [(q**2).sum() - 1.0]

    np.testing.assert_array_equal(far.linearise(0.0, THREE).G.toarray(), 2.0 * THREE.reshape(1, 6))


def test_a_wrong_gradient_is_found_out():
    @jo.constraints(gradient=lambda t, q: [[1.0, 0.0], [0.0, -1.0]])
    def wedge(t, q):
        return [q[0], q[1]]

    with pytest.raises(jo.InvalidValue, match=r"constraint 1 of wedge is wrong: d/dq\[1\] is given as -1, .* give 1"):
        wedge.linearise(0.0, ONE)


def heights(gradient):
    """The height of body 7 among many, with a gradient; and how often g was evaluated."""
    calls = []

    def g(t, q):
        calls.append(t)
        return [q[7, 1] + 0.5 * q[9, 0] ** 2, 2.0 - q[7, 1]]

    return jo.constraints(gradient=gradient)(g), calls


def slopes(q, **wrong):
    G = np.zeros((2, *q.shape))
    G[0, 7, 1], G[0, 9, 0], G[1, 7, 1] = 1.0, q[9, 0], -1.0
    for (row, body, axis), value in wrong.get("at", {}).items():
        G[row, body, axis] = value
    return G


def test_a_gradient_of_a_few_among_many_bodies_is_checked_with_few_evaluations():
    Q, calls = heights(lambda t, q: slopes(q))
    q = np.random.default_rng(0).normal(size=(2000, 2))
    G = Q.linearise(0.0, q).G.toarray()
    np.testing.assert_array_equal(G, slopes(q).reshape(2, -1))
    assert len(calls) < 300
    before = len(calls)
    Q.linearise(0.0, q + 1e-3)
    assert len(calls) == before + 1, "it is not checked again"


@pytest.mark.parametrize(
    ("place", "value"), [((0, 9, 0), 0.0), ((1, 7, 1), 1.0), ((0, 33, 1), 0.1), ((1, 7, 1), -1.001)]
)
def test_a_wrong_entry_among_many_bodies_is_found_out(place, value):
    Q, _ = heights(lambda t, q: slopes(q, at={place: value}))
    row, body, axis = place
    with pytest.raises(
        jo.InvalidValue, match=rf"constraint {row} of g is wrong: d/dq\[{2 * body + axis}\] is given as"
    ):
        Q.linearise(0.0, np.random.default_rng(0).normal(size=(100, 2)))


def test_a_gradient_that_is_wrong_by_a_thousandth_is_found_out():
    @jo.constraints(gradient=lambda t, q: [2.001 * q])
    def far(t, q):
        return [(q**2).sum() - 1.0]

    with pytest.raises(jo.InvalidValue, match="constraint 0 of far is wrong"):
        far.linearise(0.0, ONE)


def test_a_gradient_of_another_shape_is_refused():
    @jo.constraints(gradient=lambda t, q: [1.0, 0.0, 0.0])
    def right(t, q):
        return [q[0]]

    with pytest.raises(jo.InvalidValue, match=r"gradient of right has shape \(3,\); expected \(1, 2\)"):
        right.linearise(0.0, ONE)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_differences_follow_the_unit_of_length(unit):
    """|q| in any unit: the gradient is the unit vector to nine digits."""
    length = {1e-6: 1e-6, 1.0: None, 1e6: 1e6}[unit]

    @jo.constraints(length=length)
    def outside(t, q):
        return [np.linalg.norm(q) - unit]

    q = unit * np.array([0.6, 0.8])
    np.testing.assert_allclose(outside.linearise(0.0, q).G.toarray(), [[0.6, 0.8]], atol=1e-9)


@pytest.mark.parametrize("q", [0.0, 1e-17, 1e-12, 1e-6])
def test_differences_do_not_vanish_near_the_origin(q):
    """There |q| says nothing about the length on which the gap varies."""
    step = jo.constraints(lambda t, q: [q[0] - 0.05, 0.3 - q[0] + 0.1 * q[0] ** 2])
    np.testing.assert_allclose(step.linearise(0.0, np.array([q])).G.toarray(), [[1.0], [-1.0 + 0.2 * q]], atol=1e-9)


def test_a_number_may_stand_for_one_constraint():
    lone = jo.constraints(lambda t, q: q[0] - t)
    contacts = lone.linearise(0.5, ONE)
    assert contacts.gap.tolist() == pytest.approx([0.8])
    assert contacts.pairs.tolist() == [[-1, 0]]


def test_a_gap_that_is_not_finite_is_an_error():
    @jo.constraints
    def logarithm(t, q):
        return [q[0], np.inf if q[1] > 0 else 1.0]

    with pytest.raises(jo.errors.NotFinite, match=r"constraint 1 of logarithm is inf at t = 0\.5"):
        logarithm.linearise(0.5, ONE)


def test_an_active_constraint_without_gradient_is_an_error():
    """At the centre of a paraboloid there is no direction to push; far from the boundary it does not matter."""

    @jo.constraints
    def bowl(t, q):
        return [t - (q**2).sum()]

    with pytest.raises(jo.errors.UndefinedGradient, match="constraint 0 of bowl is active"):
        bowl.linearise(-1.0, np.zeros(2))
    assert bowl.linearise(1.0, np.zeros(2)).gap.tolist() == [1.0]


def test_constraints_keep_the_shape_that_the_user_gave():
    seen = []

    @jo.constraints
    def record(t, q):
        seen.append(q.shape)
        return q.ravel()

    record.linearise(0.0, THREE)
    assert set(seen) == {(3, 2)}


SCALES = st.floats(-3.0, 3.0).map(lambda decade: 10.0**decade)


@settings(max_examples=examples(20))
@given(st.integers(0, 10**6), SCALES, SCALES, SCALES, st.booleans())
def test_a_body_held_by_constraints_of_the_user_never_leaves_their_set_without_a_cause(seed, size, speed, load, first):
    """Half-spaces through the origin: the body ends in the corner, where its coordinates are round-off."""
    random = np.random.default_rng(seed)
    normals = random.normal(size=(2, 2))
    wedge = jo.constraints(lambda t, q: normals @ q)
    start = np.linalg.solve(normals, random.uniform(0.0, 1.0, 2))
    q0, down = size * start, -np.linalg.solve(normals, random.uniform(0.1, 1.0, 2))
    pull = normals.T @ -random.uniform(0.1, 1.0, 2)  # between the normals: the corner holds it
    if first:
        problem, scheme = jo.Sweeping(q0=q0, velocity=speed * pull, within=wedge), jo.Venel()
    else:
        problem, scheme = jo.Motion(q0=q0, v0=speed * down, force=load * pull, within=wedge), jo.Maury()
    t = 4.0 * size / speed
    sol = jo.solve(problem, scheme, t=t, h=t / 15.0)
    fastest = np.abs(sol.u).max() + speed + load * t
    assert sol.gaps().min() >= -1e-8 * (size + t * fastest)


@settings(max_examples=10)
@given(st.integers(0, 10**6), SCALES, st.booleans())
def test_a_body_held_at_the_origin_by_equalities_of_the_user_stays_there(seed, load, scheme):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(3, 2))  # one of them too many
    pin = jo.constraints(lambda t, q: rows @ q, equal=True)
    held = jo.Motion(q0=[0.0, 0.0], force=load * random.normal(size=2), within=pin)
    sol = jo.solve(held, jo.Maury() if scheme else jo.MoreauJean(), t=1.0, h=0.1)
    assert np.abs(sol.q).max() <= 1e-9 * load


def test_differences_serve_configurations_of_any_size_and_all_threads():
    outside = jo.constraints(lambda t, q: [np.linalg.norm(q) - 1.0])
    assert jo.nearest([0.0, 0.5], outside).point == pytest.approx([0.0, 1.0])
    assert jo.nearest([0.0, 0.3, 0.4], outside).point == pytest.approx([0.0, 0.6, 0.8])
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(jo.nearest, [0.5, 0.0], outside).result().point == pytest.approx([1.0, 0.0])
    assert pickle.loads(pickle.dumps(Differences(np.hypot, 2.0))).length == 2.0
