"""What is true of every projection, every impact and every scheme, whatever the numbers.

The numbers of the sections are those of the list of invariants: 1 Moreau's decomposition, 2 energy, 3 admissibility,
4 non-expansiveness, 5 homogeneity, 6 momentum, 7 symmetries, 8 feasibility, 9 uniqueness, 10 isotonic regression,
11 complementarity, 12 Venel's two schemes. Then residuals, units, and random polyhedra, empty ones among them.

`ActiveSet` and `Automatic` (which is exact on small problems) are held to round-off. The other solvers stop when the
three residuals are below tol, which promises |u - u*|_M <= sqrt(2 tol) |u - w|_M, and are held to that.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.sparse import csr_array

import jostle as jo
from jostle.convex.metric import metric
from jostle.convex.residuals import residual
from rows import examples, whole
from strategies import (
    Case,
    Cluster,
    angles,
    cluster,
    clusters,
    contradictions,
    generators,
    lattices,
    moving_clusters,
    polyhedra,
    restitutions,
    rows_of_balls,
    units,
    velocities,
    wild_masses,
)

ROUND_OFF = 1e-10
"""Relative: the conditioning of the random problems times round-off."""
PHASES = (Phase.explicit, Phase.generate)
"""The same examples each time; add Phase.shrink to make a failure small, which may take minutes."""
FEW, SOME, MANY = (
    settings(max_examples=n, phases=PHASES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    for n in (examples(8), examples(20), examples(50))
)

SOLVERS = [jo.ActiveSet(), jo.InteriorPoint(tol=1e-10), jo.GaussSeidel(tol=1e-10), jo.Automatic()]
EXACT = [jo.ActiveSet(), jo.Automatic()]


def name(member) -> str:
    return type(member).__name__


# for few rows Automatic is ActiveSet
over_solvers = pytest.mark.parametrize("solver", [*SOLVERS[:-1], whole(SOLVERS[-1])], ids=name)
over_exact = pytest.mark.parametrize("solver", [EXACT[0], whole(EXACT[1])], ids=name)


def promised(solver: jo.Solver) -> float:
    """The relative error of u that the solver may make."""
    return ROUND_OFF if isinstance(solver, jo.ActiveSet | jo.Automatic) else np.sqrt(2.0 * solver.tol)


def norm(u, mass) -> float:
    """|u|_M for one mass a body."""
    return float(np.sqrt(np.sum(_spread(mass, u) * u**2)))


def inner(u, v, mass) -> float:
    return float(np.sum(_spread(mass, u) * u * v))


def _spread(mass, u):
    return mass if np.ndim(u) < 2 else np.reshape(mass, (-1, 1))


def least_squares(A, b):
    """(y, |A y - b|) with y >= 0; SciPy's routine aborts if there is no column."""
    return nnls(A, b, maxiter=1000 * A.size) if A.shape[1] else (np.zeros(0), np.linalg.norm(b))


def nearest_in_cone(u, G, mass):
    """(P_C u, p) by non-negative least squares: p minimises |M^{1/2} u + M^{-1/2} G^T p|."""
    root = np.sqrt(np.broadcast_to(_spread(mass, u), u.shape).ravel())
    unit = np.linalg.norm(G / root, axis=1)
    p = least_squares((G / root / unit[:, None]).T, -root * u.ravel())[0] / unit
    return (u.ravel() + (G.T @ p) / root**2).reshape(u.shape), p


def nearest_in_polyhedron(case: Case):
    """The nearest point of K by least distance programming (Lawson & Hanson 1974, chapter 23).

    min |x| with A x >= b: y >= 0 minimises |[A^T; b^T] y - (0, 1)|, and x = -r[:n] / r[n] of its residual r.
    """
    root = np.sqrt(case.mass)
    A = case.G / root
    unit = np.linalg.norm(A, axis=1)
    keep = unit > 0
    A, b = A[keep] / unit[keep, None], -(case.c + case.G @ case.w)[keep] / unit[keep]
    scale = max(np.abs(b).max(initial=0.0), 1e-300)
    E = np.vstack([A.T, b / scale])
    f = np.append(np.zeros(len(root)), 1.0)
    y, _ = least_squares(E, f)
    r = E @ y - f
    return case.w - scale * r[:-1] / r[-1] / root


def gaps_of_discs(q, radii):
    i, j = np.triu_indices(len(q), k=1)
    return np.linalg.norm(q[j] - q[i], axis=1) - radii[i] - radii[j]


# 1. Moreau's decomposition


@over_solvers
@SOME
@given(moving_clusters())
def test_polar_cones_decompose_the_identity(solver, moving):
    """Invariant 1: U = P_C U + P_N U, orthogonal, P_C U in C, and P_N U = -M^-1 G^T p with p >= 0."""
    discs, U, mass = moving
    along, against = jo.solvers.decompose(U, discs.cone, mass=mass, solver=solver)
    P = jo.project(U, discs.cone, mass=mass, solver=solver)
    size, allowed = norm(U, mass), promised(solver)
    np.testing.assert_allclose(along + against, U, atol=1e-14 * np.abs(U).max(initial=1.0))
    assert abs(inner(along, against, mass)) <= allowed * size**2
    assert (discs.G @ along.ravel()).min(initial=0.0) >= -allowed * size / np.sqrt(mass.min())
    assert P.multipliers.min(initial=0.0) >= 0.0
    reaction = (discs.G.T @ P.multipliers).reshape(U.shape) / mass[:, None]
    assert norm(against + reaction, mass) <= max(allowed, ROUND_OFF) * size


@over_solvers
@SOME
@given(moving_clusters())
def test_the_projection_on_a_cone_is_what_least_squares_finds(solver, moving):
    """Invariant 1: P_C U against non-negative least squares, and P_N U = U - P_C U from `cone.polar`."""
    discs, U, mass = moving
    expected, _ = nearest_in_cone(U, discs.G, mass)
    allowed = promised(solver) * norm(U, mass)
    found = jo.project(U, discs.cone, mass=mass, solver=solver).point
    polar = jo.project(U, discs.cone.polar, mass=mass, solver=solver).point
    assert norm(found - expected, mass) <= allowed
    assert norm(polar - (U - expected), mass) <= allowed


@over_solvers
@SOME
@given(moving_clusters(), restitutions())
def test_the_law_keeps_one_part_and_reverses_the_other(solver, moving, e):
    """Invariant 1: u+ = P_C U - e P_N U, with M (u+ - U) = G^T p."""
    discs, U, mass = moving
    expected, _ = nearest_in_cone(U, discs.G, mass)
    hit = _impact(U, discs.cone, e, mass, solver)
    allowed = 2.0 * promised(solver) * norm(U, mass)
    assert norm(hit.velocity - (expected - e * (U - expected)), mass) <= allowed
    reaction = (discs.G.T @ hit.impulse).reshape(U.shape) / mass[:, None]
    assert norm(hit.velocity - U - reaction, mass) <= ROUND_OFF * norm(U, mass)


impacts_at_the_start = pytest.mark.filterwarnings("ignore::jostle.errors.CloseImpacts")
"""Discs that touch and approach at the start collide in the first step, of which Paoli's scheme warns if e > 0."""


