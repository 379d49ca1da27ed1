"""Clumps: what their bodies and balls are called, and what is refused for them."""

import numpy as np
import pytest

import jostle as jo
from jostle import pose
from jostle._tools import rotations

CORNERS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.6, 0.0], [0.2, 0.3, 0.8]])
UNEQUAL = CORNERS - CORNERS.mean(axis=0), 0.4
"""A clump in space whose three moments of inertia differ."""
TRIPLE = [[-0.8, 0.0], [0.0, 0.0], [0.8, 0.0]], 0.4
PAIR = [[-0.5, 0.0], [0.5, 0.0]], 0.5
FLOOR = jo.HalfSpace([0.0, 1.0])
DOWN = [0.0, -9.81]


def refused(problem, scheme=None, t=1.0):
    with pytest.raises(jo.JostleError) as found:
        jo.solve(problem, scheme or jo.Maury(), t=t, h=0.1)
    return str(found.value)


def test_a_ball_is_called_by_its_body_and_its_number_in_it():
    bodies = jo.Clumps([TRIPLE, PAIR]).bodies
    assert [bodies.name(ball) for ball in range(5)] == [
        "clump 0, ball 0", "clump 0, ball 1", "clump 0, ball 2", "clump 1, ball 0", "clump 1, ball 1",
    ]  # fmt: skip
    assert jo.Balls([0.5] * 3).bodies.name(2) == "ball 2"


@pytest.mark.parametrize("radii", [None, 0.25, [0.4] * 3 + [0.5] * 2])
@pytest.mark.parametrize("wall", [jo.HalfSpace, lambda n, radii: jo.Outside([6.0, -2.0], 1.9, radii=radii)])
def test_walls_name_the_body_of_a_ball_also_with_radii_of_their_own(wall, radii):
    within = jo.Clumps([TRIPLE, PAIR]) & wall([0.0, 1.0], radii=radii)
    said = refused(jo.Motion(q0=[[0.0, 9.0], [5.5, -0.3]], within=within))
    assert "clump 1, ball 1" in said
    assert "body 4" not in said


def test_two_clumps_and_rods_between_them_are_named_by_bodies_and_balls():
    near = jo.Motion(q0=[[0.0, 1.0], [1.5, 1.0]], within=jo.Clumps([TRIPLE, PAIR]) & FLOOR)
    assert "clump 0, ball 2 and clump 1, ball 0" in refused(near)
    rods = jo.Rods([(1, 4), (3, -1)], 2.0, points=[[5.0, 7.0]])
    said = refused(jo.Motion(q0=[[0.0, 1.0], [5.0, 1.0]], within=jo.Clumps([TRIPLE, PAIR]) & rods))
    assert "rod 0 between clump 0, ball 1 and clump 1, ball 1" in said
    assert "rod 1 between clump 1, ball 0 and point 0" in said
    missing = jo.Motion(q0=[[0.0, 1.0], [5.0, 1.0]], within=jo.Clumps([TRIPLE, PAIR]) & jo.Rods([(1, 5)], 2.0))
    assert "a rod names ball 5, and there are 5, numbered from 0 to 4" in refused(missing)


def test_a_ball_of_a_clump_that_went_through_a_wall_is_named():
    thin = jo.Segments([[[-9.0, 0.0], [9.0, 0.0]]])
    falling = jo.Motion(q0=[[0.0, 5.0], [4.0, 0.6]], v0=[[0, 0], [0, -90]], within=jo.Clumps([TRIPLE, PAIR]) & thin)
    assert "the centre of clump 1, ball 0 went through segment" in refused(falling, jo.MoreauJean())


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean()])
def test_tables_of_clumps_name_bodies_and_balls(scheme):
    q0 = [[0.0, 3.0], [4.0, 0.55]]
    sol = jo.solve(jo.Motion(q0=q0, force=DOWN, within=jo.Clumps([TRIPLE, PAIR]) & FLOOR), scheme, t=0.3, h=0.01)
    names = ["clump 1, ball 0 - wall 0", "clump 1, ball 1 - wall 0"]
    assert sorted(set(sol.impulses()["pair"].tolist())) == names
    assert set(sol.impulses()["first"].tolist()) == {3, 4}
    lines = str(sol.impacts(speed=0.1)).splitlines()
    assert [line[12:36] for line in lines[2:]] == names
    assert len({len(line) for line in lines[1:]}) == 1


def test_two_clumps_that_meet_are_named_in_the_table():
    q0, v0 = [[0.0, 0.0], [2.5, 0.0]], [[1.0, 0.0], [0.0, 0.0]]
    sol = jo.solve(jo.Motion(q0=q0, v0=v0, within=jo.Clumps([TRIPLE, PAIR])), jo.MoreauJean(), t=1.0, h=0.01)
    assert "clump 0, ball 2 - clump 1, ball 0" in str(sol.impacts())


