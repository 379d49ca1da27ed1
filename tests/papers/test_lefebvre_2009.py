"""Lefebvre 2009, gluey particles (Bernicot & Lefebvre-Lepot 2010, remark 4.3): what pressed must be paid back.

The exact answers are closed forms. Gaps and velocities are held to the tolerance of the solver, by which a
contact that is pulled may open.
"""

import numpy as np
import pytest

import jostle as jo
from jostle.analysis import order
from jostle.schemes.gluey import Glue, Gluey, glue
from rows import WHOLE, few, whole

G = 1.0
SHUT = 1e-7
"""A gap below this part of the radius is closed: ten times the tolerance of the default solver."""
SOLVERS = [jo.ActiveSet(), jo.InteriorPoint(), jo.GaussSeidel(tol=1e-8), jo.Automatic()]
over_solvers = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)


class Watch:
    """Keeps the glue of every step: gamma of each pair at each time."""

    def __init__(self):
        self.t, self.glue = [], []

    def __call__(self, state):
        self.t.append(state.t)
        self.glue.append({(i, j): gamma for (i, j), gamma in zip(*map(np.ndarray.tolist, glue(state)), strict=True)})
        return False

    def gamma(self, pair):
        return np.array([now.get(pair, 0.0) for now in self.glue])


def run(problem, scheme=None, **options):
    watch = Watch()
    sol = jo.solve(problem, scheme or Gluey(), until=watch, **options)
    return sol, watch


def unsticks(t, gap):
    """The last time in contact."""
    return t[np.flatnonzero(gap <= SHUT)[-1]]


def hexagon(k, radius=0.5):
    """3 k (k + 1) + 1 touching discs."""
    lattice = [(i, j) for i in range(-k, k + 1) for j in range(-k, k + 1) if abs(i + j) <= k]
    return 2.0 * radius * np.array([[i + j / 2.0, j * np.sqrt(3.0) / 2.0] for i, j in lattice])


