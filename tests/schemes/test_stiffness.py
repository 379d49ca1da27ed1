"""Stiff forces: linearly implicit steps with the slopes of the force, and a warning where explicit steps grow."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jostle as jo
from rows import examples, whole

WALL = jo.HalfSpace([1.0])
EXPLICIT = [jo.Maury(), jo.MoreauJean(), jo.Paoli()]
IMPLICIT = [jo.Maury(), jo.MoreauJean()]


def name(scheme):
    return type(scheme).__name__


def spring(k, c=0.0, rest=0.0, **problem):
    """A body with a mass of 1 on a spring and a damper, with their slopes."""
    force = jo.StiffForce(lambda t, q, u: -k * (q - rest) - c * u, stiffness=k, damping=c)
    return jo.Motion(force=force, **problem)


def chain(n, k, load=-1.0):
    """The stiffness matrix of n bodies above each other joined by springs of length 1, and their force."""
    K = k * (np.diag(np.full(n, 2.0)) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1))
    K[0, 0] = K[-1, -1] = k
    rest = np.arange(n, dtype=float)
    return K, lambda t, q: -K @ (q - rest) + load


def damped(k, c, t):
    """The motion q'' + c q' + k q = 0 from q = 1, q' = 0, below critical damping."""
    w = np.sqrt(k - c * c / 4.0)
    return np.exp(-c * t / 2.0) * (np.cos(w * t) + c / (2.0 * w) * np.sin(w * t))


# Order of convergence, and stability


@pytest.mark.parametrize(("scheme", "order"), [(jo.Maury(), 1), (jo.MoreauJean(), 2)], ids=["theta=1", "theta=1/2"])
def test_orders_of_convergence_to_the_damped_oscillator(scheme, order):
    k, c, t = 9.0, 0.8, 2.0
    errors = []
    for n in (100, 200):
        sol = jo.solve(spring(k, c, q0=[1.0]), scheme, t=t, h=t / n)
        errors.append(abs(float(sol.q[-1, 0]) - damped(k, c, t)))
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert rates == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("given", [True, False], ids=["with slopes", "explicit"])
def test_moreau_jean_is_of_order_two_between_impacts_with_forces_of_time_and_place(given):
    def force(t, q):
        return np.cos(3.0 * t) - 4.0 * np.sin(q)

    def slope(t, q, u):
        return 4.0 * np.cos(q)

    problem = jo.Motion(q0=[1.0], force=jo.StiffForce(force, stiffness=slope) if given else force)
    ends = [jo.solve(problem, jo.MoreauJean(), t=1.0, h=1.0 / n).q[-1, 0] for n in (50, 100, 200)]
    assert np.log2((ends[0] - ends[1]) / (ends[1] - ends[2])) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("scheme", EXPLICIT, ids=name)
def test_an_explicit_oscillator_keeps_its_amplitude_for_all_times(scheme):
    """At q^n, MoreauJean made an amplitude of 1.64 out of 1, for w h = 0.01 and t = 200."""
    w, h = 20.0, 0.01
    sol = jo.solve(jo.Motion(q0=[1.0], force=lambda t, q: -(w**2) * q), scheme, t=6.0, h=h)
    assert np.abs(sol.q).max() < 1.1


@pytest.mark.parametrize("wh", [10.0, 1e4])
@pytest.mark.parametrize("scheme", IMPLICIT, ids=name)
def test_implicit_springs_are_stable_for_all_steps(scheme, wh):
    h = 0.01
    k = (wh / h) ** 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sol = jo.solve(spring(k, q0=[1.0]), scheme, t=1.0, h=h)
    energy = 0.5 * (sol.u**2 + k * sol.q**2)[:, 0]
    assert (np.diff(energy) <= 1e-9 * energy[0]).all()
    if isinstance(scheme, jo.Maury):
        assert abs(sol.q[-1, 0]) < 1e-30  # the implicit Euler method damps what it does not resolve
    else:
        assert energy[-1] == pytest.approx(energy[0], rel=1e-9)  # the trapezoidal rule keeps the energy


@given(
    n=st.integers(1, 4), seed=st.integers(0, 10_000), stiff=st.floats(-2.0, 8.0), h=st.floats(1e-3, 1.0),
    maury=st.booleans(),
)  # fmt: skip
@settings(max_examples=examples(25), deadline=None)
def test_energy_never_grows_with_symmetric_slopes(n, seed, stiff, h, maury):
    """Random masses, stiffnesses and dampings, without walls or above a floor at which nothing bounces."""
    random = np.random.default_rng(seed)
    A, B, D = random.normal(size=(3, n, n))
    K, C, M = 10.0**stiff * A @ A.T, random.choice([0.0, 1.0]) * B @ B.T, D @ D.T + np.eye(n)
    force = jo.StiffForce(lambda t, q, u: -K @ q - C @ u, stiffness=K, damping=C)
    within = jo.Box(np.full(n, -0.2), np.full(n, np.inf)) if maury else None
    problem = jo.Motion(q0=random.uniform(0.0, 1.0, n), v0=random.normal(size=n), force=force, mass=M, within=within)
    sol = jo.solve(problem, jo.Maury() if maury else jo.MoreauJean(), t=10 * h, h=h)
    energy = np.array([0.5 * (u @ M @ u + q @ K @ q) for q, u in zip(sol.q, sol.u, strict=True)])
    assert (np.diff(energy) <= 1e-7 * energy[:-1].max()).all()


# With contacts


@pytest.mark.parametrize("scheme", IMPLICIT, ids=name)
@pytest.mark.parametrize("wh", [10.0, 1e4])
def test_a_stiff_spring_presses_on_the_wall_with_k_x(scheme, wh):
    h, x = 0.01, 0.25
    k = (wh / h) ** 2
    sol = jo.solve(spring(k, rest=-x, q0=[0.0], within=WALL), scheme, t=0.3, h=h)
    assert not sol.q.any()
    assert np.ravel(sol.multipliers[1:]) / h == pytest.approx(k * x, rel=1e-12)


@pytest.mark.parametrize("wh", [10.0, 1e4])
def test_a_stiff_spring_pulls_a_body_to_the_wall_and_presses_it_with_k_x(wh):
    h, x = 0.01, 0.25
    k = (wh / h) ** 2
    sol = jo.solve(spring(k, rest=-x, q0=[1.0], within=WALL), jo.Maury(), t=0.3, h=h)
    assert sol.q[-1, 0] == pytest.approx(0.0, abs=1e-12)
    assert sol.multipliers[-1][0] / h == pytest.approx(k * x, rel=1e-9)


@pytest.mark.parametrize("diagonal", [True, whole(False)])
def test_the_wall_carries_a_stiff_chain_that_fell_on_it(diagonal):
    """Five bodies joined by springs with w h = 200 stand on a floor, compressed by their weights."""
    n, h = 5, 0.01
    k = (200.0 / h) ** 2
    K, f = chain(n, k)
    problem = jo.Motion(
        q0=np.arange(n) + 0.5, force=jo.StiffForce(f, stiffness=K), within=jo.Box([0.0] * n, [np.inf] * n),
        mass=1.0 if diagonal else np.eye(n),
    )  # fmt: skip
    sol = jo.solve(problem, jo.Maury(), t=4.0, h=h)
    carried = n - 1 - np.arange(n - 1)  # the bodies above each spring
    assert np.diff(sol.q[-1]) == pytest.approx(1.0 - carried / k, rel=1e-12)
    assert sum(sol.multipliers[-1]) / h == pytest.approx(n, rel=1e-6)
    assert sol.q.min() >= -1e-12


def test_the_balance_of_each_step_holds_in_the_effective_metric():
    from jostle.theory.promises import taken

    for scheme in IMPLICIT:
        sol = jo.solve(spring(1e4, 30.0, rest=-0.1, q0=[1.0], within=WALL), scheme, t=0.5, h=0.01)
        steps = list(taken(sol))
        assert max(step.imbalance for step in steps) < 1e-9 * max(step.size for step in steps)


def test_gluey_takes_a_stiff_force_as_maury_does():
    problem = spring(1e6, rest=0.5, q0=[1.0], within=WALL)
    maury, gluey = (jo.solve(problem, scheme, t=0.2, h=0.01).q for scheme in (jo.Maury(), jo.Gluey()))
    assert np.array_equal(maury, gluey)


def test_slopes_may_be_functions_and_need_not_be_exact():
    h, k = 0.01, 1e8
    force = jo.StiffForce(lambda t, q: -k * q**3, stiffness=lambda t, q, u: 3.0 * k * q**2)
    rough = jo.StiffForce(lambda t, q: -k * (q - 0.5) - np.sin(q), stiffness=1.5 * k)
    assert abs(jo.solve(jo.Motion(q0=[1.0], force=force), jo.Maury(), t=1.0, h=h).q[-1, 0]) < 0.1
    assert jo.solve(jo.Motion(q0=[1.0], force=rough), jo.Maury(), t=1.0, h=h).q[-1, 0] == pytest.approx(0.5, rel=1e-6)


# What is refused


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean()], ids=["Maury", "MoreauJean"])
def test_steps_of_any_length_have_a_metric_of_their_own(scheme):
    """Nothing is kept from one step to the next if the stiffness is a function."""
    kept, anew = (
        jo.solve(jo.Motion(q0=[1.0], force=jo.StiffForce(lambda t, q: -1e4 * q, stiffness=k)), scheme, t=1.0, h=h)
        for h in ([0.2, 0.2, 0.1, 0.5],)
        for k in (1e4, lambda t, q, u: 1e4)
    )
    assert kept.q == pytest.approx(anew.q, abs=1e-14)
    assert len(kept.t) == 5


def test_paoli_refuses_a_stiff_force_by_name():
    with pytest.raises(
        jo.errors.SchemeRefuses, match="takes forces explicitly, and the force is a StiffForce; use Maury or"
    ):
        jo.solve(spring(1.0, q0=[1.0]), jo.Paoli(), t=1.0, h=0.1)


@pytest.mark.parametrize(
    ("slopes", "what"),
    [
        ({"stiffness": [[1.0, 1.0], [0.0, 1.0]]}, "stiffness is not symmetric"),
        ({"damping": [1.0, 2.0, 3.0]}, r"damping has shape \(3,\)"),
        ({"stiffness": lambda t, q, u: np.full(2, np.nan)}, "what stiffness returned"),
        ({"stiffness": -1e6}, "not positive definite"),
    ],
)
def test_slopes_that_do_not_fit_are_errors(slopes, what):
    problem = jo.Motion(q0=[1.0, 0.0], force=jo.StiffForce(lambda t, q: -q, **slopes))
    with pytest.raises((jo.InvalidValue, jo.errors.NotFinite), match=what):
        jo.solve(problem, jo.Maury(), t=1.0, h=0.1)


# The warning


@pytest.mark.each_value
@pytest.mark.parametrize("within", [None, WALL, jo.Box([0.0], [1.0])], ids=["free", "one wall", "between walls"])
@pytest.mark.parametrize("wh", [2.2, 10.0, 1e4])
@pytest.mark.parametrize("scheme", EXPLICIT, ids=name)
def test_an_explicit_spring_that_grows_or_that_only_walls_hold_is_reported(scheme, wh, within):
    """MoreauJean reached 1e83, and Maury and Paoli 49, with status "finished" and without a word."""
    h = 0.01
    problem = jo.Motion(q0=[1.0], force=lambda t, q: -((wh / h) ** 2) * (q - 0.4), within=within)
    with pytest.warns(jo.errors.UnstableStep, match=r"step \d+ .* grew|held.*stiffness=K") as found:
        jo.solve(problem, scheme, t=0.18, h=h)
    assert len(found) == 1
    assert f"h^2 K / M = {wh**2:.3g}" in str(found[0].message)
    assert f"below {2.0 * h / wh:.2g}" in str(found[0].message)


@pytest.mark.parametrize("scheme", EXPLICIT, ids=name)
def test_an_explicit_damper_that_grows_is_reported(scheme):
    problem = jo.Motion(q0=[1.0], v0=[1.0], force=lambda t, q, u: -300.0 * u)
    with pytest.warns(jo.errors.UnstableStep, match=r"h C / M = 3\b.*below 0.0067"):
        jo.solve(problem, scheme, t=0.5, h=0.01)


def test_one_stiff_spring_among_many_bodies_is_reported():
    q0 = np.stack([3.0 * np.arange(20), np.zeros(20)], axis=1)

    def force(t, q):
        f = np.zeros_like(q)
        f[7, 1] = -1e5 * (q[7, 1] - 1e-3)
        return f

    problem = jo.Motion(q0=q0, v0=np.full((20, 2), 1.0), force=force, within=jo.Balls(np.ones(20)))
    with pytest.warns(jo.errors.UnstableStep, match=r"h\^2 K / M = 10\b"):
        jo.solve(problem, jo.Maury(), t=0.2, h=0.01)


@pytest.mark.each_value
@pytest.mark.parametrize("scheme", EXPLICIT, ids=name)
@pytest.mark.parametrize(("speed", "weight", "soft"), [(1e3, 9.81, 25.0), (10.0, 1e5, 0.0)])
def test_one_stiff_spring_between_walls_among_faster_bodies_is_reported(scheme, speed, weight, soft):
    """The forces on the others are larger and do not turn round."""
    q0, v0, walled = np.arange(20.0), np.full(20, speed), np.eye(20)[7]
    q0[7], v0[7] = 0.01, 0.0

    def force(t, q):
        f = -soft * (q - q0) - weight
        f[7] = -1e5 * q[7]
        return f

    walls = jo.constraints(gradient=lambda t, q: [walled, -walled], moving=False)(lambda t, q: [q[7] + 1.0, 1.0 - q[7]])
    with pytest.warns(jo.errors.UnstableStep, match=r"force on coordinate 7 is too stiff .* h\^2 K / M = 10\b"):
        jo.solve(jo.Motion(q0=q0, v0=v0, force=force, within=walls), scheme, t=0.2, h=0.01)


def test_switches_of_many_bodies_are_no_springs_and_cost_few_calls():
    calls = []

    def force(t, q, u):
        calls.append(t)
        return np.where(np.arange(q.size) % 2 == 0, -np.sign(q) - 0.5 * u, 0.5 * np.sin(9.0 * t) - 0.3 * np.sign(u) - q)

    problem = jo.Motion(q0=np.linspace(-0.1, 0.1, 40), force=force)
    with warnings.catch_warnings():
        warnings.simplefilter("error", jo.errors.UnstableStep)
        jo.solve(problem, jo.Maury(), t=5.0, h=0.01)
    assert len(calls) <= 2 * 500 + 5 * 6  # Maury asks twice in each step


def test_slopes_that_are_too_small_are_reported():
    h, k = 0.01, 1e8
    problem = jo.Motion(q0=[1.0], force=jo.StiffForce(lambda t, q: -k * q, stiffness=0.1 * k))
    with pytest.warns(jo.errors.UnstableStep, match="slopes that are closer to its own"):
        jo.solve(problem, jo.MoreauJean(), t=0.5, h=h)


def noise(*state):
    return noise.random.normal(size=state[1].shape)


noise.random = np.random.default_rng(0)
TABLE = jo.HalfSpace([1.0], offset=lambda t: -1.0 + 0.2 * np.sin(9.0 * t))
LIFT = jo.HalfSpace([1.0], offset=lambda t: 1e-4 * t)
QUIET = {
    "driven at resonance": (lambda t, q: np.cos(20.0 * t) - 400.0 * q, None),
    "driven between walls": (lambda t, q: 30.0 * np.cos(13.0 * t) - q, jo.Box([-0.5], [0.6])),
    "on a moving wall": (lambda t, q, u: -9.81 - 0.1 * u, TABLE),
    "pressed by a fast drive": (lambda t, q: [-100.0 + 90.0 * np.sin(250.0 * t)], LIFT),
    "a drive that turns in each step and grows": (lambda t, q: [np.exp(9.0 * t) * np.cos(np.pi * t / 0.01)], None),
    "the same on a wall": (lambda t, q: [np.exp(9.0 * t) * np.cos(np.pi * t / 0.0071)], WALL),
    "the fastest stable spring": (lambda t, q: -(198.0**2) * (q - 0.2), WALL),
    "the fastest stable damper": (lambda t, q, u: -190.0 * u - 5.0, WALL),
    "negative damping": (lambda t, q, u: 5.0 * u - 30.0 * q, None),
    "a switch of place": (lambda t, q, u: -np.sign(q) - 0.5 * u, None),
    "dry friction": (lambda t, q, u: 0.5 * np.sin(9.0 * t) - 0.3 * np.sign(u) - q, None),
    "a bang-bang drive": (lambda t, q: [1.0 if int(t * 50) % 2 else -1.0], None),
    "random": (lambda *state: 50.0 * noise(*state), None),
    "random, with friction and a wall": (lambda t, q, u: 9.0 * noise(t, q) - u - q, WALL),
    "unstable equilibrium": (lambda t, q: 100.0 * q, jo.Box([-1.0], [1.0])),
    "gas spring": (lambda t, q: 1.0 / np.maximum(q, 1e-3) ** 1.4 - 1.0, jo.Box([-0.5], [2.0])),
}  # fmt: skip


@pytest.mark.each_value
@pytest.mark.parametrize("problem", QUIET)
@pytest.mark.parametrize("scheme", EXPLICIT, ids=name)
def test_there_is_no_warning_of_forces_that_steps_resolve_or_that_depend_on_time(scheme, problem):
    force, within = QUIET[problem]
    if isinstance(scheme, jo.Paoli) and within is not None and within.moving:
        pytest.skip("Paoli's sets are at rest")
    with warnings.catch_warnings():
        warnings.simplefilter("error", jo.errors.UnstableStep)
        jo.solve(jo.Motion(q0=[0.02], force=force, within=within), scheme, t=2.0, h=0.01)


@given(
    w=st.floats(0.1, 1.95), drive=st.floats(0.0, 6.0), size=st.floats(0.0, 100.0), c=st.floats(0.0, 0.5),
    wall=st.floats(-1.0, 0.0), which=st.integers(0, 2),
)  # fmt: skip
@settings(max_examples=examples(30), deadline=None)
def test_random_driven_oscillators_below_the_limit_are_not_reported(w, drive, size, c, wall, which):
    """With w h and h c below the limit, and drives of all frequencies: h^2 K + 2 h C < 4 M."""
    if w * w + 2.0 * c >= 4.0:
        return
    problem = jo.Motion(
        q0=[0.5],
        within=jo.HalfSpace([1.0], offset=wall),
        force=lambda t, q, u: size * np.cos(drive * t) - w * w * q - c * u,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", jo.errors.UnstableStep)
        jo.solve(problem, EXPLICIT[which], t=80.0, h=1.0)


def test_the_watch_does_not_call_the_force_while_nothing_is_wrong():
    calls = []

    def force(t, q):
        calls.append(t)
        return -q

    jo.solve(jo.Motion(q0=[1.0], force=force), jo.MoreauJean(), t=1.0, h=0.01)
    assert len(calls) == 100


def test_a_stiff_force_goes_through_pickles_and_checkpoints(tmp_path):
    import pickle

    problem = jo.Motion(q0=[1.0, 2.0], force=jo.StiffForce(linear, stiffness=np.diag([1e6, 2e6])), within=None)
    jo.solve(problem, jo.Maury(), t=0.1, h=0.01, output=jo.io.Output(checkpoint=tmp_path / "run.h5"))
    longer = jo.solve(
        problem, jo.Maury(), t=0.2, h=0.01, output=jo.io.Output(checkpoint=tmp_path / "run.h5", resume=True)
    )
    again = jo.solve(pickle.loads(pickle.dumps(problem)), jo.Maury(), t=0.2, h=0.01)
    assert np.array_equal(longer.q[-1], again.q[-1])


def linear(t, q):
    return -np.array([1e6, 2e6]) * q


@pytest.mark.parametrize("h", [0.01, [0.01, 0.009] * 15], ids=["even", "uneven"])
def test_a_stiff_force_is_noticed_with_steps_of_any_length_and_after_changes(h):
    spring = jo.Motion(q0=[1.0], force=lambda t, q: -1e6 * q)
    with pytest.warns(jo.errors.UnstableStep):
        jo.solve(spring, jo.MoreauJean(), t=0.3 if np.ndim(h) == 0 else float(np.sum(h)), h=h)
    with pytest.warns(jo.errors.UnstableStep):
        jo.solve(spring, jo.MoreauJean(), t=0.3, h=0.01, changes=lambda state: state.replace(u=state.u))


def test_slopes_are_those_that_were_given_although_the_array_changes():
    K = np.array([1e6])
    spring = jo.Motion(q0=[1.0], force=jo.StiffForce(lambda t, q: -1e6 * q, stiffness=K))
    K[0] = 1.0
    assert abs(jo.solve(spring, jo.Maury(), t=0.1, h=0.01).q[-1, 0]) < 1e-3


def dropped(k, n=1):
    """Bodies above a penalty floor, which each bounce meets for few steps."""
    q0 = 1.0 + 0.1 * np.arange(n)
    return jo.Motion(q0=q0, force=lambda t, q: -9.81 + k * np.maximum(-q, 0.0))


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean()])
@pytest.mark.parametrize("n", [1, 5])
def test_a_penalty_floor_that_throws_bodies_up_is_reported(scheme, n):
    """A ball dropped from 1 m reached 2761 m, with status "finished"."""
    with pytest.warns(jo.errors.UnstableStep, match=r"coordinate 0 is too stiff .* acted for one step.* K / M = 10\b"):
        sol = jo.solve(dropped(1e5, n), scheme, t=2.0, h=0.01)
    assert sol.q.max() > 2.0


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean()])
def test_penalty_floors_that_are_resolved_and_kicks_of_a_hand_are_no_alarm(scheme):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jo.solve(dropped(2e3, 3), scheme, t=3.0, h=0.01).q.max() < 1.5
        kick = jo.Motion(q0=[0.0], v0=[1.0], force=lambda t, q: np.where(abs(t - 0.5) < 0.006, -400.0, 0.0) + 0.0 * q)
        assert jo.solve(kick, scheme, t=1.0, h=0.01).u[-1][0] < -1.0


@pytest.mark.parametrize("scheme", [jo.MoreauJean(), jo.Paoli()], ids=name)
def test_a_ball_that_slows_down_without_end_is_no_blow(scheme):
    """Its velocity becomes so small that its square is zero."""
    ball = jo.Motion(q0=[1.0], force=lambda t, q, u: -10.0 - 0.1 * u, within=WALL, law=jo.Restitution(0.1))
    sol = jo.solve(ball, scheme, t=1.6, h=2e-3)
    assert sol.status == "finished"
    assert (sol.u[-50:] ** 2 == 0.0).any()
    assert abs(sol.q[-1, 0]) < 1e-2
