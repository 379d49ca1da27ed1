"""Poses and states: what follows from them is computed once, and nothing stands in them twice."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

import jostle as jo
from jostle.pose import Pose
from jostle.schemes import State

RANDOM = np.random.default_rng(7)
CORNERS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.6, 0.0], [0.2, 0.3, 0.8]])
UNEQUAL = CORNERS - CORNERS.mean(axis=0), 0.4
DUMBBELL = [[-0.5, 0.0], [0.5, 0.0]], 0.3


def points():
    return jo.Motion(q0=RANDOM.normal(size=(3, 2)), v0=RANDOM.normal(size=(3, 2)))


def discs():
    return jo.Motion(
        q0=[[0.0, 0.0], [3.0, 0.0]], v0=[1.0, 2.0], spin0=[2.0, -1.0], within=jo.Balls([1.0, 1.0]), law=jo.Coulomb(0.3)
    )


def rods():
    q0 = [[0.0, 0.0], [3.0, 0.0]]
    return jo.Motion(q0=q0, v0=[1.0, 2.0], spin0=[2.0, -1.0], orientation0=0.3, within=jo.Clumps([DUMBBELL] * 2))


def tumbling():
    q0, start = [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]], {"orientation0": RANDOM.normal(size=(2, 4))}
    spin = [[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]]
    return jo.Motion(q0=q0, v0=[1.0, 2.0, 3.0], spin0=spin, within=jo.Clumps([UNEQUAL] * 2), **start)


KINDS = [points, discs, rods, tumbling]


@pytest.mark.parametrize("kind", KINDS)
def test_velocities_are_the_rates_of_positions(kind):
    problem, h = kind(), 1e-6
    pose, w = problem.pose0, problem.w0
    (ahead, _), (behind, _) = pose.moved(w, h), pose.moved(w, -h)
    rates = (ahead.centres - behind.centres) / (2.0 * h)
    assert rates == pytest.approx(pose.velocities(w), abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_on_parts_are_rows_on_all_that_moves(kind):
    problem = kind()
    pose, w = problem.pose0, problem.w0
    if pose.orientation is None:
        return
    G = jo.convex.linear_map.Dense(RANDOM.normal(size=(5, pose.centres.size)))
    assert pose.on_bodies(G) @ w.ravel() == pytest.approx(G @ pose.velocities(w).ravel(), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_translations_and_spins_come_back(kind):
    problem = kind()
    state = jo.Maury().start(problem, 0.0)
    np.testing.assert_array_equal(state.u, problem.v0)
    if problem.spin0 is None:
        assert state.spin is state.orientation is None
        return
    np.testing.assert_allclose(state.spin, problem.spin0, atol=1e-14)
    np.testing.assert_allclose(state.orientation, problem.orientation0, atol=1e-14)


def test_a_change_of_one_thing_leaves_the_bits_of_the_others():
    state = jo.Maury().start(tumbling(), 0.0)
    faster = state.replace(u=2.0 * state.u)
    np.testing.assert_array_equal(faster.w[:, 3:], state.w[:, 3:])
    assert state.replace(q=state.q + 1.0).w is state.w
    still = state.replace(spin=np.zeros((2, 3)))
    np.testing.assert_array_equal(still.u, state.u)
    assert not still.spin.any()
    turned = state.replace(orientation=np.array([[1.0, 0.0, 0.0, 0.0]] * 2))
    np.testing.assert_allclose(turned.spin, state.spin, atol=1e-14)
    assert not np.allclose(turned.w, state.w)
    assert not np.allclose(turned.centres, state.centres)


def test_changes_that_a_state_does_not_have_are_refused():
    flat, turning = jo.Maury().start(points(), 0.0), jo.Maury().start(discs(), 0.0)
    with pytest.raises(jo.InvalidValue, match="a state has no 'turning'"):
        flat.replace(turning=None)
    with pytest.raises(jo.InvalidValue, match="do not turn: it has no orientation and no spin"):
        flat.replace(spin=np.zeros(3))
    with pytest.raises(jo.InvalidValue, match=r"spin must have shape \(2,\), not \(3,\)"):
        turning.replace(spin=np.zeros(3))


def test_what_follows_from_a_pose_is_neither_pickled_nor_copied():
    pose = tumbling().pose0
    levers = pose.levers
    assert pose.levers is levers
    twin = pickle.loads(pickle.dumps(pose))
    assert vars(twin).keys() == {each.name for each in fields(Pose)}
    np.testing.assert_array_equal(twin.levers, levers)
    assert not np.allclose(replace(pose, orientation=pose.orientation[::-1].copy()).levers, levers)


def test_a_scheme_of_a_user_that_forgets_spins_is_refused():
    class Forgetful(jo.Maury):
        def step(self, problem, state, h):
            after = super().step(problem, state, h)
            return State.of(after.t, after.q, after.u, after.projection, after.contacts, after.multipliers)

    with pytest.raises(jo.InvalidValue, match="the step of Forgetful must return a state"):
        jo.solve(discs(), Forgetful(), t=0.1, h=0.05)
    assert jo.solve(points(), Forgetful(), t=0.1, h=0.05).status == "finished"