def _impact(U, cone, e, mass, solver) -> jo.laws.Impact:
    """Moreau's law; that U may not be in -C is not what the caller is about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jo.errors.NotApproaching)
        return jo.impact(U, cone, law=jo.Restitution(e), mass=mass, solver=solver)


# 2. Energy


@over_solvers
@SOME
@given(moving_clusters(), restitutions())
def test_an_impact_loses_the_energy_of_the_normal_part(solver, moving, e):
    """Invariant 2: |u|^2 = |P_C U|^2 + e^2 |P_N U|^2, so the loss is (1 - e^2) |P_N U|^2 / 2."""
    discs, U, mass = moving
    along, _ = nearest_in_cone(U, discs.G, mass)
    hit = _impact(U, discs.cone, e, mass, solver)
    loss = (norm(U, mass) ** 2 - norm(hit.velocity, mass) ** 2) / 2.0
    expected = (1.0 - e**2) * norm(U - along, mass) ** 2 / 2.0
    assert abs(loss - expected) <= 4.0 * promised(solver) * norm(U, mass) ** 2


@over_solvers
@FEW
@given(moving_clusters(), velocities(2), st.sampled_from([0.01, 0.3, 10.0]))
def test_a_step_of_maury_never_gains_energy(solver, moving, pull, h):
    """Invariant 2: |u^{n+1}|_M <= |u^n + h M^-1 f|_M in every step, whatever h."""
    discs, U, mass = moving
    problem = jo.Motion(q0=discs.q, v0=U, force=mass[:, None] * pull, mass=mass, within=jo.Balls(discs.radii))
    sol = jo.solve(problem, jo.Maury(solver=solver), t=6 * h, h=h)
    for before, after in zip(sol.u[:-1], sol.u[1:], strict=True):
        predicted = norm(before + h * pull, mass)
        assert norm(after, mass) <= predicted * (1.0 + promised(solver))


# 3. Admissibility


@over_solvers
@SOME
@given(moving_clusters(), restitutions())
def test_an_approaching_velocity_becomes_an_admissible_one(solver, moving, e):
    """Invariant 3: if U is in -C then u+ is in C for every e, and the law says so without a warning."""
    discs, V, mass = moving
    U = -nearest_in_cone(V, discs.G, mass)[0]
    U[np.abs(U) < 1e-12] = 0.0
    hit = jo.impact(U, discs.cone, law=jo.Restitution(e), mass=mass, solver=solver)
    allowed = 2.0 * promised(solver) * norm(U, mass) / np.sqrt(mass.min())
    assert (discs.G @ hit.velocity.ravel()).min(initial=0.0) >= -max(allowed, 1e-12)


@over_solvers
def test_the_law_may_fail_where_a_contact_separates(solver):
    """Invariant 3: wall and four balls, m = (1, 2, .5, 1), U = (-1, .5, -2, -1), e = .4: u+ is not admissible."""
    chain = jo.convex.Cone([[1.0, 0, 0, 0], [-1.0, 1, 0, 0], [0, -1.0, 1, 0], [0, 0, -1.0, 1]])
    with pytest.warns(jo.errors.NotApproaching, match=r"gap rate -0\.6 in row 1"):
        hit = jo.impact([-1.0, 0.5, -2.0, -1.0], chain, law=jo.Restitution(0.4), mass=[1, 2, 0.5, 1], solver=solver)
    allowed = 10.0 * promised(solver)
    np.testing.assert_allclose(hit.velocity, [0.4, -0.2, 0.8, 0.4], atol=allowed)
    np.testing.assert_allclose(chain.slack(hit.velocity), [0.4, -0.6, 1.0, -0.4], atol=allowed)
    assert not hit.approaching
    assert not hit.admissible


# 4. Non-expansiveness


@over_solvers
@SOME
@given(polyhedra(), generators())
def test_projections_are_firmly_nonexpansive_and_idempotent(solver, case, random):
    """Invariant 4: |PU - PV|^2 <= <PU - PV, U - V> <= |U - V|^2 in the metric M, and P P = P."""
    other = case.w + random.normal(size=case.w.shape)
    P = jo.project(case.w, case.K, mass=case.mass, solver=solver).point
    R = jo.project(other, case.K, mass=case.mass, solver=solver).point
    moved = max(norm(P - case.w, case.mass), norm(R - other, case.mass))
    apart, allowed = norm(case.w - other, case.mass), 2.0 * promised(solver) * moved
    noise = 1e-12 * norm(case.w, case.mass)
    assert norm(P - R, case.mass) <= apart + allowed + noise
    firm = inner(P - R, case.w - other, case.mass)
    assert norm(P - R, case.mass) ** 2 <= firm + (allowed + noise) * (apart + norm(P - R, case.mass))
    again = jo.project(P, case.K, mass=case.mass, solver=jo.ActiveSet()).point
    assert norm(again - P, case.mass) <= allowed + noise


@over_solvers
@SOME
@given(polyhedra())
def test_a_point_of_the_set_is_its_own_projection(solver, case):
    """Invariant 4: P u = u for u in K, without any multiplier."""
    P = jo.project(case.inside, case.K, mass=case.mass, solver=solver)
    assert np.array_equal(P.point, case.inside)
    assert not P.multipliers.any()
    assert P.converged


# 5. Homogeneity


@over_solvers
@SOME
@given(moving_clusters(), restitutions(), st.floats(-6.0, 6.0).map(lambda power: 10.0**power))
def test_the_law_is_positively_homogeneous(solver, moving, e, a):
    """Invariant 5: u+(a U) = a u+(U), and where p is unique p(a U) = a p(U), for a from 1e-6 to 1e6."""
    discs, U, mass = moving
    one, many = (_impact(scale * U, discs.cone, e, mass, solver) for scale in (1.0, a))
    allowed = 4.0 * promised(solver) * norm(U, mass)
    assert norm(many.velocity / a - one.velocity, mass) <= allowed
    for hit, scale in ((one, 1.0), (many, a)):
        momentum = (discs.G.T @ hit.impulse).reshape(U.shape) / scale / mass[:, None]
        assert norm(momentum - (one.velocity - U), mass) <= allowed + ROUND_OFF * norm(U, mass)


@SOME
@given(moving_clusters(), velocities(2), st.sampled_from([1e-6, 0.1, 3.0, 1e6]))
def test_maury_runs_the_same_path_at_another_speed(moving, pull, a):
    """Invariant 5: (h, u0, f) -> (h / a, a u0, a^2 f) leaves q^n unchanged."""
    discs, U, mass = moving

    def path(a):
        weight = a**2 * mass[:, None] * pull
        problem = jo.Motion(q0=discs.q, v0=a * U, force=weight, mass=mass, within=jo.Balls(discs.radii))
        return jo.solve(problem, jo.Maury(), t=0.8 / a, h=0.1 / a).q

    np.testing.assert_allclose(path(a), path(1.0), atol=1e-9)


# 6. Momentum

SECOND_ORDER = [(jo.Maury(), 0.0), (jo.Paoli(), 0.0), (jo.Paoli(), 0.5), (jo.MoreauJean(), 0.0), (jo.MoreauJean(), 0.5)]
over_second_order = pytest.mark.parametrize(
    ("scheme", "e"), SECOND_ORDER, ids=[f"{name(scheme)}-{e}" for scheme, e in SECOND_ORDER]
)


def flight(discs: Cluster, U, mass, e=0.0, force=0.0) -> jo.Motion:
    """The discs of a cluster, free, with the velocities U."""
    return jo.Motion(q0=discs.q, v0=U, force=force, mass=mass, within=jo.Balls(discs.radii), law=jo.Restitution(e))


@impacts_at_the_start
@over_second_order
@FEW
@given(moving_clusters())
def test_free_bodies_keep_their_momentum(scheme, e, moving):
    """Invariant 6: sum m u is the same after every step, to round-off."""
    discs, U, mass = moving
    sol = jo.solve(flight(discs, U, mass, e), scheme, t=0.5, h=0.1)
    momentum = np.einsum("n,knd->kd", mass, sol.u)
    np.testing.assert_allclose(momentum, np.tile(mass @ U, (6, 1)), atol=1e-11 * (mass.sum() * np.abs(U).max() + 1.0))


@MANY
@given(moving_clusters(), st.sampled_from([0.01, 0.3, 5.0]))
def test_maury_keeps_the_angular_momentum(moving, h):
    """Invariant 6: sum m q^n x u^n is the same after every step: the impulses lie along e_ij(q^n)."""
    discs, U, mass = moving
    sol = jo.solve(flight(discs, U, mass), jo.Maury(), t=6 * h, h=h)
    turning = sol.q[..., 0] * sol.u[..., 1] - sol.q[..., 1] * sol.u[..., 0]
    spin = turning @ mass
    scale = mass.sum() * (np.abs(sol.q).max() * np.abs(sol.u).max() + 1.0)
    np.testing.assert_allclose(spin, spin[0], atol=1e-12 * scale)


@MANY
@given(moving_clusters(), velocities(2))
def test_a_force_changes_the_momentum_by_its_impulse(moving, pull):
    """Invariant 6: with a force, sum m u changes by h sum f a step."""
    discs, U, mass = moving
    sol = jo.solve(flight(discs, U, mass, force=mass[:, None] * pull), jo.Maury(), t=0.5, h=0.1)
    momentum = np.einsum("n,knd->kd", mass, sol.u)
    expected = mass @ U + sol.t[:, None] * mass.sum() * pull
    np.testing.assert_allclose(momentum, expected, atol=1e-11 * mass.sum() * 10.0)


# 7. Symmetries


def first_order(discs: Cluster, U) -> jo.Sweeping:
    return jo.Sweeping(q0=discs.q, velocity=U, within=jo.Balls(discs.radii))


RUNS = {
    "Maury": lambda discs, U, mass: jo.solve(flight(discs, U, mass), jo.Maury(), t=0.8, h=0.1),
    "Paoli": lambda discs, U, mass: jo.solve(flight(discs, U, mass), jo.Paoli(), t=0.2, h=0.1),
    "Venel": lambda discs, U, mass: jo.solve(first_order(discs, U), jo.Venel(), t=0.8, h=0.1),
    "CatchingUp": lambda discs, U, mass: jo.solve(first_order(discs, U), jo.CatchingUp(), t=0.2, h=0.1),
}
over_runs = pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))


def moved(discs: Cluster, turn=None, shift=0.0) -> Cluster:
    return cluster(discs.q @ (np.eye(2) if turn is None else turn).T + shift, discs.radii)


@over_runs
@FEW
@given(moving_clusters(), angles(), st.booleans())
def test_a_turned_or_mirrored_world_turns_the_motion(run, moving, angle, mirror):
    """Invariant 7: rotations and reflections commute with the schemes."""
    discs, U, mass = moving
    cosine, sine = np.cos(angle), np.sin(angle)
    turn = np.array([[cosine, -sine], [sine, cosine]]) @ np.diag([1.0, -1.0 if mirror else 1.0])
    plain, turned = run(discs, U, mass), run(moved(discs, turn), U @ turn.T, mass)
    np.testing.assert_allclose(turned.q, plain.q @ turn.T, atol=1e-8)


@pytest.mark.parametrize(
    ("run", "distance"),
    [(run, distance) for run in RUNS for distance in (1.0, 1e3)] + [("Maury", 1e6), ("Venel", 1e6)],
)
@FEW
@given(moving_clusters(), velocities(2))
def test_a_shifted_world_shifts_the_motion(run, distance, moving, direction):
    """Invariant 7: translations commute with the schemes, also far from the origin, where gaps have fewer digits."""
    discs, U, mass = moving
    shift = distance * direction
    shifted, plain = RUNS[run](moved(discs, shift=shift), U, mass).q - shift, RUNS[run](discs, U, mass).q
    np.testing.assert_allclose(shifted, plain, atol=1e-8 + 1e-13 * distance)


@over_runs
@FEW
@given(moving_clusters(), generators())
def test_the_numbers_of_the_bodies_do_not_matter(run, moving, random):
    """Invariant 7: permutations of the bodies commute with the schemes."""
    discs, U, mass = moving
    order = random.permutation(len(mass))
    shuffled = cluster(discs.q[order], discs.radii[order])
    np.testing.assert_allclose(run(shuffled, U[order], mass[order]).q, run(discs, U, mass).q[:, order], atol=1e-8)


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Paoli()], ids=name)
@FEW
@given(moving_clusters(), velocities(2))
def test_a_moving_observer_sees_the_same_motion(scheme, moving, drift):
    """Invariant 7: adding one velocity to all bodies adds a uniform motion (Galilei)."""
    discs, U, mass = moving
    at_rest = jo.solve(flight(discs, U, mass), scheme, t=0.4, h=0.1)
    on_train = jo.solve(flight(discs, U + drift, mass), scheme, t=0.4, h=0.1)
    np.testing.assert_allclose(on_train.q, at_rest.q + at_rest.t[:, None, None] * drift, atol=1e-8)


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Paoli(), jo.MoreauJean()], ids=name)
@FEW
@given(moving_clusters(), velocities(2), st.sampled_from([2.0**-20, 8.0, 2.0**20]))
def test_heavier_bodies_under_heavier_forces_move_alike(scheme, moving, pull, factor):
    """Invariant 7: (M, f) -> (c M, c f) leaves q and u, and multiplies the impulses G^T p by c."""
    discs, U, mass = moving
    weight = mass[:, None] * pull
    runs = (jo.solve(flight(discs, U, c * mass, force=c * weight), scheme, t=0.3, h=0.1) for c in (1.0, factor))
    light, heavy = runs
    np.testing.assert_allclose(heavy.q, light.q, atol=1e-9)
    np.testing.assert_allclose(heavy.u, light.u, atol=1e-8)
    for p, scaled in zip(light.multipliers, heavy.multipliers, strict=True):
        np.testing.assert_allclose(scaled.sum() / factor, p.sum(), rtol=1e-6, atol=1e-8 * mass.sum())


@over_solvers
@SOME
@given(moving_clusters(), generators())
def test_a_repeated_row_changes_nothing(solver, moving, random):
    """Invariant 7: duplicated and rescaled rows leave u as it was."""
    discs, U, mass = moving
    assume(len(discs.G))
    again = random.integers(0, len(discs.G), 3)
    rows = np.concatenate([discs.G, random.uniform(0.5, 2.0, (3, 1)) * discs.G[again]])
    once = nearest_in_cone(U, discs.G, mass)[0]
    twice = jo.project(U, jo.convex.Cone(rows), mass=mass, solver=solver).point
    assert norm(once - twice, mass) <= promised(solver) * norm(U, mass)


@over_exact
@MANY
@given(moving_clusters(wild=True), generators())
def test_repeated_rows_and_wild_masses_leave_the_velocity_alone(solver, moving, random):
    """Invariant 7: masses from 1e-6 to 1e6, rows repeated up to a factor of 1e6, forces of 1e6: u to 1e-8."""
    discs, U, mass = moving
    assume(len(discs.G))
    again = random.integers(0, len(discs.G), 3)
    rows = np.concatenate([discs.G, 10.0 ** random.uniform(-6.0, 6.0, (3, 1)) * discs.G[again]])
    once = jo.project(U, discs.cone, mass=mass, solver=solver).point
    twice = jo.project(1e6 * U, jo.convex.Cone(rows), mass=mass, solver=solver).point / 1e6
    assert norm(once - twice, mass) <= 1e-8 * norm(U, mass)
    assert np.abs(once - twice).max() <= 1e-8 * np.abs(once).max(initial=1.0)


# 8. Feasibility


@st.composite
def crowded_rooms(draw):
    """(cluster, velocities, lower and upper corner): discs in a box with a little room."""
    discs, U, _ = draw(moving_clusters())
    margin = draw(st.sampled_from([0.25, 1.0]))
    lower = (discs.q - discs.radii[:, None]).min(axis=0) - margin
    upper = (discs.q + discs.radii[:, None]).max(axis=0) + margin
    return discs, U, lower, upper


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Venel()], ids=name)
@MANY
@given(crowded_rooms(), st.sampled_from([1e-3, 0.1, 1.0, 100.0]))
def test_nothing_passes_through_anything(scheme, room, h):
    """Invariant 8: with convex gaps every q^n is in Q, also if h |u| is many diameters."""
    discs, U, lower, upper = room
    within = jo.Balls(discs.radii) & jo.Box(lower, upper, radii=discs.radii)
    problem = jo.Motion if isinstance(scheme, jo.Maury) else jo.Sweeping
    motion = {"v0": U} if problem is jo.Motion else {"velocity": U}
    sol = jo.solve(problem(q0=discs.q, within=within, **motion), scheme, t=5 * h, h=h)
    allowed = scheme.solver.tol * discs.radii.min() + 1e-12
    for q in sol.q:
        assert gaps_of_discs(q, discs.radii).min(initial=0.0) >= -allowed
        assert (q - discs.radii[:, None] - lower).min() >= -allowed
        assert (upper - q - discs.radii[:, None]).min() >= -allowed


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Venel()], ids=name)
def test_a_neighbour_of_a_body_that_is_pushed_is_not_overlooked(scheme):
    """Invariant 8: three discs at rest, the first grows and pushes the second into the third, 0.01 away.

    With h = 0.1 and u = (-p, p - r, r): u_1 - u_0 = 2 p - r = 1 and u_2 - u_1 = 2 r - p = -0.1.
    """
    within = jo.Balls(lambda t: [1.0 + t, 1.0, 1.0])
    q0 = np.array([[0.0, 0.0], [2.0, 0.0], [4.01, 0.0]])
    problem = (jo.Motion if isinstance(scheme, jo.Maury) else jo.Sweeping)(q0=q0, within=within)
    r = 0.8 / 3.0
    p = 2.0 * r + 0.1
    expected = q0[:, 0] + 0.1 * np.array([-p, p - r, r])
    np.testing.assert_allclose(jo.solve(problem, scheme, t=0.1, h=0.1).q[-1, :, 0], expected, atol=1e-12)


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Venel(), jo.Paoli(), jo.CatchingUp()], ids=name)
@FEW
@given(clusters())
def test_discs_wedged_in_their_room_stay(scheme, discs):
    """Invariant 8: at rest in the smallest box that holds them, where Q may be one point but for round-off."""
    lower = (discs.q - discs.radii[:, None]).min(axis=0)
    upper = (discs.q + discs.radii[:, None]).max(axis=0)
    within = jo.Balls(discs.radii) & jo.Box(lower, upper, radii=discs.radii)
    sweeping = isinstance(scheme, jo.Venel | jo.CatchingUp)
    problem = (jo.Sweeping if sweeping else jo.Motion)(q0=discs.q, within=within)
    sol = jo.solve(problem, scheme, t=0.03, h=0.01)
    np.testing.assert_allclose(sol.q[-1], discs.q, atol=1e-9)


@impacts_at_the_start
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@SOME
@given(moving_clusters(of=lattices(most=2)), st.sampled_from([0.01, 0.2]))
def test_paoli_projects_on_the_set_itself(e, moving, h):
    """Invariant 8: every Z^n is in K; if e = 0 so is U^n, else it may leave K by O(h)."""
    discs, U, mass = moving
    sol = jo.solve(flight(discs, U, mass, e), jo.Paoli(), t=4 * h, h=h)
    for z in sol.z:
        assert gaps_of_discs(z, discs.radii).min(initial=0.0) >= -1e-9
    allowed = 1e-9 + (0.0 if e == 0.0 else 4.0 * h * np.abs(U).max())
    for q in sol.q:
        assert gaps_of_discs(q, discs.radii).min(initial=0.0) >= -allowed


# 9. Uniqueness


@over_solvers
@SOME
@given(moving_clusters(of=lattices(most=3)), generators())
def test_the_velocity_is_unique_whatever_the_order_of_the_rows(solver, moving, random):
    """Invariant 9: on hyperstatic patches u and G^T p do not depend on the order of the contacts; p may."""
    discs, U, mass = moving
    order = random.permutation(len(discs.G))
    plain = jo.project(U, jo.convex.Cone(discs.G), mass=mass, solver=solver)
    shuffled = jo.project(U, jo.convex.Cone(discs.G[order]), mass=mass, solver=solver)
    allowed = 2.0 * promised(solver) * norm(U, mass)
    assert norm(plain.point - shuffled.point, mass) <= allowed
    force, other = discs.G.T @ plain.multipliers, discs.G[order].T @ shuffled.multipliers
    assert np.linalg.norm((force - other) / np.sqrt(np.repeat(mass, 2))) <= allowed + ROUND_OFF * norm(U, mass)


@over_exact
@MANY
@given(moving_clusters())
def test_the_multipliers_are_unique_where_the_rows_are_independent(solver, moving):
    """Invariant 9: p is unique if G has full row rank, and then is what least squares finds."""
    discs, U, mass = moving
    assume(np.linalg.matrix_rank(discs.G) == len(discs.G))
    p = jo.project(U, discs.cone, mass=mass, solver=solver).multipliers
    np.testing.assert_allclose(p, nearest_in_cone(U, discs.G, mass)[1], atol=1e-8 * (norm(U, mass) + 1.0))


@pytest.mark.parametrize("a", [0.0, 0.25, 1.0])
def test_the_residual_accepts_every_multiplier_of_the_flower(a):
    """Invariant 9 (and P39): seven discs pressed together; p = a on the spokes, 1 - a on the rim, all are right."""
    petals = 2.0 * np.stack([np.cos(np.arange(6) * np.pi / 3), np.sin(np.arange(6) * np.pi / 3)], axis=1)
    q = np.concatenate([np.zeros((1, 2)), petals])
    flower = cluster(q, np.ones(7))
    spoke = np.abs(flower.G[:, :2]).max(axis=1) > 0
    assert (len(flower.G), spoke.sum(), np.linalg.matrix_rank(flower.G)) == (12, 6, 11)
    p = np.where(spoke, a, 1.0 - a)
    found = residual(-q.ravel() / 2.0, flower.cone, metric(1.0, (14,)), np.zeros(14), p)
    assert max(found.primal, found.dual, found.complementarity) <= 1e-12


@over_solvers
@SOME
@given(clusters(), generators())
def test_free_discs_can_always_be_separated(solver, discs, random):
    """Invariant 9: ker G^T meets p >= 0 in 0 alone, so {c + G u >= 0} is never empty, however negative c is."""
    assume(len(discs.G))
    c = -random.uniform(0.0, 1.0, len(discs.G))
    K = jo.convex.Polyhedron(discs.cone.G, c)
    P = jo.project(np.zeros_like(discs.q), K, solver=solver)
    largest = np.abs(P.multipliers).max()
    assert P.converged
    assert (c + discs.G @ P.point.ravel()).min() >= -1e-8
    assert largest <= 1e3 * len(discs.G)


# 10. Isotonic regression


def pooled(U, mass):
    """The weighted isotonic regression of U by pooling adjacent violators."""
    blocks: list[list[float]] = []
    for value, weight in zip(U, mass, strict=True):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (a, m, k), (b, n, j) = blocks[-2:]
            blocks[-2:] = [[(m * a + n * b) / (m + n), m + n, k + j]]
    return np.concatenate([np.full(count, value) for value, _, count in blocks])


def chain_rows(n):
    return np.eye(n, k=1)[:-1] - np.eye(n)[:-1]


@over_solvers
@SOME
@given(rows_of_balls())
def test_balls_in_a_row_are_isotonic_regression(solver, row):
    """Invariant 10: on a line with e = 0, u is the mass-weighted isotonic regression of U."""
    U, mass = row
    found = jo.impact(U, jo.convex.Cone(chain_rows(len(U))), mass=mass, solver=solver).velocity
    assert norm(found - pooled(U, mass), mass) <= promised(solver) * norm(U, mass)


@over_exact
@MANY
@given(rows_of_balls(most=30, wild=True))
def test_balls_of_wild_masses_are_isotonic_regression(solver, row):
    """Invariant 10: the same with masses from 1e-6 to 1e6, to 1e-8 for each ball."""
    U, mass = row
    found = jo.impact(U, jo.convex.Cone(chain_rows(len(U))), mass=mass, solver=solver).velocity
    np.testing.assert_allclose(found, pooled(U, mass), atol=1e-8 * np.abs(U).max(initial=1e-3))


@MANY
@given(rows_of_balls(), st.sampled_from([0.01, 0.37, 3.0]))
def test_sticky_balls_are_isotonic_regression_at_all_times(row, h):
    """Invariant 10 (and P50): without force, q(t) is the isotonic regression of q0 + t U, for every h."""
    U, mass = row
    q0 = np.cumsum(np.abs(U))
    sol = jo.solve(jo.Motion(q0=q0, v0=U, mass=mass, within=jo.Line(np.zeros(len(U)))), jo.Maury(), t=5 * h, h=h)
    for t, q in zip(sol.t, sol.q, strict=True):
        np.testing.assert_allclose(q, pooled(q0 + t * U, mass), atol=1e-10 * (1.0 + q0[-1] + 4.0 * t))


# 11. Complementarity


@MANY
@given(rows_of_balls(), st.sampled_from([0.02, 0.3]))
def test_a_falling_column_is_complementary_and_balances_its_weight(row, h):
    """Invariant 11: p_i g_i(q^{n+1}) = 0 in each step, m (u^{n+1} - u^n) = -h m g + G^T p, p >= 0."""
    v0, mass = row
    n, g = len(mass), 10.0
    q0 = 0.5 + 1.25 * np.arange(n)
    fall = jo.Motion(q0=q0, v0=v0, force=-g * mass, mass=mass, within=jo.Line(np.full(n, 0.5), lower=0.0))
    sol = jo.solve(fall, jo.Maury(), t=20 * h, h=h)
    G = np.concatenate([np.eye(n)[:1], chain_rows(n)])
    scale = mass.sum() * (g * h + np.abs(v0).max() + 1.0)
    for k in range(20):
        p, gap = sol.multipliers[k + 1], np.diff(sol.q[k + 1], prepend=-0.5) - 1.0
        assert p.min() >= 0.0
        assert gap.min() >= -1e-10
        assert np.abs(p * gap).max() <= 1e-10 * scale
        np.testing.assert_allclose(mass * (sol.u[k + 1] - sol.u[k]), -h * g * mass + G.T @ p, atol=1e-10 * scale)


@over_solvers
def test_the_floor_gives_back_the_weight(solver):
    """Invariant 11: the impulses of a ball at rest at T add up to g T, whatever happened before."""
    ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    sol = jo.solve(ball, jo.Maury(solver=solver), t=0.6, h=0.01)
    assert abs(sum(p.sum() for p in sol.multipliers) - 6.0) <= 6.0 * max(promised(solver), 1e-12)


# 12. Venel


@MANY
@given(angles(), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0), st.sampled_from([0.1, 0.01, 1e-3]))
def test_prediction_correction_and_catching_up_agree_to_the_square_of_the_step(angle, x, y, h):
    """Invariant 12: from one point of a unit circle, the two schemes differ by at most |h U|^2 after a step."""
    point = np.array([np.cos(angle), np.sin(angle)])
    problem = jo.Sweeping(q0=(1.0 + 1e-12) * point, velocity=[x, y], within=jo.Outside([0.0, 0.0], 1.0))
    one, other = (jo.solve(problem, scheme, t=h, h=h).q[-1] for scheme in (jo.Venel(), jo.CatchingUp()))
    assert np.linalg.norm(one - other) <= (h * np.hypot(x, y)) ** 2 + 1e-11


@pytest.mark.parametrize("scheme", [jo.Venel(), jo.CatchingUp(), jo.Maury(), jo.Paoli()], ids=name)
@FEW
@given(st.integers(1, 3), generators())
def test_symmetric_data_stay_symmetric(scheme, pairs, random):
    """Invariant 12: discs and their mirror images, driven together, stay mirror images to 1e-12."""
    heights = 2.5 * np.arange(pairs)
    right = np.stack([1.0 + random.uniform(0.0, 0.5, pairs), heights + random.uniform(-0.2, 0.2, pairs)], axis=1)
    mirror = np.array([-1.0, 1.0])
    q0, inwards = np.concatenate([right, mirror * right]), random.uniform([-1.0, -1.0], [0.0, 1.0], (pairs, 2))
    U = np.concatenate([inwards, mirror * inwards])
    discs = cluster(q0, np.ones(2 * pairs))
    sweeping = isinstance(scheme, jo.Venel | jo.CatchingUp)
    problem = first_order(discs, U) if sweeping else flight(discs, U, np.ones(2 * pairs))
    sol = jo.solve(problem, scheme, t=1.0, h=0.1)
    np.testing.assert_allclose(sol.q[:, pairs:], mirror * sol.q[:, :pairs], atol=1e-12)


# Residuals


def plain_residual(w, G, c, M, u, p, length):
    """(primal, dual, complementarity) from their definitions, for a mass matrix M."""
    inverse = np.linalg.inv(M)
    slack, moved = c + G @ u, u - w
    distance = np.sqrt(moved @ M @ moved)
    lengths = np.sqrt(np.einsum("ij,jk,ik->i", G, inverse, G))
    violation = np.maximum(-slack, 0.0)
    primal = violation.max() / length if length else (violation / lengths).max() / distance
    gap = M @ moved - G.T @ p
    dual = (np.sqrt(gap @ inverse @ gap) + max(0.0, (-p * lengths).max())) / distance
    return primal, dual, np.abs(p) @ np.abs(slack) / distance**2


@pytest.mark.parametrize("matrix", [False, True], ids=["diagonal", "matrix"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
@MANY
@given(generators(), st.integers(1, 5), st.integers(1, 8), st.sampled_from([None, 0.01, 3.0]))
def test_residuals_are_what_they_say(matrix, form, random, n, m, length):
    """The residuals of any (u, p), right or wrong, against a plain computation from their definition."""
    G, c, w, u, p = (random.normal(size=shape) for shape in ((m, n), m, n, n, m))
    mass = random.uniform(0.5, 2.0, n)
    root = random.normal(size=(n, n))
    M = root @ root.T + np.eye(n) if matrix else np.diag(mass)
    K = jo.convex.Polyhedron(G if form == "dense" else csr_array(G), c, length=length)
    found = residual(w, K, metric(M if matrix else mass, (n,)), u, p)
    expected = plain_residual(w, G, c, M, u, p, length)
    np.testing.assert_allclose((found.primal, found.dual, found.complementarity), expected, rtol=1e-9)


@MANY
@given(moving_clusters(), generators())
def test_residuals_of_pairs_are_what_they_say(moving, random):
    """The residuals where G is kept as pairs of bodies."""
    discs, w, mass = moving
    assume(len(discs.G))
    w = w.ravel()
    u, p = w + random.normal(size=w.shape), random.normal(size=len(discs.G))
    found = residual(w, discs.cone, metric(mass, discs.q.shape), u, p)
    zero = np.zeros(len(discs.G))
    expected = plain_residual(w, discs.G, zero, np.diag(np.repeat(mass, 2)), u, p, None)
    np.testing.assert_allclose((found.primal, found.dual, found.complementarity), expected, rtol=1e-9)


@pytest.mark.parametrize("solver", [jo.InteriorPoint(tol=1e-4), jo.GaussSeidel(tol=1e-4, max_iterations=21)], ids=name)
@MANY
@given(polyhedra())
def test_a_projection_carries_its_own_residuals(solver, case):
    """What `Projection.residual` says of a rough answer is what its point and multipliers show, and decides."""
    P = solver.project(case.w, case.K, case.mass)
    assume(norm(P.point - case.w, case.mass) > 0.0)
    expected = plain_residual(case.w, case.G, case.c, np.diag(case.mass), P.point, P.multipliers, None)
    found = P.residual
    np.testing.assert_allclose((found.primal, found.dual, found.complementarity), expected, rtol=1e-6, atol=1e-9)
    assert P.converged == (max(found.primal, found.dual, found.complementarity) <= solver.tol)


def solved(case: Case):
    """(u, p, worst) of a case whose projection moves by a good part of its size."""
    P = jo.ActiveSet().project(case.w, case.K, case.mass)
    distance = norm(P.point - case.w, case.mass)
    assume(distance > 0.1)
    return P.point, P.multipliers, distance


@MANY
@given(polyhedra(), generators(), st.sampled_from([1e-6, 1e-3, 0.1]))
def test_a_wrong_velocity_shows_as_stationarity(case, random, size):
    """u + size v with |v|_M = |u - w|_M: the dual residual becomes about size."""
    u, p, distance = solved(case)
    v = random.normal(size=u.shape)
    v *= distance / norm(v, case.mass)
    wrong = residual(case.w, case.K, metric(case.mass, u.shape), u + size * v, p)
    assert size / 1.2 <= wrong.dual <= 1.2 * size


@MANY
@given(polyhedra(), st.sampled_from([1e-6, 1e-3, 0.1]))
def test_a_negative_multiplier_shows_as_stationarity(case, size):
    """p_i = -size |u - w|_M / |G_i|, with u moved along, so that M (u - w) = G^T p still: only the sign is wrong."""
    u, p, distance = solved(case)
    unit = np.linalg.norm(case.G / np.sqrt(case.mass), axis=1)
    row = int(np.argmin(p))
    wrong = p.copy()
    wrong[row] = -size * distance / unit[row]
    moved = u + case.G[row] * (wrong[row] - p[row]) / case.mass
    found = residual(case.w, case.K, metric(case.mass, u.shape), moved, wrong)
    assert found.dual >= size / 2.0


@MANY
@given(polyhedra(), st.sampled_from([1e-6, 1e-3, 0.1]))
def test_a_violated_row_shows_as_violation(case, size):
    """The offset of one active row is lowered by size |u - w|_M |G_i|: the primal residual becomes size."""
    u, p, distance = solved(case)
    unit = np.linalg.norm(case.G / np.sqrt(case.mass), axis=1)
    row = int(np.argmax(p * unit))
    c = case.c.copy()
    c[row] -= size * distance * unit[row]
    found = residual(case.w, jo.convex.Polyhedron(case.G, c), metric(case.mass, u.shape), u, p)
    np.testing.assert_allclose(found.primal, size, rtol=1e-6)
    assert found.dual <= 1e-12
    apart = residual(case.w, jo.convex.Polyhedron(case.G, c, length=2.0), metric(case.mass, u.shape), u, p)
    np.testing.assert_allclose(apart.primal, size * distance * unit[row] / 2.0, rtol=1e-6)


@MANY
@given(polyhedra(), st.sampled_from([1e-6, 1e-3, 0.1]))
def test_a_push_from_afar_shows_as_complementarity(case, size):
    """The offset of one active row is raised: it pushes without touching, and only complementarity sees it."""
    u, p, distance = solved(case)
    unit = np.linalg.norm(case.G / np.sqrt(case.mass), axis=1)
    row = int(np.argmax(p * unit))
    c = case.c.copy()
    c[row] += size * distance * unit[row]
    found = residual(case.w, jo.convex.Polyhedron(case.G, c), metric(case.mass, u.shape), u, p)
    np.testing.assert_allclose(found.complementarity, size * p[row] * unit[row] / distance, rtol=1e-6)
    assert found.dual <= 1e-12
    assert found.primal <= 1e-12


# Units


@pytest.mark.parametrize(
    "solver",
    [*SOLVERS, jo.GaussSeidel(tol=1e-10, max_iterations=41), jo.InteriorPoint(tol=1e-10, max_iterations=3)],
    ids=["ActiveSet", "InteriorPoint", "GaussSeidel", "Automatic", "GaussSeidel-stopped", "InteriorPoint-stopped"],
)
@SOME
@given(polyhedra(), units(), st.sampled_from([None, 0.5]))
def test_a_projection_does_not_depend_on_the_units(solver, case, unit, length):
    """Lengths, masses and times in other units: the same u, p, residuals, iterations and decision."""
    V = unit.length / unit.time
    plain = solver.project(case.w, jo.convex.Polyhedron(case.G, case.c, length=length), case.mass)
    scaled_K = jo.convex.Polyhedron(case.G, V * case.c, length=length and V * length)
    scaled = solver.project(V * case.w, scaled_K, unit.mass * case.mass)
    np.testing.assert_allclose(scaled.point / V, plain.point, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scaled.multipliers / (unit.mass * V), plain.multipliers, rtol=1e-9, atol=1e-12)
    for part in ("primal", "dual", "complementarity"):
        np.testing.assert_allclose(getattr(scaled.residual, part), getattr(plain.residual, part), rtol=1e-6)
    assert scaled.iterations == plain.iterations
    assert scaled.converged == plain.converged


SCHEMES = [*SECOND_ORDER, (jo.Venel(), 0.0), (jo.CatchingUp(), 0.0)]
over_schemes = pytest.mark.parametrize(("scheme", "e"), SCHEMES, ids=[f"{name(scheme)}-{e}" for scheme, e in SCHEMES])


@impacts_at_the_start
@over_schemes
@FEW
@given(moving_clusters(of=lattices(most=2)), velocities(2), units())
def test_a_run_does_not_depend_on_the_units(scheme, e, moving, pull, unit):
    """Discs in a box beside a round obstacle, in other units: the same path, residuals and impulses."""
    discs, U, mass = moving

    def run(L, m, T):
        radii = L * discs.radii
        room = jo.Box(L * np.array([-3.0, -3.0]), L * np.array([9.0, 9.0]), radii=radii)
        within = jo.Balls(radii) & room & jo.Outside(L * np.array([[6.0, 1.0]]), L * 0.5, radii=radii)
        if isinstance(scheme, jo.Venel | jo.CatchingUp):
            problem = jo.Sweeping(q0=L * discs.q, velocity=L / T * U, within=within)
        else:
            weight = m * L / T**2 * mass[:, None] * pull
            problem = jo.Motion(
                q0=L * discs.q, v0=L / T * U, force=weight, mass=m * mass, within=within, law=jo.Restitution(e)
            )
        return jo.solve(problem, scheme, t=0.4 * T, h=0.1 * T)

    plain, scaled = run(1.0, 1.0, 1.0), run(*unit)
    np.testing.assert_allclose(scaled.q / unit.length, plain.q, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(scaled.u * unit.time / unit.length, plain.u, rtol=1e-8, atol=1e-8)
    for part in ("rows", "active", "iterations", "converged"):
        assert np.array_equal(scaled.stats[part], plain.stats[part])
    for part in ("primal", "dual", "complementarity"):
        np.testing.assert_allclose(scaled.stats[part], plain.stats[part], rtol=1e-3, atol=1e-15)


@SOME
@given(units())
def test_a_set_of_the_user_does_not_depend_on_the_units(unit):
    """Gradients by differences and the nearest point of a user's set scale with the lengths."""

    def run(L, T):
        board = jo.constraints(lambda t, q: [np.linalg.norm(q - L * np.array([2.0, 0.1])) - L, q[1] + L])
        push = jo.Sweeping(q0=[0.0, 0.0], velocity=[L / T, -L / T / 2.0], within=board)
        path = jo.solve(push, jo.Venel(), t=2.0 * T, h=0.125 * T).q
        return path / L, jo.nearest([1.5 * L, 0.3 * L], board).point / L

    for plain, scaled in zip(run(1.0, 1.0), run(unit.length, unit.time), strict=True):
        np.testing.assert_allclose(scaled, plain, atol=1e-12)


