"""Starts without overlap: lattices, random sequential addition, separation, random close packings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jostle as jo
from jostle.models.packings import random_close_packing, separate
from jostle.models.starts import ball_volume, cell, random_sequential, square_lattice, triangular_lattice
from rows import examples, whole

ROUND_OFF = 1e-12


def lowest(q, radii, box=None, period=None):
    """The smallest gap between balls, and to the walls."""
    Q = jo.Balls(radii, period=period)
    return (Q if box is None else Q & jo.Box(*box, radii=radii)).gap(0.0, q)


def backbone(packing, d):
    """(contacts, balls) without the rattlers, those held by less than d + 1 contacts."""
    pairs, kept = packing.pairs, np.ones(len(packing.q), dtype=bool)
    while True:
        wall = pairs[:, 1] < 0
        rows = kept[pairs[:, 0]] & (kept[pairs[:, 1]] | wall)
        rigid = kept & (np.bincount(pairs[rows][pairs[rows] >= 0], minlength=len(kept)) > d)
        if (rigid == kept).all():
            return int(rows.sum()), int(kept.sum())
        kept = rigid


# --- lattices ---


@settings(max_examples=examples(40), deadline=None)
@given(
    lattice=st.sampled_from([square_lattice, triangular_lattice]),
    d=st.sampled_from([2, 3]),
    n=st.integers(1, 120),
    spacing=st.floats(0.1, 10.0),
    widths=st.tuples(st.floats(1.0, 6.0), st.floats(1.0, 6.0)),
    corner=st.floats(-5.0, 5.0),
)
def test_balls_on_a_lattice_neither_overlap_nor_cross_walls(lattice, d, n, spacing, widths, corner):
    lower = np.full(d, corner)
    box = lower, np.append(lower[:-1] + spacing * np.array(widths[: d - 1]), np.inf)
    q = lattice(n, spacing, box=box)
    assert q.shape == (n, d)
    assert lowest(q, np.full(n, spacing / 2.0), box) >= -1e-8 * spacing
    assert (np.diff(q[:, -1]) >= 0.0).all()


@pytest.mark.parametrize(("d", "neighbours"), [(2, 6), (3, 12)])
def test_balls_in_the_bulk_of_the_triangular_lattice_have_six_or_twelve_neighbours(d, neighbours):
    q = triangular_lattice(900, 1.0, box=([0.0] * d, [9.0] * (d - 1) + [np.inf]))
    touching = jo.Balls(np.full(900, 0.5)).linearise(0.0, q, 1e-6).pairs
    degree = np.bincount(touching.ravel(), minlength=900)
    bulk = ((q > 2.0) & (q < 7.0)).all(axis=1)
    assert bulk.sum() >= 10
    assert (degree[bulk] == neighbours).all()


def test_a_box_as_wide_as_three_balls_holds_three():
    for a in (0.1, 0.3, 1.0 / 3.0):
        assert (square_lattice(6, a, box=([0.0, 0.0], [3.0 * a, 2.0 * a]))[:, 1] > a).sum() == 3
        assert len(triangular_lattice(5, a, box=([0.0, 0.0], [3.0 * a, 2.0 * a]))) == 5


def test_a_lattice_may_be_stretched_along_an_axis():
    q = square_lattice(4, [1.5, 1.0], box=([0, 0], [3.0, np.inf]))
    assert q.tolist() == [[0.75, 0.5], [2.25, 0.5], [0.75, 1.5], [2.25, 1.5]]


def test_lattices_say_how_many_points_there_is_room_for():
    with pytest.raises(jo.InvalidValue, match=r"room for 12 points.*not for 13"):
        square_lattice(13, 1.0, box=([0, 0], [4, 3]))
    with pytest.raises(jo.InvalidValue, match="room for 0 points"):
        triangular_lattice(1, 1.0, box=([0, 0, 0], [0.9, 5, np.inf]))
    with pytest.raises(jo.InvalidValue, match="only its top may be open"):
        square_lattice(3, 1.0, box=([0, 0], [np.inf, 3]))
    with pytest.raises(jo.InvalidValue, match="spacing must be positive"):
        triangular_lattice(3, 0.0, box=([0, 0], [3, 3]))
    assert square_lattice(0, 1.0, box=([0, 0], [3, 3])).shape == (0, 2)


# --- random sequential addition ---


@settings(max_examples=examples(30), deadline=None)
@given(
    d=st.sampled_from([2, 3]),
    n=st.integers(1, 150),
    ratio=st.floats(1.0, 20.0),
    fraction=st.floats(0.05, 0.25),
    periodic=st.lists(st.booleans(), min_size=3, max_size=3),
    seed=st.integers(0, 2**32 - 1),
)
def test_balls_added_one_after_the_other_never_overlap(d, n, ratio, fraction, periodic, seed):
    radii = np.random.default_rng(seed).uniform(1.0 / ratio, 1.0, n)
    width = max((ball_volume(radii, d) / fraction) ** (1.0 / d), 4.5)
    walls = ~np.array(periodic[:d])
    box = np.where(walls, -1.0, -np.inf), np.where(walls, width - 1.0, np.inf)
    period = np.where(walls, np.inf, width)
    q = random_sequential(radii, box=box, period=period, seed=seed)
    assert lowest(q, radii, box, period) >= 0.0
    assert (q[:, ~walls] >= 0.0).all()
    assert (q[:, ~walls] < width).all()


def test_ten_thousand_discs_are_added_without_overlap():
    radii = np.ones(10_000)
    width = np.sqrt(ball_volume(radii, 2) / 0.4)
    q = random_sequential(radii, box=([0, 0], [width, width]), seed=1)
    assert lowest(q, radii, ([0, 0], [width, width])) > 0.0


def test_the_largest_balls_find_a_place_however_many_small_ones_there_are():
    radii = 10.0 ** np.random.default_rng(1).uniform(-2.0, 0.0, 2000)
    width = np.sqrt(ball_volume(radii, 2) / 0.5)
    q = random_sequential(radii, period=[width, width])
    assert lowest(q, radii, period=[width, width]) > 0.0


def test_random_places_are_spread_evenly():
    q = random_sequential(np.full(4000, 0.1), period=[40.0, 40.0], seed=3)
    counts = np.histogram2d(*q.T, bins=4, range=[[0, 40], [0, 40]])[0]
    assert np.abs(counts - 250.0).max() < 5.0 * np.sqrt(250.0)


def test_saturation_is_an_error_that_says_how_far_it_got():
    with pytest.raises(
        jo.InvalidValue, match=r"placed \d+ of 200 balls.*fill 0\.[45]\d\d of the space.*0\.900"
    ) as error:
        random_sequential(np.ones(200), period=[np.sqrt(200 * np.pi / 0.9)] * 2)
    assert "0.547" in str(error.value)


def test_spaces_that_are_none_are_refused():
    for box, period, words in (
        (None, None, "one number for each axis"),
        (None, 5.0, "one number for each axis"),
        (([0, 0], [1, 1, 1]), None, "one number for each axis"),
        (([0, 0], [np.inf, 1]), None, "two finite walls"),
        (([0, 0], [1, -1]), None, "lower < upper"),
        (([0, 0], [5, 5]), [5, np.inf], "a period and walls"),
        (None, [5, 0], "lower < upper"),
        (None, [5, np.inf], "two finite walls"),
    ):
        with pytest.raises(jo.InvalidValue, match=words):
            random_sequential([1.0, 1.0], box=box, period=period)
    with pytest.raises(jo.InvalidValue, match=r"2 wide, the box only 1\.5"):
        random_sequential([1.0], box=([0, 0], [1.5, 5.0]))


# --- separate ---


@settings(max_examples=examples(40), deadline=None)
@given(
    d=st.sampled_from([1, 2, 3]),
    radii=st.tuples(st.floats(0.2, 2.0), st.floats(0.2, 2.0)),
    masses=st.tuples(st.floats(0.1, 10.0), st.floats(0.1, 10.0)),
    part=st.floats(0.05, 0.95),
    seed=st.integers(0, 1000),
)
def test_two_balls_part_along_their_line_by_the_inverse_of_their_masses(d, radii, masses, part, seed):
    normal = np.random.default_rng(seed).standard_normal(d)
    normal /= np.linalg.norm(normal)
    q = np.stack([np.zeros(d), part * sum(radii) * normal])
    x = separate(q, radii, mass=masses, tol=1e-9)
    overlap, total = (1.0 - part) * sum(radii), sum(masses)
    exact = q + np.stack([-overlap * masses[1] / total * normal, overlap * masses[0] / total * normal])
    np.testing.assert_allclose(x, exact, atol=1e-6 * min(radii))


@settings(max_examples=examples(15), deadline=None)
@given(
    d=st.sampled_from([2, 3]),
    n=st.integers(2, 100),
    fraction=st.floats(0.1, 1.5),
    seed=st.integers(0, 10_000),
)
def test_balls_in_free_space_can_always_be_separated_and_stay_so(d, n, fraction, seed):
    random = np.random.default_rng(seed)
    radii = random.uniform(0.5, 1.0, n)
    q = random.uniform(0.0, (ball_volume(radii, d) / fraction) ** (1.0 / d), (n, d))
    x = separate(q, radii, tol=1e-3)
    assert lowest(x, radii) >= 0.0
    assert separate(x, radii).tobytes() == x.tobytes()


def test_an_admissible_configuration_is_left_alone():
    q = triangular_lattice(50, 1.0, box=([0, 0], [6, np.inf]))
    for scale in (1.0, 1e-6, 1e6):
        assert separate(scale * q, np.full(50, scale / 2.0)).tobytes() == (scale * q).tobytes()
    assert separate(np.zeros((0, 2)), np.zeros(0)).shape == (0, 2)


@pytest.mark.each_value
@pytest.mark.parametrize("space", ["box", "period"])
@pytest.mark.parametrize("d", [2, 3])
def test_separated_balls_respect_walls_and_periods(space, d):
    random = np.random.default_rng(5)
    radii = random.uniform(0.7, 1.0, 100)
    width = (ball_volume(radii, d) / 0.5) ** (1.0 / d)
    Q = cell(([0.0] * d, [width] * d), None) if space == "box" else cell(None, [width] * d)
    q = random.uniform(0.0, width, (100, d))
    x = separate(q, Q.within(radii), tol=1e-4)
    assert Q.within(radii).gap(0.0, x) >= 0.0


def test_the_nearest_configuration_is_nearer_than_others_that_are_known():
    """Discs of a lattice that were shaken: the lattice is admissible, and so are they themselves, stretched."""
    random = np.random.default_rng(2)
    radii = np.ones(100)
    known = square_lattice(100, 2.0, box=([0, 0], [20, np.inf]))
    for depth in (0.05, 0.2, 0.5):
        q = known + random.uniform(-depth, depth, known.shape)
        x = separate(q, radii)
        assert 0.0 < np.linalg.norm(x - q) < np.linalg.norm(known - q)
        stretched = q * np.max(2.0 / (lowest(q, radii) + 2.0))
        assert lowest(stretched, radii) >= -ROUND_OFF
        assert np.linalg.norm(x - q) < np.linalg.norm(stretched - q)


def test_the_nearest_configuration_satisfies_the_optimality_conditions():
    """x - q = G^T p, p >= 0 on closed contacts: the projection of q - x on the cone at x is zero."""
    random = np.random.default_rng(3)
    radii = random.uniform(0.8, 1.2, 60)
    q = random.uniform(0.0, 16.0, (60, 2))
    for mass in (1.0, random.uniform(0.5, 2.0, 60)):
        x = separate(q, radii, mass=mass, tol=1e-8)
        cone = jo.Balls(radii).linearise(0.0, x).cone(closed=1e-5)
        left = jo.project(q - x, cone, mass=mass, solver=jo.ActiveSet()).point
        assert np.abs(left).max() <= 1e-5 * np.abs(q - x).max()


def test_units_do_not_matter_to_the_separation():
    random = np.random.default_rng(4)
    radii, q = random.uniform(0.8, 1.2, 40), random.uniform(0.0, 10.0, (40, 2))
    x = separate(q, radii)
    for scale in (1e-6, 1e6):
        np.testing.assert_allclose(separate(scale * q, scale * radii) / scale, x, atol=1e-4)


def test_balls_with_the_same_centre_part_in_directions_of_the_seed():
    q = np.array([[1.0, 1.0]] * 3 + [[5.0, 5.0]])
    first, again, other = (separate(q, np.ones(4), seed=seed) for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()
    for x in (first, other):
        assert lowest(x, np.ones(4)) >= 0.0
        np.testing.assert_allclose(x[:3].mean(axis=0), [1.0, 1.0], atol=1e-5)
        assert x[3].tolist() == [5.0, 5.0]


def test_balls_that_do_not_fit_are_an_error_that_names_the_worst():
    radii = np.ones(20)
    Q = jo.Balls(radii) & jo.Box([0, 0], [8, 8], radii=radii)
    q = np.random.default_rng(0).uniform(1.0, 7.0, (20, 2))
    with pytest.raises(jo.NotConverged, match=r"no room was found for 20 balls.*pairs still overlap.*does not prove"):
        separate(q, Q)


def test_what_cannot_be_separated_is_refused():
    with pytest.raises(jo.InvalidValue, match="one row per ball"):
        separate([0.0, 1.0], [1.0, 1.0])
    with pytest.raises(jo.InvalidValue, match="tol"):
        separate([[0.0], [1.0]], [1.0, 1.0], tol=0.0)
    with pytest.raises(jo.errors.NotFinite):
        separate([[0.0], [np.nan]], [1.0, 1.0])
    with pytest.raises(jo.InvalidValue, match="radii"):
        separate([[0.0], [1.0]], [1.0, 1.0, 1.0])
    with pytest.raises(jo.InvalidValue, match="not convex"):
        separate([[3.0, 0.0]], jo.Inside([0.0, 0.0], 1.0))


def test_people_who_overlap_are_separated_within_their_room():
    room = jo.crowds.Room([(0, 0), (10, 0), (10, 8), (0, 8)], doors=[((10, 3.2), (10, 4.8))])
    Q = jo.Balls(0.25) & jo.Segments(room.walls, radii=0.25)
    q = np.random.default_rng(1).uniform([0.3, 0.3], [9.7, 7.7], (150, 2))
    x = separate(q, Q)
    assert Q.gap(0.0, x) >= 0.0
    assert room.inside(x).all()


def test_a_separated_crowd_can_start_a_run():
    random = np.random.default_rng(6)
    radii = random.uniform(0.2, 0.3, 80)
    Q = jo.Balls(radii) & jo.Box([0, 0], [6, 6], radii=radii)
    x = separate(random.uniform(0.0, 6.0, (80, 2)), Q, tol=1e-3)
    sol = jo.solve(jo.Sweeping(q0=x, velocity=[1.0, 0.0] * np.ones((80, 2)), within=Q), jo.Venel(), t=0.1, h=0.05)
    assert sol.status == "finished"


# --- random close packing ---


@pytest.fixture(scope="module")
def discs():
    """200 discs of two sizes, to the last digits."""
    return random_close_packing(np.repeat([1.0, 1.4], 100), period=[1.0, 1.0], seed=2, tol=1e-9)


@pytest.fixture(scope="module")
def spheres():
    return random_close_packing(np.ones(150), period=[1.0, 1.0, 1.0], seed=1)


def test_discs_of_two_sizes_jam_at_084(discs):
    """0.842 for N -> infinity (O'Hern et al. 2003). N = 1000, seeds 0 to 4: 0.8423 to 0.8438; N = 4000: 0.8431."""
    assert 0.82 < ball_volume(discs.radii, 2) < 0.86
    assert discs.radii[100:] / discs.radii[:100] == pytest.approx(np.full(100, 1.4))


def test_equal_spheres_jam_at_064(spheres):
    """0.639 for N -> infinity (O'Hern et al. 2003). N = 1000, seeds 0 to 4: 0.6371 to 0.6406; N = 4000: 0.6398."""
    assert 0.62 < ball_volume(spheres.radii, 3) < 0.655


def test_jammed_balls_do_not_overlap(discs, spheres):
    for packing, d in ((discs, 2), (spheres, 3)):
        assert lowest(packing.q, packing.radii, period=[1.0] * d) >= -ROUND_OFF


def test_jammed_discs_have_exactly_as_many_contacts_as_it_takes(discs):
    """Isostatic: d (N - 1) + 1 contacts of the N discs that are no rattlers."""
    contacts, rigid = backbone(discs, 2)
    assert rigid > 180
    assert contacts == len(discs.pairs) == 2 * (rigid - 1) + 1


def test_jammed_spheres_have_about_as_many_contacts_as_it_takes(spheres):
    contacts, rigid = backbone(spheres, 3)
    assert rigid > 138
    assert 2.0 * contacts / rigid == pytest.approx(6.0, abs=0.06)


@pytest.mark.parametrize("d", [2, 3])
def test_the_forces_of_a_packing_balance_on_each_ball(d, discs, spheres):
    packing = discs if d == 2 else spheres
    near = jo.Balls(packing.radii, period=[1.0] * d).linearise(0.0, packing.q, 1e-3 * packing.radii.min())
    row = {tuple(pair): k for k, pair in enumerate(near.pairs.tolist())}
    contacts = near.only(np.array([row[tuple(pair)] for pair in packing.pairs.tolist()]))
    assert packing.forces.mean() == pytest.approx(1.0)
    assert (packing.forces > 0.0).all()
    assert contacts.gap.max() <= (1e-7 if d == 2 else 1e-3) * packing.radii.min()
    assert np.abs(contacts.G.adjoint(packing.forces)).max() <= (1e-4 if d == 2 else 2e-2)


def test_the_same_seed_gives_the_same_packing():
    radii = np.repeat([1.0, 1.4], 6)
    first, again, other = (random_close_packing(radii, period=[1.0, 1.0], seed=seed) for seed in (1, 1, 2))
    drawn = random_close_packing(radii, period=[1.0, 1.0], seed=np.random.default_rng(1))
    assert first.q.tobytes() == again.q.tobytes() == drawn.q.tobytes()
    assert first.radii.tobytes() == again.radii.tobytes()
    assert first.q.tobytes() != other.q.tobytes()
    starts = (random_sequential(0.05 * radii, box=([0, 0], [5, 5]), seed=seed) for seed in (1, 1, 2))
    one, two, three = (start.tobytes() for start in starts)
    assert one == two != three


@pytest.mark.parametrize("d", [whole(2), 3])
def test_packings_between_walls_and_along_a_period(d):
    box = [-np.inf] + [0.0] * (d - 1), [np.inf] + [1.0] * (d - 1)
    period = [1.0] + [np.inf] * (d - 1)
    packing = random_close_packing(np.linspace(1.0, 1.5, 60), box=box, period=period)
    assert lowest(packing.q, packing.radii, box, period) >= -ROUND_OFF
    assert (0.7 if d == 2 else 0.45) < ball_volume(packing.radii, d) < (0.85 if d == 2 else 0.65)
    contacts, rigid = backbone(packing, d)
    assert contacts == pytest.approx(d * rigid, abs=3)
    assert (packing.pairs[:, 1] < 0).any()


def test_one_disc_fills_its_box():
    packing = random_close_packing([1.0], box=([0.0, 0.0], [3.0, 2.0]))
    assert packing.radii[0] == pytest.approx(1.0, abs=1e-5)


def test_packings_do_not_depend_on_units():
    radii = np.repeat([1.0, 1.4], 20)
    unit = random_close_packing(radii, period=[1.0, 1.0], seed=4)
    large = random_close_packing(1e3 * radii, period=[1024.0, 1024.0], seed=4)
    assert ball_volume(large.radii, 2) / 1024.0**2 == pytest.approx(ball_volume(unit.radii, 2), abs=1e-5)


def test_packings_that_cannot_be_are_refused():
    with pytest.raises(jo.InvalidValue, match="dimension 2 or 3"):
        random_close_packing([1.0, 1.0], period=[5.0])
    with pytest.raises(jo.InvalidValue, match="tol"):
        random_close_packing([1.0, 1.0], period=[5.0, 5.0], tol=2.0)
    with pytest.raises(jo.InvalidValue, match="must be positive"):
        random_close_packing([1.0, 0.0], period=[5.0, 5.0])
    with pytest.raises(jo.InvalidValue, match="period"):
        random_close_packing([1.0, 1.0], period=[5.0, 5.0])  # too few for a period
