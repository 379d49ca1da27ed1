"""The table of contacts: bodies and parts, levers, rates and impulses of bodies that turn, beside their definitions."""

from dataclasses import replace

import numpy as np
import pytest

import jostle as jo
from jostle.convex.linear_map import Dense, LeverBlocks, NormalRows
from jostle.schemes.friction import friction_blocks

ARMS = np.array([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.7, 0.2]])


def lying(d, seed=0):
    """Two clumps of three balls above a floor, turned at random, their contacts and velocities of all that moves."""
    random = np.random.default_rng(seed)
    arms = ARMS[:, :d] - ARMS[:, :d].mean(axis=0)
    within = jo.Clumps([(arms, 0.3)] * 2) & jo.HalfSpace(np.eye(d)[1], -2.0)
    orientation = random.uniform(0.0, 6.0, 2) if d == 2 else random.normal(size=(2, 4))
    q0 = np.eye(2, d) * 0.9
    problem = jo.Motion(
        q0=q0, within=within, orientation0=orientation, law=jo.Coulomb(0.5), inertia=[1.0] * (2 * d - 3)
    )
    w = random.normal(size=problem.w0.shape)
    return problem, within.contacts(0.0, problem.pose0, np.inf), w, random


@pytest.mark.parametrize("d", [2, 3])
def test_bodies_are_the_owners_of_parts_and_walls_keep_their_numbers(d):
    _, contacts, _, _ = lying(d)
    i, j = contacts.pairs.T
    assert contacts.bodies[:, 0].tolist() == (i // 3).tolist()
    assert contacts.bodies[:, 1].tolist() == np.where(j < 0, j, j // 3).tolist()


@pytest.mark.parametrize("d", [2, 3])
def test_rates_are_those_of_the_gaps_along_the_motion(d):
    problem, contacts, w, _ = lying(d)
    h = 1e-6
    there, _ = problem.pose0.moved(w, h)
    before, _ = problem.pose0.moved(-w, h)
    gaps = [problem.within.contacts(0.0, pose, np.inf).gap for pose in (before, there)]
    np.testing.assert_allclose(contacts.rates(w), (gaps[1] - gaps[0]) / (2.0 * h), atol=1e-8)


@pytest.mark.parametrize("own_axes", [False, True])
@pytest.mark.parametrize("d", [2, 3])
def test_impulses_are_the_adjoint_of_rates(d, own_axes):
    problem, contacts, w, random = lying(d)
    if own_axes and d == 3:
        problem = jo.Motion(q0=problem.q0, within=problem.within, inertia=[1.0, 2.0, 3.0], law=jo.Coulomb(0.5))
        contacts = problem.within.contacts(0.0, problem.pose0, np.inf)
    p = random.normal(size=len(contacts.gap))
    assert contacts.impulse(p).shape == w.shape
    assert (contacts.impulse(p) * w).sum() == pytest.approx(p @ contacts.rates(w))


@pytest.mark.parametrize("d", [2, 3])
def test_both_bodies_have_levers_to_one_point_half_way_in_the_gap(d):
    problem, contacts, _, _ = lying(d)
    first, second = contacts.levers(0.0)
    (i, j), q = contacts.bodies.T, problem.q0
    between = j >= 0
    assert between.any()
    np.testing.assert_allclose((q[i] + first)[between], (q[np.maximum(j, 0)] + second)[between], atol=1e-12)
    on_surface = problem.pose0.centres[contacts.pairs[:, 0]] + 0.3 * contacts.normals
    np.testing.assert_allclose((q[i] + first)[~between], on_surface[~between], atol=1e-12)
    assert not second[~between].any()


@pytest.mark.parametrize("d", [2, 3])
def test_normal_parts_of_friction_blocks_are_the_rates(d):
    problem, contacts, w, _ = lying(d)
    G, cones = friction_blocks(problem.law, contacts, 0.0)
    assert isinstance(G, LeverBlocks)
    normal = ((G @ w.ravel()).reshape(cones.axis.shape) * cones.axis).sum(axis=1)
    np.testing.assert_allclose(normal, contacts.rates(w), atol=1e-12)


def test_the_map_is_made_when_it_is_asked_for():
    contacts = jo.Balls([0.5] * 3).linearise(0.0, np.eye(3))
    assert "G" not in vars(contacts)
    assert isinstance(contacts.G, NormalRows)
    assert contacts.only(np.array([1])).G.toarray().tolist() == contacts.G.toarray()[[1]].tolist()


def test_contacts_without_gradients_and_normals_are_refused():
    with pytest.raises(jo.InvalidValue, match="gradients G, or the normals"):
        jo.sets.Contacts(np.zeros(1), None, np.array([[0, -1]]), constraint_count=1)


class Steep(jo.Balls):
    """The same discs, with gaps and gradients that are twice as large; the normals are left as they are."""

    def linearise(self, t, q, cutoff=np.inf):
        found = super().linearise(t, q, cutoff)
        return replace(found, gap=2.0 * found.gap, G=Dense(2.0 * found.G.toarray()))


def test_gradients_that_a_class_changes_count_in_an_intersection_and_are_its_normals():
    q0, far = [[0.0, 0.0], [1.2, 0.0]], jo.HalfSpace([0.0, 1.0], -9.0)
    for within in (Steep([0.5, 0.5]), Steep([0.5, 0.5]) & far):
        hit = jo.Motion(q0=q0, v0=[[1.0, 0.0], [0.0, 0.0]], within=within)
        assert jo.solve(hit, jo.Maury(), t=0.3, h=0.3).u[-1, :, 0] == pytest.approx([5 / 6, 1 / 6])
        rough = jo.Motion(q0=q0, v0=[[1.0, 0.0], [0.0, 0.0]], within=within, law=jo.Coulomb(0.5))
        with pytest.raises(jo.InvalidValue, match="friction needs gaps that are distances"):
            jo.solve(rough, jo.Maury(), t=0.3, h=0.3)


class Ruled(jo.ConstraintSet):
    """Discs on a floor, or on a wire, in rows of their own that do not say how many bodies there are."""

    bodies, moving = jo.Balls([0.5, 0.5]).bodies, False

    def __init__(self, wire):
        self.equalities = wire

    def linearise(self, t, q, cutoff=np.inf):
        body, G = np.arange(2), Dense(np.eye(4)[1::2])
        pairs, equal = np.stack([body, np.full(2, -1)], axis=1), np.full(2, self.equalities)
        return jo.sets.Contacts(q[:, 1] - 0.5, G, pairs, constraint_count=1, length=0.5, equal=equal)


def test_rows_of_a_set_alone_are_those_of_the_bodies_of_its_problem():
    given = {"q0": [[0.0, 0.5], [3.0, 0.5]], "v0": [[1.0, -1.0], [1.0, 0.0]], "force": [0.0, -10.0]}
    for floor in (Ruled(wire=False), jo.Balls([0.5, 0.5]) & jo.HalfSpace([0.0, 1.0])):
        sol = jo.solve(jo.Motion(**given, within=floor, law=jo.Coulomb(0.3)), jo.Maury(), t=0.3, h=0.1)
        assert sol.u[-1].ravel() == pytest.approx([2 / 3, 0.0, 2 / 3, 0.0], abs=1e-9)


def test_equalities_of_one_body_hold_with_friction_elsewhere():
    up = [[1.0, 1.0], [0.0, 2.0]]
    bead = jo.Motion(q0=[[0.0, 0.5], [3.0, 0.5]], v0=up, within=Ruled(wire=True), law=jo.Coulomb(0.3))
    assert jo.solve(bead, jo.Maury(), t=0.3, h=0.1).q[-1, :, 1] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean()])
