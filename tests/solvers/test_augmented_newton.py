"""Newton's method for Coulomb's law: it finds what sweeps find, and what they do not."""

import numpy as np
import pytest

import jostle as jo
from jostle.convex import Cones, Polyhedron
from jostle.solvers import augmented_newton, automatic, gauss_seidel
from jostle.solvers.augmented_newton import AugmentedNewton


def random_contacts(seed, d, rolling=False):
    """A random projection with as many contacts as bodies, and what Coulomb's law asks of its answer."""
    random = np.random.default_rng(seed)
    m, n = 6, 6
    height = d + (1 if d == 2 else 3) * rolling
    G = random.normal(size=(m * height, n * d))
    axis = random.normal(size=(m, d))
    axis /= np.linalg.norm(axis, axis=1)[:, None]
    resistance = random.uniform(0.1, 0.3, m) if rolling else None
    cones = Cones(axis, random.uniform(0.1, 0.8, m), True, resistance)
    return Polyhedron(G, np.zeros(m * height), cones=cones), random.normal(size=n * d)


@pytest.mark.each_value
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rolling", [False, True], ids=["slip", "rolling"])
@pytest.mark.parametrize("d", [2, 3])
def test_each_contact_obeys_the_law(d, rolling, seed):
    K, w = random_contacts(seed, d, rolling)
    P = AugmentedNewton(tol=1e-11).project(w, K)
    assert P.converged
    cones = K.cones
    p, s = (x.reshape(len(cones.mu), -1) for x in (P.multipliers, K.slack(P.point)))
    p_n, s_n = ((x[:, :d] * cones.axis).sum(axis=1) for x in (p, s))
    p_T, s_T = (x[:, :d] - y[:, None] * cones.axis for x, y in ((p, p_n), (s, s_n)))
    assert p_n.min() >= 0.0
    assert s_n.min() >= -1e-7
    assert np.abs(p_n * s_n).max() < 1e-7
    for of_p, of_s, mu in ((p_T, s_T, cones.mu), (p[:, d:], s[:, d:], cones.resistance)):
        size, slip = np.linalg.norm(of_p, axis=1), np.linalg.norm(of_s, axis=1)
        assert (size <= mu * p_n + 1e-9).all()
        assert np.abs((of_p * of_s).sum(axis=1) + mu * p_n * slip).max() < 1e-7
    assert P.point == pytest.approx(w + K.G.adjoint(P.multipliers), abs=1e-12)


def test_rows_beside_the_cones_hold():
    """A puck on a floor behind a wall, on a rail: a cone, an inequality and an equality."""
    floor = Cones(np.array([[0.0, 0.0, 1.0]]), np.array([0.5]))
    G = np.vstack([np.eye(3), [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    K = Polyhedron(G, [0.0, 0.0, 0.0, 1.0, 0.0], equal=[False] * 4 + [True], cones=floor)
    P = AugmentedNewton().project([3.0, 1.0, -1.0], K)
    assert P.converged
    assert P.point == pytest.approx([1.0, 0.0, 0.0], abs=1e-9)
    assert P.multipliers[:3] == pytest.approx([-0.5, 0.0, 1.0], abs=1e-7)


def test_a_pile_of_discs_is_solved_to_a_tight_tolerance(monkeypatch):
    """Where few sweeps are not enough: contacts that stick and depend on each other."""
    monkeypatch.setattr(automatic, "FIRST_SWEEPS", 100)
    sol = jo.solve(heap_of_30_discs(), jo.Maury(solver=jo.Automatic(tol=1e-8)), t=0.6, h=0.02)
    assert sol.status == "finished"
    assert sol.residual <= 1e-8
    assert "AugmentedNewton" in sol.stats["solver"]
    lost = np.diff(sol.energy_balance().dissipated)
    assert lost.min() > -1e-9


def test_it_declines_what_it_does_not_solve():
    convex = Cones(np.array([[0.0, 1.0]]), np.array([0.5]), False)
    P = AugmentedNewton().project([3.0, -1.0], Polyhedron(np.eye(2), np.zeros(2), cones=convex))
    assert not P.converged
    assert "Coulomb's law" in P.remark
    with pytest.raises(jo.InvalidValue, match="rho"):
        AugmentedNewton(rho=0.0)


def test_a_pile_that_is_too_large_for_it_is_told_so_once(monkeypatch):
    monkeypatch.setitem(augmented_newton.MAX_UNKNOWNS, 2, 3)
    monkeypatch.setattr(automatic, "FIRST_SWEEPS", 12)
    K, w = random_contacts(0, 2)
    P = jo.Automatic(tol=1e-18).project(w, K)
    assert P.iterations > 12
    assert P.remark.count("AugmentedNewton was left out: there are 12 coordinates, more than 3") == 1


def test_sweeps_and_newtons_method_take_turns_within_a_budget(monkeypatch):
    K, w = random_contacts(0, 2)
    plan = list(jo.Automatic()._plan(K))
    assert [one.name for one in plan] == ["GaussSeidel", "AugmentedNewton"] * 4
    assert [one.max_iterations for one in plan] == [1000, 30, 2000, 30, 4000, 30, 8000, 30]
    monkeypatch.setattr(automatic, "FIRST_SWEEPS", 1)
    P = jo.Automatic(tol=1e-18).project(w, K)
    assert "sweeps missed the tolerance; Newton's method took" in P.remark


def heap_of_30_discs():
    radii = np.random.default_rng(0).uniform(0.4, 0.6, 30)
    pile = jo.models.spheres(radii, box=([0, 0], [4, np.inf]))
    mass = np.pi * radii**2
    return jo.Motion(q0=pile.q0, mass=mass, force=np.outer(mass, [0.0, -9.81]), within=pile.within, law=jo.Coulomb(0.5))


def test_newtons_method_ends_where_slips_count_as_sticking(monkeypatch):
    """16 iterations in all; 30 if slips below the noise of the stopping test count."""
    taken, solve = [], AugmentedNewton._solve

    def counted(self, *rest):
        answer = solve(self, *rest)
        taken.append(answer[2])
        return answer

    monkeypatch.setattr(automatic, "FIRST_SWEEPS", 20)
    monkeypatch.setattr(gauss_seidel, "AIMED_SWEEPS", 1)
    monkeypatch.setattr(AugmentedNewton, "_solve", counted)
    jo.solve(heap_of_30_discs(), jo.Maury(solver=jo.Automatic(tol=1e-3)), t=0.6, h=0.02)
    assert 0 < sum(taken) <= 23


def test_a_step_that_missed_the_tolerance_names_its_worst_contacts_and_the_line_that_helps():
    solver = jo.Automatic(tol=1e-6, max_iterations=30)
    with pytest.raises(jo.NotConverged, match=r"largest errors are those of (balls|ball|body) \d+") as caught:
        jo.solve(heap_of_30_discs(), jo.Maury(solver=solver), t=0.6, h=0.02)
    assert "loosen tol: jo.Maury(solver=jo.Automatic(tol=" in str(caught.value)


def test_an_attempt_that_does_not_pay_is_given_up(monkeypatch):
    K, w = random_contacts(0, 2)
    monkeypatch.setattr(augmented_newton, "MOST_IDLE", 5)
    P = AugmentedNewton(tol=1e-18, max_iterations=5000).project(w, K)
    assert not P.converged
    assert P.iterations < 200
