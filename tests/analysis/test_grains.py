"""Forces, stress, force chains, coordination and packing fraction: exact answers, symmetries, and the balance of piles.

Piles are run until no velocity changes any more, so that all forces are in balance. They consist of unequal discs, and
come to rest with as many contacts as they have velocities: then their forces are unique.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad

import jostle as jo
from jostle.analysis.forces import (
    force_chains,
    force_distribution,
    forces,
    pressure,
    stress,
    wall_force,
    wall_labels,
    wall_pressure,
)
from jostle.analysis.packings import coordination, coordination_by_gap, packing_fraction
from jostle.result.recording import STATISTICS
from rows import examples, whole

G = 9.81
BALANCE = 1e-8
"""Relative: what the balance of a pile at rest is held to; it is 1e-12 here."""
SOME = settings(max_examples=examples(50), derandomize=True, deadline=None)


class AtRest:
    """No velocity changes by more than a small part of what gravity would do in a step."""

    def __init__(self, h: float, small: float = 1e-10):
        self.change, self.before = small * G * h, np.inf

    def __call__(self, state: jo.schemes.State) -> bool:
        change = np.abs(state.u - self.before).max()
        self.before = state.u
        return state.multipliers.any() and change <= self.change


def settled(n: int, width: float, h: float = 0.02) -> tuple[jo.Solution, np.ndarray]:
    """n discs of unequal sizes at rest in a container with vertical walls, and their radii."""
    radii = np.random.default_rng(1).uniform(0.35, 0.5, n)
    pile = jo.models.spheres(radii, box=([0, 0], [width, np.inf]))
    radii = np.sqrt(pile.mass.mass.reshape(n, 2)[:, 0] / np.pi)
    sol = jo.solve(pile, jo.Maury(solver=jo.Automatic(tol=1e-11)), t=100.0, h=h, every=1000, until=AtRest(h))
    assert sol.status == "stopped", "the pile did not come to rest"
    return sol, radii


@pytest.fixture(scope="module", params=[2.2, whole(7.0)], ids=["column", "pile"])
def heap(request):
    """200 discs at rest: in two columns or so, a hundred high; and in a wider container."""
    return *settled(200, request.param), request.param


def made(q, pairs, normals, f, *, h=0.25, within=None) -> jo.Solution:
    """A run of one step that ended at q with the forces f."""
    q, f = np.asarray(q, dtype=float), np.asarray(f, dtype=float)
    pairs, normals = np.asarray(pairs, dtype=np.int64), np.asarray(normals, dtype=float)
    stats = np.zeros(1, dtype=STATISTICS)
    stats["t"] = stats["h"] = h
    return jo.Solution(
        jo.Motion(q0=q, within=within), jo.Maury(), np.array([0.0, h]), np.stack([q, q]), np.zeros((2, *q.shape)),
        (np.zeros(0), f * h), (np.zeros((0, 2), dtype=np.int64), pairs), (np.zeros((0, 0)), normals), stats, "finished",
        impulse_times=np.array([np.nan, h]),
    )  # fmt: skip


def tower(masses: np.ndarray, h=0.01, scheme=None, t=0.1, law=None) -> jo.Solution:
    """Discs of radius 1 on top of each other."""
    n = len(masses)
    q0 = np.stack([np.zeros(n), 1.0 + 2.0 * np.arange(n)], axis=1)
    weight = np.stack([np.zeros(n), -G * masses], axis=1)
    within = jo.Balls(np.ones(n)) & jo.HalfSpace([0, 1], radii=1.0)
    return jo.solve(jo.Motion(q0=q0, mass=masses, force=weight, within=within, law=law), scheme or jo.Maury(), t=t, h=h)


TILT = 0.6
"""Of the line from a lower disc to the upper one, against the vertical."""


def arch(length=1.0, mass=1.0, time=1.0, shift=(0.0, 0.0)) -> jo.Solution:
    """Two discs apart, against the walls, and a third on top of them; all of radius 1."""
    half = 2.0 * np.sin(TILT)
    q0 = np.array([[1.0, 1.0], [1.0 + 2.0 * half, 1.0], [1.0 + half, 1.0 + 2.0 * np.cos(TILT)]])
    lower, upper = np.array([0.0, 0.0]), np.array([2.0 + 2.0 * half, np.inf])
    within = jo.Balls(np.full(3, length)) & jo.Box(
        length * (lower + shift), length * (upper + shift), radii=np.full(3, length)
    )
    problem = jo.Motion(
        q0=length * (q0 + shift), mass=mass, force=[0.0, -mass * length / time**2], within=within, v0=0.0
    )
    return jo.solve(problem, jo.Maury(), t=0.01 * time, h=0.005 * time)


def touching(pairs, n, f=None) -> jo.Solution:
    f = np.ones(len(pairs)) if f is None else f
    return made(np.random.default_rng(0).normal(size=(n, 2)), pairs, [[1.0, 0.0]] * len(pairs), f, within=box_of(2))


def force_between(sol: jo.Solution) -> dict[tuple[int, int], float]:
    found = forces(sol)
    return {(int(i), int(j)): float(f) for (i, j), f in zip(found.pairs, found.magnitude, strict=True)}


def rotation(d: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


def random_contacts(d: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """q, pairs, normals and forces of eight bodies and two walls, in no kind of balance."""
    random = np.random.default_rng(seed)
    pairs = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [5, 6], [6, 7], [0, 7], [4, -1], [5, -2], [1, -1]])
    normals = random.normal(size=(len(pairs), d))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return random.normal(size=(8, d)), pairs, normals, random.exponential(size=len(pairs))


def box_of(d: int) -> jo.Box:
    return jo.Box(np.full(d, -99.0), np.full(d, 99.0), radii=0.1)


# Forces


def test_each_contact_of_a_tower_carries_the_weight_above_it():
    masses = np.array([3.0, 1.0, 2.0, 5.0])
    expected = {(i, i + 1): G * masses[i + 1 :].sum() for i in range(3)} | {(0, -1): G * masses.sum()}
    assert force_between(tower(masses)) == pytest.approx(expected, rel=1e-12)


def test_a_disc_on_two_others_pushes_each_with_half_its_weight_over_the_cosine():
    found = force_between(arch())
    side = np.tan(TILT) / 2.0
    expected = {(0, 2): 0.5 / np.cos(TILT), (1, 2): 0.5 / np.cos(TILT), (0, -1): side, (1, -3): side}
    assert found == pytest.approx(expected | {(0, -2): 1.5, (1, -2): 1.5}, rel=1e-9)


def test_contacts_without_a_force_are_left_out():
    sol = made([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]], [[0, 1], [1, 2]], [[1, 0], [1, 0]], [0.0, 7.0], within=box_of(2))
    found = forces(sol)
    assert found.pairs.tolist() == [[1, 2]]
    assert found.magnitude.tolist() == [7.0]
    assert found.normals.tolist() == [[1.0, 0.0]]


def test_the_start_has_no_forces():
    sol = tower(np.ones(3))
    found = forces(sol, 0)
    assert found.normals.shape == (0, 2)
    assert found.mean == 0.0
    assert not stress(sol, 0, radii=1.0, volume=1.0).any()
    assert not wall_force(sol, 0).any()
    chains = force_chains(sol, 0)
    assert (chains.sizes.shape, chains.fraction, chains.cluster.tolist()) == ((0,), 0.0, [-1] * 3)
    assert coordination(sol, 0).z == 0.0
    with pytest.raises(jo.InvalidValue, match="no contact carries a force"):
        force_distribution(sol, 0)


UNEVEN = np.array([0.01, 0.03, 0.02, 0.005, 0.035])


SCHEMES = [(jo.Maury(), 0.0), (jo.MoreauJean(), 0.0), (jo.Paoli(), 0.0), (jo.Paoli(), 0.5)]


@pytest.mark.parametrize(("scheme", "e"), SCHEMES, ids=lambda value: type(value).__name__)
def test_the_force_on_the_floor_is_the_weight_whatever_the_step_in_each_scheme(scheme, e):
    sol = tower(np.array([2.0, 1.0]), UNEVEN, scheme, UNEVEN.sum(), jo.Restitution(e))
    for k in range(1, 1 + len(UNEVEN)):
        assert forces(sol, k).magnitude == pytest.approx([G, 3.0 * G], rel=1e-11)


@pytest.mark.parametrize("scheme", [jo.Venel(), jo.CatchingUp()], ids=lambda scheme: type(scheme).__name__)
def test_in_first_order_the_force_is_the_velocity_that_a_wall_takes_away(scheme):
    people = jo.Sweeping(
        q0=[[1.0, 0.0], [3.0, 0.0]], velocity=[-2.0, 0.0], within=jo.Balls([1.0, 1.0]) & jo.HalfSpace([1, 0], radii=1.0)
    )
    sol = jo.solve(people, scheme, t=0.3, h=0.1)
    assert force_between(sol) == pytest.approx({(0, 1): 2.0, (0, -1): 4.0}, rel=1e-10)


def test_constraints_that_are_no_contacts_have_no_forces():
    floor = jo.constraints(lambda t, q: q[:, 1])
    sol = jo.solve(jo.Motion(q0=[[0.0, 0.0]], force=[0.0, -1.0], within=floor), jo.Maury(), t=0.1, h=0.1)
    with pytest.raises(jo.InvalidValue, match="no normals"):
        forces(sol)


def test_forces_do_not_depend_on_the_origin():
    plain, moved = arch(), arch(shift=(3.0, -2.0))
    assert force_between(moved) == pytest.approx(force_between(plain), rel=1e-9)


@pytest.mark.parametrize(
    ("length", "mass", "time"), [(1e3, 1.0, 1.0), (1.0, 1e-6, 1.0), (1.0, 1.0, 1e4), (1e-3, 1e5, 1e-2)]
)
def test_units_do_not_matter(length, mass, time):
    plain, scaled = arch(), arch(length, mass, time)
    unit = mass * length / time**2
    assert force_between(scaled) == pytest.approx({c: unit * f for c, f in force_between(plain).items()}, rel=1e-9)
    assert wall_force(scaled) == pytest.approx(unit * wall_force(plain), rel=1e-9, abs=1e-9 * unit)
    one, other = (stress(sol, radii=r, volume=r**2) for sol, r in ((plain, 1.0), (scaled, length)))
    assert other == pytest.approx(unit / length * one, rel=1e-9, abs=1e-9 * unit / length)
    assert coordination(scaled, fewest=2).z == coordination(plain, fewest=2).z
    assert force_chains(scaled).sizes.tolist() == force_chains(plain).sizes.tolist()
    assert force_distribution(scaled).load == pytest.approx(force_distribution(plain).load, rel=1e-9)


# Stress


def test_a_ball_squeezed_between_two_walls_has_the_pressure_of_the_walls():
    r, height, f = 0.7, 5.0, 3.0
    walls = jo.Box([-r, -np.inf], [r, np.inf], radii=r)
    sol = made([[0.0, 0.0]], [[0, -1], [0, -2]], [[-1, 0], [1, 0]], [f, f], within=walls)
    sigma = stress(sol, radii=r, volume=2.0 * r * height)
    assert sigma == pytest.approx(np.diag([f / height, 0.0]))
    assert wall_force(sol).tolist() == [[-f, 0.0], [f, 0.0]]
    assert wall_pressure(sol, area=height) == pytest.approx([f / height, f / height])
    assert pressure(sol, radii=r, volume=2.0 * r * height) == pytest.approx(f / height / 2.0)


def test_the_branch_vector_goes_from_centre_to_centre():
    n = np.array([0.6, 0.8])
    sol = made([[0.0, 0.0], 3.0 * n], [[0, 1]], [n], [2.0], within=box_of(2))
    assert stress(sol, radii=[1.0, 2.0], volume=4.0) == pytest.approx(2.0 / 4.0 * np.outer(n, 3.0 * n))


def test_a_pull_is_a_negative_stress_and_never_strong():
    sol = made([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]], [[0, 1], [1, 2]], [[1, 0], [1, 0]], [-3.0, 1.0], within=box_of(2))
    assert stress(sol, radii=1.0, volume=1.0)[0, 0] == pytest.approx(2.0 * (1.0 - 3.0))
    assert len(force_chains(sol).pairs) == 0
    assert coordination(sol, fewest=1).z == pytest.approx(4.0 / 3.0)


def test_across_a_periodic_boundary_the_stress_is_the_same_as_inside():
    def squeezed(q0):
        within = jo.Balls([1.0, 0.5], period=[10.0, np.inf])
        problem = jo.Motion(q0=q0, force=[[-4.0, 0.0], [4.0, 0.0]], within=within)
        return stress(jo.solve(problem, jo.Maury(), t=0.1, h=0.05), radii=[1.0, 0.5], volume=20.0)

    inside, across = squeezed([[6.5, 0.0], [5.0, 0.0]]), squeezed([[0.5, 0.0], [9.0, 0.0]])
    assert across == pytest.approx(inside, abs=1e-12)
    assert inside[0, 0] == pytest.approx(4.0 * 1.5 / 20.0, rel=1e-10)


@pytest.mark.parametrize("d", [2, 3])
def test_stress_and_fabric_are_tensors(d):
    q, pairs, normals, f = random_contacts(d)
    Q = rotation(d, seed=d)
    plain = made(q, pairs, normals, f, within=box_of(d))
    turned = made(q @ Q.T, pairs, normals @ Q.T, f, within=box_of(d))
    radii = np.linspace(0.5, 1.0, 8)
    sigma = stress(plain, radii=radii, volume=2.0)
    assert sigma == pytest.approx(sigma.T)
    assert stress(turned, radii=radii, volume=2.0) == pytest.approx(Q @ sigma @ Q.T)
    assert pressure(turned, radii=radii, volume=2.0) == pytest.approx(np.trace(sigma) / d)
    assert wall_force(turned) == pytest.approx(wall_force(plain) @ Q.T)
    one, other = force_chains(plain), force_chains(turned)
    assert other.fabric == pytest.approx(Q @ one.fabric @ Q.T)
    assert other.strong_fabric == pytest.approx(Q @ one.strong_fabric @ Q.T)
    assert other.sizes.tolist() == one.sizes.tolist()
    assert np.trace(one.fabric) == pytest.approx(1.0)


@pytest.mark.parametrize("d", [2, 3])
def test_who_is_first_in_a_pair_does_not_matter(d):
    q, pairs, normals, f = random_contacts(d)
    bodies = pairs[:, 1] >= 0
    swapped = np.where(bodies[:, None], pairs[:, ::-1], pairs)
    plain = made(q, pairs, normals, f, within=box_of(d))
    other = made(q, swapped, np.where(bodies[:, None], -normals, normals), f, within=box_of(d))
    radii = np.linspace(0.5, 1.0, 8)
    assert stress(other, radii=radii, volume=1.0) == pytest.approx(stress(plain, radii=radii, volume=1.0))
    assert force_chains(other).fabric == pytest.approx(force_chains(plain).fabric)
    assert force_chains(other).sizes.tolist() == force_chains(plain).sizes.tolist()
    assert coordination(other).z_rigid == coordination(plain).z_rigid


@pytest.mark.parametrize("volume", [0.0, -1.0, np.nan, np.inf])
def test_a_volume_that_is_none_is_refused(volume):
    with pytest.raises(jo.InvalidValue, match="volume"):
        stress(tower(np.ones(2)), radii=1.0, volume=volume)


# Piles at rest


def test_the_floor_carries_all_the_weight_however_tall_and_narrow_the_pile(heap):
    sol, radii, _ = heap
    weight = G * np.pi * (radii**2).sum()
    left, floor, right = wall_force(sol)
    assert floor == pytest.approx([0.0, -weight], rel=BALANCE, abs=BALANCE * weight)
    assert left + right == pytest.approx([0.0, 0.0], abs=BALANCE * weight)


def test_the_vertical_stress_integrates_to_the_weight_above_each_height(heap):
    sol, radii, _ = heap
    order = np.argsort(sol.q[-1][:, 1])
    z, weight = sol.q[-1][order, 1], G * np.pi * radii[order] ** 2
    above = np.cumsum(weight[::-1])[::-1]
    integral = (np.diff(z, prepend=0.0) * above).sum()
    assert stress(sol, radii=radii, volume=1.0)[1, 1] == pytest.approx(integral, rel=BALANCE)


def test_the_horizontal_stress_is_what_the_side_walls_bear(heap):
    sol, radii, width = heap
    height = float(sol.q[-1][:, 1].max())
    sigma = stress(sol, radii=radii, volume=width * height)
    assert wall_pressure(sol, area=[height, width, height])[[0, 2]] == pytest.approx(sigma[0, 0], rel=BALANCE)
    assert abs(sigma[0, 1] - sigma[1, 0]) <= 1e-14 * sigma[0, 0]


def test_unequal_discs_come_to_rest_with_as_many_contacts_as_velocities(heap):
    sol, radii, _ = heap
    found, n = forces(sol), len(radii)
    i, j = found.pairs.T
    independent = np.linalg.matrix_rank(jo.convex.NormalRows(i, j, found.normals, n).toarray())
    free = np.count_nonzero(np.abs(sol.u[-1]).max(axis=1) > 1e-9)
    assert len(found.magnitude) == independent
    assert 2 * n - free <= independent <= 2 * n
    on_walls = np.count_nonzero(~found.between)
    assert coordination(sol, fewest=2).z == pytest.approx((2 * independent - on_walls) / n)


def test_contacts_by_gap_are_the_contacts_by_force_in_a_pile_at_rest(heap):
    sol, radii, _ = heap
    by_gap = coordination_by_gap(sol.q[-1], radii, within=sol.problem.within, fewest=2)
    by_force = coordination(sol, fewest=2)
    rattlers = by_force.rattlers  # they may touch without a force
    assert 0.0 <= (by_gap.z - by_force.z) * len(radii) <= 2 * rattlers + 1e-9
    assert by_gap.rattlers <= rattlers


def test_walls_and_weight_make_the_rate_of_the_momentum():
    pile = jo.models.spheres(np.linspace(0.3, 0.5, 20), box=([0, 0], [2.5, np.inf]))
    sol = jo.solve(pile, jo.Maury(), t=1.5, h=0.01)
    mass, weight = pile.mass.mass.reshape(20, 2), pile.constant_force.sum(axis=0)
    for k in range(1, len(sol.t)):
        rate = (mass * (sol.u[k] - sol.u[k - 1])).sum(axis=0) / (sol.t[k] - sol.t[k - 1])
        push = wall_force(sol, k)
        assert weight - push.sum(axis=0) == pytest.approx(rate, abs=1e-9 * (np.abs(push).sum() + np.abs(weight).sum()))


def test_a_pile_at_rest_has_the_same_forces_in_other_units(heap):
    sol, radii, width = heap
    length, mass, h = 1e3, 1e-2, 0.02
    within = jo.Balls(length * radii) & jo.Box([0, 0], [length * width, np.inf], radii=length * radii)
    weight = mass * length * sol.problem.constant_force
    again = jo.Motion(q0=length * sol.q[-1], force=weight, mass=mass * np.pi * radii**2, within=within)
    scaled = jo.solve(again, jo.Maury(solver=jo.Automatic(tol=1e-10)), t=h, h=h)
    sigma = stress(sol, radii=radii, volume=1.0)
    assert stress(scaled, radii=length * radii, volume=length**2) == pytest.approx(mass * sigma, rel=1e-6, abs=1e-9)
    assert wall_force(scaled) == pytest.approx(mass * length * wall_force(sol), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-8])
def test_multipliers_that_are_solver_noise_are_not_contacts(heap, tol, monkeypatch):
    """An interior point has a multiplier in every row; the heap has as many contacts as with the tight tolerance."""
    sol, _, _ = heap
    of = sol.problem
    at_rest = jo.Motion(q0=sol.q[-1], v0=sol.u[-1], force=of.constant_force, mass=of.mass, within=of.within)
    monkeypatch.setattr("jostle.solvers.interior_point._without_noise", lambda w, K, M, u, p, unit, tol: (u, p))
    loose = jo.solve(at_rest, jo.Maury(solver=jo.InteriorPoint(tol=tol)), t=0.06, h=0.06)
    found, true = forces(loose), forces(sol)
    assert len(found.magnitude) > 1.1 * len(true.magnitude), "the multipliers have no noise"
    assert coordination(loose).z == coordination(sol).z
    assert found.mean == pytest.approx(true.mean, rel=1e-2)
    share = force_distribution(loose).share, force_distribution(sol).share
    assert share[0] == pytest.approx(share[1], abs=0.01)


# Walls


def test_walls_that_nobody_touches_bear_nothing():
    sol = tower(np.ones(2))
    roof = jo.HalfSpace([0, -1], offset=-9.0, radii=1.0)
    again = jo.Motion(
        q0=sol.q[-1], force=[0.0, -G], within=sol.problem.within & roof & jo.Outside([[50.0, 0.0]] * 2, 1.0, radii=1.0)
    )
    force = wall_force(jo.solve(again, jo.Maury(), t=0.1, h=0.1))
    assert force == pytest.approx(np.array([[0.0, -2.0 * G], [0, 0], [0, 0], [0, 0]]), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("area", [0.0, -1.0, [1.0, 2.0]])
def test_an_area_that_is_none_is_refused(area):
    with pytest.raises(jo.InvalidValue, match="area"):
        wall_pressure(tower(np.ones(2)), area=area)


def test_bodies_that_are_not_there_do_not_count():
    there = np.arange(100) < 3
    within = jo.Balls(np.ones(100)) & jo.HalfSpace([0, 1], radii=1.0)
    q0 = np.where(there[:, None], np.resize([[0.0, 1.0], [0.0, 3.0], [9.0, 1.0]], (100, 2)), 20.0)
    problem = jo.Motion(q0=q0, force=[0.0, -1.0], within=within, present=there)
    sol = jo.solve(problem, jo.Maury(), t=0.2, h=0.1)
    assert forces(sol).present.tolist() == there.tolist()
    assert wall_force(sol) == pytest.approx(np.array([[0.0, -3.0]]))
    assert coordination(sol, fewest=1).z == pytest.approx(4.0 / 3.0)
    assert force_chains(sol).fraction == pytest.approx(1.0 / 3.0)
    assert packing_fraction(sol.q[-1], 1.0, [-5, 0], [25, 30]) == pytest.approx(3.0 * np.pi / 900.0)


def test_a_body_that_left_at_the_end_of_a_step_took_part_in_it():
    within = jo.Balls(np.ones(2)) & jo.HalfSpace([0, 1], radii=1.0)
    problem = jo.Motion(q0=[[0.0, 1.0], [0.0, 3.0]], force=[0.0, -1.0], within=within)
    sol = jo.solve(problem, jo.Maury(), t=0.1, h=0.1, changes=jo.Outlet(lambda q: q[:, 1] > 2.0))
    assert np.isnan(sol.q[-1]).any(axis=1).tolist() == [False, True]
    assert force_between(sol) == pytest.approx({(0, 1): 1.0, (0, -1): 2.0})
    assert coordination(sol, fewest=1).z == 1.5


def test_each_row_of_the_forces_on_walls_has_a_label_of_its_own(tmp_path):
    """Two boxes have sides of the same names, and constraints of a user have none."""
    outer = jo.Box([-9.0, -9.0], [9.0, 9.0], radii=0.5)
    inner = jo.Box([0.0, 0.0], [5.0, np.inf], radii=0.5)
    ceiling = jo.HalfSpace([0.0, -1.0], offset=-8.0, radii=0.5)
    within = jo.Balls([0.5, 0.5]) & outer & inner & ceiling
    resting = jo.Motion(q0=[[1.0, 0.5], [3.0, 0.5]], force=[0.0, -2.0], within=within)
    path = tmp_path / "run.vtkhdf"
    sol = jo.solve(resting, jo.Maury(), t=0.1, h=0.1, output=jo.io.Output(path, contacts=True))
    for run in (sol, jo.io.read(path)):
        labels, force = wall_labels(run), wall_force(run)
        assert len(set(labels)) == len(labels) == len(force) == 8
        (loaded,) = np.flatnonzero(force.any(axis=1))
        assert labels[loaded] == "wall 5 (wall q[1] >= lower)"
    own = jo.Sweeping(q0=[0.0, 1.0], velocity=[0.0, -1.0], within=jo.constraints(lambda t, q: [q[0] + 1.0, q[1]]))
    assert wall_labels(jo.solve(own, jo.Venel(), t=0.1, h=0.1)) == ("wall 0", "wall 1")


# Force chains


def test_the_density_of_the_forces_integrates_to_one():
    q, pairs, normals, f = random_contacts(2)
    sol = made(q, pairs, normals, f, within=box_of(2))
    for bins in (7, np.linspace(0.0, 10.0, 30)):
        found = force_distribution(sol, bins=bins)
        assert (found.density * np.diff(found.edges)).sum() == pytest.approx(1.0)
    relative = f / f.mean()
    assert found.share == np.mean(relative > 1.0)
    assert found.load == pytest.approx(relative[relative > 1.0].sum() / 10.0)
    half = force_distribution(sol, bins=[0.0, 1.0])
    assert half.density == pytest.approx([np.mean(relative <= 1.0)])


@pytest.mark.parametrize("f", [0.1, 0.3, 0.7, 1.1, 1.3])
@pytest.mark.parametrize("m", [3, 6, 7, 10])
def test_equal_forces_make_no_chain(m, f):
    sol = touching([[k, k + 1] for k in range(m)], m + 1, np.full(m, f))
    found = force_distribution(sol)
    assert (found.share, found.load) == (0.0, 0.0)
    assert force_chains(sol).fraction == 0.0


def test_strong_contacts_make_clusters_and_walls_connect_none_of_them():
    # 0-1, and 4-5-6 with strong contacts; 3 strong on a wall only, as 0 is; 2 and 7 with weak ones.
    pairs = [[0, 1], [4, 5], [5, 6], [3, -1], [0, -1], [1, 2], [2, 4], [6, 7]]
    f = [5.0, 5.0, 5.0, 5.0, 5.0, 1.0, 1.0, 1.0]
    normals = np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 4)
    found = force_chains(made(np.random.default_rng(0).normal(size=(8, 2)), pairs, normals, f, within=box_of(2)))
    assert found.pairs.tolist() == pairs[:5]
    assert found.sizes.tolist() == [3, 2, 1]
    assert found.cluster.tolist() == [1, 1, -1, 2, 0, 0, 0, -1]
    assert found.fraction == 6 / 8
    assert found.fabric == pytest.approx(np.diag([0.5, 0.5]))
    assert found.strong_fabric == pytest.approx(np.diag([0.8, 0.2]))


# Coordination


def test_rattlers_are_taken_out_again_and_again():
    # Four that all touch each other; 4 has three contacts, but two of them, 5 and 6, are rattlers; 7 floats.
    four = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    found = coordination(touching([*four, [0, 4], [4, 5], [4, 6]], 8))
    assert found.z == pytest.approx(2 * 9 / 8)
    assert found.z_rigid == 3.0
    assert found.rattlers == 4
    assert found.loose.tolist() == [False] * 4 + [True] * 4


def test_a_contact_with_a_wall_counts_once():
    found = coordination(touching([[0, 1], [0, -1], [0, -2], [1, -1], [1, -3]], 2))
    assert (found.z, found.z_rigid, found.rattlers) == (3.0, 3.0, 0)
    found = coordination(touching([[1, 2], [1, -1], [1, -2], [2, -1], [2, -3]], 3))
    assert (found.z, found.z_rigid, found.rattlers) == (2.0, 3.0, 1)


def test_if_all_are_rattlers_nothing_is_rigid():
    triangle = touching([[0, 1], [1, 2], [2, 0]], 3)
    found = coordination(triangle)
    assert (found.z, found.z_rigid, found.rattlers) == (2.0, 0.0, 3)
    assert coordination(triangle, fewest=2).z_rigid == 2.0
    corners = [[0.0, 0.0], [2.0, 0.0], [1.0, 3.0**0.5]]
    assert coordination_by_gap(corners, 1.0).rattlers == 3
    assert coordination_by_gap(corners, 1.0, fewest=2).rattlers == 0


def test_weak_contacts_can_be_left_out():
    sol = touching([[0, 1], [1, 2], [2, 0]], 3, [1.0, 4.0, 4.0])
    assert coordination(sol, threshold=1.0 / 3.0 - 1e-9).z == 2.0
    assert coordination(sol, threshold=1.0 / 3.0 + 1e-9).z == pytest.approx(4 / 3)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_gap_is_compared_with_the_smaller_radius(scale):
    def z(gap, tol):
        return coordination_by_gap(
            scale * np.array([[0.0, 0.0], [3.0 + gap, 0.0]]), scale * np.array([1.0, 2.0]), tol=tol
        ).z

    assert z(0.9e-3, 1e-3) == 1.0
    assert z(1.1e-3, 1e-3) == 0.0
    radii = scale * np.array([1.0, 2.0])
    within = jo.Balls(radii) & jo.Box([0.0, 0.0], [np.inf, np.inf], radii=radii)
    q = scale * np.array([[1.0009, 1.0011], [9.0, 2.0019]])
    assert coordination_by_gap(q, radii, within=within, tol=1e-3).z == 1.0


def lattice(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Balls of radius 1/2 in a periodic cell of 6 x 6 (x 6) units: positions and periods."""
    bases = {
        "square": (np.zeros((1, 2)), [1.0, 1.0]),
        "triangular": (np.array([[0.0, 0.0], [0.5, 0.75**0.5]]), [1.0, 3.0**0.5]),
        "cubic": (np.zeros((1, 3)), [1.0, 1.0, 1.0]),
        "face-centred": (np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]]) / 2.0**0.5, np.full(3, 2.0**0.5)),
    }
    basis, cell = bases[name]
    cells = np.stack(np.meshgrid(*[np.arange(6)] * len(cell), indexing="ij"), axis=-1).reshape(-1, 1, len(cell))
    return (cells * cell + basis).reshape(-1, len(cell)), 6.0 * np.asarray(cell)


