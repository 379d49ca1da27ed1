"""Periodic orbits followed in parameters, against closed forms."""

import numpy as np
import pytest
from scipy.optimize import brentq

import jostle as jo
from jostle.vibro import Copies, Gaps, follow, follow_doubled, follow_point, periodic_orbits

E = 0.8


def drive(t, q, u, parameters):
    return np.cos(parameters[0] * t) - q[0]


def damped(t, q, u, parameters):
    return np.cos(parameters[0] * t) - q[0] - 0.1 * u[0]


def stop(t, q, parameters):
    return parameters[1] - q[0]


def table(t, q, parameters):
    return q[0] - parameters[0] / (2.0 * np.pi) ** 2 * np.sin(2.0 * np.pi * t)


def turn(parameters):
    return 2.0 * np.pi / parameters[0]


def one_impact_trace(w, gap):
    """Shaw & Holmes 1983: the trace of the impact map of the orbit with one impact a period."""
    T, gain = 2.0 * np.pi / w, 1.0 / (1.0 - w * w)
    half = (1.0 + E) / np.tan(T / 2.0) / 2.0
    a, b, c = ((1.0 - E) / (2.0 * w)) ** 2 + half**2, 2.0 * gap * half, gap**2 - gain**2
    speed = (-b + np.sqrt(b * b - 4.0 * a * c)) / (2.0 * a)
    pull = (gap + half * speed) / gain - gap
    flight = np.array([[np.cos(T), np.sin(T)], [-np.sin(T), np.cos(T)]])
    return np.trace(flight @ [[-E, 0.0], [(1.0 + E) * pull / speed, -E]])


@pytest.fixture(scope="module")
def one_impact():
    start = Copies(
        q0=[-0.65], v0=[0.02], force=drive, within=Gaps(stop, flat=True), parameters=[[2.6, 0.0]], restitution=E
    )
    return follow(start, to=2.7, period=turn, steps=64, longest=0.1)


def test_the_orbit_with_one_impact_doubles_where_shaw_and_holmes_say(one_impact):
    (point,) = one_impact.points
    assert point.kind == "doubling"
    assert point.value == pytest.approx(2.65334772786, abs=2e-7)
    np.testing.assert_array_equal(one_impact.stable, one_impact.value < point.value)
    traces = [one_impact_trace(w, 0.0) for w in one_impact.value]
    np.testing.assert_allclose(one_impact.multipliers.sum(axis=1).real, traces, atol=2e-5)
    np.testing.assert_allclose(one_impact.multipliers.prod(axis=1).real, E**2, atol=1e-6)


def test_a_doubling_with_a_positive_coefficient_gives_birth_to_a_stable_orbit(one_impact):
    (point,) = one_impact.points
    assert point.coefficient > 1.0
    doubled = follow_doubled(one_impact, 0, longest=0.1)
    assert doubled.ending == "the parameter leaves its interval"
    assert len(doubled.value) > 5
    assert doubled.stable.all()
    np.testing.assert_allclose(doubled.multipliers.prod(axis=1).real, E**4, atol=1e-6)
    w = float(doubled.value[-1])
    start = Copies(
        q0=doubled.q[-1] + 1e-3, v0=doubled.u[-1], force=drive, within=Gaps(stop, flat=True), parameters=[[w, 0.0]],
        restitution=E,
    )  # fmt: skip
    seen = jo.vibro.sections(start, period=turn([w]), steps=64, periods=300, skip=290)
    assert seen.periods().tolist() == [2]
    assert np.abs(seen.q[0, -2:, 0] - doubled.q[-1, 0]).min() < 1e-8


@pytest.mark.parametrize("number", [0, 1])
def test_only_a_doubling_begins_a_doubled_orbit(grazing, number):
    with pytest.raises(jo.InvalidValue, match=rf"that of a period doubling of the branch, one of \[.*\], not {number}"):
        follow_doubled(grazing, number)


def test_the_stability_boundary_in_two_parameters_is_the_closed_form(one_impact):
    curve = follow_point(one_impact, 0, parameter=1, to=-0.1, longest=0.1)
    assert curve.ending == "the parameter leaves its interval"
    assert len(curve.values) > 5
    for w, gap in curve.values:
        assert 1.0 + one_impact_trace(w, gap) + E**2 == pytest.approx(0.0, abs=2e-6)
    assert np.abs(curve.multipliers + 1.0).min(axis=1) == pytest.approx(0.0, abs=1e-6)


