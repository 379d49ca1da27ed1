"""Curved free boundaries at full order: zones given by their outline."""

import numpy as np
import pytest

import jostle as jo
from jostle import macro

R = 0.9


def pressure(x, y):
    return (R**2 - x**2 - y**2) * np.exp(x)


def W(x, y):
    """Without divergence."""
    return x * np.exp(y), -np.exp(y)


def Ux(x, y):
    return W(x, y)[0] + (R**2 - x**2 - y**2 - 2 * x) * np.exp(x)


def Uy(x, y):
    return W(x, y)[1] - 2 * y * np.exp(x)


def errors(zone, n):
    """Of p and u in L2, where u = W and p are known."""
    grid = macro.Grid([-1, -1], [1, 1], h=2 / n)
    law = macro.Isotropic(grid, zone(grid))
    after = law.impact(grid.velocity(Ux, Uy))
    assert after.residual.within(1e-8)
    x, y = (c[law.saturated] for c in grid.centres)
    m = law.faces[0].count  # components along x come first
    exact = np.concatenate([W(*law.places[:m].T)[0], W(*law.places[m:].T)[1]])
    wrong = after.hit.velocity - exact
    return grid.h * np.linalg.norm(after.pressure[law.saturated] - pressure(x, y)), np.sqrt(law.mass @ wrong**2)


def orders(zone):
    table = np.array([errors(zone, n) for n in (32, 64, 128, 256)])
    return table, np.log(table[0] / table[-1]) / np.log(8)


def test_a_disc_has_orders_two_and_three_halves():
    table, order = orders(lambda grid: macro.Disc([0, 0], R))
    assert order[0] == pytest.approx(2.0, abs=0.1)
    assert order[1] == pytest.approx(1.5, abs=0.15)
    assert table[-1, 0] < 1e-5
    assert table[-1, 1] < 3e-4


def test_a_staircase_has_orders_one_and_a_half():
    table, order = orders(lambda grid: grid.disc([0, 0], R))
    assert order[0] == pytest.approx(1.1, abs=0.2)
    assert order[1] == pytest.approx(0.5, abs=0.15)
    assert table[-1, 1] > 0.1


def test_an_outline_off_the_grid_in_any_place_is_as_good():
    grid = macro.Grid([-1, -1], [1, 1], h=1 / 64)
    for centre in ((0.0, 0.0), (0.0137, -0.0071), (0.05, 0.031)):
        law = macro.Isotropic(grid, macro.Disc(centre, R))
        after = law.impact(grid.velocity(lambda x, y: -x, lambda x, y: -2 * y))
        x, y = (c[law.saturated] for c in grid.centres)
        p = 1.5 * (R**2 - (x - centre[0]) ** 2 - (y - centre[1]) ** 2) / 2
        assert after.pressure[law.saturated] == pytest.approx(p, abs=2e-4)


# P57, to round-off: u is linear, and what U - grad p loses on the boundary is what the scheme loses
def test_the_radial_field_stops_exactly():
    grid = macro.Grid([-1, -1], [1, 1], h=1 / 25)
    law = macro.Isotropic(grid, macro.Disc([0, 0], R))
    after = law.impact(grid.velocity(lambda x, y: -x, lambda x, y: -y))
    x, y = (c[law.saturated] for c in grid.centres)
    assert np.abs(after.hit.velocity).max() < 1e-11
    assert after.pressure[law.saturated] == pytest.approx((R**2 - x**2 - y**2) / 2, abs=1e-12)
    chords = 2 * np.sqrt(np.maximum(R**2 - grid.centres[1][0] ** 2, 0))
    assert law.mass.sum() == pytest.approx(2 * grid.h * chords.sum(), rel=1e-12)  # in each of both directions


def test_a_contact_set_within_an_outline_is_found():
    a = 0.5
    found = []
    for n in (32, 64, 128):
        grid = macro.Grid([-1, -1], [1, 1], h=2 / n)
        law = macro.Isotropic(grid, macro.Disc([0, 0], R))
        U = grid.velocity(lambda x, y: 4 * (x**2 + y**2 - a**2) * x - y, lambda x, y: 4 * (x**2 + y**2 - a**2) * y + x)
        after = law.impact(U)
        x, y = grid.centres
        exact = np.maximum(a**2 - x**2 - y**2, 0) ** 2
        found.append(grid.h * np.linalg.norm((after.pressure - exact)[law.saturated]))
    assert np.log2(found[0] / found[-1]) / 2 == pytest.approx(2.0, abs=0.25)