LATTICES = {
    "square": (4, np.pi / 4.0),
    "triangular": (6, np.pi / (2.0 * 3.0**0.5)),
    "cubic": (6, np.pi / 6.0),
    "face-centred": (12, np.pi / (3.0 * 2.0**0.5)),
}


@pytest.mark.parametrize("name", LATTICES)
def test_lattices_have_the_coordination_and_the_packing_fraction_of_the_books(name):
    q, period = lattice(name)
    z, phi = LATTICES[name]
    found = coordination_by_gap(q, 0.5, period=period)
    assert (found.z, found.z_rigid, found.rattlers) == (z, z, 0)
    shift = np.arange(1, 1 + q.shape[1])
    assert packing_fraction(q, 0.5, shift, shift + period, period=period) == pytest.approx(phi, rel=1e-12)
    cell = period / 6.0
    assert packing_fraction(q + 0.3, 0.5, cell, 2.0 * cell, period=period) == pytest.approx(phi, rel=1e-12)


def test_what_coordination_cannot_use_is_refused():
    with pytest.raises(jo.InvalidValue, match="not both"):
        coordination_by_gap([[0.0, 0.0]], 1.0, within=jo.Balls([1.0]), period=9.0)
    with pytest.raises(jo.InvalidValue, match="one row per body"):
        coordination_by_gap([0.0, 0.0], 1.0)
    with pytest.raises(jo.InvalidValue, match="contacts of bodies"):
        coordination_by_gap([[0.0, 0.0]], 1.0, within=jo.constraints(lambda t, q: q[:, 1]))


