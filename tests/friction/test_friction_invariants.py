"""What spin and friction keep: momentum, angular momentum, the balance of energy, and the symmetries of space."""

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import jostle as jo

MAURY, MOREAU_JEAN = jo.Maury(), jo.MoreauJean()
BOTH = pytest.mark.parametrize("scheme", [MAURY, MOREAU_JEAN], ids=["Maury", "MoreauJean"])
PLANE_AND_SPACE = pytest.mark.parametrize("d", [2, 3])
FEW = settings(max_examples=3)
SEEDS = st.integers(0, 10_000)


def turned_by(turn):
    """(n, d, d) the rotations of angles or quaternions (w, x, y, z)."""
    if turn.ndim == 1:
        c, s = np.cos(turn), np.sin(turn)
        return np.moveaxis(np.array([[c, -s], [s, c]]), 2, 0)
    return Rotation.from_quat(turn[:, [1, 2, 3, 0]]).as_matrix()


def wedge(a, b):
    """a x b: numbers (n,) in the plane, vectors (n, 3) in space."""
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0] if a.shape[1] == 2 else np.cross(a, b)


class Swarm:
    """Balls or clumps that fly at each other, of different sizes, masses, spins and turns."""

    def __init__(self, seed, d, clumps, mu=None, e=0.0, rolling=0.0):
        random = np.random.default_rng(seed)
        n = 4
        self.d, self.mass = d, random.uniform(0.5, 3.0, n)
        corners = np.array([[1.0, 0.0, 0.0], [-1.0, 0.1, 0.2], [0.1, 1.0, -0.1], [0.0, -1.1, 0.1]])[:, :d]
        way = corners + 0.1 * random.normal(size=(n, d))
        q0, v0 = 1.5 * way, -way + 0.2 * random.normal(size=(n, d))
        mu = random.uniform(0.1, 1.0) if mu is None else mu
        if clumps:
            arms = np.array([[0.3, 0.1, 0.0], [-0.3, 0.1, 0.1], [0.0, -0.2, -0.1]])[:, :d]
            within = jo.Clumps([(arms - arms.mean(axis=0), 0.3)] * n)
        else:
            within = jo.Balls(random.uniform(0.4, 0.6, n))
        self.problem = jo.Motion(
            q0=q0, v0=v0, mass=self.mass, within=within, law=jo.Coulomb(mu, e, rolling=rolling),
            spin0=3.0 * random.normal(size=n if d == 2 else (n, 3)),
            orientation0=random.normal(size=n if d == 2 else (n, 4)),
        )  # fmt: skip

    def totals(self, sol, k):
        """Momentum, angular momentum and kinetic energy at a saved time."""
        bodies, m = self.problem.bodies, self.mass[:, None]
        q, u, spin, turn = sol.q[k], sol.u[k], sol.spin[k], sol.orientation[k]
        if self.d == 2:
            own = bodies.inertia[:, 0] * spin
        else:
            axes = turned_by(turn)
            if bodies.parts is not None:
                axes = axes @ turned_by(bodies.parts.axes)
            own = np.einsum("nij,nj,nkj,nk->ni", axes, bodies.inertia, axes, spin)
        kinetic = 0.5 * (m * u * u).sum() + 0.5 * (own * spin).sum()
        return (m * u).sum(axis=0), (wedge(q, m * u) + own).sum(axis=0), kinetic


@pytest.mark.each_value
@BOTH
@PLANE_AND_SPACE
@pytest.mark.parametrize("clumps", [False, True], ids=["balls", "clumps"])
@FEW
@given(seed=SEEDS)
def test_momentum_angular_momentum_and_energy(scheme, d, clumps, seed):
    swarm = Swarm(seed, d, clumps, e=0.0 if scheme is MAURY else [0.0, 0.5, 1.0][seed % 3])
    sol = jo.solve(swarm.problem, scheme, t=1.2, h=0.08)
    start, end = (swarm.totals(sol, k) for k in (0, -1))
    assert end[0] == pytest.approx(start[0], abs=1e-12)
    assert end[1] == pytest.approx(start[1], abs=1e-12)
    found = sol.energy_balance()
    assert found.kinetic[[0, -1]] == pytest.approx([start[2], end[2]], rel=1e-12)
    if swarm.problem.law.uniform == 0.0:  # with e > 0 friction may add energy, Kane & Levinson 1985
        assert np.diff(found.kinetic).max() < 1e-9
        assert np.diff(found.dissipated).min() > -1e-9
    assert found.error == pytest.approx(np.zeros(len(sol.t)), abs=1e-9)
    assert found.work_of_walls == pytest.approx(np.zeros(len(sol.t)), abs=1e-12)
    assert np.abs(sol.spin[-1] - sol.spin[0]).max() > 1e-3


