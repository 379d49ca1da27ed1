"""B B*, ranks, and the maximum principle (Bourdin & Maury 2020, section 3)."""

import numpy as np
import pytest

from jostle import macro


def hexagon(zone):
    return macro.triangular_lattice(1.0, box=([-3, -3], [3, 3]), zone=zone)


def test_rows_and_square_lattices_verify_the_maximum_principle():
    for box in (([0, 0], [6, 1]), ([0, 0], [4, 3])):
        found = macro.structure(macro.square_lattice(1.0, box=box).cone)
        assert found.maximum_principle
        assert found.is_m_matrix
        assert found.dependent == 0


def test_the_isotropic_law_verifies_it_and_its_matrix_is_the_laplacian():
    grid = macro.Grid([0, 0], [4, 4], h=1.0)
    law = macro.Isotropic(grid, grid.disc([2, 2], 2.0))
    found = macro.structure(law.cone, mass=law.mass)
    assert found.maximum_principle
    assert np.diag(found.matrix).max() == pytest.approx(6.0)  # two neighbours, two free faces
    assert found.dependent == 0


def test_a_rhombus_of_four_discs_does_not():
    points = hexagon(
        lambda x, y: (
            (abs(x) < 0.1) & (abs(y) < 0.1) | (abs(x - 1) < 0.1) & (abs(y) < 0.1) | (abs(x - 0.5) < 0.1) & (abs(y) < 1)
        )
    )
    assert len(points) == 4
    found = macro.structure(points.cone)
    assert (found.contacts, found.rank) == (5, 5)
    assert found.maximum_principle is False


def test_the_flower_has_twelve_contacts_of_rank_eleven():
    found = macro.structure(hexagon(lambda x, y: x**2 + y**2 < 1.5).cone)
    assert (found.contacts, found.rank, found.dependent) == (12, 11, 1)
    assert found.maximum_principle is None