# Packing fraction


def part(q, r, lower, upper, **options) -> float:
    """The volume of one ball in a region."""
    return packing_fraction([q], r, lower, upper, **options) * float(np.prod(np.subtract(upper, lower)))


@pytest.mark.parametrize("d", [2, 3])
def test_faces_edges_and_corners_through_the_centre_keep_a_half_a_quarter_an_eighth(d):
    whole = np.pi * 0.49 if d == 2 else 4.0 / 3.0 * np.pi * 0.343
    for cuts in range(d + 1):
        lower = np.where(np.arange(d) < cuts, 0.0, -3.0)
        assert part(np.zeros(d), 0.7, lower, np.full(d, 3.0)) == pytest.approx(whole / 2**cuts, rel=1e-14)
    assert part(np.full(d, 9.0), 0.7, np.zeros(d), np.ones(d)) == 0.0
    assert part(np.full(d, 0.4), 0.7, np.full(d, 0.3), np.full(d, 0.5)) == pytest.approx(0.2**d, rel=1e-12)


@given(st.floats(-1.0, 1.0), st.integers(0, 2), st.floats(1e-3, 1e3))
@SOME
def test_one_plane_cuts_off_a_cap(a, axis, r):
    lower, upper = np.full(3, -2.0), np.full(3, 2.0)
    lower[axis] = a
    height = 1.0 - a
    assert part(np.zeros(3), r, r * lower, r * upper) == pytest.approx(
        np.pi * height**2 * (3.0 - height) / 3.0 * r**3, rel=1e-12, abs=1e-14 * r**3
    )
    segment = np.arccos(a) - a * np.sqrt(1.0 - a**2)
    axis %= 2
    lower, upper = np.full(2, -2.0), np.full(2, 2.0)
    upper[axis] = -a
    assert part(np.zeros(2), r, r * lower, r * upper) == pytest.approx(segment * r**2, rel=1e-12, abs=1e-14 * r**2)