@BOTH
@pytest.mark.parametrize("clumps", [False, True], ids=["balls", "clumps"])
def test_rolling_resistance_keeps_momentum_and_angular_momentum(scheme, clumps):
    swarm = Swarm(1, 3, clumps, rolling=0.2)
    sol = jo.solve(swarm.problem, scheme, t=1.2, h=0.08)
    start, end = (swarm.totals(sol, k) for k in (0, -1))
    assert max(float(np.abs(each).max(initial=0.0)) for each in sol.rolling) > 1e-3
    assert end[0] == pytest.approx(start[0], abs=1e-12)
    assert end[1] == pytest.approx(start[1], abs=1e-12)


@PLANE_AND_SPACE
@FEW
@given(seed=SEEDS, e=st.sampled_from([0.5, 1.0]))
def test_two_balls_never_gain_energy_whatever_their_restitution(d, seed, e):
    random = np.random.default_rng(seed)
    balls = jo.Motion(
        q0=np.array([[0.0, 0.0, 0.0], [1.1, 0.4, 0.2]])[:, :d], v0=np.array([[1.0, 0.0, 0.0], [-1.0, 0.1, 0.0]])[:, :d],
        spin0=4.0 * random.normal(size=2 if d == 2 else (2, 3)), mass=random.uniform(0.5, 3.0, 2),
        within=jo.Balls([0.5, 0.5]), law=jo.Coulomb(random.uniform(0.1, 1.0), e),
    )  # fmt: skip
    kinetic = jo.solve(balls, MOREAU_JEAN, t=0.5, h=0.02).energy_balance().kinetic
    assert np.diff(kinetic).max() < 1e-12
    assert kinetic[-1] < kinetic[0] - 1e-3


@pytest.mark.each_value
@BOTH
@PLANE_AND_SPACE
def test_rolling_resistance_keeps_them_too(scheme, d):
    swarm = Swarm(3, d, False, rolling=0.2)
    sol = jo.solve(swarm.problem, scheme, t=1.2, h=0.05)
    start, end = (swarm.totals(sol, k) for k in (0, -1))
    assert end[0] == pytest.approx(start[0], abs=1e-12)
    assert end[1] == pytest.approx(start[1], abs=1e-12)
    assert any(np.abs(each).max(initial=0.0) > 1e-3 for each in sol.rolling)
    assert sol.energy_balance().error == pytest.approx(np.zeros(len(sol.t)), abs=1e-9)


@BOTH
def test_a_free_body_keeps_energy_and_angular_momentum(scheme):
    """A body with three moments of inertia, near its unstable axis, so that it tumbles."""
    for inertia, within in ((None, jo.Clumps([([[1.0, 0, 0], [-1.0, 0, 0], [0, 0.7, 0], [0, -0.7, 0]], 0.2)])),
                            ([1.0, 2.0, 2.5], jo.Balls([0.5]))):  # fmt: skip
        free = jo.Motion(
            q0=[[0.0, 0.0, 0.0]], v0=[1.0, 0.0, 0.0], spin0=[0.05, 3.0, 0.1], within=within, inertia=inertia,
            orientation0=[0.9, 0.1, 0.2, 0.3], law=jo.Coulomb(0.5),
        )  # fmt: skip
        sol = jo.solve(free, scheme, t=5.0, h=0.1)
        axes, J = [turned_by(each)[0] for each in sol.orientation], free.bodies.inertia[0]
        momentum = np.array([R @ (J * (R.T @ spin[0])) for R, spin in zip(axes, sol.spin, strict=True)])
        assert np.abs(momentum - momentum[0]).max() < 1e-10
        energy = sol.energy().kinetic
        assert np.abs(energy - energy[0]).max() < 1e-10
        own = np.array([R.T @ spin[0] for R, spin in zip(axes, sol.spin, strict=True)])
        assert own[:, 1].min() < -1.0 if inertia else True
        assert np.ptp(sol.spin[:, 0], axis=0).max() > 0.5


def test_free_rotation_has_order_two():
    """Against Euler's equations, integrated to 1e-12."""
    J, start = np.array([1.0, 2.0, 3.0]), np.array([0.5, 3.0, 0.4])

    def euler(t, y):
        w, (a, b, c, d) = y[:3], y[3:]
        x, y, z = w
        turn = 0.5 * np.array(
            [-b * x - c * y - d * z, a * x + c * z - d * y, a * y + d * x - b * z, a * z + b * y - c * x]
        )
        return np.concatenate([-np.cross(w, J * w) / J, turn])

    exact = solve_ivp(euler, (0.0, 1.0), [*start, 1.0, 0.0, 0.0, 0.0], rtol=1e-12, atol=1e-12).y[:, -1]
    spin = turned_by(exact[None, 3:])[0] @ exact[:3]
    free = jo.Motion(q0=[[0.0, 0.0, 0.0]], spin0=start, within=jo.Balls([0.5]), inertia=J, law=jo.Coulomb(0.5))
    errors = [np.abs(jo.solve(free, MAURY, t=1.0, h=h).spin[-1, 0] - spin).max() for h in (0.1, 0.05, 0.025)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.15)