@SOME
@given(units(), st.sampled_from([1e-11, 1e-6]))
def test_an_overlap_counts_or_not_in_all_units(unit, overlap):
    """An overlap of 1e-6 radii is refused, one of 1e-11 radii is round-off, whatever the unit of length."""
    q0 = unit.length * np.array([[0.0, 0.0], [2.0 - overlap, 0.0]])
    problem = jo.Motion(q0=q0, within=jo.Balls(unit.length * np.ones(2)))
    if overlap > 1e-9:
        with pytest.raises(jo.InfeasibleStart):
            jo.solve(problem, jo.Maury(), t=unit.time, h=unit.time)
    else:
        jo.solve(problem, jo.Maury(), t=unit.time, h=unit.time)


# Random polyhedra


@over_solvers
@MANY
@given(polyhedra())
def test_the_nearest_point_of_a_polyhedron_is_found(solver, case):
    """Random polyhedra around a known point, against least distance programming; the point is feasible."""
    P = jo.project(case.w, case.K, mass=case.mass, solver=solver)
    distance = norm(P.point - case.w, case.mass)
    unit = np.linalg.norm(case.G / np.sqrt(case.mass), axis=1)
    assert (case.c + case.G @ P.point + (solver.tol * distance + 1e-11) * unit).min() >= 0.0
    expected = nearest_in_polyhedron(case)
    assert norm(P.point - expected, case.mass) <= max(promised(solver), 1e-8) * (1.0 + distance)


