"""B B*, ranks, and the maximum principle (Bourdin & Maury 2020, section 3)."""

import sys

import numpy as np
import pytest

import jostle as jo
from jostle import macro

ROWS = [
    [-0.001007, 0.002891, -0.001318],
    [0.700158, -0.234573, 0.674354],
    [0.83983, 0.530132, 0.116815],
    [180.337553, -168.018406, -171.020999],
    [0.911563, -0.169167, 0.374748],
]
"""Of very different lengths; the edges of D have positive products."""


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
    proves_it(found)


def test_the_flower_has_twelve_contacts_of_rank_eleven():
    found = macro.structure(hexagon(lambda x, y: x**2 + y**2 < 1.5).cone)
    assert (found.contacts, found.rank, found.dependent) == (12, 11, 1)
    assert found.maximum_principle is False
    proves_it(found)


def proves_it(found):
    """The counter-example pushes all contacts together, and by Farkas' lemma no p >= 0 glues them."""
    example = found.counter_example
    G = -found.B
    assert -(G @ example.velocity) == pytest.approx(example.rates, abs=1e-12)
    assert example.rates.min() >= -1e-12
    assert found.matrix @ example.pressure == pytest.approx(example.rates, abs=1e-9)
    assert (found.matrix @ example.proof).min() >= -1e-9 * np.abs(example.proof).max()
    assert example.proof @ example.rates < -1e-6


def rows_of_discs(*counts):
    """Discs of diameter one in rows, each in the hollows of the next."""
    return np.array(
        [(k - (count - 1) / 2, row * np.sqrt(0.75)) for row, count in enumerate(counts) for k in range(count)]
    )


def packing(points):
    low, high = points.min(axis=0) - 1, points.max(axis=0) + 1
    return macro.Packing(points, 0.5, box=(low, high))


def fourteen():
    """Fig. 2: rows of 3, 4, 4 and 3, the two in the middle shifted against each other."""
    points = rows_of_discs(3, 4, 4, 3)
    points[7:11] += [0.5, 0.0]
    points[11:] += [0.5, 0.0]
    return packing(points)


def test_fourteen_discs_may_have_twenty_nine_contacts():
    found = macro.structure(fourteen().cone)
    assert (found.velocities, found.contacts) == (28, 29)
    assert (found.rank, found.dependent) == (25, 4)  # three motions of the whole
    assert found.kernel.shape == (29, 4)
    assert np.abs(found.B.T @ found.kernel).max() < 1e-12
    assert found.kernel.T @ found.kernel == pytest.approx(np.eye(4), abs=1e-12)
    assert found.self_stress is None  # Lemma 1
    assert found.maximum_principle is False
    proves_it(found)


@pytest.mark.parametrize("counts", [(2, 3, 2), (3, 4, 5, 4, 3)])
def test_multipliers_of_free_grains_are_bounded_and_the_least_and_the_most_are_reached(counts):
    discs = packing(rows_of_discs(*counts))
    hit = jo.impact(-discs.points, discs.cone, solver=jo.ActiveSet(tol=1e-12) if len(discs.points) < 10 else None)
    found = jo.analysis.impulse_range(discs.cone, hit.impulse)
    assert np.isfinite(found.upper).all()
    assert (found.lower >= -1e-7).all()
    assert (found.lower <= hit.impulse + 1e-7).all()
    assert (found.upper >= hit.impulse - 1e-7).all()
    assert not found.unique.all()
    assert (found.upper - found.lower).max() > 0.1


