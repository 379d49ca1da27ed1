"""The obstacle step satisfies its four conditions with walls, exits and open sides, and keeps mass and symmetry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import jostle as jo
from jostle import macro
from jostle.macro import obstacle_step
from jostle.macro.motion.domain import Domain
from jostle.macro.motion.pressure import hard
from jostle.macro.obstacle import FivePoint, nested, obstacle
from rows import examples

SHAPE = (6, 5)
densities = arrays(float, SHAPE, elements=st.integers(0, 16).map(lambda k: k / 8))
masks = arrays(bool, SHAPE, elements=st.sampled_from([False, False, False, True]))
sides = st.tuples(*[st.tuples(st.booleans(), st.booleans())] * 2)
quick = settings(max_examples=examples(25), deadline=None)


def room(closed=True, h=1.0):
    return macro.Grid([0, 0], [6 * h, 5 * h], h=h, closed=closed)


def laplacian(p, solid, outside, closed, h):
    """Laplace p cell by cell: nothing passes a wall, and p = 0 half a cell away at an exit or an open side."""
    found = np.zeros_like(p)
    for i, j in np.argwhere(~(solid | outside)):
        for axis, step in ((0, -1), (0, 1), (1, -1), (1, 1)):
            k = [i, j]
            k[axis] += step
            if not 0 <= k[axis] < p.shape[axis]:
                shut, beyond = closed[axis][(step + 1) // 2], True
            else:
                shut, beyond = solid[tuple(k)], outside[tuple(k)]
            if not shut:
                found[i, j] += -2 * p[i, j] if beyond else p[tuple(k)] - p[i, j]
    return found / h**2


@quick
@given(density=densities, solid=masks, outside=masks, closed=sides, h=st.sampled_from([1.0, 0.01, 300.0]))
def test_the_four_conditions_hold(density, solid, outside, closed, h):
    outside = outside & ~solid
    grid, density = room(closed, h), np.where(solid, 0.0, density)
    try:
        after, p = obstacle_step(grid, density, solid, outside)
    except jo.InvalidValue as error:
        assert "without an exit" in str(error)  # noqa: PT017
        return
    inside = ~(solid | outside)
    moved = laplacian(p, solid, outside, closed, h)
    assert after[inside] == pytest.approx((density + moved)[inside], abs=1e-11)
    assert (after[~inside] == 0).all()
    assert (p >= 0).all()
    assert (p[~inside] == 0).all()
    assert (after >= 0).all()
    assert (after <= 1 + 1e-10).all()
    assert (p * (1 - after) <= 1e-10 * h**2).all()


@quick
@given(density=densities)
def test_mass_is_kept_to_round_off_in_a_closed_room_and_too_much_is_refused(density):
    if density.sum() > 30:
        with pytest.raises(jo.InvalidValue, match=r"density has mass .* in an area of 30 without an exit"):
            obstacle_step(room(), density)
    else:
        assert obstacle_step(room(), density).density.sum() == pytest.approx(density.sum(), rel=1e-14, abs=1e-14)


@quick
@given(density=densities, solid=masks, outside=masks)
def test_mirror_images_and_quarter_turns_commute_with_the_step(density, solid, outside):
    outside = outside & ~solid
    density = np.where(solid, 0.0, density)

    def spread(turn):
        grid = macro.Grid([0, 0], turn(density).shape, h=1.0)
        return obstacle_step(grid, turn(density), turn(solid), turn(outside)).density

    straight = spread(np.asarray)
    for turn in (np.rot90, np.flipud, np.fliplr, np.transpose):
        assert spread(turn) == pytest.approx(turn(straight), abs=1e-10)


def test_a_density_of_at_most_one_does_not_change_by_a_bit():
    density = np.random.default_rng(0).uniform(0, 1, SHAPE)
    after, p = obstacle_step(room(), density)
    assert (after == density).all()
    assert (p == 0).all()


def test_a_corridor_empties_through_its_open_side_only_as_much_as_it_must():
    grid = macro.Grid([0, 0], [4, 1], h=1.0, closed=((True, False), (True, True)))
    after, p = obstacle_step(grid, [[1.0], [1.0], [1.0], [1.5]])
    # the flux out is 2 p of the last cell; p is constant in the saturated cells to its left
    assert after.ravel() == pytest.approx([1, 1, 1, 1])
    assert p.ravel() == pytest.approx([0.25] * 4)


def test_a_completely_filled_room_is_saturated_and_its_least_pressure_is_zero():
    after, p = obstacle_step(
        macro.Grid([0, 0], [6, 5], h=1.0, closed=True), np.repeat([[2.0], [0.0]], 3, axis=0) + np.zeros(5)
    )
    assert after == pytest.approx(np.ones(SHAPE), abs=1e-12)
    assert p.min() == 0
    # 1-D: p'' = 1 - rho with p' = 0 at both walls
    assert p[:, 0] == pytest.approx([9, 8, 6, 3, 1, 0])


def test_each_of_two_rooms_keeps_its_own_mass():
    solid = np.zeros(SHAPE, dtype=bool)
    solid[3] = True
    density = np.zeros(SHAPE)
    density[1, 2] = 9.0
    after = obstacle_step(room(), density, walls=solid).density
    assert after[:3].sum() == pytest.approx(9)
    assert after[4:].sum() == 0
    density[1, 2] = 16.0
    with pytest.raises(jo.InvalidValue, match=r"mass 16 in an area of 15 without an exit, around cell \(0, 0\)"):
        obstacle_step(room(), density, walls=solid)


def test_a_density_in_a_single_closed_cell_must_fit():
    solid = np.ones(SHAPE, dtype=bool)
    solid[2, 2] = False
    density = np.where(solid, 0.0, 1.5)
    with pytest.raises(jo.InvalidValue, match=r"around cell \(2, 2\)"):
        obstacle_step(room(), density, walls=solid)


@pytest.mark.parametrize(
    ("density", "error", "words"),
    [
        (np.full(SHAPE, -0.1), jo.InvalidValue, r"-0.1 in cell \(0, 0\).*not be negative"),
        (np.full(SHAPE, np.nan), jo.errors.NotFinite, "density is nan"),
        (np.full(SHAPE, np.inf), jo.errors.NotFinite, "density is inf"),
        (np.ones((5, 6)), jo.InvalidValue, r"shape \(6, 5\), not \(5, 6\)"),
        (1.0, jo.InvalidValue, r"shape \(6, 5\), not \(\)"),
    ],
)
def test_what_is_no_density_is_refused(density, error, words):
    with pytest.raises(error, match=words):
        obstacle_step(room(), density)


def test_density_in_a_wall_is_refused():
    solid = np.zeros(SHAPE, dtype=bool)
    solid[2, 3] = True
    with pytest.raises(jo.InvalidValue, match=r"density is 1 in cell \(2, 3\), which is a wall"):
        obstacle_step(room(), np.ones(SHAPE), walls=solid)


def test_few_iterations_are_enough_where_mass_spreads_into_an_empty_room():
    n = 128
    cells = np.hypot(*np.meshgrid(*[np.arange(n) - 0.5 * n] * 2)) < 0.25 * n
    everywhere = np.ones((n, n))
    east, north = everywhere.copy(), everywhere.copy()
    east[-1], north[:, -1] = 0.0, 0.0
    A, b = FivePoint(east, north, 0.0 * everywhere), 2.0 * cells - 1.0
    assert obstacle(A, b, nested(A, b))[1] <= 12


@pytest.mark.parametrize("n", [31, 64, 200])
@pytest.mark.parametrize("closed", [True, False])
def test_large_grids_meet_the_tolerance(n, closed):
    grid = macro.Grid([0, 0], [1, 1], h=1 / n, closed=closed)
    x, y = grid.centres
    density = np.random.default_rng(n).uniform(0, 1.2, grid.shape) + 3 * np.exp(-50 * ((x - 0.3) ** 2 + (y - 0.6) ** 2))
    after, p = obstacle_step(grid, density)
    assert after.max() <= 1 + 1e-9
    assert (np.abs(1 - after)[p > 0] <= 1e-9).all()
    assert p.max() > 0
    if closed:
        assert after.sum() == pytest.approx(density.sum(), rel=1e-14)


@pytest.mark.parametrize("before", ["nothing", "a corner", "everything"])
def test_the_potential_does_not_depend_on_where_it_is_started(before):
    """The full zone is 260 cells long, and active sets grow by a layer of cells at a time."""
    grid = macro.Grid([0, 0], [640, 8], h=1.0, closed=((False, False), (True, True)))
    domain = Domain(grid)
    arrived = np.full(grid.shape, 0.3)
    arrived[300:340] = 5.0
    start = np.zeros(grid.shape)
    start[slice(None) if before == "everything" else slice(300, 302), :] = before != "nothing"
    (found, iterations), (expected, _) = (hard(domain, arrived, each, 1e-8) for each in (start, None))
    assert (expected > 0.0).sum() > 8 * 250
    assert found == pytest.approx(expected, abs=1e-9 * expected.max())
    assert iterations < 60