def amplitude(w):
    return 1.0 / np.hypot(1.0 - w**2, 0.1 * w)


@pytest.fixture(scope="module")
def grazing():
    w = 1.6
    response = 1.0 / (1.0 - w**2 + 0.1j * w)
    start = Copies(
        q0=[response.real], v0=[-w * response.imag], force=damped, within=Gaps(stop, flat=True), parameters=[[w, 1.0]],
        restitution=E,
    )  # fmt: skip
    return follow(start, to=1.2, period=turn, steps=64, longest=0.04)


def test_an_orbit_grazes_where_its_amplitude_is_the_gap_and_goes_on_with_an_impact(grazing):
    point = grazing.points[0]
    exact = brentq(lambda w: amplitude(w) - 1.0, 1.2, 1.6)
    assert point.kind == "grazing"
    assert point.value == pytest.approx(exact, abs=1e-6)
    before, beyond = slice(0, point.after + 1), slice(point.after + 1, None)
    assert grazing.stable[before].all()
    assert not grazing.stable[beyond][:5].any()
    assert (grazing.value[beyond] > exact).all(), "the curve turns back"


def test_at_a_grazing_a_multiplier_grows_like_the_inverse_root_of_the_depth(grazing):
    """Measured on orbits of the branch, whose depth is v^2 / 2 a."""
    point = grazing.points[0]
    found = []
    for k in range(point.after + 1, point.after + 4):
        orbit = Copies(
            q0=grazing.q[k], v0=grazing.u[k], force=damped, within=Gaps(stop, flat=True),
            parameters=[[grazing.value[k], 1.0]], restitution=E,
        )  # fmt: skip
        T = turn([grazing.value[k]])
        (hit,) = (hits := jo.vibro.impacts(orbit, t=T, h=T / 64, keep=1)).speed[0]
        pull = 1.0 - np.cos(grazing.value[k] * hits.t[0, 0]) + 0.1 * hit
        found.append(np.abs(grazing.multipliers[k]).max() * hit / np.sqrt(2.0 * pull))
    size = np.abs(grazing.family.size[:2]).max()  # coefficients are for an orbit of size 1
    np.testing.assert_allclose(found, point.coefficient * np.sqrt(size), rtol=0.03)


def test_grazings_are_followed_in_two_parameters(grazing):
    curve = follow_point(grazing, 0, parameter=1, to=0.8, longest=0.2)
    np.testing.assert_allclose(amplitude(curve.values[:, 0]), curve.values[:, 1], atol=2e-6)


def test_windows_of_period_adding_shrink_by_the_square_of_the_multiplier_of_the_motion_without_impacts():
    """Nordmark 1991: beyond a grazing, orbits with one impact in m periods exist in windows."""
    T, m = 0.7, [9, 10, 11, 12]
    w = 2.0 * np.pi / T
    largest = abs(2.0 - w**2 + 3j * w)

    def pull(t, q, u, parameters):  # its multipliers are exp(-T) and exp(-2 T)
        return largest * (1.0 + parameters[0]) * np.cos(w * t) - 3.0 * u[0] - 2.0 * q[0]

    beyond = np.array([[2.2e-3], [5e-4], [1.3e-4], [3.5e-5]])
    own = {"force": pull, "within": jo.HalfSpace([-1.0], offset=-1.0), "restitution": E}
    copies = Copies(q0=[0.0], parameters=beyond, **own)
    seen = jo.vibro.sections(copies, period=T, steps=16, periods=600, skip=570)
    assert seen.periods(most=15).tolist() == m
    ends = []
    for k, value in enumerate(beyond):
        low = seen.q[k, :, 0].argmin()
        start = Copies(q0=seen.q[k, low], v0=seen.u[k, low], parameters=value, **own)
        branch = follow(start, to=0.3 * float(value[0]), period=lambda parameters: T, steps=16, times=m[k], longest=0.2)
        assert [point.kind for point in branch.points] == ["doubling"]
        ends.append(branch.points[0].value)
    widths = np.diff(ends)
    first, second = widths[1:] / widths[:-1]
    assert 2.0 * second - first == pytest.approx(np.exp(-2.0 * T), abs=3e-4)


