"""Orders of convergence by step halving, with honest error bars."""

import numpy as np
import pytest

import jostle as jo
from jostle.theory import convergence


def test_an_order_without_scatter_is_certain():
    """P02 before the impact: the error of Maury is g h t / 2, that of Paoli round-off."""
    ball = jo.Motion(q0=[1.0], force=[-9.81], within=jo.HalfSpace([1.0]))
    found = convergence(ball, jo.Maury(), t=0.4, h=0.1, halvings=3)
    assert found.order.order == pytest.approx(1.0, abs=0.02)
    assert found.order.uncertainty < 0.1
    assert not found.erratic
    assert convergence(ball, jo.Paoli(), t=0.4, h=0.1, halvings=2, phases=1).order is None


def test_a_smooth_motion_is_of_second_order():
    spring = jo.Motion(q0=[1.0], force=lambda t, q: -q)
    found = convergence(spring, jo.Paoli(), t=2.0, h=0.2, halvings=3, phases=1)
    assert found.order.order == pytest.approx(2.0, abs=0.05)


def test_impacts_make_the_order_erratic_and_phases_make_it_less_so():
    """P13: a wall hits a mass; the true order, 1, lies inside the interval, which is honest about single runs."""
    wall = jo.HalfSpace([1.0], offset=lambda t: 2.0 * t - t**2 / 2.0)
    hit = jo.Motion(q0=[1.0], within=wall)
    single, many = (convergence(hit, jo.Maury(), t=1.0, h=0.05, halvings=4, phases=n) for n in (1, 6))
    for found in (single, many):
        assert abs(found.order.order - 1.0) <= found.order.uncertainty
    assert many.order.uncertainty < single.order.uncertainty
    assert single.erratic


def test_the_variation_of_the_velocity_stays_bounded():
    """Fall and impact: 2 v, whatever h."""
    ball = jo.Motion(q0=[1.0], force=[-9.81], within=jo.HalfSpace([1.0]))
    found = convergence(ball, jo.Maury(), t=1.0, h=0.05, halvings=3, phases=2)
    np.testing.assert_allclose(found.variation, 2.0 * (2.0 * 9.81) ** 0.5, rtol=0.1)
    assert found.bounded
    assert "Var(u)" in repr(found)


def test_the_variation_of_the_velocity_is_the_largest_of_all_phases():
    ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    one, three = (convergence(ball, jo.Paoli(), t=0.7, h=0.1, halvings=3, phases=n).variation for n in (1, 3))
    assert (three >= one).all()
    assert (three > one).any()


def test_an_uncertainty_is_that_of_linear_regression():
    """By hand: errors 1, 1/2, 1/4 times (1, x, 1), slope 1, residuals of ln x / 3 (-1, 2, -1)."""
    x = 1.2
    fit = jo.analysis.order([1.0, 0.5, 0.25], [1.0, 0.5 * x, 0.25])
    scatter = 6.0 * (np.log(x) / 3.0) ** 2
    assert fit.order == pytest.approx(1.0)
    assert fit.uncertainty == pytest.approx(12.7062047362 * np.sqrt(scatter / (2.0 * np.log(2.0) ** 2)))
    assert jo.analysis.order([1.0, 0.5], [1.0, 0.5]).uncertainty == np.inf


def test_an_order_needs_two_halvings():
    with pytest.raises(jo.InvalidValue, match="halvings"):
        convergence(jo.Motion(q0=[1.0]), jo.Maury(), t=1.0, h=0.1, halvings=1)


@pytest.mark.parametrize("h", [[0.3, 0.3], [0.2, 0.2, 0.2 * (1.0 + 1e-12)]])
def test_equal_steps_have_no_order(h):
    with pytest.raises(jo.InvalidValue, match="an order needs at least two different ones"):
        jo.analysis.order(h, [0.4, 0.1, 0.05][: len(h)])


@pytest.mark.parametrize(("error", "found"), [([0.1, 0.4, 1.6], "-2.00"), ([0.3, 0.3, 0.3], "0.00")])
def test_errors_that_do_not_shrink_with_the_step_are_told(error, found):
    with pytest.warns(jo.errors.Implausible, match=f"do not become smaller with h, order -?{found.lstrip('-')}"):
        fit = jo.analysis.order([0.4, 0.2, 0.1], error)
    assert fit.order == pytest.approx(float(found), abs=1e-12)
