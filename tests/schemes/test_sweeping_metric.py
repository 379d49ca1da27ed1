"""Sweeping processes in the metric of a mass: M (u - U) = G^T p, against exact solutions.

Play and stop operators, springs that yield (Moreau's sweeping process of the stresses, in the metric of the
compliances), people with weights, and a point that drifts past a disc in an anisotropic metric.
"""

import functools
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

import jostle as jo

both_schemes = pytest.mark.parametrize(
    "scheme", [jo.Venel(), jo.CatchingUp()], ids=lambda scheme: type(scheme).__name__
)
ROUND_OFF = 1e-12
H = 0.05
TURNS, HEIGHTS = np.arange(7.0), np.array([0.0, 2.0, -2.0, 2.0, -0.5, 1.0, 0.5])
"""The input of the play: piecewise linear, with these values at these times, which are multiples of H."""
HALF_WIDTH = 0.6


def signal(t):
    return np.interp(t, TURNS, HEIGHTS)


def slope(t):
    """The slope of the input in the step that begins at t."""
    return np.diff(HEIGHTS)[min(int(t + H / 2.0), len(HEIGHTS) - 2)]


def play(t, half_width, q):
    """The play of the input at the times t: on each monotone piece it moves only when an end of the interval does."""
    found = [q]
    for before, after in pairwise(t):
        assert not any(before + 1e-9 < turn < after - 1e-9 for turn in TURNS)  # the input is monotone in between
        found.append(min(max(found[-1], signal(after) - half_width), signal(after) + half_width))
    return np.array(found)


def moving_interval(mass=None):
    interval = jo.Box(lambda t: [signal(t) - HALF_WIDTH], lambda t: [signal(t) + HALF_WIDTH])
    return jo.Sweeping(q0=[0.25], within=interval, mass=mass)


@pytest.mark.each_value
@both_schemes
@pytest.mark.parametrize("mass", [None, 1e-3, 1.0, 40.0, [[7.0]]])
def test_a_point_in_an_interval_that_moves_is_the_play_operator(scheme, mass):
    sol = jo.solve(moving_interval(mass), scheme, t=TURNS[-1], h=H)
    np.testing.assert_allclose(sol.q[:, 0], play(sol.t, HALF_WIDTH, 0.25), rtol=0, atol=ROUND_OFF)
    np.testing.assert_allclose(sol(TURNS)[:, 0], [0.25, 1.4, -1.4, 1.4, 0.1, 0.4, 0.4], rtol=0, atol=ROUND_OFF)


@both_schemes
def test_the_hysteresis_loop_of_the_play_is_a_parallelogram(scheme):
    """Between inputs -2 and 2 the play runs from -1.4 to 1.4: the area is 2 half_width times 2.8."""
    sol = jo.solve(moving_interval(3.0), scheme, t=3.0, h=H)
    cycle = sol.t >= 1.0 - H / 2.0
    x, y = signal(sol.t[cycle]), sol.q[cycle, 0]
    assert abs(x[-1] - x[0]) < ROUND_OFF
    assert abs(y[-1] - y[0]) < ROUND_OFF
    area = 0.5 * abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))
    assert area == pytest.approx(2.0 * HALF_WIDTH * 2.8, rel=1e-12)


@both_schemes
def test_the_stop_operator_is_the_input_minus_the_play(scheme):
    """The stop is a sweeping process of its own: it follows the input and stays in an interval at rest."""
    box = jo.Box([-HALF_WIDTH], [HALF_WIDTH])
    stop = jo.Sweeping(q0=[signal(0.0) - 0.25], velocity=lambda t, q: [slope(t)], within=box, mass=5.0)
    found = jo.solve(stop, scheme, t=TURNS[-1], h=H)
    plays = jo.solve(moving_interval(5.0), scheme, t=TURNS[-1], h=H)
    np.testing.assert_allclose(found.q[:, 0], signal(found.t) - plays.q[:, 0], rtol=0, atol=ROUND_OFF)


# --- springs that yield ---