@over_exact
@MANY
@given(polyhedra(hard=True))
def test_hard_polyhedra_are_solved_to_round_off(solver, case):
    """Masses from 1e-6 to 1e6, repeated rows of lengths from 1e-6 to 1e6: optimality to 1e-12, by plain arithmetic."""
    P = jo.project(case.w, case.K, mass=case.mass, solver=solver)
    u, p = P.point, P.multipliers
    distance = norm(u - case.w, case.mass)
    unit = np.linalg.norm(case.G / np.sqrt(case.mass), axis=1)
    slack = case.c + case.G @ u
    noise = 1e-13 * (np.abs(case.c) + np.abs(case.G) @ (np.abs(u) + np.abs(case.w)))
    assert (slack + 1e-12 * distance * unit + noise).min() >= 0.0
    assert p.min() >= 0.0
    stationarity = np.linalg.norm((case.mass * (u - case.w) - case.G.T @ p) / np.sqrt(case.mass))
    assert stationarity <= 1e-12 * (norm(np.abs(case.w) + np.abs(u), case.mass) + p @ unit)
    assert p @ np.maximum(np.abs(slack) - noise, 0.0) <= 1e-10 * distance**2


@MANY
@given(moving_clusters(of=lattices(most=4), wild=True))
def test_hyperstatic_lattices_of_wild_masses_are_solved_to_round_off(moving):
    """Lattices with masses from 1e-6 to 1e6: U - P_C U is orthogonal to P_C U, and no contact approaches."""
    discs, U, mass = moving
    assume(len(discs.G))
    P = jo.ActiveSet().project(U, discs.cone, mass)
    size = norm(U, mass)
    assert P.converged
    assert abs(inner(P.point, P.point - U, mass)) <= 1e-11 * size**2
    unit = np.linalg.norm(discs.G / np.sqrt(np.repeat(mass, 2)), axis=1)
    assert (discs.G @ P.point.ravel() / unit).min() >= -1e-11 * size
    assert P.multipliers.min() >= 0.0
    reaction = (discs.G.T @ P.multipliers).reshape(U.shape) / mass[:, None]
    assert norm(P.point - U - reaction, mass) <= 1e-11 * size