@given(st.sampled_from([2, 3]), st.data())
@SOME
def test_the_parts_of_a_ball_add_up_to_it(d, data):
    cut = np.array(data.draw(st.lists(st.floats(-1.2, 1.2), min_size=d, max_size=d)))
    total = 0.0
    for sides in np.ndindex((2,) * d):
        high = np.array(sides, dtype=bool)
        total += part(np.zeros(d), 1.0, np.where(high, cut, -1.5), np.where(high, 1.5, cut))
    assert total == pytest.approx(np.pi if d == 2 else 4.0 / 3.0 * np.pi, rel=1e-13)


@given(st.sampled_from([2, 3]), st.integers(0, 2), st.floats(0.0, 1.0), st.integers(0, 1000))
@SOME
def test_two_halves_of_a_region_add_up_to_it_whichever_the_axis(d, axis, where, seed):
    lower, upper = np.sort(np.random.default_rng(seed).uniform(-1.3, 1.3, (2, d)), axis=0)
    axis %= d
    low, high = lower.copy(), upper.copy()
    low[axis] = high[axis] = lower[axis] + where * (upper[axis] - lower[axis])
    halves = sum(part(np.zeros(d), 1.0, *ends) for ends in ((lower, high), (low, upper)) if (ends[0] < ends[1]).all())
    assert halves == pytest.approx(part(np.zeros(d), 1.0, lower, upper), abs=1e-14)
    turned = part(np.zeros(d), 1.0, np.roll(lower, 1), np.roll(upper, 1))
    assert turned == pytest.approx(part(np.zeros(d), 1.0, lower, upper), abs=1e-14)