def heap(d, mu, **more):
    """Four balls that fall on two walls and on each other."""
    q = np.array([[0.6, 0.55, 0.0], [1.7, 0.6, 0.1], [1.1, 1.6, -0.1], [0.7, 2.7, 0.05]])[:, :d]
    random = np.random.default_rng(5)
    spin = random.normal(size=4 if d == 2 else (4, 3))
    return {"q0": q, "v0": random.normal(size=(4, d)), "spin0": spin, "force": -10.0 * np.eye(d)[1], "mu": mu} | more


@lru_cache
def as_given(scheme, d):
    return fallen(scheme, d, **heap(d, 0.4))


def fallen(scheme, d, R=None, shift=0.0, e=0.0, **made):
    """The heap, rotated by R and seen from a frame that moves."""
    R, mu = np.eye(d) if R is None else R, made.pop("mu")
    spin, sign = made.pop("spin0"), np.sign(np.linalg.det(R))
    made["spin0"] = sign * (spin if d == 2 else spin @ R.T)
    moved = {name: made.pop(name) @ R.T for name in ("q0", "v0", "force")}
    moved["v0"] = moved["v0"] + shift
    normals = [R @ np.eye(d)[0], R @ np.eye(d)[1]]
    walls = [jo.HalfSpace(n, offset=(lambda t, n=n: t * float(n @ shift)) if np.any(shift) else 0.0) for n in normals]
    drag = {f"wall {k}": shift for k in range(2)} if np.any(shift) else {}
    within = jo.Balls([0.5, 0.45, 0.5, 0.55]) & walls[0] & walls[1]
    falling = jo.Motion(within=within, law=jo.Coulomb(mu, e, surface_velocity=drag), **moved, **made)
    return jo.solve(falling, scheme, t=0.36, h=0.03)


@pytest.mark.each_value
@BOTH
@PLANE_AND_SPACE
@FEW
@given(seed=SEEDS)
def test_the_same_problem_turned_or_mirrored_has_the_same_answer_turned_or_mirrored(scheme, d, seed):
    random = np.random.default_rng(seed)
    R = np.linalg.qr(random.normal(size=(d, d)))[0]
    one, other = as_given(scheme, d), fallen(scheme, d, R, **heap(d, 0.4))
    sign = np.sign(np.linalg.det(R))
    assert np.abs(one.q @ R.T - other.q).max() < 1e-6
    spins = one.spin if d == 2 else one.spin @ R.T
    assert np.abs(sign * spins - other.spin).max() < 1e-5
    assert np.abs(one.spin[-1] - one.spin[0]).max() > 0.1


@pytest.mark.each_value
@BOTH
@PLANE_AND_SPACE
def test_the_same_problem_in_a_frame_that_moves(scheme, d):
    """The walls then move and drag; belts and pistons do the work that the other frame does not see."""
    shift = np.array([0.7, -0.4, 0.3])[:d]
    one, other = as_given(scheme, d), fallen(scheme, d, shift=shift, **heap(d, 0.4))
    assert np.abs(one.u + shift - other.u).max() < 1e-5
    assert np.abs(one.spin - other.spin).max() < 1e-5
    a, b = one.energy_balance(), other.energy_balance()
    assert b.dissipated == pytest.approx(a.dissipated, abs=1e-5)
    assert np.abs(b.work_of_walls[-1]) > 0.5
    if scheme is MOREAU_JEAN:
        assert np.abs(b.error).max() < 1e-9


@BOTH
def test_balls_without_friction_are_those_of_restitution(scheme):
    e = 0.0 if scheme is MAURY else 0.6
    made = heap(2, 0.0)
    spun = fallen(scheme, 2, e=e, **made)
    within = jo.Balls([0.5, 0.45, 0.5, 0.55]) & jo.HalfSpace([1.0, 0.0]) & jo.HalfSpace([0.0, 1.0])
    plain = jo.Motion(q0=made["q0"], v0=made["v0"], force=made["force"], within=within, law=jo.Restitution(e))
    assert np.abs(jo.solve(plain, scheme, t=0.36, h=0.03).q - spun.q).max() < 1e-7
    assert np.abs(spun.spin - spun.spin[0]).max() < 1e-12


@BOTH
def test_no_contact_pushes_more_than_coulombs_law_allows(scheme):
    """|p_T| <= mu p_n; and where a contact slides, p_T is mu p_n against the slip."""
    mu = 0.4
    sol = fallen(scheme, 3, **heap(3, mu))
    slid, stuck = 0, 0
    for k in range(1, len(sol.t)):
        p, rubbed = sol.multipliers[k], np.linalg.norm(sol.tangential[k], axis=1)
        scale = max(p.max(initial=0.0), 1e-3)
        assert (rubbed <= mu * p + 1e-6 * scale).all()
        slid += np.count_nonzero((p > 1e-3) & (rubbed > mu * p - 1e-6 * scale))
        stuck += np.count_nonzero((p > 1e-3) & (rubbed < 0.9 * mu * p))
    assert slid > 5
    assert stuck > 5