@pytest.mark.parametrize("solver", [jo.InteriorPoint(), jo.GaussSeidel(max_iterations=5000)], ids=name)
@SOME
@given(moving_clusters(wild=True))
def test_a_solver_that_gives_up_on_wild_masses_says_so(solver, moving):
    """Masses from 1e-6 to 1e6: the answer is as good as promised, or `project` raises NotConverged."""
    discs, U, mass = moving
    P = solver.project(U, discs.cone, mass)
    if P.converged:
        expected, _ = nearest_in_cone(U, discs.G, mass)
        assert norm(P.point - expected, mass) <= 2.0 * promised(solver) * norm(U, mass)
        return
    with pytest.raises(jo.NotConverged, match=rf"{P.solver} stopped after \d+ iterations with violation"):
        jo.project(U, discs.cone, mass=mass, solver=solver)


@pytest.mark.parametrize("seed", range(3))
def test_the_default_solves_large_lattices_of_wild_masses(seed):
    """161 contacts, masses from 1e-6 to 1e6: what the default solver returns is the velocity, to 1e-8."""
    k, row = np.meshgrid(np.arange(8), np.arange(8))
    discs = cluster(2.0 * np.stack([k + row / 2.0, np.sqrt(3.0) / 2.0 * row], axis=-1).reshape(-1, 2), np.ones(64))
    assert len(discs.G) == 161
    random = np.random.default_rng(seed)
    U, mass = random.normal(size=(64, 2)), 10.0 ** random.uniform(-6.0, 6.0, 64)
    P = jo.project(U, discs.cone, mass=mass)
    unit = np.linalg.norm(discs.G / np.sqrt(np.repeat(mass, 2)), axis=1)
    assert (discs.G @ P.point.ravel() / unit).min() >= -1e-8 * norm(U, mass)
    assert abs(inner(P.point, P.point - U, mass)) <= 1e-8 * norm(U, mass) ** 2