def test_a_slanted_square_is_the_square_turned():
    """Two free squares that meet lose what the series says, whatever their direction."""
    c, s = np.cos(0.3), np.sin(0.3)
    corners = np.array([(-1, -0.5), (1, -0.5), (1, 0.5), (-1, 0.5)]) @ np.array([[c, s], [-s, c]])
    lost = []
    for n in (16, 32, 64):
        grid = macro.Grid([-1.5, -1.5], [1.5, 1.5], h=1 / n)
        law = macro.Isotropic(grid, macro.Polygon(corners))

        def towards(x, y):
            return -np.tanh(12 * (c * x + s * y))

        U = grid.velocity(lambda x, y: c * towards(x, y), lambda x, y: s * towards(x, y))
        lost.append(law.impact(U).lost)
        straight = macro.Grid([-1, -0.5], [1, 0.5], h=1 / n)
        aligned = macro.Isotropic(straight, np.ones(straight.shape))
        reference = aligned.impact(straight.velocity(lambda x, y: -np.tanh(12 * x), 0)).lost
        lost[-1] -= reference
    assert abs(lost[-1]) < 2e-3
    assert abs(lost[-1]) < abs(lost[0]) / 3


def test_what_leaves_the_grid_is_cut_where_it_ends():
    grid = macro.Grid([-1, -1], [1, 1], h=1 / 8)
    wide, whole = macro.Isotropic(grid, macro.Disc([0, 0], 9.0)), macro.Isotropic(grid, np.ones(grid.shape))
    U = grid.velocity(lambda x, y: -x, lambda x, y: np.cos(y))
    assert wide.impact(U).pressure == pytest.approx(whole.impact(U).pressure, abs=1e-12)


def test_walls_under_an_outline_hold_back():
    """Half a disc that rests on a floor, as the upper half of a whole one."""
    whole = macro.Grid([-1, -1], [1, 1], h=1 / 32)
    half = macro.Grid([-1, 0], [1, 1], h=1 / 32, closed=((False, False), (True, False)))
    fields = (lambda x, y: -x, lambda x, y: -y)
    one = macro.Isotropic(whole, macro.Disc([0, 0], R)).impact(whole.velocity(*fields))
    other = macro.Isotropic(half, macro.Disc([0, 0], R)).impact(half.velocity(*fields))
    assert other.pressure == pytest.approx(one.pressure[:, 32:], abs=1e-11)


def around(x, y):
    """Along circles, without divergence: nothing goes through a round wall."""
    f = np.cos(3 * (x**2 + y**2))
    return -y * f, x * f


def vessel(n, curved):
    """Errors of p, up to a constant, and u in a round vessel."""
    grid = macro.Grid([-1, -1], [1, 1], h=2 / n)
    inside = grid.disc([0, 0], R)
    if curved:
        law = macro.Isotropic(grid, np.ones(grid.shape), walls=lambda x, y: R - np.hypot(x, y))
    else:
        law = macro.Isotropic(grid, inside, walls=~inside)
    after = law.impact(
        grid.velocity(
            lambda x, y: around(x, y)[0] + 2 * np.cos(2 * x + 0.3) * np.cos(y) + 2 * x * y,
            lambda x, y: around(x, y)[1] - np.sin(2 * x + 0.3) * np.sin(y) + x**2,
        )
    )
    assert after.residual.within(1e-8)
    m, (x, y) = law.faces[0].count, (c[inside] for c in grid.centres)
    exact = np.concatenate([around(*law.places[:m].T)[0], around(*law.places[m:].T)[1]])
    p = after.pressure[inside] - np.sin(2 * x + 0.3) * np.cos(y) - x**2 * y
    return grid.h * np.linalg.norm(p - p.mean()), np.sqrt(law.mass @ (after.hit.velocity - exact) ** 2)


def test_a_round_vessel_has_orders_two_and_three_halves():
    table = np.array([vessel(n, True) for n in (32, 64, 128, 256)])
    order = np.log(table[0] / table[-1]) / np.log(8)
    assert order[0] == pytest.approx(2.0, abs=0.1)
    assert order[1] == pytest.approx(1.5, abs=0.15)
    staircase = vessel(256, False)
    assert table[-1, 0] < staircase[0] / 20
    assert table[-1, 1] < staircase[1] / 50