def test_a_disc_wedged_between_two_walls_has_a_self_stress():
    wedge = jo.convex.Cone([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    found = macro.structure(wedge)
    assert found.self_stress == pytest.approx([1, 1, 0])
    spread = jo.analysis.impulse_range(wedge, jo.impact([-1.0, -2.0], wedge).impulse)
    assert spread.upper == pytest.approx([np.inf, np.inf, 2.0])
    assert spread.lower == pytest.approx([1.0, 0.0, 2.0])


@pytest.mark.parametrize("n", [2, 5, 12])
def test_the_constant_of_a_row_is_that_of_the_discrete_laplacian(n):
    assert macro.structure(jo.convex.Cone(np.diff(np.eye(n), axis=0))).constant == pytest.approx(
        2 * np.sin(np.pi / (2 * n))
    )


def test_the_constant_of_the_isotropic_law_is_that_of_poincare():
    """On a square of side one, |grad q|^2 >= 2 pi^2 |q|^2; both sides carry the mass h^2 of a cell."""
    constants = []
    for n in (4, 8, 16):
        grid = macro.Grid([0, 0], [1, 1], h=1 / n)
        law = macro.Isotropic(grid, np.ones(grid.shape))
        constants.append(macro.structure(law.cone, mass=law.mass).constant * n)
    assert constants[-1] == pytest.approx(np.sqrt(2) * np.pi, rel=3e-3)
    assert abs(constants[-1] - np.sqrt(2) * np.pi) < abs(constants[0] - np.sqrt(2) * np.pi) / 8


def test_the_search_finds_what_the_edges_prove(monkeypatch):
    found = macro.structure(hexagon(lambda x, y: x**2 + y**2 < 1.5).cone)
    y, other = found._searched()
    assert y @ other < -1e-6
    monkeypatch.setattr(sys.modules["jostle.macro.structure"], "MAX_CANDIDATES", 10)
    again = macro.structure(hexagon(lambda x, y: x**2 + y**2 < 1.5).cone)
    assert again.maximum_principle is False
    proves_it(again)


def test_contacts_that_are_counted_twice_keep_the_principle():
    """They depend on each other and have positive entries off the diagonal; p may be shared between the two."""
    row = np.diff(np.eye(3), axis=0)
    found = macro.structure(jo.convex.Cone(np.concatenate([row, row[:1]])))
    assert found.dependent == 1
    assert not found.is_m_matrix
    assert found.counter_example is None
    assert found.maximum_principle is True
    single = macro.structure(jo.convex.Cone([[1.0], [1.0]]))
    assert (single.rank, single.maximum_principle) == (1, True)


def test_wedged_grains_verify_the_principle():
    """D = {0}: nothing pushes all contacts together."""
    found = macro.structure(jo.convex.Cone([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.6, 0.8]]))
    assert found.maximum_principle is True
    assert found.counter_example is None
    grid = macro.Grid([0, 0], [1, 1], h=0.2, closed=True)
    many = macro.structure(macro.Triangular(grid, np.ones(grid.shape)).cone)
    assert many.contacts > 40
    assert many.maximum_principle is True


def test_an_acute_angle_alone_does_not_break_the_principle():
    angle = np.radians([0, 60, 120])
    found = macro.structure(jo.convex.Cone(np.stack([np.cos(angle), np.sin(angle)], axis=1)))
    assert not found.is_m_matrix
    assert found.maximum_principle is True


def test_rows_of_very_different_lengths_give_no_false_proof():
    rows = np.array(ROWS)
    assert macro.structure(jo.convex.Cone(rows)).maximum_principle is True
    assert macro.structure(jo.convex.Cone(rows / np.linalg.norm(rows, axis=1)[:, None])).maximum_principle is True


@pytest.mark.parametrize("seed", range(40))
def test_the_lengths_of_the_rows_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(2, 8), rng.integers(2, 5)
    G, lengths = rng.normal(size=(m, n)), 10 ** rng.uniform(-6, 6, size=m)
    one, other = macro.structure(jo.convex.Cone(G)), macro.structure(jo.convex.Cone(lengths[:, None] * G))
    assert other.maximum_principle is one.maximum_principle is not None
    assert (other.rank, other.is_m_matrix) == (one.rank, one.is_m_matrix)
    assert np.abs(other.B.T / np.abs(other.B).max() @ other.kernel).max(initial=0.0) <= 1e-12
    assert other.kernel.T @ other.kernel == pytest.approx(np.eye(other.dependent), abs=1e-12)
    assert (other.self_stress is None) == (one.self_stress is None)
    for found, size in ((one, np.ones(m)), (other, lengths)):
        example = found.counter_example
        if example is None:
            continue
        assert (example.rates / size).min() >= -1e-9
        assert (found.B @ (found.B.T @ example.proof) / size).min() >= -1e-9
        assert example.proof @ example.rates < 0.0
        assert example.pressure.min() < 0.0


def test_a_proof_in_doubt_is_no_proof(monkeypatch):
    found = macro.structure(jo.convex.Cone([[1.0, 0.0], [0.5, 0.75**0.5]]))
    monkeypatch.setattr(type(found), "_proved", lambda self, example: False)
    assert found.maximum_principle is None
    assert found.counter_example is None