@pytest.mark.parametrize(
    "solver",
    [jo.ActiveSet(), jo.InteriorPoint(tol=1e-10), jo.GaussSeidel(tol=1e-10, max_iterations=2000), jo.Automatic()],
    ids=name,
)
@MANY
@given(contradictions(), st.booleans())
def test_an_empty_polyhedron_is_refused_with_a_proof(solver, wrong, sparse):
    """Rows that contradict each other raise EmptySet; the rows it names contradict each other by themselves."""
    w, G, c = wrong
    with pytest.raises(
        jo.errors.EmptySet, match=r"contradict each other: row \d+.*leave one of these constraints out"
    ) as raised:
        jo.project(w, jo.convex.Polyhedron(csr_array(G) if sparse else G, c), solver=solver)
    rows = raised.value.rows
    y, left = least_squares(np.vstack([G[rows].T, c[rows]]), np.append(np.zeros(G.shape[1]), -1.0))
    assert left <= 1e-9
    assert y.max() > 0.0


@over_exact
@pytest.mark.parametrize("seed", [245, 888, 979, 11641, 14522])
def test_round_off_is_not_a_contradiction(solver, seed):
    """Eight planes through one point, up to the round-off of their offsets, from a point 1e-6 away.

    The point is found, or the solver gives up; that there is none is not said without a proof.
    """
    random = np.random.default_rng(seed)
    G, vertex = random.integers(-2, 3, (8, 3)).astype(float), 100.0 * random.normal(size=3)
    c = -(G @ vertex)
    w = vertex + 1e-6 * random.normal(size=3)
    P = solver.project(w, jo.convex.Polyhedron(G, c))
    assert (c + G @ P.point).min() >= -1e-11
    assert np.linalg.norm(P.point - w) <= np.linalg.norm(vertex - w) * (1.0 + 1e-6)