def test_an_orbit_that_rests_on_the_wall_at_the_start_of_a_period_is_refused():
    resting = Copies(
        q0=[0.0], t0=3.0, force=drive, within=Gaps(stop, flat=True), parameters=[[0.4, 0.0]], restitution=0.3
    )
    with pytest.raises(jo.NotConverged, match="rests on a wall at the start of a period; choose another t0"):
        follow(resting, to=0.35, period=turn, steps=128)


@pytest.mark.parametrize("periods", [1, 2])
def test_windows_of_a_ball_on_a_table_begin_with_folds_and_end_with_doublings(periods):
    """Luck & Mehta 1993: orbits with one bounce in some periods of a table of the acceleration Gamma sin 2 pi t."""
    low = periods * np.pi * (1.0 - E) / (1.0 + E)
    high = np.hypot(low, 2.0 * (1.0 + E**2) / (1.0 + E) ** 2)
    speed = 0.5 * periods * (1.0 - E) / (1.0 + E)
    phase = np.arccos(2.0 * np.pi * speed) / (2.0 * np.pi)
    ball = Copies(
        q0=[np.sin(2.0 * np.pi * phase) / (2.0 * np.pi) ** 2 + 1e-12], v0=[0.5 * periods], t0=phase, force=[-1.0],
        within=Gaps(table, flat=True, moving=True), parameters=[1.0], restitution=E,
    )  # fmt: skip
    flying = jo.vibro.advance(ball, t=0.25, h=0.0125)
    for to, kind, exact in ((0.2, "fold", low), (1.4, "doubling", high)):
        branch = follow(flying, to=to, period=lambda parameters: 1.0, steps=40, times=periods, longest=0.1)
        assert [point.kind for point in branch.points] == [kind]
        assert branch.points[0].value == pytest.approx(exact, abs=1e-8)


WRONG = {
    "follow takes one copy, not 2": {"q0": [[0.0], [-0.1]]},
    "parameter must be at most 2": {"parameter": 3},
    "to must differ from the parameter of the copy, 2.6": {"to": 2.6},
    "period must be positive": {"period": lambda parameters: -1.0},
    "no orbit was found from the start of the branch: ": {"v0": [50.0]},
}


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_followed_is_refused_in_words(message):
    given = {"q0": [-0.65], "v0": [0.02], "to": 2.7, "period": turn, "parameter": 0, **WRONG[message]}
    start = {name: given.pop(name) for name in ("q0", "v0")}
    copies = Copies(force=drive, within=Gaps(stop, flat=True), parameters=[[2.6, 0.0]], restitution=E, **start)
    with pytest.raises(jo.JostleError, match=message):
        follow(copies, steps=32, **given)


def test_a_number_that_is_no_point_of_the_branch_is_refused(one_impact):
    with pytest.raises(jo.InvalidValue, match="number must be below 1, the number of points"):
        follow_point(one_impact, 1, parameter=1, to=0.1)
    with pytest.raises(jo.InvalidValue, match="parameter must be another number than 0, at most 2, not 0"):
        follow_point(one_impact, 0, parameter=0, to=0.1)


def test_orbits_of_a_branch_are_orbits(one_impact):
    again = Copies(
        q0=one_impact.q, v0=one_impact.u, force=drive, within=Gaps(stop, flat=True),
        parameters=np.stack([one_impact.value, np.zeros(len(one_impact.value))], axis=1), restitution=E,
    )  # fmt: skip
    found = periodic_orbits(again, period=2.0 * np.pi / one_impact.value, steps=64)
    np.testing.assert_allclose(found.q, one_impact.q, atol=1e-8)


def test_a_parameter_that_turns_a_wall_is_refused():
    def tilted(t, q, parameters):
        return q[0] + parameters[0] * q[1] + 1.0

    def pull(t, q, u, parameters):
        return -q[0] + np.cos(2.6 * t), -q[1]

    copies = jo.vibro.Copies(
        q0=[-0.2, 0.0],
        v0=[0.0, 0.0],
        force=pull,
        within=jo.vibro.Gaps(tilted, flat=True),
        parameters=[0.0],
        restitution=0.8,
    )
    with pytest.raises(jo.InvalidValue, match=r"gradients of the walls change with parameter 0"):
        jo.vibro.follow(copies, to=0.5, period=lambda parameters: 2 * np.pi / 2.6, steps=64)
