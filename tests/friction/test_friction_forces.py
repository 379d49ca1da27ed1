"""Forces of bodies that turn: friction on walls, mobilised contacts, torques, and what clumps refuse."""

import numpy as np
import pytest

import jostle as jo

DUMBBELL = [[-0.5, 0.0], [0.5, 0.0]], 0.5


def on_slope(slope, mu):
    """A puck under a weight (slope, -1) on a floor."""
    return jo.Motion(q0=[[0.0, 0.0]], force=[slope, -1.0], law=jo.Coulomb(mu), within=jo.HalfSpace([0.0, 1.0]))


@pytest.mark.parametrize(("slope", "used"), [(0.2, 0.4), (0.5, 1.0), (0.8, 1.0)], ids=["rests", "about to", "slides"])
def test_forces_on_the_floor_and_how_much_of_their_friction_is_used(slope, used):
    sol = jo.solve(on_slope(slope, 0.5), jo.Maury(), t=0.1, h=0.01)
    assert jo.analysis.mobilised(sol) == pytest.approx([used], abs=1e-9)
    assert jo.analysis.wall_force(sol)[0] == pytest.approx([min(slope, 0.5), -1.0], abs=1e-9)
    found = jo.analysis.forces(sol)
    assert found.tangential[0] == pytest.approx([min(slope, 0.5), 0.0], abs=1e-9)


@pytest.mark.parametrize("d", [2, 3])
def test_a_ball_that_is_slowed_down_turns_the_floor(d):
    """The torque about a point is (x - about) x F: weight and friction, at the point below the ball."""
    up, along = np.eye(d)[-1], np.eye(d)[0]
    ball = jo.Motion(
        q0=(2.0 * along + up)[None], v0=3.0 * along, force=-10.0 * up, law=jo.Coulomb(0.2),
        within=jo.Balls([1.0]) & jo.HalfSpace(up),
    )  # fmt: skip
    sol = jo.solve(ball, jo.Maury(), t=0.01, h=0.01)
    arm, force = sol.q[-1, 0] - up, 2.0 * along - 10.0 * up
    torque = np.cross(arm, force) if d == 3 else arm[0] * force[1] - arm[1] * force[0]
    assert jo.analysis.wall_torque(sol, about=np.zeros(d))[0] == pytest.approx(torque, abs=1e-9)


def test_impacts_have_their_tangential_part():
    """F20: p_t = min(mu p_n, m |u| k / (1 + k)) at a disc that falls with e = 0."""
    disc = jo.Motion(
        q0=[[0.0, 2.0]], v0=[3.0, -1.0], law=jo.Coulomb(0.25), within=jo.Balls([1.0]) & jo.HalfSpace([0.0, 1.0])
    )
    hit = jo.solve(disc, jo.MoreauJean(), t=2.0, h=0.03).impacts()
    assert hit.impulse == pytest.approx([1.0])
    assert hit.tangential[0] == pytest.approx([0.25, 0.0])
    assert jo.solve(disc, jo.MoreauJean(), t=2.0, h=0.03).impulses()["friction"] == pytest.approx([0.25])


def test_two_dumbbells_rest_on_the_floor():
    rest = jo.Motion(
        q0=[[0.0, 0.5], [3.0, 0.5]], force=[0.0, -10.0], law=jo.Coulomb(0.5),
        within=jo.Clumps([DUMBBELL] * 2) & jo.HalfSpace([0.0, 1.0]),
    )  # fmt: skip
    sol = jo.solve(rest, jo.Maury(), t=0.1, h=0.01)
    assert jo.analysis.wall_force(sol)[0] == pytest.approx([0.0, -20.0], abs=1e-9)
    assert sorted(jo.analysis.forces(sol).pairs[:, 0].tolist()) == [0, 1, 2, 3]
    with pytest.raises(jo.InvalidValue, match="friction"):
        jo.analysis.load_range(sol)


def test_contacts_of_clumps_belong_to_bodies(tmp_path):
    """A dumbbell lies on another one: two contacts between them, two with the floor; V sigma_yy is the sum of m g y."""
    stack = jo.Motion(
        q0=[[0.0, 0.5], [0.0, 1.5]], force=[0.0, -10.0], law=jo.Coulomb(0.5),
        within=jo.Clumps([DUMBBELL] * 2) & jo.HalfSpace([0.0, 1.0]),
    )  # fmt: skip
    sol = jo.solve(stack, jo.Maury(), t=0.1, h=0.01)
    jo.io.write(sol, tmp_path / "a.vtkhdf", dtype="float64")
    for run in (sol, jo.io.read(tmp_path / "a.vtkhdf")):
        found = jo.analysis.coordination(run, fewest=2)
        assert (found.z, found.z_rigid, found.loose.tolist()) == (3.0, 3.0, [False, False])
        assert jo.analysis.stress(run, radii=0.5, volume=2.0)[1, 1] == pytest.approx(20.0 / 2.0, abs=1e-6)


def test_the_stress_of_clumps_has_branches_between_centres_of_mass():
    """Two dumbbells end to end, pressed together by 6: F (x) l = 6 times 2; turned by 45 degrees, in both axes."""
    along = np.array([1.0, 1.0]) / 2.0**0.5
    press = jo.Motion(
        q0=[0.0 * along, 2.0 * along], orientation0=[np.pi / 4.0] * 2, force=np.outer([6.0, -6.0], along),
        law=jo.Coulomb(0.5), within=jo.Clumps([DUMBBELL] * 2),
    )  # fmt: skip
    sol = jo.solve(press, jo.Maury(), t=0.1, h=0.01)
    sigma = jo.analysis.stress(sol, radii=0.5, volume=4.0)
    assert sigma == pytest.approx(12.0 / 4.0 * np.outer(along, along), abs=1e-6)


def test_a_run_without_friction_has_none_to_use():
    sol = jo.solve(jo.Motion(q0=[[0.0, 0.0]], within=jo.HalfSpace([0.0, 1.0])), jo.Maury(), t=0.1, h=0.1)
    with pytest.raises(jo.InvalidValue, match="no friction"):
        jo.analysis.mobilised(sol)
    assert jo.analysis.forces(sol).tangential is None