@SOME
@given(polyhedra(hard=True), wild_masses(1))
def test_exact_says_the_same_of_dense_sparse_and_matrix_masses(case, factor):
    """One case in three forms: dense rows, sparse rows, and a full mass matrix that happens to be diagonal."""
    mass = factor[0] * case.mass
    dense = jo.ActiveSet().project(case.w, case.K, mass)
    sparse = jo.ActiveSet().project(case.w, jo.convex.Polyhedron(csr_array(case.G), case.c), mass)
    matrix = jo.ActiveSet().project(case.w, case.K, np.diag(mass) if len(mass) > 1 else mass)
    for other in (sparse, matrix):
        assert other.converged
        assert norm(other.point - dense.point, mass) <= 1e-10 * norm(np.abs(case.w) + np.abs(dense.point), mass)


# Nearest points


@pytest.mark.parametrize("Q", [jo.Inside([0.0, 0.0], 1.0), jo.Box([-1.0, -0.5], [1.0, 2.0])], ids=name)
@MANY
@given(velocities(2), velocities(2), st.sampled_from([0.25, 1.0, 1.5, 10.0]))
def test_the_nearest_point_of_a_convex_set_is_firmly_nonexpansive(Q, w, v, m):
    """Invariant 4 for sets: in the metric diag(1, m), |Pw - Pv|^2 <= <Pw - Pv, w - v>, and P P = P."""
    mass = np.array([1.0, m])
    P, R = (jo.nearest(x, Q, mass=mass).point for x in (w, v))
    assert norm(P - R, mass) ** 2 <= inner(P - R, w - v, mass) + 1e-9
    np.testing.assert_allclose(jo.nearest(P, Q, mass=mass).point, P, atol=1e-9)


