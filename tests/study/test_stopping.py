"""Rules that end studies: confidence intervals, and mean evacuation curves as in Ronchi, Reneke, Peacock 2014."""

import numpy as np
import pytest

import jostle as jo
from jostle.analysis import band, people_inside, summary
from jostle.study import PreciseMean, SettledCurves, curve_changes
from jostle.study.executing import Outcome


def outcomes(values):
    return [Outcome(k, "finished", {"x": value}) for k, value in enumerate(values)]


def test_the_interval_of_the_mean_is_students():
    values = np.random.default_rng(1).normal(5.0, 2.0, 30)
    found = summary(values, confidence=0.9, levels=[0.25])
    half = 1.699127027 * values.std(ddof=1) / np.sqrt(30)
    assert found.low == pytest.approx(values.mean() - half, rel=1e-9)
    assert found.high == pytest.approx(values.mean() + half, rel=1e-9)
    assert found.quantiles == {0.25: np.quantile(values, 0.25)}


def test_the_interval_holds_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(2)
    inside = [(found := summary(rng.normal(size=8), confidence=0.8)).low <= 0.0 <= found.high for _ in range(1500)]
    assert np.mean(inside) == pytest.approx(0.8, abs=3.0 * np.sqrt(0.16 / 1500))


def test_infinite_values_leave_no_interval_but_quantiles():
    found = summary([1.0, 2.0, 3.0, np.inf])
    assert (found.mean, found.low, found.high) == (np.inf, -np.inf, np.inf)
    assert found.quantiles[0.5] == 2.0
    assert summary([]).n == 0
    assert summary([4.0]).width == np.inf


def test_a_precise_mean_is_one_whose_interval_is_narrow():
    values = np.random.default_rng(3).normal(10.0, 1.0, 150)
    widths = [summary(values[:k]).width for k in range(10, 150)]
    means = [values[:k].mean() for k in range(10, 150)]
    runs = outcomes(values)
    assert [PreciseMean("x", width=0.5).holds(runs[:k]) for k in range(10, 150)] == [width <= 0.5 for width in widths]
    narrow = [width <= 0.05 * mean for width, mean in zip(widths, means, strict=True)]
    assert [PreciseMean("x", relative=0.05).holds(runs[:k]) for k in range(10, 150)] == narrow
    assert True in narrow
    assert False in narrow
    assert not PreciseMean("x", width=0.5, confidence=0.9999).holds(runs)
    assert not PreciseMean("x", width=9.0, least=20).holds(runs[:19])


@pytest.mark.parametrize("confidence", [0.0, 1.0, np.nan])
def test_a_mean_is_never_certain(confidence):
    with pytest.raises(jo.InvalidValue, match=f"confidence must be a number between 0 and 1, not {confidence}"):
        PreciseMean("x", width=0.5, confidence=confidence)


def test_curves_are_compared_by_size_difference_and_shape():
    """By hand: m = (1, 2, 4) and E = (2, 3, 5), the mean of m and (3, 4, 6)."""
    found = curve_changes([[1.0, 2.0, 4.0], [3.0, 4.0, 6.0]])
    assert found.erd[0] == pytest.approx(np.sqrt(3.0 / 21.0))
    assert found.epc[0] == pytest.approx(28.0 / 21.0 - 1.0)
    assert found.sc[0] == pytest.approx(0.0, abs=1e-15)  # the same differences, (1, 2)
    assert found.mean[0] == pytest.approx(1.0 / 5.0)
    assert found.std[0] == np.inf  # one run has no spread


def test_curves_of_another_shape_differ_in_their_secant_cosine():
    found = curve_changes(
        [[1.0, 2.0, 4.0], [1.0, 4.0, 4.0]]
    )  # m = (1, 2, 4), E = (1, 3, 4): differences (1, 2), (2, 1)
    assert found.sc[0] == pytest.approx(1.0 - 4.0 / 5.0)


def test_the_spread_of_evacuation_times_is_compared():
    found = curve_changes([[1.0], [3.0], [2.0]])
    assert found.std[1] == pytest.approx((np.sqrt(2.0) - 1.0) / 1.0)
    assert found.sc.tolist() == [0.0, 0.0]


def test_settled_curves_need_all_limits_for_several_runs_in_a_row():
    rng = np.random.default_rng(4)
    runs = [
        Outcome(k, "finished", curves={"leaving_times": sorted((10.0 + rng.normal(size=50)).tolist())})
        for k in range(200)
    ]
    rule = SettledCurves(erd=0.002, epc=0.002, sc=0.001, mean=0.002, std=0.02, consecutive=5)
    first = next(k for k in range(2, 200) if rule.holds(runs[:k]))
    changes = curve_changes([run.curves["leaving_times"] for run in runs[:first]])
    limits = (0.002, 0.002, 0.001, 0.002, 0.02)
    good = np.array([np.array(values) <= limit for values, limit in zip(changes, limits, strict=True)]).all(axis=0)
    assert good[-5:].all()
    assert not good[-6]


def test_somebody_who_does_not_leave_is_never_settled():
    runs = [Outcome(k, "finished", curves={"leaving_times": [1.0, np.inf]}) for k in range(30)]
    assert not SettledCurves(consecutive=2).holds(runs)


def test_runs_with_different_numbers_of_people_are_not_compared():
    with pytest.raises(jo.InvalidValue, match=r"same number of people, at least one, in all runs, not \[1, 2\]"):
        curve_changes([[1.0], [1.0, 2.0]])


def test_nine_of_ten_curves_are_in_the_band():
    curves = people_inside(np.random.default_rng(5).exponential(10.0, (200, 30)), np.linspace(0.0, 30.0, 20))
    found = band(curves, level=0.9)
    inside = ((curves >= found.low) & (curves <= found.high)).mean(axis=0)
    assert (inside >= 0.9).all()
    assert (found.mean_low <= found.mean).all()
    assert (found.low <= found.middle).all()


def test_the_interval_around_a_mean_curve_is_students():
    """Mean 2, standard deviation 2, and the quantile 4.302653 of two degrees of freedom."""
    found, half = band([[0.0], [2.0], [4.0]], confidence=0.95), 4.302653 * 2.0 / np.sqrt(3.0)
    assert [*found.mean_low, *found.mean_high] == pytest.approx([2.0 - half, 2.0 + half], rel=1e-6)