def test_nearest_is_not_advised_for_clumps_and_refuses_them():
    within = jo.Clumps([TRIPLE, PAIR]) & FLOOR
    low = jo.Motion(q0=[[0.0, 1.0], [4.0, 0.2]], within=within)
    assert "nearest" not in refused(low)
    for Q in (within, within.sets[0]):
        with pytest.raises(jo.errors.InvalidValue, match="the parts of a rigid body keep their places"):
            jo.nearest(low.pose0.centres, Q)


def test_the_nearest_start_that_is_advised_is_that_of_the_start_time():
    rising = jo.HalfSpace([1.0], offset=lambda t: 2.0 * t)
    low = jo.Motion(q0=[1.0], within=rising)
    for t, call in (((0.0, 1.0), "jo.nearest(q0, within).point"), ((1.5, 2.0), "jo.nearest(q0, within, t=1.5).point")):
        problem = jo.Motion(q0=[-1.0], within=rising) if t[0] == 0.0 else low
        assert call in refused(problem, t=t)
        found = eval(call, {"jo": jo, "within": rising, "q0": problem.q0})
        assert jo.solve(jo.Motion(q0=found, within=rising), jo.Maury(), t=t, h=0.1).status == "finished"
    absent = jo.Motion(q0=[[0.0, 0.2], [0.0, 9.0]], present=[True, False], within=jo.Balls([0.5, 0.5]) & FLOOR)
    assert "nearest" not in refused(absent)


def test_a_change_that_is_not_admissible_is_called_by_its_name():
    def sunk(state):
        return state.replace(q=np.array([-0.5])) if state.t > 0.5 else state

    ball = jo.Motion(q0=[1.0], within=jo.HalfSpace([1.0]))
    with pytest.raises(
        jo.errors.InfeasibleStart, match=r"the q that a change returned is not .* jo\.nearest\(q, within\)"
    ):
        jo.solve(ball, jo.Maury(), t=1.0, h=0.1, changes=sunk)


def test_a_change_that_turns_a_clump_into_a_wall_is_refused():
    def upright(state):
        if state.t < 0.35:
            return state
        return state.replace(orientation=np.full(1, np.pi / 2))

    flat = jo.Motion(q0=[[0.0, 0.5]], within=jo.Clumps([TRIPLE]) & FLOOR)
    with pytest.raises(jo.errors.InfeasibleStart, match="clump 0, ball 0 and plane"):
        jo.solve(flat, jo.Maury(), t=1.0, h=0.1, changes=upright)


# The moments of inertia of a clump in space.


def turned_about(axis, angle):
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(angle * np.asarray(axis)).as_matrix()


LONG = np.array([[0.0, -1.2, 0.0], [0.0, 0.3, 0.0], [0.0, 0.9, 0.0]])
MOMENTS = np.array([[0.9, 0.15, 1.4]])


@pytest.mark.parametrize("angle", [0.0, 1e-10, 1e-6, 1e-3, 0.02, 0.7])
@pytest.mark.parametrize("axis", [[0.0, 0.0, 1.0], [0.6, 0.0, 0.8]])
def test_moments_of_inertia_are_about_the_axes_in_which_the_arms_were_given(axis, angle):
    """For arms that are tilted a little the principal axes of the balls come in another order."""
    arms = LONG @ turned_about(axis, angle).T
    spin = np.array([0.3, 2.0, -0.7])
    thrown = jo.Motion(q0=[[0.0] * 3], spin0=spin, inertia=MOMENTS, within=jo.Clumps([(arms, 0.2)]))
    sol = jo.solve(thrown, jo.Maury(), t=0.1, h=0.01)
    np.testing.assert_allclose(sol.energy().kinetic, 0.5 * MOMENTS[0] @ spin**2, rtol=1e-12)
    np.testing.assert_allclose(sol.places(0), arms, atol=1e-15)
    assert sol.orientation[0].tolist() == [[1.0, 0.0, 0.0, 0.0]]


def test_moments_about_the_same_axes_give_the_same_motion_however_the_arms_are_written():
    """A tilted clump with `orientation0` back is the clump that is not tilted: only its own axes are others."""
    R, spin = turned_about([0.6, 0.0, 0.8], 0.5), [0.3, 2.0, -0.7]
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(R).as_quat()
    made = {"q0": [[0.0] * 3], "spin0": spin, "within": jo.Clumps([(LONG, 0.2)])}
    plain = jo.solve(jo.Motion(inertia=MOMENTS, **made), jo.Maury(), t=1.0, h=0.01)
    turned = made | {"within": jo.Clumps([(LONG @ R, 0.2)]), "orientation0": [w, x, y, z]}
    same = jo.solve(jo.Motion(inertia=np.full((1, 3), 0.7), **turned), jo.Maury(), t=0.0, h=0.01)
    np.testing.assert_allclose(same.places(0), LONG, atol=1e-12)
    own = jo.solve(jo.Motion(**turned), jo.Maury(), t=1.0, h=0.01)
    other = jo.solve(jo.Motion(**made), jo.Maury(), t=1.0, h=0.01)
    np.testing.assert_allclose(own.places(-1), other.places(-1), atol=1e-9)
    assert np.abs(plain.places(-1) - other.places(-1)).max() > 0.01