def cluster(seed=0, n=20, spin=0.7):
    """Discs of different sizes and masses that are driven together, turning, and later apart."""
    random = np.random.default_rng(seed)
    radii = random.uniform(0.3, 0.6, n)
    side = int(np.ceil(np.sqrt(n)))
    q0 = 1.3 * np.array([[k % side, k // side] for k in range(n)]) + random.uniform(-0.05, 0.05, (n, 2))
    q0 = q0 - q0.mean(axis=0)
    v0 = spin * np.stack([-q0[:, 1], q0[:, 0]], axis=1) + 0.1 * random.normal(size=(n, 2))

    def force(t, q):
        return (-4.0 if t < 1.2 else 3.0) * (q - q.mean(axis=0))

    return jo.Motion(q0=q0, v0=v0, force=force, within=jo.Balls(radii), mass=np.pi * radii**2)


# --- one ball and a plane: P08 --------------------------------------------------------------------------------------

ALPHA, RADIUS, T_INV = np.pi / 6.0, 1.0, 2.5
NORMAL, TANGENT = np.array([-np.sin(ALPHA), np.cos(ALPHA)]), np.array([-np.cos(ALPHA), -np.sin(ALPHA)])


def inclined_plane(within=True):
    def weight(t, q):
        return [0.0, -G if t < T_INV else G]

    plane = jo.HalfSpace(NORMAL, radii=RADIUS) if within else None
    return jo.Motion(q0=2.0 * NORMAL, force=weight, within=plane)


@pytest.mark.parametrize("h", [0.1, 0.037, *map(whole, (0.05, 0.02, 0.01, 0.13, 0.0071))])
def test_a_gluey_plane_keeps_the_ball_as_long_again_as_it_was_pressed(h):
    """P08: hit at 1.52, pressed until 2.5 and pulled from then on, the ball leaves at 5, within 2 h."""
    sol, watch = run(inclined_plane(), t=6.0, h=h)
    gap = sol.q @ NORMAL - RADIUS
    leaves = unsticks(sol.t, gap)
    assert abs(leaves - 5.0) <= 2.0 * h
    touches = np.array(watch.t)[watch.gamma((0, -1)) < 0.0][0]
    assert abs(touches - 1.5196713713) <= 2.0 * h
    shut = (sol.t >= touches) & (sol.t <= leaves)
    assert np.abs(gap[shut]).max() <= SHUT
    assert (gap[sol.t > leaves] > 0.0).all()
    assert (gap >= -1e-12).all()


@pytest.mark.parametrize("h", few([0.1, 0.02, 0.01, 0.05]))
def test_gamma_of_a_gluey_plane_is_minus_the_impulse_so_far(h):
    """P08: gamma(2.5) = -g cos(alpha) 2.5 = -2.16506350946, then it is paid back at the same rate."""
    sol, watch = run(inclined_plane(), t=6.0, h=h)
    t, gamma = np.array(watch.t), watch.gamma((0, -1))
    at = np.argmin(np.abs(t - T_INV))
    assert gamma[at] == pytest.approx(-2.16506350946, abs=1e-9)
    pays = (t >= T_INV) & (t <= 5.0 - h / 2.0)
    assert np.abs(gamma[pays] + G * np.cos(ALPHA) * (5.0 - t[pays])).max() <= 1e-9
    assert (gamma[t > 5.0 + h / 2.0] == 0.0).all()
    impulses = np.array([p.sum() for p in sol.multipliers[1:]])
    assert np.abs(np.cumsum(impulses) + gamma).max() <= 1e-9


@pytest.mark.parametrize("h", [0.1, whole(0.02), 0.037])
def test_the_motion_along_a_gluey_plane_is_free(h):
    """P08: x_t(5) = 3.125 to first order, and x_t is that of the same ball without the plane."""
    sol, _ = run(inclined_plane(), t=6.0, h=h)
    free = jo.solve(inclined_plane(within=False), jo.Maury(), t=6.0, h=h)
    assert np.abs((sol.q - free.q) @ TANGENT).max() <= 1e-12
    assert abs(sol(5.0) @ TANGENT - 3.125) <= 2.0 * h


def test_the_time_of_unsticking_is_of_order_one():
    """The worst error in each octave of steps; the steps have no common factor with the exact times."""
    steps, errors = [], []
    for octave in range(0, 5, 1 if WHOLE else 2):
        all_h = 0.4 / 2**octave * np.sqrt([1.0, 0.83, 0.71, 0.59, 0.47, 0.31] if WHOLE else [1.0, 0.83, 0.71])
        found = [run(inclined_plane(), t=5.6, h=h)[0] for h in all_h]
        errors.append(max(abs(unsticks(sol.t, sol.q @ NORMAL - RADIUS) - 5.0) for sol in found))
        steps.append(all_h[0])
    assert (np.array(errors) <= 2.0 * np.array(steps)).all()
    assert order(steps, errors).order == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize(("T", "F"), [(1.0, 1.0), (0.5, 10.0), (2.0, 0.3)])
def test_a_ball_pressed_for_a_time_is_held_for_the_same_time(T, F):
    floor = jo.HalfSpace([1.0], radii=0.5)
    ball = jo.Motion(q0=[0.5], force=lambda t, q: [-F if t < T else F], within=floor, mass=3.0)
    sol, watch = run(ball, t=3.0 * T, h=T / 16)
    assert unsticks(sol.t, sol.q[:, 0] - 0.5) == pytest.approx(2.0 * T, abs=1e-12)
    assert watch.gamma((0, -1))[15] == pytest.approx(-F * T, rel=1e-12)
    assert sol.u[-1, 0] == pytest.approx(F * T / 3.0, rel=1e-6)


@pytest.mark.parametrize("weakest", [-0.75, -0.5, -0.1])
def test_a_threshold_lets_the_ball_go_earlier(weakest):
    """Pressed for 1 with force 1, gamma stops at the threshold, and the ball leaves 1 - |weakest| earlier."""
    ball = jo.Motion(q0=[0.5], force=lambda t, q: [-1.0 if t < 1.0 else 1.0], within=jo.HalfSpace([1.0], radii=0.5))
    sol, watch = run(ball, Gluey(weakest=weakest), t=3.0, h=0.025)
    gamma = watch.gamma((0, -1))
    assert gamma.min() == weakest
    assert unsticks(sol.t, sol.q[:, 0] - 0.5) == pytest.approx(1.0 - weakest, abs=1e-12)
    assert sol.u[-1, 0] == pytest.approx(2.0 + weakest, abs=1e-6)


# --- a few discs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [0.05, 0.0125])
def test_two_discs_with_a_threshold_part_when_it_is_paid_back(h):
    """Pressed by F = 2 until 1, gamma stays at -1.2; pulled by 2 F it is paid back at 1.3, then free flight."""
    F, masses = np.array([[2.0, 0.0], [-2.0, 0.0]]), np.array([1.0, 4.0])
    discs = jo.Motion(
        q0=[[-0.5, 0.0], [0.5, 0.0]],
        force=lambda t, q: F if t < 1.0 else -2.0 * F,
        mass=masses,
        within=jo.Balls([0.5, 0.5]),
    )
    sol, watch = run(discs, Gluey(weakest=-1.2), t=2.0, h=h)
    gap = sol.q[:, 1, 0] - sol.q[:, 0, 0] - 1.0
    assert watch.gamma((0, 1)).min() == -1.2
    assert unsticks(sol.t, gap) == pytest.approx(1.3, abs=1e-12)
    k = np.round((sol.t - 1.3) / h)
    flies = k > 0
    assert np.abs(gap[flies] - 4.0 * (1.0 + 0.25) * h**2 * (k * (k + 1.0) / 2.0)[flies]).max() <= 1e-6
    assert np.abs(np.einsum("knd,n->kd", sol.u, masses)).max() <= 1e-12


@pytest.mark.parametrize(("J", "velocities", "left"), [(1.0, [0.5, 0.5], -0.5), (3.0, [1.0, 2.0], 0.0)])
def test_a_blow_tears_the_glue_if_it_needs_more_than_there_is(J, velocities, left):
    """gamma = -1. A blow J on one of two balls needs the impulse J / 2: it is held, or gets 1 and keeps the rest."""
    h = 0.125

    def force(t, q):
        return [1.0, -1.0] if t < 1.0 else [0.0, J / h] if 1.0 <= t < 1.0 + h else [0.0, 0.0]

    balls = jo.Motion(q0=[0.0, 1.0], force=force, within=jo.Line([0.5, 0.5]))
    sol, watch = run(balls, t=2.0, h=h)
    assert watch.gamma((0, 1))[7] == pytest.approx(-1.0, abs=1e-12)
    assert np.abs(sol.u[10:] - velocities).max() <= 1e-6
    assert np.abs(watch.gamma((0, 1))[8:] - left).max() <= 1e-6


@pytest.mark.each_value
@pytest.mark.parametrize(("speed", "velocity", "left"), [(0.3, -0.3, -0.7), (2.0, -1.0, 0.0)])
@over_solvers
def test_a_glued_ball_follows_a_wall_that_draws_back_as_far_as_its_glue_goes(speed, velocity, left, solver):
    """gamma = -1, mass 1: to follow at a speed costs as much glue; if there is less, the ball gets what there is."""
    wall = jo.HalfSpace([1.0], offset=lambda t: -speed * max(t - 1.0, 0.0), radii=0.5)
    ball = jo.Motion(q0=[0.5], force=lambda t, q: [-1.0 if t < 1.0 else 0.0], within=wall)
    sol, watch = run(ball, Gluey(solver=solver), t=2.0, h=1.0 / 16)
    assert sol.u[-1, 0] == pytest.approx(velocity, abs=1e-6)
    assert watch.gamma((0, -1))[-1] == pytest.approx(left, abs=1e-6)
    assert (watch.gamma((0, -1))[-1] < 0.0) == (sol.gaps()[-1] <= SHUT)


@over_solvers
def test_a_specimen_between_two_plates_breaks_at_its_weakest_contact(solver):
    """Three discs pressed against two plates, of which one draws back: disc 2 follows it, at the cost of 0.3."""
    left = jo.HalfSpace([1.0, 0.0], radii=0.5)
    right = jo.HalfSpace([-1.0, 0.0], offset=lambda t: -3.0 - 0.3 * max(t - 1.0, 0.0), radii=0.5)
    press = np.array([[-2.0, 0.0], [-1.0, 0.0], [2.0, 0.0]])
    discs = jo.Motion(
        q0=[[0.5, 0.0], [1.5, 0.0], [2.5, 0.0]],
        force=lambda t, q: press if t < 1.0 else 0.0,
        within=jo.Balls([0.5, 0.5, 0.5]) & left & right,
    )
    sol, watch = run(discs, Gluey(solver=solver), t=2.0, h=0.0625)
    assert np.abs(sol.u[-1] - [[0.0, 0.0], [0.0, 0.0], [0.3, 0.0]]).max() <= 1e-6
    expected = {(0, -1): -3.0, (0, 1): -1.0, (1, 2): 0.0, (2, -2): -1.7}
    for pair, gamma in expected.items():
        assert watch.gamma(pair)[-1] == pytest.approx(gamma, abs=1e-6)


@pytest.mark.parametrize("h", [0.02, whole(0.01), whole(0.005)])
def test_the_centrifugal_force_pays_the_glue_back(h):
    """Two discs turn at rate 1: pressed by 2.5 - 1/2 until 0.5, gamma = -1, paid back at 1/2: they part at 2.5."""

    def force(t, q):
        return -5.0 * (q - q.mean(axis=0)) if t < 0.5 else 0.0 * q

    discs = jo.Motion(
        q0=[[-0.5, 0.0], [0.5, 0.0]], v0=[[0.0, -0.5], [0.0, 0.5]], force=force, within=jo.Balls([0.5, 0.5])
    )
    sol, watch = run(discs, t=3.0, h=h)
    glued = np.array(watch.t)[watch.gamma((0, 1)) < 0.0]
    assert abs(glued[-1] - 2.5) <= 3.0 * h
    gap = np.linalg.norm(sol.q[:, 1] - sol.q[:, 0], axis=1) - 1.0
    assert gap[sol.t <= glued[-1]].max() <= 0.51 * h**2
    assert gap[-1] == pytest.approx(np.sqrt(1.25) - 1.0, abs=2.0 * h)


# --- clusters -------------------------------------------------------------------------------------------------------


@over_solvers
def test_a_glued_hexagon_that_is_pulled_stays_rigid(solver):
    """61 discs, 156 contacts for 122 velocities: pressed from all sides, then torn at two of its corners."""
    q0 = hexagon(4)
    ends = np.argsort(q0[:, 0])[[0, -1]]
    pull = np.zeros_like(q0)
    pull[ends, 0] = [-0.7, 0.9]

    def force(t, q):
        return -(q - q.mean(axis=0)) if t < 0.5 else pull

    sol, watch = run(
        jo.Motion(q0=q0, force=force, within=jo.Balls(np.full(61, 0.5))), Gluey(solver=solver), t=0.8, h=0.02
    )
    apart = np.linalg.norm(sol.q[:, :, None] - sol.q[:, None, :], axis=-1)
    assert np.abs(apart - apart[0]).max() <= 1e-6
    assert sol.u[-1, :, 0].mean() == pytest.approx(0.2 * 0.3 / 61.0, rel=1e-6)
    assert len(watch.glue[-1]) > 121


@pytest.mark.each_value
@over_solvers
@pytest.mark.parametrize("seed", [0, 1])
def test_gamma_is_never_positive_and_nothing_ever_overlaps(seed, solver):
    problem, scheme, h = cluster(seed), Gluey(solver=solver), 0.02
    length = problem.within.linearise(0.0, problem.q0).smallest_length()
    state = scheme.start(problem, 0.0)
    for _ in range(100):
        before, state = state, scheme.step(problem, state, h)
        pairs, gamma = glue(state)
        assert (gamma < 0.0).all()
        assert (np.diff(pairs[:, 0] * 1000 + pairs[:, 1]) > 0).all()
        assert problem.within.gap(state.t, state.q) >= -2.0 * solver.tol * length
        assert state.projection.converged
        momentum = problem.mass.mass * (state.u - before.u).ravel()
        expected = h * problem.force(before.t + h / 2.0, before.q).ravel() + state.contacts.G.adjoint(state.multipliers)
        assert np.abs(momentum - expected).max() <= 1e-6
    assert len(gamma) > 0


def test_glue_keeps_the_momentum_of_a_cluster():
    sol, watch = run(cluster(), t=2.0, h=0.02)
    mass = sol.problem.mass.mass.reshape(-1, 2)[:, 0]
    momentum = np.einsum("knd,n->kd", sol.u, mass)
    force = np.array([sol.problem.force(t, q, 0.0).sum(axis=0) for t, q in zip(sol.t, sol.q, strict=True)])
    assert np.abs(np.diff(momentum, axis=0) - 0.02 * force[:-1]).max() <= 1e-9
    assert max(len(now) for now in watch.glue) > 30


def test_glue_keeps_the_angular_momentum():
    """Three discs turn about each other, pressed by a central force and then held by their glue."""
    discs = jo.Motion(
        q0=[[-0.5, 0.0], [0.5, 0.0], [0.0, np.sqrt(0.75)]],
        v0=[[0.0, -0.5], [0.3, 0.5], [-0.2, 0.0]],
        force=lambda t, q: -5.0 * q if t < 0.5 else 0.0 * q,
        within=jo.Balls([0.5, 0.5, 0.5]),
    )
    sol, watch = run(discs, t=1.5, h=0.02)
    turning = (sol.q[..., 0] * sol.u[..., 1] - sol.q[..., 1] * sol.u[..., 0]).sum(axis=1)
    assert np.abs(turning - turning[0]).max() <= 1e-9 * np.abs(turning[0])
    assert len(watch.glue[-1]) > 0


def test_the_gaps_of_glued_discs_are_of_order_two():
    """A cluster with more contacts than velocities that turns: its gaps cannot all be closed, but do not grow."""
    steps, gaps = [0.02, 0.01, 0.005], []
    for h in steps:
        problem, widest = cluster(), 0.0

        def watch(state, problem=problem):
            nonlocal widest
            if state.t > 0.9:
                pairs, _ = glue(state)
                apart = state.q[pairs[:, 1]] - state.q[pairs[:, 0]]
                gap = np.linalg.norm(apart, axis=1) - problem.within.radii[pairs].sum(axis=1)
                widest = max(widest, gap.max())
            return False

        jo.solve(problem, Gluey(), t=1.2, h=h, until=watch)
        gaps.append(widest)
    assert order(steps, gaps).order == pytest.approx(2.0, abs=0.3)


@pytest.mark.each_value
@over_solvers
@pytest.mark.parametrize("small", [1e-2, 1e-4, -3e-7])
def test_a_cluster_whose_gaps_cannot_all_be_closed_keeps_its_glue(small, solver):
    """Seven glued discs, one too small or too large: twelve contacts for eleven velocities contradict each other."""
    q0, radii, h = hexagon(1), np.full(7, 0.5), 0.02
    radii[0] -= small
    problem, scheme = jo.Motion(q0=q0, within=jo.Balls(radii)), Gluey(solver=solver)
    near, most = 0.1, abs(small) / h
    pairs = problem.within.linearise(0.0, q0, near).pairs
    assert len(pairs) == 12
    state = jo.schemes.State.of(0.0, q0, np.zeros_like(q0), memory=Glue(pairs, np.full(12, -1.0)))
    for _ in range(10):
        state = scheme.step(problem, state, h)
        gap = problem.within.linearise(state.t, state.q, near).gap
        assert gap.min() >= -solver.tol
        assert gap.max() <= 1.1 * abs(small)
        assert state.projection.converged
        assert state.projection.iterations <= 20_000
        assert len(glue(state).gamma) == 12
        assert np.abs(state.multipliers).max() <= 2.0 * most
    assert np.abs(glue(state).gamma + 1.0).max() <= 4.0 * most


def test_the_gaps_of_a_long_chain_that_turns_are_closed():
    """Each step opens every contact of twenty discs in a row by h^2 / 2, and the next one closes it again."""
    q0 = np.stack([np.arange(20.0), np.zeros(20)], axis=1)
    q0, h, rate = q0 - q0.mean(axis=0), 0.02, 0.2
    v0 = rate * q0[:, ::-1]
    row = jo.Motion(q0=q0, v0=v0, within=jo.Balls(np.full(20, 0.5)))
    pairs = row.within.linearise(0.0, q0, 0.1).pairs
    scheme, state = Gluey(), jo.schemes.State.of(0.0, q0, v0, memory=Glue(pairs, np.full(19, -100.0)))
    for _ in range(50):
        state = scheme.step(row, state, h)
        assert np.linalg.norm(np.diff(state.q, axis=0), axis=1).max() - 1.0 <= 0.55 * (h * rate) ** 2
    assert len(glue(state).gamma) == 19


@over_solvers
def test_balls_that_fill_a_line_hold_each_other(solver):
    """Twenty contacts for nineteen balls between two walls, all glued: forces move nothing, whatever their signs."""
    q0, random = 0.5 + np.arange(19.0), np.random.default_rng(0)
    a, b = random.normal(size=(2, 19))
    full = jo.Motion(
        q0=q0, force=lambda t, q: a + b * np.sin(20.0 * t), within=jo.Line(np.full(19, 0.5), lower=0.0, upper=19.0)
    )
    sol, watch = run(full, Gluey(solver=solver), t=0.3, h=0.02)
    assert np.abs(sol.q - q0).max() <= 10.0 * solver.tol
    assert len(watch.glue[-1]) > 10


def test_all_solvers_find_the_same_motion():
    found = [run(cluster(seed=3), Gluey(solver=solver), t=1.5, h=0.02)[0] for solver in SOLVERS]
    for sol in found[1:]:
        assert np.abs(sol.q - found[0].q).max() <= 1e-3 * np.abs(found[0].q).max()


def test_glue_is_not_lost_at_rest():
    """91 discs are pressed and left alone at rest: the list of neighbours reaches no further than round-off."""
    q0 = 3.0 + hexagon(5)
    discs = jo.Motion(
        q0=q0, force=lambda t, q: -(q - q.mean(axis=0)) if t < 0.25 else 0.0 * q, within=jo.Balls(np.full(91, 0.5))
    )
    _, watch = run(discs, t=1.0, h=0.05)
    pressed, last = watch.glue[5], watch.glue[-1]
    assert len(pressed) > 150
    assert last.keys() == pressed.keys()
    assert max(abs(last[pair] - pressed[pair]) for pair in last) <= 1e-6


@pytest.mark.parametrize("count", [2, 80])
def test_glue_is_not_lost_when_the_floor_leaves_bodies_at_rest(count):
    """The floor jumps away from bodies at rest at height zero, further than anything moves, and takes them along."""
    floor = jo.HalfSpace([0.0, 1.0], offset=lambda t: -0.5 * max(t - 0.5, 0.0), radii=0.0)
    q0 = np.zeros((count, 2))
    bodies = jo.Motion(q0=q0, force=lambda t, q: [0.0, -1.0 if t < 0.5 else 0.0], within=floor)
    sol, watch = run(bodies, t=1.0, h=0.125)
    assert len(watch.glue[3]) == count
    assert np.abs(sol.u[5:8, :, 1] + 0.5).max() <= 1e-9


def test_a_pair_keeps_its_glue_when_the_list_of_contacts_changes():
    """Two glued discs fly through a cloud of others that come near and go away again."""
    others = np.array([[5.0 + 1.5 * k, y] for k in range(40) for y in (-1.05, 1.05)])
    q0 = np.concatenate([[[0.0, 0.0], [1.0, 0.0]], others])[::-1]
    v0 = np.zeros_like(q0)
    v0[-2:, 0] = 5.0
    press = np.zeros_like(q0)
    press[-1, 0], press[-2, 0] = 1.0, -1.0
    cloud = jo.Motion(q0=q0, v0=v0, force=lambda t, q: press if t < 0.5 else 0.0 * q, within=jo.Balls(np.full(82, 0.5)))
    sol, watch = run(cloud, t=8.0, h=0.02)
    assert len({len(pairs) for pairs in sol.pairs}) > 2
    assert np.abs(watch.gamma((80, 81))[30:] + 0.5).max() <= 1e-6


def test_glue_goes_with_the_body_that_leaves():
    """Two discs are glued and fall; one is taken out and stays where it is put, the other has no glue any more."""
    press, weight = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]), np.array([0.0, -1.0])
    discs = jo.Motion(
        q0=[[0.0, 0.0], [1.0, 0.0], [9.0, 5.0]],
        v0=[[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]],
        force=lambda t, q: weight + (press if t < 0.5 else 0.0 * q),
        within=jo.Balls([0.5, 0.5, 0.5]),
    )
    watch, scheme, state = Watch(), Gluey(), Gluey().start(discs, 0.0)
    outlet = jo.Outlet(lambda q: q[:, 0] > 2.0)
    for _ in range(40):
        state = outlet(scheme.advance(discs, state, 0.05))
        watch(state)
    assert watch.gamma((0, 1))[15] == pytest.approx(-0.5, abs=1e-6)
    assert state.presence.here.tolist() == [True, False, False]
    assert not watch.glue[-1]
    assert np.abs(state.u[1:]).max() == 0.0


# --- laws that the scheme obeys -------------------------------------------------------------------------------------


def test_without_glue_it_is_the_scheme_of_maury_bit_for_bit():
    heap = jo.models.spheres(np.random.default_rng(0).uniform(0.3, 0.5, 40), box=([0, 0], [5, np.inf]))
    dry, gluey = jo.solve(heap, jo.Maury(), t=1.5, h=0.02), jo.solve(heap, Gluey(weakest=0.0), t=1.5, h=0.02)
    assert np.array_equal(dry.q, gluey.q)
    assert np.array_equal(dry.u, gluey.u)
    assert all(np.array_equal(p, r) for p, r in zip(dry.multipliers, gluey.multipliers, strict=True))


def test_on_a_line_gluey_balls_are_a_sweeping_process_of_their_free_velocity():
    """M u + G^T gamma is the free momentum: u is the projection of v0 + int f, as in the scheme of Venel."""
    random = np.random.default_rng(1)
    n, h = 12, 0.01
    a, b, v0 = random.normal(size=(3, n))
    q0 = np.cumsum(random.uniform(1.0, 1.3, n))
    line = jo.Line(np.full(n, 0.5), lower=0.0)
    gluey = jo.Motion(q0=q0, v0=v0, force=lambda t, q: a * (1.0 - t) + 3.0 * b * (t - 1.0) ** 2, within=line)
    free = jo.Sweeping(
        q0=q0, velocity=lambda t, q: v0 + a * (t + h - (t + h) ** 2 / 2.0) + b * ((t + h - 1.0) ** 3 + 1.0), within=line
    )
    sol, watch = run(gluey, Gluey(solver=jo.ActiveSet()), t=3.0, h=h)
    assert np.abs(sol.q - jo.solve(free, jo.Venel(solver=jo.ActiveSet()), t=3.0, h=h).q).max() <= 1e-8
    assert max(len(now) for now in watch.glue) > n // 2
    assert any(len(then) > len(now) for then, now in zip(watch.glue, watch.glue[1:], strict=False))


@pytest.mark.each_value
@pytest.mark.parametrize("unit", [1e-3, 1e3])
@pytest.mark.parametrize("weakest", [-np.inf, -0.4])
def test_the_units_do_not_matter(unit, weakest):
    """Lengths, times and masses in other units: the same motion."""
    time, mass = unit**0.5, 7.0 * unit
    here = cluster()
    there = jo.Motion(
        q0=unit * here.q0,
        v0=unit / time * here.v0,
        force=lambda t, q: mass * unit / time**2 * here.force(t / time, q / unit, 0.0),
        within=jo.Balls(unit * here.within.radii),
        mass=mass * here.mass.mass.reshape(-1, 2),
    )
    sol, watch = run(here, Gluey(weakest=weakest, solver=jo.ActiveSet()), t=1.6, h=0.02)
    other, watched = run(
        there, Gluey(weakest=mass * unit / time * weakest, solver=jo.ActiveSet()), t=1.6 * time, h=0.02 * time
    )
    assert np.abs(other.q / unit - sol.q).max() <= 1e-6
    assert watched.glue[-1].keys() == watch.glue[-1].keys()


def test_the_mirror_image_moves_as_the_mirror_image():
    here, flip = cluster(), np.array([-1.0, 1.0])
    there = jo.Motion(
        q0=flip * here.q0,
        v0=flip * here.v0,
        force=lambda t, q: flip * here.force(t, flip * q, 0.0),
        within=here.within,
        mass=here.mass.mass.reshape(-1, 2),
    )
    scheme = Gluey(solver=jo.ActiveSet())
    assert np.abs(flip * run(there, scheme, t=1.6, h=0.02)[0].q - run(here, scheme, t=1.6, h=0.02)[0].q).max() <= 1e-6


def test_a_cluster_of_spheres_is_glued_in_three_dimensions():
    """64 spheres on a cubic lattice are pressed and then drawn apart: held as long again as they were pressed."""
    q0 = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    centre = q0.mean(axis=0)
    spheres = jo.Motion(
        q0=q0, force=lambda t, q: (-1.0 if t < 0.5 else 1.0) * (q0 - centre), within=jo.Balls(np.full(64, 0.5))
    )
    sol, _ = run(spheres, t=1.4, h=0.05)
    held = sol.t <= 1.0 + 1e-9
    assert np.abs(sol.q[held] - q0).max() <= 1e-6
    assert (sol.q[-1] - sol.q[0])[:, 0] @ (q0 - centre)[:, 0] > 0.1


def test_gluey_refuses_a_threshold_above_zero_and_restitution():
    with pytest.raises(jo.InvalidValue, match="weakest must not be positive"):
        Gluey(weakest=0.5)
    with pytest.raises(jo.errors.SchemeRefuses, match="Gluey is a scheme for e = 0"):
        jo.solve(jo.Motion(q0=[1.0], law=jo.Restitution(0.5)), Gluey(), t=1.0, h=0.1)


def test_the_state_of_another_scheme_has_no_glue():
    ball = jo.Motion(q0=[0.0], force=[-1.0], within=jo.HalfSpace([1.0]))
    state = jo.Paoli().step(ball, jo.Paoli().start(ball, 0.0), 0.1)
    assert len(glue(state).pairs) == len(glue(state).gamma) == 0
