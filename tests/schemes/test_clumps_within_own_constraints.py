"""Clumps within constraints of the user, which do not know that balls of clumps move on circles."""

import numpy as np
import pytest

import jostle as jo

DOWN = [0.0, -9.81]


@pytest.mark.parametrize("d", [2, 3])
def test_clumps_fall_over_on_a_flat_floor_of_their_own_as_on_a_half_space(d):
    arms = np.array([[-1.0, 0.0, 0.1], [1.0, 0.0, -0.2], [0.1, 0.3, 0.0]])[:, :d]
    start = {"inertia": 0.4} if d == 2 else {"inertia": [[0.2, 0.4, 0.5]], "orientation0": [0.8, 0.1, 0.0, 0.5]}
    start |= {"q0": [[0.0, 1.5, 0.0][:d]], "spin0": -3.0 if d == 2 else [0.3, 0.5, -3.0], "force": [*DOWN, 0.0][:d]}
    bar, ends, overlaps = jo.Clumps([(arms, 0.0)]), [], []
    for floor in (jo.constraints(lambda t, q: q[:, 1]), jo.HalfSpace(np.eye(d)[1])):
        sol = jo.solve(jo.Motion(within=bar & floor, **start), jo.Maury(), t=1.2, h=0.01)
        ends.append(sol.places(-1))
        overlaps.append(-sol.gaps().min())
    np.testing.assert_allclose(*ends, atol=1e-5)
    assert 1e-6 < overlaps[0] == pytest.approx(overlaps[1], rel=1e-3)


def test_a_clump_that_leaves_a_gap_that_is_not_convex_is_an_error_still():
    bowl = jo.constraints(lambda t, q: [q[0, 1] - q[0, 0] ** 2 - 0.2])
    sliding = jo.Motion(q0=[[0.0, 0.5]], v0=[3.0, -1.0], within=jo.Clumps([([[0.0, 0.0]], 0.1)]) & bowl)
    with pytest.raises(jo.errors.LeftTheSet, match="only where the gap is convex"):
        jo.solve(sliding, jo.Maury(), t=1.0, h=0.1)


@pytest.mark.parametrize("angle", np.linspace(0.1, 1.5, 8))
def test_a_bar_that_stands_on_a_floor_of_its_own_may_start_there(angle):
    """Its end is the sum of its centre and its arm, which is zero up to round-off."""
    low = np.sin(angle) * 1.7
    bar = jo.Clumps([([[-1.7, 0.0], [1.7, 0.0]], 0.0)]) & jo.constraints(lambda t, q: q[:, 1])
    for y, fits in ((low, True), (low - 1e-6, False)):
        standing = jo.Motion(q0=[[0.0, y]], orientation0=angle, within=bar, inertia=1.0)
        for scheme in (jo.Maury(), jo.MoreauJean()):
            if fits:
                assert jo.solve(standing, scheme, t=0.1, h=0.1).status == "finished"
            else:
                with pytest.raises(jo.errors.InfeasibleStart):
                    jo.solve(standing, scheme, t=0.1, h=0.1)


@pytest.mark.filterwarnings("ignore::jostle.errors.NoFriction")
@pytest.mark.parametrize("law", [None, jo.Coulomb(0.5)], ids=["smooth", "rough"])
def test_a_ball_at_rest_on_a_floor_through_the_origin_does_not_leave_it_by_round_off(law):
    ball = jo.Balls([0.5]) & jo.constraints(lambda t, q: q[:, 1])
    resting = jo.Motion(q0=[[0.0, 0.0]], force=DOWN, law=law, within=ball, mass=0.3)
    assert jo.solve(resting, jo.Maury(), t=1.0, h=0.013).status == "finished"
