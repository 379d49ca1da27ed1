"""The Wasserstein projection on {rho <= 1}: exact answers, oracles, and what holds for every density."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from wasserstein_oracles import by_linear_program, on_a_line

import jostle as jo
from jostle import macro
from jostle.macro import obstacle_step, wasserstein_projection
from jostle.macro.motion.domain import Domain
from jostle.macro.motion.wasserstein import repaired
from rows import examples, whole

SHAPE = (9, 8)
densities = arrays(float, SHAPE, elements=st.sampled_from([0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0])).filter(
    lambda density: density.sum() <= 72
)
quick = settings(max_examples=examples(25), deadline=None)


def box(shape=SHAPE, h=1.0, closed=True):
    return macro.Grid([0, 0], [shape[0] * h, shape[1] * h], h=h, closed=closed)


def disc(grid, radius):
    """The fraction of each cell in a disc around the middle, to 1/64."""
    fine = macro.Grid(grid.lower, grid.upper, h=grid.h / 8)
    middle = 0.5 * (grid.lower + grid.upper)
    inside = np.asarray(fine.disc(middle, radius), dtype=float)
    nx, ny = grid.shape
    return inside.reshape(nx, 8, ny, 8).mean(axis=(1, 3))


def moments(grid, density):
    """The second moments about the middle, of densities that are constant in each cell."""
    middle = 0.5 * (grid.lower + grid.upper)
    return np.array(
        [(density * (x - c) ** 2).sum() / density.sum() for x, c in zip(grid.centres, middle, strict=True)]
    ) + (grid.h**2 / 12)


# --- exact answers ---


@pytest.mark.parametrize("a", [1.5, whole(2.0), whole(4.0)])
def test_a_disc_becomes_the_disc_of_sqrt_a_times_its_radius(a):
    """P60: W2^2 = a (sqrt a - 1)^2 pi r0^4 / 2."""
    r0, errors = 0.2, {}
    exact = a * (np.sqrt(a) - 1) ** 2 * np.pi * r0**4 / 2
    for n in (32, 128):
        grid = box((n, n), h=1 / n)
        found = wasserstein_projection(grid, a * disc(grid, r0))
        target = disc(grid, np.sqrt(a) * r0)
        off = np.abs(found.density - target).sum() / target.sum()
        errors[n] = abs(found.squared_distance / exact - 1), abs(found.dual / exact - 1), off
        assert found.gap <= 0.01 * exact + 0.5 * grid.h**2 * a * np.pi * r0**2
    assert errors[128][0] < 0.01
    assert errors[128][1] < 0.01
    assert errors[128][2] < 0.015
    order = np.log(errors[32][0] / errors[128][0]) / np.log(4)
    assert order > 1.2


def test_the_displacement_of_a_disc_is_proportional_to_the_radius():
    grid = macro.Grid([-1, -1], [1, 1], h=1 / 40)
    found = wasserstein_projection(grid, 2 * disc(grid, 0.5))
    x, y = grid.centres
    inside = np.hypot(x, y) < 0.4
    for axis, place in enumerate((x, y)):
        assert found.displacement[inside][:, axis] == pytest.approx((np.sqrt(2) - 1) * place[inside], abs=0.1 / 64)
    outside = np.hypot(x, y) > 0.55
    assert (found.displacement[outside] == 0).all()


@pytest.mark.parametrize("length", [8, 9, 10, 11])
def test_a_block_in_a_corridor_spreads_to_both_sides(length):
    density = np.zeros((32, 8))
    density[10 : 10 + length] = 2.0
    found = wasserstein_projection(box((32, 8)), density)
    line, squared_distance = on_a_line(density[:, 0], h=1.0)
    for j in range(8):
        assert found.density[:, j] == pytest.approx(line, abs=0.01)
    assert found.squared_distance / 8 == pytest.approx(squared_distance, rel=0.03)
    assert squared_distance == pytest.approx(2 * length**3 / 12, rel=1e-3)


# --- oracles ---


@pytest.mark.parametrize("seed", range(4))
def test_densities_on_a_line_agree_with_the_isotonic_regression(seed):
    random = np.random.default_rng(seed)
    density = np.convolve(random.uniform(0, 1.8, 60), np.full(5, 0.2), mode="same")
    line, squared_distance = on_a_line(density, h=0.1)
    grid = macro.Grid([0, 0], [6, 0.2], h=0.1, closed=True)
    found = wasserstein_projection(grid, np.repeat(density[:, None], 2, axis=1))
    assert squared_distance > 0
    assert np.abs(found.density - line[:, None]).sum() <= 0.01 * found.density.sum()
    assert found.squared_distance == pytest.approx(0.2 * squared_distance, rel=0.15)


def test_the_isotonic_regression_is_the_least_of_all_admissible_densities():
    """The oracle is a linear program with sixteen masses in each cell."""
    density = np.array([0.0, 0.25, 2.0, 0.5, 1.5, 0.0, 1.0, 0.0])
    line, squared_distance = on_a_line(density, h=1.0)
    fine = macro.Grid([0, 0], [8, 1 / 16], h=1 / 16, closed=True)
    program, least = by_linear_program(fine, np.repeat(density, 16)[:, None])
    assert line == pytest.approx(program.reshape(8, 16).mean(axis=1), abs=0.02)
    assert squared_distance == pytest.approx(least * 16, rel=0.05)


def test_a_rectangle_tells_the_projection_from_the_obstacle_step():
    grid = macro.Grid([0, 0], [2, 1.5], h=1 / 12, closed=True)
    density = 4.0 * grid.block([0.5, 7 / 12], [1.5, 11 / 12])
    program, least = by_linear_program(grid, density)
    found = wasserstein_projection(grid, density)
    step = obstacle_step(grid, density).density
    true, ours, other = (moments(grid, field) for field in (program, found.density, step))
    assert ours == pytest.approx(true, rel=0.02)
    assert (abs(other / true - 1) > 0.05).all()
    # masses at centres pay about h^2 / 3 more, for their position within the cells at both ends
    expected = least - grid.h**2 / 3 * density.sum() * grid.h**2
    assert found.squared_distance < expected
    assert found.dual == pytest.approx(expected, rel=0.01)


def test_small_excess_is_the_obstacle_step():
    grid = box((40, 40), h=1 / 40)
    x, y = grid.centres
    density = 0.9 + 0.12 * np.exp(-30 * ((x - 0.4) ** 2 + (y - 0.5) ** 2))
    found, step = wasserstein_projection(grid, density), obstacle_step(grid, density)
    excess = np.abs(density - step.density).sum()
    assert excess > 0.5
    assert np.abs(found.density - step.density).sum() < 0.02 * excess


# --- what holds for every density ---


@quick
@given(density=densities)
def test_the_mass_is_kept_and_the_density_lies_between_zero_and_one(density):
    found = wasserstein_projection(box(), density)
    assert found.density.sum() == pytest.approx(density.sum(), rel=1e-12, abs=1e-12)
    assert found.density.min() >= 0
    assert found.density.max() <= 1 + 1e-8
    assert (found.potential >= 0).all()
    assert found.squared_distance >= 0


@quick
@given(density=densities)
def test_the_gap_is_small_and_the_linear_program_costs_no_less(density):
    found = wasserstein_projection(box(), density)
    if density.max() > 1:
        allowed = 0.5 * np.abs(found.density - density).sum()
        assert found.gap <= 0.01 * found.squared_distance + allowed
        assert found.squared_distance <= by_linear_program(box(), density)[1] + allowed


@quick
@given(density=densities)
def test_mirror_images_and_quarter_turns_commute_with_the_projection(density):
    def projected(turn):
        return wasserstein_projection(box(turn(density).shape), turn(density)).density

    straight = projected(np.asarray)
    for turn in (np.rot90, np.flipud, np.fliplr, np.transpose):
        assert np.abs(projected(turn) - turn(straight)).sum() <= 1e-5 * (1 + density.sum())


@quick
@given(density=densities, h=st.sampled_from([1e-3, 0.25, 700.0]))
def test_the_unit_of_length_does_not_matter(density, h):
    one, other = wasserstein_projection(box(), density), wasserstein_projection(box(h=h), density)
    assert (one.density == other.density).all()
    assert other.squared_distance == pytest.approx(h**4 * one.squared_distance, rel=1e-9)
    assert other.dual == pytest.approx(h**4 * one.dual, rel=1e-9)
    assert other.potential == pytest.approx(h**2 * one.potential, rel=1e-9)
    assert other.displacement == pytest.approx(h * one.displacement, rel=1e-9)


@quick
@given(density=densities)
def test_a_projection_is_its_own_projection(density):
    once = np.minimum(wasserstein_projection(box(), density).density, 1.0)
    again = wasserstein_projection(box(), once)
    assert (again.density == once).all()
    assert again.squared_distance == again.dual == 0
    assert (again.displacement == 0).all()


def test_a_completely_filled_room_is_saturated():
    density = np.zeros((16, 6))
    density[:8] = 2.0
    found = wasserstein_projection(box((16, 6)), density)
    assert found.density == pytest.approx(np.ones((16, 6)), abs=1e-9)
    assert found.squared_distance == pytest.approx(2 * 6 * 8**3 / 3, rel=0.01)  # T = 2 x
    assert found.dual == pytest.approx(2 * 6 * 8**3 / 3, rel=0.02)


@quick
@given(density=arrays(float, (6, 5), elements=st.floats(-0.5, 1.5)), zone=arrays(bool, (6, 5)))
def test_a_repaired_density_is_admissible_and_has_its_mass(density, zone):
    if not 0 <= density.sum() <= 30:
        return
    found, m = repaired(Domain(box((6, 5))), density, zone)
    around = np.pad(m, 1, mode="edge")
    laplacian = around[2:, 1:-1] + around[:-2, 1:-1] + around[1:-1, 2:] + around[1:-1, :-2] - 4 * m
    assert found == pytest.approx(density + laplacian, abs=1e-9)
    assert found.min() >= 0
    assert found.max() <= 1 + 1e-8


# --- what is refused ---


def test_bad_densities_are_refused():
    with pytest.raises(jo.InvalidValue, match=r"density is -1 in cell \(0, 0\)"):
        wasserstein_projection(box(), np.full(SHAPE, -1.0))
    with pytest.raises(jo.errors.NotFinite, match="density is nan"):
        wasserstein_projection(box(), np.full(SHAPE, np.nan))
    with pytest.raises(jo.InvalidValue, match=r"shape \(9, 8\), not \(8, 9\)"):
        wasserstein_projection(box(), np.ones((8, 9)))
    with pytest.raises(jo.InvalidValue, match=r"density has mass 144 in an area of 72 .* lower it"):
        wasserstein_projection(box(), np.full(SHAPE, 2.0))


def test_an_answer_that_reaches_an_open_side_is_an_error():
    density = np.zeros(SHAPE)
    density[:2, 3:5] = 4.0
    sides = ((False, True), (True, True))
    with pytest.raises(jo.InvalidValue, match="reaches the left side of the grid, which is open"):
        wasserstein_projection(box(closed=sides), density)
    with pytest.raises(jo.InvalidValue, match="reaches the left side of the grid, which is open"):
        wasserstein_projection(box(closed=sides), np.roll(density, 1, axis=0))  # from one cell beside it
    assert wasserstein_projection(box(closed=True), density).density.sum() == pytest.approx(16)
    inside = np.zeros(SHAPE)
    inside[4:6, 3:5] = 2.0
    assert (
        wasserstein_projection(box(closed=False), inside).density
        == wasserstein_projection(box(closed=True), inside).density
    ).all()


def test_an_answer_that_is_not_reached_is_an_error_with_its_gap():
    grid = box((100, 100))
    density = 3.0 * disc(grid, 20.0)
    with pytest.raises(jo.NotConverged, match=r"duality gap .* after 1 iterations, more than .*raise max_iterations"):
        wasserstein_projection(grid, density, tol=1e-9, max_iterations=1)