def test_what_lies_in_a_round_vessel_stops_with_the_pressure_of_its_weight():
    """U = (0, -1) is a gradient: p = 0.2 - y below the surface, to round-off, whatever the grid."""
    for n in (20, 33):
        grid = macro.Grid([-1, -1], [1, 1], h=2 / n)
        law = macro.Isotropic(grid, lambda x, y: y - 0.2, walls=lambda x, y: 0.95 - np.hypot(x, y))
        after = law.impact(grid.velocity(0, -1.0))
        assert np.abs(after.hit.velocity).max() < 1e-10
        assert after.pressure[law.saturated] == pytest.approx(0.2 - grid.centres[1][law.saturated], abs=1e-10)


def test_a_slope_lets_nothing_through_and_what_slides_down_it_is_left_alone():
    slope = np.array([np.cos(0.4), -np.sin(0.4)])
    grid = macro.Grid([-1, -1], [1, 1], h=1 / 20)
    law = macro.Isotropic(grid, np.ones(grid.shape), walls=lambda x, y: y + x * np.tan(0.4) + 0.013)
    along = law.impact(grid.velocity(*slope))
    assert along.lost == pytest.approx(0.0, abs=1e-12)
    # against it: what reaches the wall in a cell is what leaves through its open sides
    normal = np.array([slope[1], -slope[0]])
    hit = law.impact(grid.velocity(*normal))
    assert hit.lost > 0.1
    assert law.cone.slack(hit.hit.velocity).min() > -1e-9
    assert hit.pressure.max() > 0.1


def test_walls_given_by_an_outline_hold_the_grains_of_the_other_laws():
    grid = macro.Grid([-1, -1], [1, 1], h=1 / 10)
    below = grid.block([-1, -1], [1, -0.5])
    for law in (macro.Square, macro.Triangular):
        rule, other = law(grid, np.ones(grid.shape), walls=lambda x, y: y + 0.5), law(grid, ~below, walls=below)
        assert (rule.saturated == ~below).all()
        U = grid.velocity(0, -1)
        assert rule.impact(U).lost == pytest.approx(other.impact(U).lost, rel=1e-9)
        assert rule.impact(U).lost > 0.5
    still = macro.Square(grid, np.ones(grid.shape), walls=lambda x, y: y + 0.5).impact(grid.velocity(0, -1))
    assert np.abs(still.u.cells[~below]).max() < 1e-12


def test_an_outline_gives_the_other_laws_their_grains():
    grid = macro.Grid([-1, -1], [1, 1], h=1 / 10)
    U = grid.velocity(0, lambda x, y: -y)
    zone = grid.disc([0, 0], R)
    assert (macro.Square(grid, macro.Disc([0, 0], R)).saturated == zone).all()
    law = macro.Triangular(grid, macro.Disc([0, 0], R))
    x, y = law.lattice.points.T
    assert np.hypot(x, y).max() < R
    assert law.impact(U).hit.velocity == pytest.approx(np.stack([0.3 * x, -0.1 * y], axis=1), abs=1e-5)


@pytest.mark.parametrize("points", [[(0, 0), (1, 0)], [(0, 0, 0)] * 3])
def test_a_polygon_without_an_inside_is_refused(points):
    with pytest.raises(jo.InvalidValue, match="three corners"):
        macro.Polygon(points)(np.zeros(1), np.zeros(1))


def test_nothing_flows_through_a_face_that_an_outlined_wall_closes():
    grid = macro.Grid([0, 0], [1, 1], h=0.25, closed=True)
    after = macro.Isotropic(grid, np.ones(grid.shape), walls=lambda x, y: abs(x - 0.5) - 0.02).impact(
        grid.velocity(1.0, 0.0)
    )
    assert (after.u.x[2] == 0.0).all()
    assert np.abs(after.u.cells).max() <= 1e-12
    assert np.abs(after.u.at(0.5, 0.4)).max() <= 1e-12


def test_each_part_that_a_thin_wall_shuts_in_has_a_pressure_from_zero():
    n = 16
    grid = macro.Grid([0, 0], [2, 1], h=1 / n, closed=True)
    law = macro.Isotropic(grid, np.ones(grid.shape), walls=lambda x, y: abs(x - 1) - 1e-9 / n)
    U = np.random.default_rng(1).normal(size=(2, *grid.shape))
    after = law.impact(grid.velocity(*U))
    assert [after.pressure[:n].min(), after.pressure[n:].min()] == pytest.approx([0, 0], abs=1e-12)
    alone = macro.Grid([0, 0], [1, 1], h=1 / n, closed=True)
    left = macro.Isotropic(alone, np.ones(alone.shape)).impact(alone.velocity(*U[:, :n]))
    assert after.pressure[:n] == pytest.approx(left.pressure, abs=1e-6)  # a cut face is LEAST narrower