STIFFNESS = np.array([2.0, 1.0, 3.0])
"""Spring 1 in series with springs 2 and 3, which are parallel."""
YIELD = np.array([1.0, 1.5])
"""Yield stresses of springs 2 and 3; spring 1 stays elastic."""
COMPLIANCES = np.diag(1.0 / STIFFNESS[1:]) + 1.0 / STIFFNESS[0]
"""The elastic energy is x^T COMPLIANCES x / 2 for the stresses x of springs 2 and 3, whose sum is that of spring 1."""
LENGTHS = [(0.0, 0.0, 0.0), (1.5, 0.5, 1.5), (2.25, 1.0, 1.5), (3.0, 1.0, 1.5), (0.0, 0.0, -1.5), (-1.5, -1.0, -1.5),
           (-3.0, -1.0, -1.5), (0.0, 0.0, 1.5), (1.5, 1.0, 1.5), (3.0, 1.0, 1.5)]  # fmt: skip
"""(length, stress 2, stress 3) of the exact solution where springs begin or cease to yield; straight in between."""


def network(mass=COMPLIANCES):
    """The length grows to 3, falls to -3 and grows to 3 at unit speed; M x' - l' (1, 1) is in -N(x)."""
    rate = np.linalg.solve(COMPLIANCES, [1.0, 1.0])
    box = jo.Box(-YIELD, YIELD)
    return jo.Sweeping(
        q0=[0.0, 0.0], velocity=lambda t, q: rate * (-1.0 if 3.0 <= t + 0.05 < 9.0 else 1.0), within=box, mass=mass
    )


def exact_stresses(t):
    """(k, 2) at the path lengths t of the total length."""
    table = np.array(LENGTHS)
    path = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(table[:, 0])))])
    return np.stack([np.interp(t, path, table[:, k]) for k in (1, 2)], axis=1)


@pytest.mark.each_value
@both_schemes
@pytest.mark.parametrize("h", [0.1, 0.25, 3.0], ids=str)
def test_three_springs_that_yield_have_the_exact_stresses(scheme, h):
    """Exact at every node, even where a spring begins to yield inside a step: none ceases to in a step."""
    sol = jo.solve(network(), scheme, t=15.0, h=h)
    np.testing.assert_allclose(sol.q, exact_stresses(sol.t), rtol=0, atol=ROUND_OFF)


def test_the_compliances_are_needed_for_the_stresses_of_the_springs():
    """In the Euclidean metric spring 2 does not take over what spring 3 no longer carries."""
    wrong = jo.solve(network(mass=None), jo.Venel(), t=15.0, h=0.1)
    assert np.abs(wrong.q - exact_stresses(wrong.t)).max() > 0.2


@both_schemes
def test_work_on_springs_that_yield_is_what_their_sliders_dissipate(scheme):
    """Over a cycle: the area of the loop of the force over the length is the sum of yield stress times slip."""
    sol = jo.solve(network(), scheme, t=15.0, h=0.25)
    cycle = sol.t >= 3.0
    length = np.abs(sol.t[cycle] - 9.0) - 3.0
    force = sol.q[cycle].sum(axis=1)
    work = float(np.sum(0.5 * (force[1:] + force[:-1]) * np.diff(length)))
    # springs 2 and 3 are as long as the total less spring 1; each slider takes what its elastic part leaves
    slips = (length - force / STIFFNESS[0])[:, None] - sol.q[cycle] / STIFFNESS[1:]
    dissipated = float((YIELD * np.abs(np.diff(slips, axis=0)).sum(axis=0)).sum())
    assert work == pytest.approx(dissipated, rel=1e-10)
    assert work == pytest.approx(10.5, rel=1e-10)


@both_schemes
def test_two_parallel_springs_are_two_stops(scheme):
    """Of the same input, each with its stiffness and yield stress: the metric is diagonal."""
    stiffness, limit = np.array([1.0, 4.0]), np.array([1.5, 1.0])
    box = jo.Box(-limit, limit)
    parallel = jo.Sweeping(q0=[0.0, 0.0], velocity=lambda t, q: stiffness * slope(t), within=box, mass=1.0 / stiffness)
    sol = jo.solve(parallel, scheme, t=TURNS[-1], h=H)
    stops = np.stack([k * (signal(sol.t) - play(sol.t, y / k, 0.0)) for k, y in zip(stiffness, limit, strict=True)], 1)
    np.testing.assert_allclose(sol.q, stops, rtol=0, atol=ROUND_OFF)


# --- people with weights ---


