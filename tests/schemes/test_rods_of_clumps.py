"""Rods that hold balls of clumps: exact motions, the energy that a start across them loses, files and resumed runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jostle as jo
from jostle.viz.scene import Scene

SCHEMES = [jo.Maury(), jo.MoreauJean()]
BOTH = pytest.mark.parametrize("scheme", SCHEMES, ids=["Maury", "MoreauJean"])
PLANE_AND_SPACE = pytest.mark.parametrize("d", [2, 3])
G9, A, L, J = 9.81, 0.4, 1.3, 0.07
ARMS = [[A, 0.0], [-A, 0.0]]


def in_space(vectors, d):
    """Vectors of the plane as vectors of the plane or of space."""
    vectors = np.asarray(vectors, dtype=float)
    return np.concatenate([vectors, np.zeros((*vectors.shape[:-1], d - 2))], axis=-1)


def about(spin, d):
    """A spin in the plane, or about the third axis."""
    return spin if d == 2 else [0.0, 0.0, spin]


def hanging(d, law=None, **more):
    """A dumbbell that hangs by its first ball on a rod."""
    rod = jo.Rods([(0, -1)], L, points=in_space([[A, L]], d))
    within = jo.Clumps([(in_space(ARMS, d), 0.1)]) & rod
    given = {"q0": in_space([[0.0, 0.0]], d), "force": in_space([0.0, -G9], d), "inertia": J, "law": law}
    return jo.Motion(within=within, **given | more)


def pendulum(speed, spin, t):
    """The centre of mass and the angle of the dumbbell, by Lagrange's equations for the angles phi and th.

    The ball is at L (sin phi, -cos phi) from the point, the centre of mass at -A (cos th, sin th) from the ball.
    """

    def rate(t, y):
        phi, th, p, w = y
        M = np.array([[L * L, -A * L * np.sin(phi - th)], [-A * L * np.sin(phi - th), A * A + J]])
        along = -A * L * np.cos(phi - th)
        right = [along * w * w - G9 * L * np.sin(phi), -along * p * p + G9 * A * np.cos(th)]
        return [p, w, *np.linalg.solve(M, right)]

    phi, th = solve_ivp(rate, (0.0, t), [0.0, 0.0, speed / L, spin], rtol=1e-11, atol=1e-12).y[:2, -1]
    return A + L * np.sin(phi) - A * np.cos(th), L - L * np.cos(phi) - A * np.sin(th), th


@BOTH
@PLANE_AND_SPACE
@pytest.mark.parametrize("law", [None, jo.Coulomb(0.6)], ids=["smooth", "rough"])
def test_a_dumbbell_that_hangs_by_a_ball_is_a_double_pendulum(scheme, d, law):
    speed, spin, errors = 0.8, 1.5, []
    x, y, th = pendulum(speed, spin, 0.3)
    for h in (1e-2, 5e-3):
        start = {"v0": in_space([[speed, -A * spin]], d), "spin0": about(spin, d)}
        sol = jo.solve(hanging(d, law, **start), scheme, t=0.3, h=h)
        errors.append(np.abs(sol.q[-1][0, :2] - [x, y]).max())
        turn = (
            sol.orientation[-1][0] if d == 2 else 2.0 * np.arctan2(sol.orientation[-1][0, 3], sol.orientation[-1][0, 0])
        )
        assert turn == pytest.approx(th, abs=5.0 * h)
    assert errors[1] < 1e-2
    assert errors[0] / errors[1] > (3.3 if isinstance(scheme, jo.MoreauJean) else 1.7)


@BOTH
@PLANE_AND_SPACE
def test_a_start_across_a_rod_loses_the_energy_of_a_blow_on_the_ball(scheme, d):
    """The ball is thrown along the rod at v: the blow p = v / (1 + A^2 / J) takes p v / 2 away."""
    v = 0.7
    sol = jo.solve(hanging(d, v0=in_space([[0.0, -v]], d)), scheme, t=0.01, h=1e-3)
    balance, lost = sol.energy_balance(), 0.5 * v * v / (1.0 + A * A / J)
    assert balance.dissipated[1] == pytest.approx(lost, rel=1e-8 if isinstance(scheme, jo.MoreauJean) else 0.1)
    if isinstance(scheme, jo.MoreauJean):
        assert balance.error == pytest.approx(np.zeros(len(sol.t)), abs=1e-12)


def joined_by_rods(d, law=None):
    shapes = [(in_space(ARMS, d), 0.15), (in_space(ARMS, d), 0.15), (in_space([[0.0, 0.0]], d), 0.15)]
    q0 = in_space([[0.0, 1.0], [2.0, 1.2], [3.1, 1.0]], d)
    balls = np.concatenate([q0[0] + shapes[0][0], q0[1] + shapes[1][0], q0[2] + shapes[2][0]])
    pairs = [(1, 2), (3, 4)]
    lengths = [float(np.linalg.norm(balls[i] - balls[j])) for i, j in pairs]
    within = jo.Clumps(shapes) & jo.Rods(pairs, lengths) & jo.HalfSpace(in_space([0.0, 1.0], d), 0.6)
    v0 = in_space([[0.3, 0.0], [0.0, 0.5], [1.0, 0.0]], d)
    return jo.Motion(q0=q0, v0=v0, force=in_space([0.0, -G9], d), within=within, law=law)


@PLANE_AND_SPACE
@pytest.mark.parametrize("law", [None, jo.Coulomb(0.4)], ids=["smooth", "rough"])
def test_rods_between_clumps_and_a_single_ball_move_alike_with_both_schemes(d, law):
    ends = [jo.solve(joined_by_rods(d, law), scheme, t=0.3, h=5e-3) for scheme in SCHEMES]
    assert np.abs(ends[0].q[-1] - ends[1].q[-1]).max() < 0.04
    rods = joined_by_rods(d).within.sets[1]
    for sol in ends:
        assert max(np.abs(rods.gaps(0.0, sol.places(k))).max() for k in range(len(sol.t))) < 1e-3
    assert np.abs(ends[1].energy_balance().error).max() < 1e-11


def test_the_same_in_the_plane_and_in_space():
    """Discs in the plane and spheres in space with the same inertia."""
    inertia = [0.1, 0.2, 0.05]
    flat, deep = joined_by_rods(2), joined_by_rods(3)
    ends = []
    for d, problem in ((2, flat), (3, deep)):
        same = jo.Motion(
            q0=problem.q0, v0=problem.v0, force=in_space([0.0, -G9], d), within=problem.within, inertia=inertia
            if d == 2 else np.tile(np.array(inertia)[:, None], (1, 3)),
        )  # fmt: skip
        ends.append(jo.solve(same, jo.MoreauJean(), t=0.3, h=5e-3).q[-1][:, :2])
    np.testing.assert_allclose(*ends, atol=1e-7)


@BOTH
def test_rods_that_change_and_points_that_move_do_work_on_clumps(scheme):
    def lengths(t):
        return np.array([L + 0.2 * t])

    points, v = lambda t: np.array([[A + 0.3 * t, L]]), 0.2
    within = jo.Clumps([(ARMS, 0.1)]) & jo.Rods([(0, -1)], lengths, points=points)
    start = {"q0": [[0.0, 0.0]], "v0": [[0.0, v]], "inertia": J}
    balance = jo.solve(jo.Motion(within=within, **start), scheme, t=0.05, h=1e-3).energy_balance()
    assert abs(balance.error[-1]) < (1e-12 if isinstance(scheme, jo.MoreauJean) else 1e-10)
    blow = (-0.2 - v) / (1.0 + A * A / J)  # the end of the rod goes down at 0.2
    assert balance.dissipated[1] == pytest.approx(-blow * (0.2 + v) / 2.0, rel=0.02)
    assert balance.work_of_walls[1] == pytest.approx(-0.2 * blow, rel=0.02)


def test_three_rods_hold_a_clump_that_two_would_hold():
    """A swing on three parallel rods is a pendulum: the equalities depend on each other."""
    points = np.array([[-A, L], [0.0, L], [A, L]])
    within = jo.Clumps([([[-A, 0.0], [0.0, 0.0], [A, 0.0]], 0.1)]) & jo.Rods(
        [(0, -1), (1, -2), (2, -3)], L, points=points
    )
    swing = jo.Motion(q0=[[0.0, 0.0]], v0=[1.5, 0.0], force=[0.0, -G9], within=within)
    end = solve_ivp(lambda t, y: [y[1], -G9 / L * np.sin(y[0])], (0, 1), [0.0, 1.5 / L], rtol=1e-11, atol=1e-12).y[
        0, -1
    ]
    for scheme in SCHEMES:
        sol = jo.solve(swing, scheme, t=1.0, h=0.01)
        np.testing.assert_allclose(sol.q[-1][0], [L * np.sin(end), L - L * np.cos(end)], atol=3e-2)
        assert np.abs(sol.orientation).max() < 1e-6


def test_a_rod_in_a_clump_is_refused():
    with pytest.raises(
        jo.InvalidValue, match="rod 1 joins clump 1, ball 1 and clump 1, ball 0, which are rigid together"
    ):
        jo.Clumps([(ARMS, 0.1)] * 2) & jo.Rods([(1, 2), (3, 2)], [1.0, 2 * A])


@BOTH
@pytest.mark.parametrize("law", [None, jo.Coulomb(0.4)], ids=["smooth", "rough"])
def test_a_run_of_rods_and_clumps_is_saved_read_drawn_and_resumed(scheme, law, tmp_path):
    problem = joined_by_rods(2, law)
    whole = jo.solve(problem, scheme, t=0.3, h=0.01)
    for t in (0.11, 0.3):
        out = {"checkpoint": tmp_path / "c", "dtype": float, "contacts": True, "resume": t > 0.2}
        jo.solve(problem, scheme, t=t, h=0.01, output=jo.io.Output(tmp_path / "a.vtkhdf", **out))
    read = jo.io.read(tmp_path / "a.vtkhdf")
    assert np.asarray(read.q[:]).tobytes() == whole.q.tobytes()
    assert read.impulses()["pair"].tolist() == whole.impulses()["pair"].tolist()
    np.testing.assert_array_equal(read.stats["dissipated"], whole.stats["dissipated"])
    places, scene = whole.places(-1), Scene(read)
    ends = [[places[1], places[2]], [places[3], places[4]]]
    np.testing.assert_allclose(scene.rods(scene.frame(-1)), ends, atol=1e-12)
    np.testing.assert_allclose(read.facts.rods[0].ends(0.0, places), ends, atol=1e-12)
    assert read.places(-1) == pytest.approx(places, abs=1e-12)