@pytest.mark.parametrize(
    "corner", [(0.1, 0.2, 0.3), (0.5, 0.5, 0.5), (-0.2, 0.3, 0.6), (-0.5, -0.4, 0.3), (-0.1, -0.2, -0.3)]
)
def test_a_corner_of_a_sphere_has_the_volume_that_quadrature_finds(corner):
    a, b, c = corner

    def height(y, x):
        top = np.sqrt(max(1.0 - x * x - y * y, 0.0))
        return max(0.0, top - max(c, -top))

    def end(x):
        return max(b, np.sqrt(max(1.0 - x * x, 0.0)))

    expected, _ = dblquad(height, a, 1.0, b, end, epsabs=1e-7, epsrel=1e-7)
    assert part(np.zeros(3), 1.0, corner, [2, 2, 2]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("d", [2, 3])
def test_images_across_a_period_fill_what_is_cut_off(d):
    random = np.random.default_rng(d)
    q, r = random.uniform(-20.0, 20.0, (6, d)), random.uniform(0.1, 0.9, 6)
    period, lower = np.full(d, 5.0), np.full(d, 0.7)
    whole = packing_fraction(q, r, lower, lower + period, period=period)
    volume = (np.pi * r**2 if d == 2 else 4.0 / 3.0 * np.pi * r**3).sum()
    assert whole == pytest.approx(volume / 5.0**d, rel=1e-13)
    middle = lower + period
    middle[0] = 2.1
    left, right = (1.4 / 5.0, (lower, middle)), (3.6 / 5.0, (np.r_[2.1, lower[1:]], lower + period))
    parts = [share * packing_fraction(q, r, *ends, period=5.0) for share, ends in (left, right)]
    assert sum(parts) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("x", [-0.05, 0.0, 0.05, 39.95, -80.0])
def test_a_window_sees_both_images_of_a_disc_that_it_cuts_twice(x):
    centre = x - 8.0 * np.round(x / 8.0)
    right, left = (np.arccos(a) - a * np.sqrt(1.0 - a**2) for a in (0.1 - centre, 0.1 + centre))
    area = packing_fraction([[x, 0.0]], 1.0, [0.1, -2], [7.9, 2], period=[8.0, np.inf]) * 7.8 * 4.0
    assert area == pytest.approx(right + left, rel=1e-13)


def test_open_axes_cut_and_periodic_axes_do_not():
    q, r = [[0.0, 0.0]], 1.0
    assert packing_fraction(q, r, [0, 0], [4, 2], period=[4.0, np.inf]) == pytest.approx(np.pi / 2.0 / 8.0)
    assert packing_fraction(q, r, [0, 0], [4, 2]) == pytest.approx(np.pi / 4.0 / 8.0)


@pytest.mark.parametrize("scale", [1e-6, 1e3])
def test_the_packing_fraction_does_not_depend_on_the_units_or_the_origin(scale):
    random = np.random.default_rng(5)
    q, r = random.uniform(0.0, 4.0, (30, 3)), random.uniform(0.1, 0.6, 30)
    plain = packing_fraction(q, r, [1, 1, 1], [3, 3, 2])
    assert packing_fraction(
        scale * (q + 7.0), scale * r, scale * np.full(3, 8.0), scale * np.array([10.0, 10.0, 9.0])
    ) == (pytest.approx(plain, rel=1e-11))


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("d", [2, 3])
def test_balls_with_more_volume_than_their_region_have_no_packing_fraction(d, unit):
    q, low, high = np.zeros((5, d)), np.full(d, -1.5 * unit), np.full(d, 1.5 * unit)
    with pytest.raises(jo.InvalidValue, match="times the volume of the region, so they overlap"):
        jo.analysis.packing_fraction(q, 1.4 * unit, low, high)
    with pytest.raises(jo.InvalidValue, match="times the volume of the region"):
        jo.analysis.packing_fraction(q, 1.4 * unit, low, high, period=3.0 * unit)
    assert jo.analysis.packing_fraction(q[:1], 9.0 * unit, low / 9.0, high / 9.0) == pytest.approx(1.0, abs=1e-9)


def test_what_packing_fraction_cannot_use_is_refused():
    q = [[0.0, 0.0]]
    for words, arguments, options in [
        ("one row per ball", ([0.0, 0.0], 1.0, [0, 0], [1, 1]), {}),
        ("empty", (q, 1.0, [0, 1], [1, 1]), {}),
        (r"shape \(2,\)", (q, 1.0, [0, 0, 0], [1, 1]), {}),
        ("wide", (q, 1.0, [0, 0], [9, 1]), {"period": 8.0}),
        ("period must be positive", (q, 1.0, [0, 0], [1, 1]), {"period": -1.0}),
        ("period must be positive", (q, 1.0, [0, 0], [1, 1]), {"period": [9.0, 9.0, 9.0]}),
    ]:
        with pytest.raises(jo.InvalidValue, match=words):
            packing_fraction(*arguments, **options)


def test_balls_on_a_line_press_with_their_impulses():
    """P01: the first of five touching balls stops the others' share; forces are impulses over the step."""
    sol = jo.solve(jo.models.cradle(5), jo.Paoli(), t=1.5, h=0.01)
    k = int(np.argmax([p.sum() for p in sol.multipliers]))
    found = jo.analysis.forces(sol, k)
    assert found.normals.shape == (len(found.magnitude), 1)
    assert found.magnitude.sum() * 0.01 == pytest.approx(sol.multipliers[k].sum())