@MANY
@given(st.floats(0.2, 0.95), st.floats(0.1, 1.4), st.integers(0, 3), st.sampled_from([0.25, 1.0, 4.0]))
def test_the_nearest_point_outside_a_disc_is_a_local_minimum(r, angle, quadrant, m):
    """In the metric diag(1, m): on the circle, stationary, and no nearby point of the circle is nearer."""
    angle += quadrant * np.pi / 2.0
    _check_local_minimum(r * np.array([np.cos(angle), np.sin(angle)]), m)


@pytest.mark.parametrize("w", [[0.5, 0.0], [0.25, 0.0], [-0.5, 0.0]])
def test_the_nearest_point_is_not_a_maximum_seen_from_the_axis(w):
    """From a point on the long axis of the metric diag(1, 1/4) the point straight ahead is a maximum on the circle."""
    _check_local_minimum(np.array(w), 0.25)


def _check_local_minimum(w, m):
    mass = np.array([1.0, m])
    P = jo.nearest(w, jo.Outside([0.0, 0.0], 1.0), mass=mass).point
    assert abs(np.linalg.norm(P) - 1.0) <= 1e-12
    where = np.arctan2(P[1], P[0])
    for step in (-1e-3, 1e-3):
        beside = np.array([np.cos(where + step), np.sin(where + step)])
        assert norm(P - w, mass) <= norm(beside - w, mass) + 1e-12
    tangent = np.array([-P[1], P[0]])
    assert abs(inner(P - w, tangent, mass)) <= 1e-9


@pytest.mark.parametrize("shift", [1.0, 1e3, 1e6])
@SOME
@given(st.floats(0.2, 0.95), st.floats(0.1, 1.4), st.sampled_from([0.25, 1.0, 4.0]))
def test_the_nearest_point_does_not_depend_on_the_origin(shift, r, angle, m):
    """Outside of a disc in the metric diag(1, m), near the origin and far from it."""
    w, mass = r * np.array([np.cos(angle), np.sin(angle)]), [1.0, m]
    here = jo.nearest(w, jo.Outside([0.0, 0.0], 1.0), mass=mass).point
    there = jo.nearest(w + shift, jo.Outside([shift, shift], 1.0), mass=mass).point
    np.testing.assert_allclose(there - shift, here, atol=1e-9 + 1e-13 * shift)


@settings(MANY, max_examples=examples(150))
@given(generators(), st.integers(2, 6))
def test_overlapping_balls_are_moved_apart_to_a_stationary_point(random, n):
    """`nearest` with balls: no overlap is left, and M (x - q) is a sum of pushes along the contacts at x."""
    q, mass, radii = random.uniform(0.0, 1.5, (n, 2)), random.uniform(0.5, 2.0, n), np.full(n, 0.5)
    x = jo.nearest(q, jo.Balls(radii), mass=mass).point
    gaps = gaps_of_discs(x, radii)
    assert gaps.min() >= -1e-10
    i, j = np.triu_indices(n, k=1)
    touching = gaps < 1e-8
    normal = (x[j] - x[i]) / np.linalg.norm(x[j] - x[i], axis=1)[:, None]
    G = np.zeros((len(i), n, 2))
    G[np.arange(len(i)), i], G[np.arange(len(i)), j] = -normal, normal
    push = (mass[:, None] * (x - q)).ravel()
    _, left = least_squares(G.reshape(len(i), -1)[touching].T, push)
    assert left <= 1e-8 * max(np.linalg.norm(push), 1e-3)
