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
