"""A single row in plain Python: the same as its definition, and a ball above a floor needs no numba."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle import kernels
from jostle.kernels import Answer, one_row
from jostle.kernels.reference.dense import EMPTY, SOLVED
from kernel_sets import reference

numbers = st.floats(-10.0, 10.0).map(lambda x: round(x, 3))
masses = st.floats(0.01, 100.0)


@given(st.lists(st.tuples(numbers, numbers, masses), min_size=1, max_size=6), numbers, st.sampled_from([0.0, 0.3]))
def test_a_row_is_projected_as_defined(columns, c, allowed):
    row, w, mass = (np.array(column) for column in zip(*columns, strict=True))
    settings = row[None], np.array([c]), w, 1.0 / np.sqrt(mass), 1e-14, np.zeros(1), np.array([allowed])
    for most in (0, 1, 100):
        found, defined = one_row.project_dense(*settings, most), reference.project_dense(*settings, most)
        assert found[2:] == defined[2:]
        np.testing.assert_allclose(found[0], defined[0], rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(found[1], defined[1], rtol=1e-11, atol=1e-11)
    u, p = found[:2]
    if found[2] == SOLVED and row.any():
        assert c + row @ u >= -1e-11 * (1.0 + np.abs(row) @ np.abs(u))
        assert p[0] >= 0.0


@given(st.lists(st.tuples(numbers, numbers, masses, numbers), min_size=1, max_size=6), numbers, numbers, st.booleans())
def test_its_residuals_are_as_defined(columns, c, p, with_length):
    row, w, mass, way = (np.array(column) for column in zip(*columns, strict=True))
    length = np.array([0.7 if with_length else 0.0])
    given = row[None], Answer(np.array([c]), np.zeros(1), length, w, mass, w + way, np.array([p]))
    found = one_row.residual_dense(*given)
    assert found == pytest.approx(reference.residual_dense(*given), rel=1e-9, abs=1e-12)
    assert [type(value) for value in found] == [float] * 3


@given(st.lists(st.tuples(numbers, numbers, masses), min_size=1, max_size=6), numbers)
def test_both_together_are_as_defined(columns, c):
    row, w, mass = (np.array(column) for column in zip(*columns, strict=True))
    settings = row[None], (np.array([c]), np.zeros(1), np.array([0.4])), w, mass, 1.0 / np.sqrt(mass), 1e-9, 100
    found, defined = one_row.project_few(*settings), reference.project_few(*settings)
    assert found[2:4] == defined[2:4]
    np.testing.assert_allclose(found[0], defined[0], rtol=1e-11, atol=1e-11)
    if found[2] == SOLVED:
        assert found[4] == pytest.approx(defined[4], abs=1e-12)
        assert max(found[4]) <= 1e-9


@pytest.mark.parametrize("broken", ["u", "p"])
def test_what_is_not_finite_has_an_infinite_residual(broken):
    u, p = np.array([1.0, np.nan if broken == "u" else 1.0]), np.array([np.inf if broken == "p" else 1.0])
    given = np.array([[1.0, 0.0]]), Answer(*np.zeros((3, 1)), np.zeros(2), np.ones(2), u, p)
    assert one_row.residual_dense(*given) == (np.inf, np.inf, np.inf)


def test_a_row_of_zeros_that_is_violated_is_an_empty_set():
    given = np.zeros((1, 2)), np.array([-1.0]), np.ones(2), np.ones(2), 1e-14, np.zeros(1), np.array([0.5]), 10
    assert one_row.project_dense(*given)[1:] == (pytest.approx([1.0]), EMPTY, 0)


@pytest.mark.parametrize(("c", "status"), [(-0.2, EMPTY), (-7e-10, EMPTY), (-1e-10, SOLVED)])
def test_a_row_of_zeros_may_be_violated_by_the_tolerance_times_its_length(c, status):
    rows = np.array([c]), np.zeros(1), np.array([0.4])
    for project in (one_row.project_few, reference.project_few, kernels.project_few):
        found = project(np.zeros((1, 2)), rows, np.ones(2), np.ones(2), np.ones(2), 1e-9, 10)
        assert found[2] == status


BALL = """
import sys
import jostle as jo

ball = jo.Motion(q0=[0.0, 1.0], v0=[1.0, 0.0], force=[0.0, -9.81], within=jo.HalfSpace([0, 1]), law=jo.Restitution(0.8))
sol = jo.solve(ball, jo.Paoli(), t=1.0, h=1e-2, output=sys.argv[1])
assert -0.05 < sol.q[:, 1].min() < 0.05 < sol.q[-1, 1]  # it has bounced
assert "numba" not in sys.modules
"""


def test_a_ball_above_a_floor_needs_no_numba(tmp_path):
    subprocess.run([sys.executable, "-c", BALL, tmp_path / "ball.vtkhdf"], check=True)
