"""The table of contacts: bodies and parts, levers, rates and impulses of bodies that turn, beside their definitions."""

import numpy as np
import pytest

import jostle as jo
from jostle.convex.linear_map import LeverBlocks, NormalRows
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
    assert vars(contacts)["G"] is None
    assert isinstance(contacts.G, NormalRows)
    assert contacts.only(np.array([1])).G.toarray().tolist() == contacts.G.toarray()[[1]].tolist()


def test_contacts_without_gradients_and_normals_are_refused():
    with pytest.raises(jo.InvalidValue, match="gradients G, or the normals"):
        jo.sets.Contacts(np.zeros(1), None, np.array([[0, -1]]), numbers=1)