@both_schemes
def test_the_heavier_of_two_who_push_each_other_gives_way_less(scheme):
    """m1 (u - 1) = -p and m2 (u + 1) = p, with u = (m1 - m2) / (m1 + m2)."""
    pair = jo.Sweeping(
        q0=[[0.0, 0.0], [1.0, 0.0]], velocity=[[1.0, 0.2], [-1.0, 0.2]], within=jo.Balls([0.5, 0.5]), mass=[1.0, 3.0]
    )
    sol = jo.solve(pair, scheme, t=1.0, h=0.1)
    np.testing.assert_allclose(sol.u[1:], np.broadcast_to([-0.5, 0.2], (10, 2, 2)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(sol.multipliers[-1], [1.5], rtol=0, atol=1e-9)
    np.testing.assert_allclose(sol.q[-1], [[-0.5, 0.2], [0.5, 0.2]], rtol=0, atol=1e-9)


@both_schemes
def test_a_row_that_pushes_from_behind_has_the_mean_velocity_of_the_weights(scheme):
    """As after a plastic impact of all: sum m U / sum m, and each contact carries what those behind it lack."""
    mass, wished = np.array([4.0, 1.0, 2.0, 0.5]), np.array([2.0, 1.5, 1.0, -1.0])
    q0 = np.stack([np.arange(4.0), np.zeros(4)], axis=1)
    row = jo.Sweeping(q0=q0, velocity=np.stack([wished, np.zeros(4)], axis=1), within=jo.Balls([0.5] * 4), mass=mass)
    sol = jo.solve(row, scheme, t=0.5, h=0.1)
    together = mass @ wished / mass.sum()
    np.testing.assert_allclose(sol.u[-1], [[together, 0.0]] * 4, rtol=0, atol=1e-9)
    pushes = {tuple(pair): p for pair, p in zip(sol.pairs[-1].tolist(), sol.multipliers[-1], strict=True) if p}
    behind = np.cumsum(mass * (wished - together))[:3]
    assert pushes == pytest.approx({(k, k + 1): behind[k] for k in range(3)}, abs=1e-8)


def test_the_reaction_is_the_mass_times_the_change_of_velocity():
    """M (u - U) = G^T p with a full matrix, of a point at a slanted wall."""
    M, U, n = np.array([[2.0, 0.7], [0.7, 1.0]]), np.array([1.0, -2.0]), np.array([0.6, 0.8])
    for scheme in (jo.Venel(), jo.CatchingUp()):
        sol = jo.solve(jo.Sweeping(q0=[0.0, 0.0], velocity=U, within=jo.HalfSpace(n), mass=M), scheme, t=0.1, h=0.1)
        p = -(n @ U) / (n @ np.linalg.solve(M, n))
        np.testing.assert_allclose(sol.u[-1], U + np.linalg.solve(M, n) * p, rtol=0, atol=ROUND_OFF)
        np.testing.assert_allclose(sol.multipliers[-1], [p], rtol=0, atol=ROUND_OFF)


# --- what does not depend on the mass, and how fast the schemes converge ---


def jam(mass=None):
    """Seven discs push each other towards a post and a wall."""
    q0 = np.array([[0.0, 0.0], [1.1, 0.1], [2.2, -0.1], [0.5, 1.0], [1.6, 1.1], [0.4, -1.0], [1.5, -1.2]])
    within = jo.Balls([0.5] * 7) & jo.Outside([3.5, 0.2], 0.4) & jo.Box([-np.inf, -np.inf], [4.0, np.inf])
    return jo.Sweeping(q0=q0, velocity=lambda t, q: np.array([4.0, 0.0]) - q, within=within, mass=mass)


@functools.cache
def without_mass(scheme):
    return jo.solve(jam(), scheme, t=2.0, h=0.05)


@pytest.mark.each_value
@both_schemes
@pytest.mark.parametrize("c", [1e-8, 1e-3, 0.3, 7.0, 1e6])
def test_a_multiple_of_the_identity_changes_the_reactions_alone(scheme, c):
    plain, other = without_mass(scheme), jo.solve(jam(c), scheme, t=2.0, h=0.05)
    assert plain.stats["active"].max() >= 5
    np.testing.assert_allclose(other.q, plain.q, rtol=0, atol=ROUND_OFF)
    np.testing.assert_allclose(
        [p.sum() / c for p in other.multipliers], [p.sum() for p in plain.multipliers], rtol=0, atol=1e-11
    )


@both_schemes
def test_the_mass_one_is_no_mass_to_the_bit(scheme):
    plain, one = (jo.solve(jam(mass), scheme, t=1.0, h=0.05) for mass in (None, 1.0))
    for name in ("q", "u", "stats"):
        np.testing.assert_array_equal(getattr(one, name), getattr(plain, name))
    for p, other in zip(one.multipliers, plain.multipliers, strict=True):
        np.testing.assert_array_equal(p, other)


@both_schemes
def test_a_number_a_body_a_coordinate_and_a_matrix_are_the_same_metric(scheme):
    weights = np.linspace(1.0, 4.0, 7)
    each = np.repeat(weights[:, None], 2, axis=1)
    sols = [jo.solve(jam(mass), scheme, t=1.0, h=0.05) for mass in (weights, each, np.diag(each.ravel()))]
    for sol in sols[1:]:
        np.testing.assert_allclose(sol.q, sols[0].q, rtol=0, atol=ROUND_OFF)


RATIO = 4.0
"""The metric along the drift has mass 1, across it this mass."""


def angle_after(t, start):
    """Of the point on the unit circle: a' (sin^2 a + RATIO cos^2 a) = -sin a, integrated in closed form."""

    def time(a):
        return np.cos(a) - RATIO * (np.log(np.tan(a / 2.0)) + np.cos(a))

    return brentq(lambda a: time(a) - time(start) - t, np.pi / 2.0, start, xtol=1e-14)


@pytest.mark.each_value
@both_schemes
@pytest.mark.parametrize("turned", [0.0, 0.7], ids=["one mass a coordinate", "a matrix"])
def test_the_order_is_one_in_an_anisotropic_metric(scheme, turned):
    """A point drifts past a disc. Turned by an angle, the same metric is a full matrix."""
    R = np.array([[np.cos(turned), -np.sin(turned)], [np.sin(turned), np.cos(turned)]])
    start, end = np.radians(160.0), angle_after(4.0, np.radians(160.0))
    assert np.pi / 2.0 < end < start - 0.3
    mass = np.array([1.0, RATIO]) if turned == 0.0 else R @ np.diag([1.0, RATIO]) @ R.T
    drift = jo.Sweeping(
        q0=R @ [np.cos(start), np.sin(start)], velocity=R @ [1.0, 0.0], within=jo.Outside([0.0, 0.0], 1.0), mass=mass
    )
    steps = 0.1 * 0.5 ** np.arange(3)
    exact = R @ [np.cos(end), np.sin(end)]
    errors = [np.linalg.norm(jo.solve(drift, scheme, t=4.0, h=h).q[-1] - exact) for h in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.1)
    assert errors[-1] < steps[-1]


# --- the mass goes where the problem goes ---


def test_the_mass_is_seen_and_only_if_it_was_given():
    assert repr(jo.Sweeping(q0=[0.0, 1.0])) == "Sweeping(q0 of shape (2,), within=Free)"
    assert repr(jo.Sweeping(q0=[0.0, 1.0], mass=2.0)) == "Sweeping(q0 of shape (2,), within=Free, mass of shape (2,))"
    assert jo.Sweeping(q0=[0.0]).mass is None
    assert jo.Sweeping(q0=[0.0, 1.0]).metric(np.zeros(2)).mass.tolist() == [1.0, 1.0]
    assert jo.Sweeping(q0=[[0.0, 1.0]], mass=[2.0]).metric(np.zeros((1, 2))).mass.tolist() == [2.0, 2.0]


def waiting_row(mass):
    return jo.Sweeping(
        q0=[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], velocity=[[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]],
        within=jo.Balls([0.5] * 3), mass=mass, present=[True, True, False],
    )  # fmt: skip


def test_those_who_are_there_keep_their_weights():
    sol = jo.solve(waiting_row([1.0, 3.0, 50.0]), jo.Venel(), t=0.5, h=0.1)
    np.testing.assert_allclose(sol.u[-1, :2], [[0.25, 0.0]] * 2, rtol=0, atol=1e-9)


def test_a_matrix_that_couples_those_who_are_not_there_is_an_error():
    with pytest.raises(jo.InvalidValue, match=r"moved body 2, which is not present: a matrix of mass.*couples bodies"):
        jo.solve(waiting_row(np.eye(6) + 0.3), jo.Venel(), t=0.5, h=0.1)


@pytest.mark.parametrize(
    ("mass", "words"),
    [
        (-1.0, "mass must be positive; entry 0 is -1"),
        ([1.0, 0.0], "mass must be positive; entry 2 is 0"),
        ([1.0, 2.0, 3.0], r"mass has shape \(3,\); for q of shape \(2, 2\) give a number, \(2,\) \(one per body\)"),
        (np.eye(3), r"mass has shape \(3, 3\)"),
        (np.diag([1.0, 1.0, 1.0, -1.0]), "mass matrix is not positive definite: its smallest eigenvalue is -1"),
        (np.ones((4, 4)), "mass matrix is not positive definite"),
        (np.eye(4) + np.triu(np.ones((4, 4)), 1), "mass matrix is not symmetric"),
        (np.nan, "mass is nan"),
        ([1.0, np.inf], r"mass is inf at index \(1,\)"),
        ("heavy", "mass must be numbers or a metric or None, not 'heavy'"),
        (lambda q: np.eye(4), "mass must be numbers or a metric or None, not"),
        (jo.Sweeping(q0=[0.0], mass=2.0).mass, r"mass is a metric of 1 coordinates, q of shape \(2, 2\) has 4"),
    ],
)
def test_a_mass_that_is_none_is_refused_when_the_process_is_made(mass, words):
    with pytest.raises(jo.JostleError, match=words):
        jo.Sweeping(q0=np.zeros((2, 2)), mass=mass)


def test_a_scheme_that_does_not_know_of_metrics_refuses_a_mass():
    from jostle.schemes.capabilities import FIRST, MOVING

    class Euclidean(jo.Venel):
        capabilities = frozenset({FIRST, MOVING})

    jo.solve(jo.Sweeping(q0=[0.0]), Euclidean(), t=1.0, h=0.5)
    words = "Euclidean projects in the Euclidean metric, the problem has a mass; use Venel or CatchingUp"
    with pytest.raises(jo.errors.SchemeRefuses, match=words):
        jo.solve(jo.Sweeping(q0=[0.0], mass=2.0), Euclidean(), t=1.0, h=0.5)


def test_a_file_holds_the_weights(tmp_path):
    for name, mass in (("none", None), ("weights", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), ("matrix", np.eye(14) + 0.1)):
        path = tmp_path / f"{name}.vtkhdf"
        jo.solve(jam(mass), jo.Venel(), t=0.1, h=0.05, output=jo.io.Output(path, contacts=True, units=jo.io.SI))
        facts = jo.io.read(path).facts
        assert (None if facts.masses is None else facts.masses.tolist()) == (mass if name == "weights" else None)
        assert facts.weighted == (name != "none")


def test_the_unit_of_a_reaction_is_that_of_the_mass_times_a_velocity(tmp_path):
    from jostle.viz.quantities import FORCE, PRESSURE
    from jostle.viz.scene import Scene
    from jostle.viz.sources import unit_text

    found = {}
    for name, mass in (("none", None), ("weights", np.arange(1.0, 8.0)), ("matrix", np.eye(14) + 0.1)):
        path = tmp_path / f"{name}.vtkhdf"
        jo.solve(jam(mass), jo.Venel(), t=0.1, h=0.05, output=jo.io.Output(path, contacts=True, units=jo.io.SI))
        scene = Scene(jo.io.read(path))
        found[name] = [unit_text(scene.facts.units, one.unit(scene)) for one in (FORCE, PRESSURE)]
    assert found == {"none": ["m/s", "1/s"], "weights": ["N s", "kg/s"], "matrix": ["", ""]}


def test_a_run_with_another_mass_is_another_run(tmp_path):
    jo.solve(jam(2.0), jo.Venel(), t=0.1, h=0.05, output=jo.io.Output(checkpoint=tmp_path / "c"))
    for other in (None, 3.0):
        with pytest.raises(jo.InvalidValue, match=r"belongs to another run: .*mass"):
            jo.solve(jam(other), jo.Venel(), t=0.2, h=0.05, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    rest = jo.solve(jam(2.0), jo.Venel(), t=0.2, h=0.05, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    np.testing.assert_array_equal(rest.q[-1], jo.solve(jam(2.0), jo.Venel(), t=0.2, h=0.05).q[-1])
