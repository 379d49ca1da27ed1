"""How space is cut for the sweeps."""

import numpy as np
import pytest

from jostle.kernels.space import cut_space, share


@pytest.mark.parametrize("d", [1, 2, 3])
def test_cells_have_about_as_many_rows_as_asked(d):
    random = np.random.default_rng(0)
    first = random.uniform(-3.0, 5.0, (1000, d))
    cut = cut_space(first, first + 1e-3, 100_000, 500, 1)
    assert 150 <= cut.counts.prod() <= 250
    assert np.allclose(cut.counts / cut.scale, 8.0, atol=0.1)
    assert np.allclose(cut.low, -3.0, atol=0.1)


def test_cells_are_not_narrower_than_two_contacts():
    first = np.random.default_rng(0).uniform(0.0, 10.0, (1000, 2))
    cut = cut_space(first, first + np.array([0.5, 0.0]), 10**9, 10, 1)
    assert cut.counts.tolist() == [9, 9]


def test_rows_in_a_corner_get_as_many_cells_as_rows_everywhere():
    """Before ten doors of a large hall, say: the cells must not be made for the empty hall."""
    first = np.random.default_rng(0).uniform(0.0, 0.0625, (1000, 2))
    first[:2] = [[0.0, 0.0], [1.0, 1.0]]
    cut = cut_space(first, first + 1e-5, 100_000, 1000, 1)
    cells = np.minimum((first - cut.low) * cut.scale, cut.counts - 1).astype(int)
    fullest = np.bincount(cells[:, 0] * cut.counts[1] + cells[:, 1]).max()
    assert fullest < 40, "of 1000 rows, in about 100 cells"


def test_share_of_the_space_that_has_rows():
    random = np.random.default_rng(0)
    assert share(random.uniform(0.0, 1.0, (1000, 2))) == pytest.approx(1.0, abs=0.05)
    assert share(random.uniform(0.0, 0.5, (1000, 2))) == pytest.approx(0.25, abs=0.02)
    assert share(np.zeros((10, 1))) == 1 / 16
    assert share(np.zeros((1, 2))) == 1.0, "one row tells nothing"


def test_walls_and_bodies_without_a_place_do_not_count():
    first = np.array([[np.nan, 0.0], [0.0, 0.0], [4.0, 2.0]])
    second = np.array([[0.0, 0.0], [np.nan, np.nan], [4.0, 3.0]])
    cut = cut_space(first, second, 3, 1, 2)
    assert cut.low.tolist() == [0.0, 0.0]
    assert cut.counts.tolist() == [2, 2]
    nothing = cut_space(first[:1], second[:1], 1, 1, 2)
    assert np.isfinite(nothing.scale).all()
    assert nothing.counts.tolist() == [2, 2]