def test_nearly_equal_moments_do_not_depend_on_how_nearly_they_are_equal():
    ends = []
    for off in (0.0, 1e-13, 1e-11, 1e-9, 1e-7):
        arms = np.concatenate([np.eye(3), -np.eye(3)]) * (1.0 + off * np.arange(3)) + off
        arms -= arms.mean(axis=0)
        body = jo.Motion(
            q0=[[0.0] * 3], spin0=[1.0, 0.2, 0.1], inertia=[[1.0, 2.0, 2.5]], within=jo.Clumps([(arms, 0.3)])
        )
        ends.append(jo.solve(body, jo.MoreauJean(), t=1.0, h=0.05).places(-1))
    np.testing.assert_allclose(ends, np.broadcast_to(ends[0], np.shape(ends)), atol=1e-5)


def test_a_file_and_a_resumed_run_keep_the_axes_of_the_moments(tmp_path):
    body = jo.Motion(
        q0=[[0.0, 3.0, 0.0]], spin0=[1.0, 0.2, 0.1], inertia=MOMENTS, force=[0.0, -9.81, 0.0],
        within=jo.Clumps([(LONG @ turned_about([0.0, 0.0, 1.0], 0.4).T, 0.2)]) & jo.HalfSpace([0.0, 1.0, 0.0]),
    )  # fmt: skip
    whole = jo.solve(body, jo.MoreauJean(), t=0.8, h=0.01)
    for t in (0.4, 0.8):
        out = jo.io.Output(tmp_path / "a.vtkhdf", checkpoint=tmp_path / "c", dtype=float, resume=t > 0.5)
        jo.solve(body, jo.MoreauJean(), t=t, h=0.01, output=out)
    read = jo.io.read(tmp_path / "a.vtkhdf")
    assert np.asarray(read.q[-1]).tobytes() == whole.q[-1].tobytes()
    np.testing.assert_allclose(read.energy().kinetic, whole.energy().kinetic, rtol=1e-9)
    np.testing.assert_allclose(read.places(-1), whole.places(-1), atol=1e-12)


def test_clumps_without_friction_have_normal_rows():
    """Cones with mu = 0 would be swept up to the tolerance; rows are projected exactly."""
    Q = jo.Clumps([UNEQUAL] * 3) & jo.HalfSpace([0.0, 0.0, 1.0])
    centres = [[2.0 * k, 0.0, 0.9] for k in range(3)]
    sol = jo.solve(
        jo.Motion(q0=centres, v0=[0.3, 0.0, 0.0], force=[0.0, 0.0, -9.81], within=Q), jo.Maury(), t=1.0, h=0.01
    )
    touching = sol.stats["iterations"] > 0
    assert touching.sum() > 50
    assert set(sol.stats["solver"][touching].tolist()) == {"ActiveSet"}
    assert max(sol.stats[name].max() for name in ("primal", "complementarity")) < 1e-12


def test_rotations_are_computed_once_a_step(monkeypatch):
    asked = []
    monkeypatch.setattr(pose, "matrices", lambda turn: asked.append(turn) or rotations.matrices(turn))
    problem = jo.Motion(q0=[[0.0, 0.0, 0.0]], spin0=[[1.0, 2.0, 3.0]], within=jo.Clumps([UNEQUAL]))
    scheme = jo.Maury()
    state = scheme.advance(problem, scheme.start(problem, 0.0), 0.01)
    asked.clear()
    scheme.advance(problem, state, 0.01)
    assert len(asked) == 1


def test_kept_rotations_are_those_of_the_orientations():
    bodies, q = jo.Motion(q0=[[0.0, 0.0, 0.0]], within=jo.Clumps([UNEQUAL])).bodies, np.zeros((1, 3))
    orientation = np.array([[1.0, 0.0, 0.0, 0.0]])
    here = pose.Pose(bodies, q, orientation)
    assert here.levers is here.levers
    with pytest.raises(ValueError, match="read-only"):
        orientation[:] = [[0.0, 1.0, 0.0, 0.0]]
    assert not np.allclose(pose.Pose(bodies, q, np.array([[0.0, 1.0, 0.0, 0.0]])).levers, here.levers)


def test_nothing_is_projected_without_contacts():
    class Refusing(jo.Automatic):
        def project(self, *args, **named):
            raise AssertionError("there is nothing to project")

    problem = jo.Motion(q0=[[0.0, 0.0], [9.0, 0.0]], spin0=[1.0, -2.0], within=jo.Clumps([PAIR] * 2))
    sol = jo.solve(problem, jo.Maury(solver=Refusing()), t=0.1, h=0.01)
    assert sol.spin[-1].tolist() == [1.0, -2.0]
