"""How far bodies are expected to go in a step, which decides what contacts are looked for first."""

import numpy as np
import pytest

import jostle as jo
from jostle.schemes.cutoff import first_cutoff


@pytest.mark.parametrize("shape", [(1,), (1, 2), (3, 2)])
def test_bodies_that_were_pushed_are_expected_to_be_pushed_again(shape):
    """They were found in a second search in each step where bodies have one cutoff together."""
    still, pushed = np.zeros(shape), np.full(shape, 2.0)
    assert np.min(first_cutoff(0.1, still, pushed)) == np.min(first_cutoff(0.1, pushed, still)) > 0.2
    assert np.max(first_cutoff(0.1, still, still)) == 0.0


def test_bodies_that_are_pushed_against_each_other_are_found_where_all_have_one_reach():
    """The two in the middle are pushed by heavy balls that swell; only the way of the last was expected."""
    balls = jo.Balls(lambda t: np.full(5, 1.0 + t))
    row = jo.Motion(
        q0=[0.0, 2.0, 4.56, 6.56, 99.0], v0=[0.0, 0.0, 0.0, 0.0, 0.8], mass=[1e3, 1.0, 1.0, 1e3, 1.0], within=balls
    )
    assert jo.solve(row, jo.Maury(), t=0.1, h=0.1).gaps().min() > -1e-6


@pytest.mark.parametrize("cutoff", [np.broadcast_to(np.inf, (2,)), np.array([9, 9]), np.full(4, 9.0)[::2]], ids=str)
def test_the_reach_that_a_set_of_a_user_gives_may_be_any_array(cutoff):
    class Floor(jo.ConstraintSet):
        moving = False

        def linearise(self, t, q, _=np.inf):
            rows = jo.HalfSpace([0.0, 1.0]).linearise(t, q)
            return jo.sets.Contacts(rows.gap, rows.G, rows.pairs, constraint_count=1, cutoff=cutoff, part_count=2)

    falling = jo.Motion(q0=[[0.0, 0.1], [1.0, 0.3]], force=[0.0, -9.81], within=Floor())
    sol = jo.solve(falling, jo.Maury(), t=0.5, h=0.01)
    np.testing.assert_allclose(sol.q[-1][:, 1], 0.0, atol=1e-12)
