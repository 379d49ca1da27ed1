"""Hinges, motors and torques: machines against exact values, reference integrations and conserved quantities."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import jostle as jo
from jostle._tools.rotations import matrices
from jostle.convex.linear_map import Dense
from jostle.convex.rows import Rows
from rows import examples

G = 9.81
SCHEMES = [jo.Maury(), jo.MoreauJean()]


def named(scheme):
    return type(scheme).__name__


def bars(half_lengths, radius=1e-3):
    """Bars that end where their half lengths say, as clumps of two small balls."""
    return jo.Clumps([([[-a, 0.0], [a, 0.0]], radius) for a in half_lengths])


def bar(a, mass=1.0):
    """The moment of inertia of a thin bar of length 2 a."""
    return mass * a * a / 3.0


def order(errors):
    return np.log2(np.abs(errors[:-1]) / np.abs(errors[1:]))


# A compound pendulum, and two of them.


def pendulum(angle, a=0.5, **more):
    """A bar of length 2 a, hinged at one end to the origin; the angle is measured from below."""
    down = np.array([np.sin(angle), -np.cos(angle)])
    more = {"force": [0.0, -G], "inertia": bar(a)} | more
    within = bars([a]) & jo.Hinges([(0, -1)], [[0.0, 0.0]]) & more.pop("beside", jo.Free())
    return jo.Motion(q0=[a * down], orientation0=[angle - np.pi / 2.0], within=within, **more)


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
def test_a_compound_pendulum_has_the_period_of_the_elliptic_integral(scheme):
    angle, a = 1.2, 0.5
    period = 4.0 * np.sqrt(4.0 * a / (3.0 * G)) * ellipk(np.sin(angle / 2.0) ** 2)
    errors = []
    for steps in (40, 80):
        sol = jo.solve(pendulum(angle), scheme, t=period / 4.0, h=period / 4.0 / steps)
        errors.append(sol.orientation[-1, 0] + np.pi / 2.0)  # it hangs after a quarter of the period
        assert sol.overlap < 40.0 / steps**2
    assert order(errors).min() > (0.9 if named(scheme) == "Maury" else 1.9)


def double(y):
    """The accelerations of a double pendulum of bars of length 1 and mass 1, from below."""
    (p, q, dp, dq), c = y, np.cos(y[0] - y[1])
    M = np.array([[4.0 / 3.0, c / 2.0], [c / 2.0, 1.0 / 3.0]])
    s = 0.5 * np.sin(p - q)
    return [dp, dq, *np.linalg.solve(M, [-s * dq * dq - 1.5 * G * np.sin(p), s * dp * dp - 0.5 * G * np.sin(q)])]


def two_bars(angles):
    down = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    q0 = np.array([0.5 * down[0], down[0] + 0.5 * down[1]])
    within = bars([0.5, 0.5]) & jo.Hinges([(0, -1), (1, 0)], [[0.0, 0.0], down[0]])
    return jo.Motion(
        q0=q0, orientation0=angles - np.pi / 2.0, force=[0.0, -G], inertia=bar(0.5), within=within, law=jo.Restitution()
    )


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
def test_a_double_pendulum_follows_its_equations(scheme):
    start, t = np.array([1.0, -0.4]), 0.5
    exact = solve_ivp(lambda _, y: double(y), (0.0, t), [*start, 0.0, 0.0], rtol=1e-11, atol=1e-12).y[:2, -1]
    errors = [
        np.linalg.norm(jo.solve(two_bars(start), scheme, t=t, h=t / n).orientation[-1] + np.pi / 2.0 - exact)
        for n in (50, 100)
    ]
    assert order(errors).min() > (0.85 if named(scheme) == "Maury" else 1.9)


# Gaps, momenta and energies.


@settings(max_examples=examples(10), deadline=None)
@given(st.integers(0, 2**31), st.booleans(), st.sampled_from(SCHEMES))
def test_random_chains_keep_their_gaps_momenta_and_energies(seed, in_space, scheme):
    rng, n, d = np.random.default_rng(seed), 4, 3 if in_space else 2
    ends = np.cumsum(rng.normal(size=(n + 1, d)) + 1.5, axis=0)
    q0, along = (ends[1:] + ends[:-1]) / 2.0, np.diff(ends, axis=0) / 2.0
    axes = rng.normal(size=(n - 1, 3)) if in_space and rng.random() < 0.5 else None
    within = jo.Clumps([([-a, a], 1e-3) for a in along]) & jo.Hinges(
        [(k, k + 1) for k in range(n - 1)], ends[1:-1], axes
    )
    masses, J = rng.uniform(0.5, 2.0, n), rng.uniform(0.1, 1.0, (n, 3)) if in_space else rng.uniform(0.1, 1.0, n)
    chain = jo.Motion(
        q0=q0, v0=rng.normal(size=(n, d)), spin0=rng.normal(size=(n, 3) if in_space else n), within=within, mass=masses,
        inertia=J,
    )  # fmt: skip
    h = 1.0 / 64.0
    sol = jo.solve(chain, scheme, t=1.0, h=h)
    fastest = max(np.abs(sol.u).max(), np.abs(sol.spin).max(), 1.0)
    sizes = np.linalg.norm(along, axis=1).max() + 1.0
    assert -sol.gaps().min() < 4.0 * (h * fastest) ** 2 * sizes
    momentum = (masses[:, None] * sol.u).sum(axis=1)
    assert np.abs(momentum - momentum[0]).max() < 1e-11 * fastest
    angular = np.array([of_spins(sol, k, J) for k in range(len(sol.t))])
    first = 2 if named(scheme) == "Maury" else 1  # the start may break the joints, and angular momenta belong to u
    assert np.abs(angular - angular[first]).max() < 1e-10 * fastest * np.abs(sol.q).max() * masses.sum()
    assert abs(sol.energy_balance().error).max() < 1e-10 * max(sol.energy().kinetic.max(), 1.0)


def of_spins(sol, k, J):
    """The angular momentum of a solution at a saved time, about the origin."""
    m = sol.facts.masses[:, None]
    if sol.q.shape[-1] == 2:
        (x, y), (u, v) = sol.q[k].T, (m * sol.u[k]).T
        return (x * v - y * u + J * sol.spin[k]).sum()
    R = matrices(sol.orientation[k])
    spins = np.einsum("nij,nj,nkj,nk->ni", R, J, R, sol.spin[k])
    return (np.cross(sol.q[k], m * sol.u[k]) + spins).sum(axis=0)


# Motors, whose torques have limits.


def by_every_guess(w, K, m):
    """The projection on rows with bounds, by all guesses of the rows that hold, slip, touch and are free."""
    G, kinds = K.G.toarray(), []
    for equal, bound in zip(K.equal, K.bound, strict=True):
        kinds.append((0.0, 1.0, -1.0) if equal and bound < np.inf else (0.0,) if equal else (0.0, 2.0))
    for sides in itertools.product(*kinds):
        side = np.array(sides)
        p = np.where(np.abs(side) == 1.0, side * np.where(K.bound < np.inf, K.bound, 0.0), 0.0)
        held, u = side == 0.0, w + G.T @ p / m
        S = G[held] / m @ G[held].T
        if np.linalg.matrix_rank(S) < held.sum():
            continue
        p[held] = np.linalg.solve(S, -(K.c + G @ u)[held])
        u = w + G.T @ p / m
        s = K.c + G @ u
        within = np.where(K.equal, np.abs(p) <= K.bound + 1e-9, p >= -1e-9)
        if within.all() and (np.where(side == 2.0, s, -side * s) >= -1e-9).all():
            return u
    return None


@pytest.mark.parametrize("seed", range(60))
def test_bounded_rows_are_those_of_the_best_of_all_guesses(seed):
    rng = np.random.default_rng(seed)
    coordinates, equal, limited, free = rng.integers([2, 0, 1, 0], [6, 2, 5, 4])
    m = equal + limited + free
    bound = np.where(np.arange(m) < equal, np.inf, rng.exponential(size=m))
    bound[equal + limited :] = np.inf
    c = rng.normal(size=m)
    K = Rows(
        Dense(rng.normal(size=(m, coordinates))), c, *np.zeros((2, m)), np.arange(m) < equal + limited, bound=bound
    )
    w, mass = rng.normal(size=coordinates), rng.uniform(0.5, 2.0, coordinates)
    exact = by_every_guess(w, K, mass)
    if exact is None:
        with pytest.raises(jo.errors.EmptySet):
            jo.Automatic().project(w, K, mass)
    else:
        P = jo.Automatic().project(w, K, mass)
        assert P.converged
        np.testing.assert_allclose(P.point, exact, atol=1e-7)


def on_a_motor(within, **more):
    """The hanging bar of `pendulum` on a motor."""
    return pendulum(0.0, beside=within, **more)


def test_a_motor_needs_the_torque_of_the_weight():
    exact = 0.5 * G * np.sin(4.0 * 0.25)
    turning = {"v0": [[2.0, 0.0]], "spin0": [4.0]}
    for scheme, allowed in zip(SCHEMES, (0.06, 0.03), strict=True):
        sol = jo.solve(on_a_motor(jo.Motors([(0, -1)], 4.0), **turning), scheme, t=0.25, h=0.005)
        assert sol.motor_torque[-1, 0] == pytest.approx(exact, abs=allowed)  # it acts half a step or a step earlier
        balance = sol.energy_balance()
        assert balance.work_of_walls[-1] == pytest.approx(0.5 * G * (1.0 - np.cos(1.0)), rel=0.02)
    assert np.abs(balance.error).max() < 1e-13


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
def test_a_motor_that_slips_has_its_largest_torque_to_the_last_bit(scheme):
    sol = jo.solve(on_a_motor(jo.Motors([(0, -1)], 4.0, max_torque=3.0)), scheme, t=1.0, h=0.01)
    torque, spin, turned = sol.motor_torque[1:, 0], sol.spin[1:, 0], np.diff(sol.orientation[:, 0])
    slips = np.abs(spin - 4.0) > 1e-9
    assert slips.any()
    assert (torque[slips] == 3.0 * np.sign(4.0 - spin[slips])).all()
    assert np.abs(torque).max() <= 3.0 * (1.0 + 1e-8)
    balance = sol.energy_balance()
    if named(scheme) == "MoreauJean":
        assert balance.work_of_walls[-1] == pytest.approx(torque @ turned, rel=1e-12)
        assert np.abs(balance.error).max() < 1e-13


def test_a_motor_of_limited_torque_stops_at_a_wall_and_another_one_contradicts_it():
    floor = jo.HalfSpace([0.0, 1.0], -0.9)
    blocked = jo.solve(pendulum(1.0, beside=floor & jo.Motors([(0, -1)], -4.0, 9.0)), jo.Maury(), t=1.0, h=0.01)
    assert blocked.motor_torque[-1].tolist() == [-9.0]
    assert np.abs(blocked.spin[-1]).max() < 1e-9
    with pytest.raises(jo.errors.EmptySet, match=r"motor 0 between clump 0 .* give motors a max_torque"):
        jo.solve(pendulum(1.0, beside=floor & jo.Motors([(0, -1)], -4.0)), jo.Maury(), t=1.0, h=0.01)


# Machines.

CRANK, ROD, SPEED = 0.1, 0.3, 20.0


def slider_crank(t):
    return CRANK * np.cos(SPEED * t) + np.sqrt(ROD**2 - (CRANK * np.sin(SPEED * t)) ** 2)


def machine(guide, torque=np.inf):
    """A crank that a motor turns, a connecting rod, and a slider."""
    ends = np.array([0.0, CRANK, CRANK + ROD])
    hinges = jo.Hinges([(0, -1), (1, 0), (2, 1)], np.column_stack([ends, np.zeros(3)]))
    q0 = [[CRANK / 2.0, 0.0], [CRANK + ROD / 2.0, 0.0], [CRANK + ROD, 0.0]]
    shapes = [([[-a, 0.0], [a, 0.0]], r) for a, r in ((CRANK / 2.0, 1e-4), (ROD / 2.0, 1e-4), (0.02, 1e-3))]
    within = jo.Clumps(shapes) & hinges & jo.Motors([(0, -1)], SPEED, torque) & guide
    v0 = [[0.0, SPEED * CRANK / 2.0], [0.0, SPEED * CRANK / 2.0], [0.0, 0.0]]
    spin0 = [SPEED, -SPEED * CRANK / ROD, 0.0]
    pressed = [[0.0, 0.0], [0.0, 0.0], [0.0, -500.0]]  # the slider stays on a wall below it
    return jo.Motion(q0=q0, v0=v0, spin0=spin0, force=pressed, inertia=[1e-3, 1e-2, 1e-3], within=within)


GUIDES = {
    "wall": jo.Segments([[[0.18, -1e-3], [0.45, -1e-3]]]),
    "wire": jo.constraints(lambda t, q: q.reshape(-1, 2)[4:, 1], equal=True),
}


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
@pytest.mark.parametrize("guide", GUIDES)
def test_a_slider_crank_has_its_acceleration(scheme, guide):
    errors = []
    for n in (30, 60):
        h = 0.03 / n
        sol = jo.solve(machine(GUIDES[guide]), scheme, t=0.03 + h, h=h)
        x = sol.q[:, 2, 0]
        errors.append((x[-1] - 2.0 * x[-2] + x[-3]) / h**2 + 38.27240541)
        assert np.abs(x - slider_crank(sol.t)).max() < 0.03 / n**2
    assert abs(errors[-1]) < 3e-3
    assert order(np.array(errors)) > 1.8


def test_a_driven_wheel_accelerates_by_its_torque():
    wheel = jo.Balls([0.3]) & jo.HalfSpace([0.0, 1.0])
    start = {"q0": [[0.0, 0.3]], "mass": 2.0, "inertia": 0.09, "force": [0.0, -2.0 * G], "law": jo.Coulomb(2.0)}
    for torque in (-1.2, lambda t, angle, spin: np.full_like(spin, -1.2)):
        for scheme in SCHEMES:
            sol = jo.solve(jo.Motion(within=wheel, torque=torque, **start), scheme, t=1.0, h=0.01)
            assert sol.u[-1, 0, 0] == pytest.approx(1.2 / (0.3 * 3.0), rel=1e-12)
        assert np.abs(sol.energy_balance().error).max() < 1e-14


def test_torques_in_space_turn_about_fixed_axes_and_may_depend_on_spins():
    body = jo.Clumps([([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]], 0.1)])
    J = np.array([1.0, 2.0, 3.0])
    turned = [np.cos(0.4), 0.0, np.sin(0.4), 0.0]
    R = matrices(np.array([turned]))[0]
    once = jo.Motion(q0=[[0.0] * 3], orientation0=turned, within=body, inertia=J, torque=[0.3, -0.2, 0.1])
    for scheme in SCHEMES:
        sol = jo.solve(once, scheme, t=1e-6, h=1e-6)
        np.testing.assert_allclose(R @ (J * (R.T @ sol.spin[-1, 0])), 1e-6 * np.array([0.3, -0.2, 0.1]), rtol=1e-6)
    slowed = jo.Motion(q0=[[0.0] * 3], within=body, inertia=J, spin0=[0.0, 0.0, 2.0], torque=lambda t, q, w: -0.6 * w)
    end = jo.solve(slowed, jo.MoreauJean(), t=1.0, h=0.01).spin[-1, 0]
    np.testing.assert_allclose(end, [0.0, 0.0, 2.0 * np.exp(-0.2)], atol=1e-2)


def test_a_governor_keeps_its_angle():
    length, speed = 0.4, 7.0
    angle = np.arccos(G / (speed**2 * length))
    out, down = length * np.sin(angle), length * np.cos(angle)
    hinges = jo.Hinges([(0, -1), (1, 0)], np.zeros((2, 3)), axes=[[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    motor = jo.Motors([(0, -1)], speed, axes=[0.0, 0.0, 1.0])
    within = jo.Clumps([([[0.0, 0.0, 0.0]], 0.05)] * 2) & hinges & motor
    governor = jo.Motion(
        q0=[[0.0] * 3, [out, 0.0, -down]], v0=[[0.0] * 3, [0.0, speed * out, 0.0]], spin0=[0.0, 0.0, speed],
        force=[[0.0] * 3, [0.0, 0.0, -G]], inertia=[[0.01] * 3, [1e-9] * 3], within=within,
    )  # fmt: skip
    sol = jo.solve(governor, jo.MoreauJean(), t=0.5, h=0.005)
    x, y, z = sol.q[:, 1].T
    np.testing.assert_allclose(np.arctan2(np.hypot(x, y), -z), 1.046608318, atol=1e-3)
    assert abs(sol.energy_balance().error).max() < 1e-9


def four_bars(d, crossed):
    """A parallelogram, with a fourth bar that it does not need, or none; all axes are parallel."""
    a, b, c, e = corners = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 1.0], [3.0, 0.0]])
    ends = [(a, b), (b, c), (e, c)] + crossed * [((a + e) / 2.0, (b + c) / 2.0)]
    pairs, points = [(0, -1), (1, 0), (2, 1), (2, -1)] + crossed * [(3, -1), (3, 1)], [*corners]
    points = np.array(points + crossed * [(a + e) / 2.0, (b + c) / 2.0])
    flat = lambda x: np.pad(x, [(0, 0)] * (np.ndim(x) - 1) + [(0, d - 2)])  # noqa: E731
    shapes = [([flat((p - q) / 2.0), flat((q - p) / 2.0)], 1e-3) for p, q in ends]
    axes = None if d == 2 else [0.0, 0.0, 1.0]
    within = jo.Clumps(shapes) & jo.Hinges(pairs, flat(points), axes) & jo.Motors([(0, -1)], np.sin, axes=axes)
    q0 = flat(np.array([(p + q) / 2.0 for p, q in ends]))
    return jo.Motion(q0=q0, force=flat(np.array([0.0, -G])), inertia=0.2, within=within)


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
@pytest.mark.parametrize(("d", "crossed"), [(2, 0), (2, 1), (3, 1)])
def test_a_loop_with_more_hinges_than_it_needs_moves(d, crossed, scheme):
    sol = jo.solve(four_bars(d, crossed), scheme, t=1.0, h=0.02)
    angle = 1.0 - np.cos(1.0)
    np.testing.assert_allclose(sol.q[-1, 1, :2], [1.5 - np.sin(angle), np.cos(angle)], atol=0.02)
    assert -sol.gaps().min() < 1e-3
    if named(scheme) == "MoreauJean":
        assert np.abs(sol.energy_balance().error).max() < 1e-12


def test_motors_and_hinges_are_kept_in_files_and_checkpoints(tmp_path):
    problem = machine(GUIDES["wall"], torque=0.5)
    whole = jo.solve(problem, jo.MoreauJean(), t=0.02, h=0.001)
    jo.solve(problem, jo.MoreauJean(), t=0.01, h=0.001, output=jo.io.Output(checkpoint=tmp_path / "c"))
    resumed = jo.solve(
        problem, jo.MoreauJean(), t=0.02, h=0.001, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True)
    )
    np.testing.assert_array_equal(resumed.q, whole.q[-len(resumed.t) :])
    np.testing.assert_array_equal(resumed.motor_torque[1:], whole.motor_torque[-len(resumed.t) :][1:])
    read = jo.io.read(jo.io.write(whole, tmp_path / "run.vtkhdf", dtype="float64"))
    np.testing.assert_array_equal(read.motor_torque, whole.motor_torque)
    assert np.abs(whole.motor_torque).max() == pytest.approx(0.5)
    other = machine(GUIDES["wall"], torque=0.4)
    with pytest.raises(jo.errors.JostleError, match="max_torque"):
        jo.solve(other, jo.MoreauJean(), t=0.02, h=0.001, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))


# What does not fit is named.

TWO = [[0.0, 0.0], [3.0, 0.0]]


def of_two(joints, own=None, **more):
    own = jo.Clumps([([[-0.5, 0.0], [0.5, 0.0]], 0.1)] * 2) if own is None else own
    return jo.Motion(q0=TWO, within=own & joints, **more)


def hinged():
    return of_two(jo.Hinges([(0, 1)], [[1.5, 0.0]]))


@pytest.mark.parametrize(
    ("words", "wrong"),
    {
        "hinges 0 and 1 both join body 0 and the ground": lambda: jo.Hinges([(0, -1)] * 2, [[0.0, 0.0], [1.0, 0.0]]),
        "hinge 0 is between .0, -2.: .* -1 for the ground": lambda: jo.Hinges([(0, -2)], [[0.0, 0.0]]),
        "give one point for each of 1 hinges": lambda: jo.Hinges([(0, 1)], [[0.0, 0.0], [1.0, 1.0]]),
        "leave out axes=": lambda: jo.Hinges([(0, 1)], [[0.0, 0.0]], axes=[0.0, 0.0, 1.0]),
        "the axis of hinge 0 is zero": lambda: jo.Hinges([(0, 1)], [[0.0, 0.0, 0.0]], axes=[0.0, 0.0, 0.0]),
        "names body 5, and there are 2": lambda: of_two(jo.Hinges([(0, 5)], [[0.0, 0.0]])),
        "these do not: give law=jo.Coulomb": lambda: of_two(jo.Hinges([(0, 1)], [[0.0, 0.0]]), jo.Balls([1.0, 1.0])),
        "the points of hinges live in dimension 3": lambda: of_two(jo.Hinges([(0, 1)], [[0.0, 0.0, 0.0]])),
        "the speed of motor 0 is nan at t = 0": lambda: jo.Motors([(0, 1)], np.nan),
        "max_torque must be 0 or more, not -1": lambda: jo.Motors([(0, 1)], 1.0, max_torque=-1.0),
        "motors 0 and 1 turn the same bodies": lambda: jo.Motors([(0, 1), (1, 0)], 1.0),
        "speed must be one number, or one for each of 1": lambda: jo.Motors([(0, 1)], [1.0, 2.0]),
        "motors in the plane .* leave out axes=": lambda: of_two(jo.Motors([(0, 1)], 1.0, axes=[0.0, 0.0, 1.0])),
        "use jo.Motion": lambda: jo.Sweeping(q0=TWO, within=jo.Balls([1.0, 1.0]) & jo.Motors([(0, 1)], 1.0)),
        "these do not turn: give law=jo.Coulomb": lambda: of_two(jo.Free(), jo.Balls([1.0, 1.0]), torque=1.0),
        "torque has shape .3,.": lambda: of_two(jo.Free(), torque=[1.0, 2.0, 3.0]),
        "torque must be a function of .t, orientation, spin.": lambda: of_two(jo.Free(), torque=lambda t: 1.0),
        "use Maury or MoreauJean": lambda: jo.solve(hinged(), jo.Paoli(), t=1.0, h=0.1),
        "use Maury or MoreauJean with": lambda: jo.solve_by_events(hinged(), t=1.0),
        "derivatives of runs are not available for bodies that turn": lambda: jo.sensitivity(
            hinged(), jo.Maury(), t=1.0, h=0.1
        ),
        "the gap of hinge 0 between clump 0 and clump 1 is": lambda: jo.solve(
            jo.Motion(q0=2.0 * np.array(TWO), within=hinged().within), jo.Maury(), t=1.0, h=0.1
        ),
        "depends on how bodies are turned": lambda: jo.Motors([(0, 1)], 1.0).gap(0.0, TWO),
    }.items(),
)
def test_joints_that_do_not_fit_are_named(words, wrong):
    with pytest.raises(jo.JostleError, match=words):
        wrong()


@pytest.mark.parametrize("law", [None, jo.Coulomb(0.5)])
@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
def test_hinged_boxes_overlap_and_others_do_not(scheme, law):
    """A flail of two boxes that overlap at their hinge falls on a floor, beside a third box."""
    box = jo.shapes.Box([1.0, 0.2])
    within = jo.Shapes([box] * 3) & jo.Hinges([(0, 1)], [[0.45, 1.0]]) & jo.HalfSpace([0.0, 1.0])
    flail = jo.Motion(
        q0=[[0.0, 1.0], [0.9, 1.0], [0.5, 0.4]], spin0=[0.0, 4.0, 0.0], force=[0.0, -G], within=within, law=law
    )
    sol = jo.solve(flail, scheme, t=0.6, h=0.005)
    assert sol.status == "finished"
    first, second = (sol.q[:, k] + turned([s * 0.45, 0.0], sol.orientation[:, k]) for k, s in ((0, 1.0), (1, -1.0)))
    assert np.abs(first - second).max() < 3e-3
    assert sol.q[:, :, 1].min() > 0.09


def turned(arm, angles):
    c, s = np.cos(angles), np.sin(angles)
    return np.stack([c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]], axis=1)