def test_bodies_that_grow_keep_their_angular_momentum_in_friction(scheme):
    q0, v0, spin0, mass = (
        np.array([[0.0, 0.0], [1.05, 0.0]]),
        np.array([[1.0, 0.5], [-0.5, -1.0]]),
        [1.0, 2.0],
        [1.0, 2.0],
    )
    within = jo.Balls(lambda t: np.full(2, 0.5 + 0.3 * t))
    rub = jo.Motion(q0=q0, v0=v0, spin0=spin0, mass=mass, inertia=[0.1, 0.2], within=within, law=jo.Coulomb(0.5))
    sol = jo.solve(rub, scheme, t=0.3, h=0.01)
    moment = (mass * np.linalg.det(np.stack([sol.q, sol.u], axis=-1))).sum(axis=1) + sol.spin @ [0.1, 0.2]
    assert abs(sol.spin[-1] - spin0).min() > 0.1
    assert np.ptp(moment) < 1e-12


def test_pairs_of_contacts_without_gradients_are_bodies_that_there_are():
    given = {"constraint_count": 1, "normal": np.array([[0.0, -1.0]]), "at": np.zeros((2, 2)), "part_count": 2}
    for pair in ([2, -1], [0, 2], [-1, 0]):
        with pytest.raises(jo.InvalidValue, match="give part_count, the number of bodies, or G"):
            jo.sets.Contacts(np.zeros(1), None, np.array([pair]), **given)


def test_rows_of_the_whole_configuration_keep_their_numbers_beyond_those_of_parts():
    problem, contacts, _, _ = lying(2)
    rows = np.array([[-1, 99]])
    assert replace(contacts.only(np.array([0])), pairs=rows, pose=problem.pose0).bodies.tolist() == rows.tolist()


def test_contacts_are_made_of_lists():
    contacts = jo.sets.Contacts([0.5], [[0, -1]], [[0, -1]], constraint_count=1)
    assert contacts.G.toarray().tolist() == [[0.0, -1.0]]
    assert contacts.velocities(0.5).slack([1.0, 2.0]).tolist() == [-1.0]
    with pytest.raises(jo.InvalidValue, match=r"G must have two axes \(rows, coordinates\), not shape \(2,\)"):
        jo.sets.Contacts([0.5], [0.0, -1.0], [[0, -1]], constraint_count=1)
