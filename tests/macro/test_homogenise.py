"""From grains to densities: Voronoi means, order one on both lattices."""

import numpy as np
import pytest

import jostle as jo
from jostle import macro


def test_quadrature_integrates_polynomials_over_the_cells():
    for lattice in (
        macro.square_lattice(0.4, box=([0, 0], [2, 2]), angle=0.3),
        macro.triangular_lattice(0.4, box=([0, 0], [2, 2]), angle=0.3),
    ):
        offsets, weights = lattice.quadrature
        assert weights.sum() == pytest.approx(1.0)
        assert weights @ offsets == pytest.approx([0, 0], abs=1e-15)
        moment = (1 / 12 if len(lattice.e) == 2 else 5 / 72) * lattice.spacing**2  # of x^2, over square and hexagon
        assert weights @ offsets**2 == pytest.approx([moment, moment], rel=1e-9)


def test_square_law_of_step_functions_is_the_law_of_the_discs():
    grid = macro.Grid([0, 0], [1, 1], h=1 / 12)
    zone = grid.disc([0.5, 0.5], 0.5)
    U = np.random.default_rng(3).normal(size=(*grid.shape, 2))
    law = macro.Square(grid, zone)
    after = law.impact(grid.velocity(U[..., 0], U[..., 1]))
    micro = jo.impact(U[zone], law.lattice.cone, solver=jo.InteriorPoint(tol=1e-12)).velocity
    assert after.u.cells[zone] == pytest.approx(micro, abs=1e-5)


def test_order_one_on_the_square_lattice():
    def U(x, y):
        return np.cos(3 * x + y), np.sin(2 * x - 4 * y)

    grid = macro.Grid([0, 0], [1, 1], h=1 / 640)
    law = macro.Square(grid, np.ones(grid.shape))
    table = macro.homogenise(law, lambda n: macro.square_lattice(1 / n, box=([0, 0], [1, 1])), U, (10, 20, 40))
    assert table.order == pytest.approx(1.0, abs=0.1)


def test_order_one_on_the_triangular_lattice():
    def disc(n):
        return macro.triangular_lattice(1 / n, box=([-1.2, -1.2], [1.2, 1.2]), zone=lambda x, y: x**2 + y**2 < 1.0001)

    table = macro.homogenise(lambda x, y: (0.3 * x, -0.1 * y), disc, lambda x, y: (0 * x, -y), (4, 6, 9))
    assert table.order == pytest.approx(1.0, abs=0.15)


def test_a_packing_on_a_lattice_is_the_lattice():
    lattice = macro.square_lattice(0.25, box=([0, 0], [1, 1]))
    packing = macro.Packing(lattice.points, 0.125, box=([0, 0], [1, 1]))
    assert packing.cone.G.shape == lattice.cone.G.shape
    assert packing.areas == pytest.approx(lattice.area)

    def U(x, y):
        return x - x * y, -(y**2)

    assert packing.means(U) == pytest.approx(lattice.means(U), abs=1e-12)
    one, other = macro.phi(U, packing), macro.phi(U, lattice)
    assert one.velocity == pytest.approx(other.velocity, abs=1e-6)
    assert one.error(U) == pytest.approx(other.error(U), rel=1e-2)


def test_discs_of_a_packing_collide_with_the_masses_of_their_cells():
    """Two discs that touch, in cells of area 1.5 and 1.0: together they go on with the momentum of both."""
    packing = macro.Packing([[1.0, 0.5], [2.0, 0.5]], 0.5, box=([0, 0], [2.5, 1]))
    assert packing.areas == pytest.approx([1.5, 1.0])
    after = macro.phi(lambda x, y: (1.5 - x, 0.0 * x), packing)
    assert after.means[:, 0] == pytest.approx([0.75, -0.5])
    assert after.velocity == pytest.approx(np.array([[0.25, 0.0], [0.25, 0.0]]), abs=1e-9)


def test_cells_of_any_packing_fill_the_box():
    points = np.random.default_rng(1).random((80, 2)) * [3, 2]
    packing = macro.Packing(points, 0.01, box=([0, 0], [3, 2]))
    assert packing.areas.sum() == pytest.approx(6.0, rel=1e-12)
    momentum = packing.areas @ packing.means(lambda x, y: (x, x * y))
    assert momentum == pytest.approx([9.0, 9.0], rel=1e-12)


@pytest.mark.parametrize("closed", [(False, False), (True, False), (False, True), (True, True)])
def test_each_end_of_an_interval_has_its_own_wall(closed):
    """All move to the right, then to the left: only the wall at that end stops them."""
    law = macro.Interval([0.0, 1.0, 2.0, 4.0], closed=closed)
    for speed, wall, edge in ((1.0, closed[1], 3), (-1.0, closed[0], 0)):
        after = law.impact(speed)
        assert after.u == pytest.approx(np.full(3, 0.0 if wall else speed))
        assert after.pressure[edge] == pytest.approx(4.0 if wall else 0.0)
        assert after.pressure[3 - edge] == pytest.approx(0.0)
