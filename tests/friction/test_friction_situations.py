"""Spin and friction where something else happens too: several contacts, all kinds of walls, bodies that come and go,
rolling resistance, belts and drums, tables of coefficients, checkpoints, and input that is refused."""

import contextlib
import re
import warnings
from functools import partial

import numpy as np
import pytest

import jostle as jo
from jostle.convex.linear_map import Dense
from jostle.sets import Contacts
from rows import whole

G = 10.0
MAURY, MOREAU_JEAN = jo.Maury(), jo.MoreauJean()
BOTH = pytest.mark.parametrize("scheme", [MAURY, MOREAU_JEAN], ids=["Maury", "MoreauJean"])
FLOOR = jo.HalfSpace([0.0, 1.0])
DOWN = [0.0, -G]


def solved(problem, scheme, t, h, **more):
    sol = jo.solve(problem, scheme, t=t, h=h, **more)
    assert sol.status == "finished"
    return sol


def close(found, exact, tol=1e-11):
    assert np.asarray(found) == pytest.approx(np.asarray(exact), abs=tol, rel=tol)


# Walls


PLATE = [[-10.0, 0.0], [-10.0, -1.0], [10.0, -1.0], [10.0, 0.0]]
WALLS = {
    "plane": FLOOR,
    "long normal": jo.HalfSpace([0.0, 3.0]),
    "box": jo.Box([-10.0, 0.0], [10.0, 10.0]),
    "segment": jo.Segments([[[-10.0, 0.0], [10.0, 0.0]]]),
    "polygon": jo.Polygons([PLATE]),
    "with a rod": FLOOR & jo.Rods([(0, 1)], [3.0]),
}


@pytest.mark.each_value
@BOTH
@pytest.mark.parametrize("wall", WALLS)
def test_discs_thrown_on_all_kinds_of_floors_roll_with_two_thirds_of_their_speed(scheme, wall):
    discs = jo.Motion(
        q0=[[0.0, 1.0], [3.0, 1.0]], v0=[3.0, 0.0], force=DOWN, law=jo.Coulomb(0.5),
        within=jo.Balls([1.0, 1.0]) & WALLS[wall],
    )  # fmt: skip
    sol = solved(discs, scheme, 0.4, 0.02)
    close(sol.u[-1], [[2.0, 0.0]] * 2, 1e-9)
    close(sol.spin[-1], [-2.0, -2.0], 1e-9)


@BOTH
def test_one_body_without_a_row_of_its_own(scheme):
    disc = jo.Motion(
        q0=[0.0, 1.0], v0=[3.0, 0.0], force=DOWN, law=jo.Coulomb(0.5), within=jo.HalfSpace([0.0, 1.0], radii=1.0)
    )
    sol = solved(disc, scheme, 0.4, 0.02)
    assert sol.q.shape == (21, 2)
    close(sol.u[-1], [2.0, 0.0])
    close(sol.spin[-1], [-2.0])
    flying = jo.Motion(q0=[0.0, 5.0], spin0=2.0, force=DOWN, law=jo.Coulomb(0.5), within=FLOOR)
    close(solved(flying, scheme, 0.5, 0.005).orientation[-1], [1.0])


@BOTH
def test_a_floor_that_rises(scheme):
    disc = jo.Motion(
        q0=[[0.0, 1.0]], v0=[3.0, 1.0], force=DOWN, law=jo.Coulomb(0.5),
        within=jo.Balls([1.0]) & jo.HalfSpace([0.0, 1.0], offset=lambda t: t),
    )  # fmt: skip
    sol = solved(disc, scheme, 0.4, 0.02)
    close(sol.u[-1, 0], [2.0, 1.0])
    close(sol.spin[-1], [-2.0])
    found = sol.energy_balance()
    close([found.work_of_walls[-1], found.dissipated[-1]], [0.4 * G, 1.5])


@BOTH
def test_a_disc_that_spins_in_a_corner(scheme):
    """It slides on the floor, N1, and on the wall, N2 = mu N1, with N1 + mu N2 = m g."""
    mu, w, t = 0.3, 5.0, 0.2
    disc = jo.Motion(
        q0=[[1.0, 1.0]], spin0=w, force=DOWN, law=jo.Coulomb(mu),
        within=jo.Balls([1.0]) & FLOOR & jo.HalfSpace([1.0, 0.0]),
    )  # fmt: skip
    sol = solved(disc, scheme, t, 0.02)
    close(sol.spin[-1], [w - t * mu * (1.0 + mu) * G / (1.0 + mu**2) / 0.5], 1e-8)
    assert np.abs(sol.u).max() < 1e-8


@BOTH
def test_a_disc_rolls_in_a_bowl(scheme):
    """Small oscillations have the period 2 pi sqrt((1 + k) (R - r) / g)."""
    R, r, angle = 1.0, 0.25, 0.01
    period = 2.0 * np.pi * np.sqrt(1.5 * (R - r) / G)
    start = (R - r) * np.array([np.sin(angle), -np.cos(angle)])
    disc = jo.Motion(q0=[start], force=DOWN, law=jo.Coulomb(1.0), within=jo.Balls([r]) & jo.Inside([0.0, 0.0], R))
    sol = solved(disc, scheme, period, period / 40)
    assert np.abs(sol.q[-1, 0, 0] - start[0]) < 0.02 * start[0]
    assert sol.q[20, 0, 0] == pytest.approx(-start[0], rel=0.02)
    assert np.abs(sol.energy_balance().dissipated[-1]) < 1e-3 * sol.energy().kinetic.max()


@BOTH
def test_periodic_space(scheme):
    """Two discs that meet across the boundary turn as they do inside."""
    law, v, spin = jo.Coulomb(0.5), [[-1.0, 0.0], [1.0, 0.5]], [0.0, 1.0]
    across = jo.Motion(
        q0=[[0.4, 0.5], [1.6, 0.5]], v0=v, spin0=spin, law=law, within=jo.Balls([0.3, 0.3], period=[2.0, np.inf])
    )
    inside = jo.Motion(q0=[[2.4, 0.5], [1.6, 0.5]], v0=v, spin0=spin, law=law, within=jo.Balls([0.3, 0.3]))
    one, other = (solved(problem, scheme, 0.4, 0.02) for problem in (across, inside))
    close(one.u, other.u, 1e-12)
    close(one.spin, other.spin, 1e-12)
    assert abs(one.spin[-1, 0]) > 0.1


@BOTH
def test_a_radius_that_grows_keeps_the_inertia_that_was_given(scheme):
    disc = jo.Motion(
        q0=[[0.0, 1.0]], v0=[3.0, 0.0], force=DOWN, law=jo.Coulomb(0.5), inertia=0.5,
        within=jo.Balls(lambda t: np.array([1.0 + 0.1 * t])) & FLOOR,
    )  # fmt: skip
    sol = solved(disc, scheme, 0.6, 0.02)
    radius = 1.0 + 0.1 * (0.58 if scheme is MAURY else 0.59)  # at which the last step found it
    assert abs(sol.u[-1, 0, 0] + radius * sol.spin[-1, 0]) < 2e-3
    close(sol.u[-1, 0, 1], 0.1, 1e-9)


@BOTH
def test_large_friction_and_none(scheme):
    for mu, u, spin in ((1e6, 2.0, -2.0), (0.0, 3.0, 0.0)):
        disc = jo.Motion(q0=[[0.0, 1.0]], v0=[3.0, 0.0], force=DOWN, law=jo.Coulomb(mu), within=jo.Balls([1.0]) & FLOOR)
        sol = solved(disc, scheme, 0.1, 0.02)
        close(sol.u[-1, 0], [u, 0.0])
        close(sol.spin[-1], [spin])


@BOTH
def test_small_units(scheme):
    """Micrometres and picograms; without warnings about numbers that overflow."""
    L, m = 1e-6, 1e-12
    disc = jo.Motion(
        q0=[[0.0, L]], v0=[3.0 * L, 0.0], mass=m, force=[0.0, -G * m * L], law=jo.Coulomb(0.5),
        within=jo.Balls([L]) & FLOOR,
    )  # fmt: skip
    sol = solved(disc, scheme, 0.4, 0.02)
    close(sol.u[-1, 0] / L, [2.0, 0.0])
    close(sol.spin[-1], [-2.0])


def test_no_bodies():
    nobody = jo.Motion(q0=np.zeros((0, 2)), law=jo.Coulomb(0.5), within=jo.Balls([]) & FLOOR)
    assert solved(nobody, MAURY, 0.1, 0.05).spin.shape == (3, 0)


@BOTH
@pytest.mark.parametrize("side", [0.99, 1.01])
def test_a_ladder_between_a_floor_and_a_wall(scheme, side):
    """It slides if and only if its angle to the floor is below that with tan = (1 - mu^2) / (2 mu)."""
    mu, half = 0.3, 1.0
    angle = np.arctan((1.0 - mu**2) / (2.0 * mu) * side)
    ladder = jo.Motion(
        q0=[[half * np.cos(angle), half * np.sin(angle)]], orientation0=np.pi - angle, force=DOWN,
        inertia=half**2 / 3.0, law=jo.Coulomb(mu),
        within=jo.Clumps([([[-half, 0.0], [half, 0.0]], 0.0)]) & FLOOR & jo.HalfSpace([1.0, 0.0]),
    )  # fmt: skip
    spin = solved(ladder, scheme, 0.05, 0.01).spin[-1, 0]
    assert spin > 1e-3 if side < 1.0 else abs(spin) < 1e-8


@BOTH
def test_a_column_of_discs_stands(scheme):
    """Each contact carries the weight of all discs above it."""
    column = jo.Motion(
        q0=[[0.0, 0.5 + k] for k in range(4)], force=DOWN, law=jo.Coulomb(0.5), within=jo.Balls([0.5] * 4) & FLOOR
    )
    sol = solved(column, scheme, 0.1, 0.02)
    assert np.abs(sol.u).max() < 1e-7
    close(np.sort(sol.multipliers[-1]) / 0.02, [10.0, 20.0, 30.0, 40.0], 1e-6)


def test_a_stiff_force_and_friction_in_one_step():
    """Maury: (m + h^2 k) u = h (f + mu N) for a point that slides."""
    k, h, mu = 100.0, 0.02, 0.5
    spring = jo.StiffForce(lambda t, q: np.array(DOWN) - k * q * [1.0, 0.0], stiffness=[[k, 0.0]])
    puck = jo.Motion(q0=[[0.3, 0.0]], force=spring, law=jo.Coulomb(mu), within=FLOOR)
    close(solved(puck, MAURY, h, h).u[-1, 0], [h * (-0.3 * k + mu * G) / (1.0 + h**2 * k), 0.0])


def test_bouncing_without_loss_on_a_rough_floor_keeps_sticking():
    """e = 1 and large mu: the slip is lost at the first impact, and all later impacts keep the energy."""
    disc = jo.Motion(
        q0=[[0.0, 1.5]], v0=[3.0, 0.0], force=DOWN, law=jo.Coulomb(10.0, e=1.0), within=jo.Balls([1.0]) & FLOOR
    )
    sol = solved(disc, MOREAU_JEAN, 2.0, 0.02)
    found = sol.energy_balance()
    assert len(sol.impacts()) > 2
    close(sol.u[-1, 0, 0], 2.0)
    close([found.dissipated[-1], found.error[-1]], [1.5, 0.0], 1e-10)


# Belts, drums, rolling resistance


@BOTH
def test_a_belt_turns_a_disc_between_two_walls(scheme):
    """The belt slides under a disc that a wall holds: N_wall = mu m g, and the wall rubs with mu N_wall."""
    mu, t = 0.3, 0.1
    law = jo.Coulomb(mu, surface_velocity={"wall 0": [2.0, 0.0]})
    held = jo.Motion(q0=[[-1.0, 1.0]], force=DOWN, law=law, within=jo.Balls([1.0]) & FLOOR & jo.HalfSpace([-1.0, 0.0]))
    sol = solved(held, scheme, t, 0.02)
    floor = G / (1.0 - mu**2)  # the disc turns so that the wall pulls it down
    close(sol.spin[-1], [t * mu * floor * (1.0 - mu) / 0.5], 1e-8)
    found = sol.energy_balance()
    close(found.work_of_walls[-1], 2.0 * mu * floor * t, 1e-8)
    assert found.dissipated[-1] > 0.0
    assert np.abs(found.error).max() < 1e-9


@BOTH
def test_a_disc_at_rest_in_a_turning_drum_spins_like_it(scheme):
    """The rim of the disc gets the speed R W of the drum: spin R W / r at the bottom, from r w' = mu g / k at first."""
    R, r, W, mu = 1.0, 0.25, 0.2, 0.5
    turning = lambda t, x: W * np.stack([-x[:, 1], x[:, 0]], axis=1)  # noqa: E731
    disc = jo.Motion(
        q0=[[0.0, -(R - r)]], force=DOWN, law=jo.Coulomb(mu, surface_velocity={"wall 0": turning}),
        within=jo.Balls([r]) & jo.Inside([0.0, 0.0], R),
    )  # fmt: skip
    sol = solved(disc, scheme, 0.4, 0.01)
    slip = [
        u @ [-x[1], x[0]] / np.linalg.norm(x) + r * w - R * W
        for x, u, w in zip(sol.q[:, 0], sol.u[:, 0], sol.spin[:, 0], strict=True)
    ]
    assert slip[1] == pytest.approx(-R * W + 3.0 * mu * G * 0.01, abs=1e-3)
    assert np.abs(slip[5:]).max() < 2e-3
    found = sol.energy_balance()
    assert found.work_of_walls[-1] == pytest.approx(found.kinetic[-1] + found.dissipated[-1], abs=2e-2)
    if scheme is MOREAU_JEAN:
        assert np.abs(found.error).max() < 1e-12


@pytest.mark.each_value
@BOTH
@pytest.mark.parametrize(("d", "k"), [(2, 0.5), (3, 0.4)])
def test_rolling_resistance_stops_a_ball(scheme, d, k):
    """The moment c m g against the spin, with v = R w: v' = -c g / (R (1 + k)); and it stays."""
    c, R, h = 0.05, 0.5, 0.02
    up, way = np.eye(d)[-1], np.array([1.0, 0.0])[:d] if d == 2 else np.array([0.6, 0.8, 0.0])
    slower = c * G / (R * (1.0 + k))
    spin = -1.0 / R if d == 2 else np.cross(up, way) / R
    ball = jo.Motion(
        q0=[R * up], v0=way, spin0=spin, force=-G * up, law=jo.Coulomb(0.5, rolling=c),
        within=jo.Balls([R]) & jo.HalfSpace(up),
    )  # fmt: skip
    sol = solved(ball, scheme, 0.4, h)
    close(sol.u[-1, 0], (1.0 - 0.4 * slower) * way)
    close(sol.spin[-1, 0], (1.0 - 0.4 * slower) * np.asarray(spin))
    found = sol.energy_balance()
    close([found.error[-1], found.dissipated[-1]], [0.0, found.kinetic[0] - found.kinetic[-1]])
    slow = jo.Motion(
        q0=[R * up], v0=0.1 * way, spin0=0.1 * np.asarray(spin), force=-G * up, law=jo.Coulomb(0.5, rolling=c),
        within=jo.Balls([R]) & jo.HalfSpace(up),
    )  # fmt: skip
    sol = solved(slow, scheme, 0.3, h)
    assert max(np.abs(sol.u[-1]).max(), np.abs(sol.spin[-1]).max()) < 1e-12
    for part in (0.999, 1.001):  # a ball rests on a slope up to tan a = c / R
        on_slope = jo.Motion(
            q0=[R * up], force=part * G * c / R * np.eye(d)[0] - G * up, law=jo.Coulomb(0.5, rolling=c),
            within=jo.Balls([R]) & jo.HalfSpace(up),
        )  # fmt: skip
        close(solved(on_slope, scheme, 0.1, h).u[-1, 0, 0], max(0.0, 0.1 * (part - 1.0) * slower), 1e-8)


@BOTH
def test_spin_about_the_normal_is_not_resisted(scheme):
    top = jo.Motion(
        q0=[[0.0, 0.0, 1.0]], spin0=[0.0, 0.0, 5.0], force=[0.0, 0.0, -G], law=jo.Coulomb(0.3),
        within=jo.Balls([1.0]) & jo.HalfSpace([0.0, 0.0, 1.0]),
    )  # fmt: skip
    sol = solved(top, scheme, 0.1, 0.02)
    close(sol.spin[-1], [[0.0, 0.0, 5.0]], 1e-14)


# Tables


@BOTH
def test_a_coefficient_for_each_pair_wall_and_group(scheme):
    """Four pucks on a floor and one on a step, with a coefficient from each kind of entry; the last entry counts."""
    table = {"wall 0": 0.1, ("heavy", "wall 0"): 0.2, (2, "wall 0"): 0.3, 3: 0.4, "wall 1": 0.05}
    law = jo.Coulomb(table, groups={"heavy": [1, 2]}, default=9.0)
    pucks = jo.Motion(
        q0=[[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [6.0, 0.0]], v0=[1.0, 0.0], force=DOWN, law=law,
        within=FLOOR & jo.HalfSpace([1.0, 0.0], offset=-100.0),
    )  # fmt: skip
    sol = solved(pucks, scheme, 0.1, 0.02)
    close(sol.u[-1, :, 0], 1.0 - 0.1 * G * np.array([0.1, 0.2, 0.3, 0.4]), 1e-12)
    two = jo.Motion(
        q0=[[0.0, 0.0], [1.0, 0.0]],
        v0=[[1.0, 1.0], [0.0, 0.0]],
        law=jo.Coulomb({(0, 1): 0.1}),
        within=jo.Balls([0.5, 0.5]),
    )
    close(np.abs(sum(p.sum(axis=0) for p in solved(two, scheme, 0.1, 0.02).tangential)), [0.0, 0.05], 1e-3)


@BOTH
def test_contacts_without_an_entry_do_not_resist_rolling(scheme):
    discs = jo.Motion(
        q0=[[0.0, 1.0], [9.0, 1.0]], v0=[1.0, 0.0], spin0=-1.0, force=DOWN, within=jo.Balls([1.0, 1.0]) & FLOOR,
        law=jo.Coulomb({"wall 0": 0.5}, rolling={0: 0.1}, default=0.3),
    )  # fmt: skip
    first, second = solved(discs, scheme, 0.1, 0.02).u[-1, :, 0]
    assert first < 0.99
    close(second, 1.0, 1e-12)


# Bodies that come and go


@BOTH
def test_bodies_that_left_have_no_spin_and_no_energy(scheme):
    n = 5
    within = jo.Balls([0.3] * n) & FLOOR
    rain = jo.Motion(
        q0=np.zeros((n, 2)), spin0=2.0, force=DOWN, law=jo.Coulomb(0.5), within=within, present=np.zeros(n, dtype=bool)
    )
    source = jo.Source(([-1.0, 0.4], [1.0, 2.0]), rate=20.0, within=within, velocity=[4.0, -1.0], seed=1)
    sol = solved(rain, scheme, 0.6, 0.02, changes=[source, jo.Outlet(lambda q: q[:, 0] > 1.5)])
    here = np.isfinite(sol.q[:, :, 0])
    assert here.any(axis=0).all()
    assert not here[-1].all()
    assert (sol.spin[~here] == 0.0).all()
    assert np.abs(sol.spin[here]).max() > 1.0
    radius = 0.3
    kinetic = 0.5 * (sol.u**2).sum(axis=(1, 2)) + 0.25 * radius**2 * (sol.spin**2).sum(axis=1)
    close(sol.energy().kinetic, kinetic, 1e-12)


# Checkpoints


@pytest.mark.each_value
@pytest.mark.parametrize("scheme", [MAURY, MOREAU_JEAN], ids=["Maury", "MoreauJean"])
@pytest.mark.parametrize("clumps", [False, True], ids=["balls", "clumps"])
def test_a_resumed_run_has_the_same_bits(scheme, clumps, tmp_path):
    shape = [[-0.2, 0.0], [0.2, 0.0]], 0.3
    within = (jo.Clumps([shape] * 3) if clumps else jo.Balls([0.5] * 3)) & FLOOR
    e, rolling = 0.0 if scheme is MAURY else 0.5, 0.0 if clumps else 0.01
    law = jo.Coulomb(0.4, e=e, rolling=rolling, surface_velocity={"wall 0": [0.3, 0.0]})
    falling = jo.Motion(
        q0=[[0.0, 0.6], [1.1, 0.7], [0.5, 1.8]], spin0=[1.0, 2.0, 3.0], force=DOWN, law=law, within=within
    )
    whole = jo.solve(falling, scheme, t=0.3, h=0.02)
    for end in (0.12, 0.3):
        output = jo.io.Output(checkpoint=tmp_path / "run", resume=end > 0.2)
        resumed = jo.solve(falling, scheme, t=end, h=0.02, output=output)
    assert any(each.any() for each in whole.tangential)
    for name in ("q", "u", "spin", "orientation"):
        np.testing.assert_array_equal(getattr(resumed, name)[-1], getattr(whole, name)[-1])
    for name in ("multipliers", "tangential", "rolling"):
        np.testing.assert_array_equal(getattr(resumed, name)[-1], getattr(whole, name)[-1])


# Input that is refused


ON_FLOOR = {"q0": [[0.0, 1.0]], "within": jo.Balls([1.0]) & FLOOR}
IN_SPACE = {"q0": [[0.0, 0.0, 1.0]], "within": jo.Balls([1.0])}
DUMBBELL = [[-1.0, 0.0], [1.0, 0.0]], 0.5
WRONG = {
    "mu must be a number that is finite and not negative, not -0.1": lambda: jo.Coulomb(-0.1),
    "mu must be a number that is finite and not negative, not nan": lambda: jo.Coulomb(np.nan),
    "mu must be a number that is finite and not negative, not inf": lambda: jo.Coulomb(np.inf),
    "mu must be a number that is finite and not negative, not -2.0": lambda: jo.Coulomb({"wall 0": -2.0}),
    "rolling must be a number that is finite and not negative": lambda: jo.Coulomb(0.5, rolling=-1.0),
    "restitution e must lie in [0, 1]": lambda: jo.Coulomb(0.5, e=1.5),
    "groups must be a dictionary": lambda: jo.Coulomb({"a": 0.5}, groups=3),
    "surface_velocity must be a dictionary": lambda: jo.Coulomb(0.5, surface_velocity=[1.0, 0.0]),
    "default belongs to a table": lambda: jo.Coulomb(0.5, default=0.1),
    "unknown body, wall or group 'wall 7'": lambda: jo.Motion(law=jo.Coulomb({"wall 7": 0.5}), **ON_FLOOR),
    "unknown body, wall or group 'belt'": lambda: jo.Motion(
        law=jo.Coulomb(0.5, surface_velocity={"belt": [1, 0]}), **ON_FLOOR
    ),
    "inertia must be positive, not 0": lambda: jo.Motion(law=jo.Coulomb(0.5), inertia=0.0, **ON_FLOOR),
    "inertia is nan": lambda: jo.Motion(law=jo.Coulomb(0.5), inertia=np.nan, **ON_FLOOR),
    "inertia has shape (2,)": lambda: jo.Motion(law=jo.Coulomb(0.5), inertia=[1.0, 1.0], **ON_FLOOR),
    "spin0 has shape (2,)": lambda: jo.Motion(law=jo.Coulomb(0.5), spin0=[1.0, 2.0], **ON_FLOOR),
    "spin0 has shape ()": lambda: jo.Motion(law=jo.Coulomb(0.5), spin0=1.0, **IN_SPACE),
    "orientation0 has shape (4,)": lambda: jo.Motion(
        law=jo.Coulomb(0.5), orientation0=[1.0, 0.0, 0.0, 0.0], **ON_FLOOR
    ),
    "orientation0 has shape (3,)": lambda: jo.Motion(law=jo.Coulomb(0.5), orientation0=[1.0, 0.0, 0.0], **IN_SPACE),
    "a quaternion in orientation0 is zero": lambda: jo.Motion(
        law=jo.Coulomb(0.5), orientation0=np.zeros(4), **IN_SPACE
    ),
    "balls without friction do not turn": lambda: jo.Motion(spin0=1.0, **ON_FLOOR),
    "in the plane or in space": lambda: jo.Motion(q0=[1.0], within=jo.HalfSpace([1.0]), law=jo.Coulomb(0.5)),
    "there are 1 clumps": lambda: jo.Motion(q0=np.zeros((2, 2)), within=jo.Clumps([DUMBBELL])),
    "is not the origin of its arms": lambda: jo.Motion(q0=[[0.0, 3.0]], within=jo.Clumps([([[1.0, 0.0]], 0.5)])),
    "clumps cannot come and go": lambda: jo.Motion(q0=[[0.0, 3.0]], within=jo.Clumps([DUMBBELL]), present=[True]),
    "have no tangents": lambda: jo.impact([1.0, -1.0], jo.convex.Cone([[0.0, 1.0]]), law=jo.Coulomb(0.5)),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_input(message):
    with pytest.raises(jo.JostleError, match=re.escape(message)):
        WRONG[message]()


def rolling_disc():
    return jo.Motion(law=jo.Coulomb(0.5), **ON_FLOOR)


def flying_dumbbell():
    return jo.Motion(q0=[[0.0, 3.0]], within=jo.Clumps([DUMBBELL]) & FLOOR)


@pytest.mark.parametrize("problem", [rolling_disc, flying_dumbbell])
def test_others_refuse_bodies_that_turn_and_name_who_can(problem):
    for scheme in (jo.Paoli(), jo.Gluey()):
        with pytest.raises(jo.errors.SchemeRefuses, match=r"has no spin.*use Maury or MoreauJean"):
            jo.solve(problem(), scheme, t=0.1, h=0.01)
    for scheme in (jo.Venel(), jo.CatchingUp()):
        with pytest.raises(jo.errors.SchemeRefuses, match="use Maury or MoreauJean"):
            jo.solve(problem(), scheme, t=0.1, h=0.01)
    with pytest.raises(jo.errors.SchemeRefuses, match=r"has no spin.*use Maury or MoreauJean"):
        jo.solve_by_events(problem(), t=0.1)


def test_maury_names_moreau_jean_for_restitution():
    with pytest.raises(jo.errors.SchemeRefuses, match="use MoreauJean"):
        jo.solve(jo.Motion(law=jo.Coulomb(0.5, e=0.5), **ON_FLOOR), MAURY, t=0.1, h=0.01)


@pytest.mark.parametrize("turn", [0.0, 0.5])
def test_a_clump_that_overlaps_a_wall_at_the_start(turn):
    low = jo.Motion(q0=[[0.0, 0.4 if turn == 0.0 else 0.6]], orientation0=turn, within=jo.Clumps([DUMBBELL]) & FLOOR)
    with pytest.raises(jo.InfeasibleStart):
        jo.solve(low, MAURY, t=0.1, h=0.01)


def test_clumps_do_not_leave_and_are_not_refined():
    flying = flying_dumbbell()
    with pytest.raises(jo.InvalidValue, match="cannot come and go"):
        jo.solve(flying, MAURY, t=0.1, h=0.01, changes=jo.Outlet(lambda q: q[:, 1] < 5.0))
    with pytest.raises(jo.InvalidValue, match="accuracy="):
        jo.solve(flying, MAURY, t=0.1, h=0.01, accuracy=0.1)


def test_a_change_may_move_a_clump_but_not_into_a_wall():
    def lifted(state, height):
        return state.replace(q=state.q + np.array([0.0, height])) if state.t < 0.015 else state

    sol = jo.solve(flying_dumbbell(), MAURY, t=0.1, h=0.01, changes=partial(lifted, height=1.0))
    assert sol.q[-1, 0, 1] == 4.0
    with pytest.raises(jo.InfeasibleStart):
        jo.solve(flying_dumbbell(), MAURY, t=0.1, h=0.01, changes=partial(lifted, height=-2.8))


class Doubled(jo.ConstraintSet):
    """A floor whose gap is twice the height."""

    convex_gaps = True

    def linearise(self, t, q, cutoff=np.inf):
        n = len(q)
        G = np.zeros((n, n, 2))
        G[np.arange(n), np.arange(n), 1] = 2.0
        pairs = np.stack([np.arange(n), np.full(n, -1)], axis=1)
        return Contacts(2.0 * q[:, 1], Dense(G.reshape(n, -1)), pairs, constraint_count=1, part_count=n, at=q)


def test_a_set_whose_gaps_are_no_distances_is_refused():
    puck = jo.Motion(q0=[[0.0, 0.0]], v0=[1.0, 0.0], force=DOWN, law=jo.Coulomb(0.3), within=Doubled())
    with pytest.raises(jo.InvalidValue, match="gaps that are distances"):
        jo.solve(puck, MAURY, t=0.1, h=0.01)


@pytest.mark.parametrize(
    ("wall", "moves"),
    [
        (lambda: jo.Inside(lambda t: [np.sin(t), 0.0], 2.0), True),
        (lambda: jo.HalfSpace(lambda t: [np.sin(t), np.cos(t)], offset=-2.0), True),
        (lambda: jo.Segments(lambda t: [[[-2.0, np.sin(t) - 1.0], [2.0, -np.sin(t) - 1.0]]]), True),
        (lambda: jo.Polygons(lambda t: [np.add([[0, 1], [1, 1], [1, 2]], [np.sin(t), 0.0])]), True),
        (lambda: jo.Outside([0.0, 1.0], lambda t: 0.5 + 0.1 * t), True),
        (lambda: jo.Box([-2.0, -2.0], lambda t: [2.0 + np.sin(t), 2.0]), True),
        (lambda: jo.Box([-np.inf, -2.0], lambda t: [np.inf, 2.0 + np.sin(t)]), False),
        (lambda: jo.HalfSpace([0.0, 1.0], offset=lambda t: -2.0 + 0.1 * np.sin(t)), False),
        (lambda: jo.Inside([0.0, 0.0], 2.0), False),
        (lambda: jo.Box([-2.0, -2.0], [2.0, 2.0]), False),
    ],
    ids=[
        "round", "turning plane", "segment", "polygon", "obstacle that grows", "box", "lid", "plane", "at rest",
        "box at rest",
    ],
)  # fmt: skip
@pytest.mark.parametrize("grow", [False, True])
def test_walls_that_may_move_along_themselves_must_say_how_fast(wall, moves, grow):
    """Also if the radii of the bodies are functions of time: then all walls count as moving."""
    within = jo.Balls((lambda t: np.array([0.1 + 0.01 * t])) if grow else [0.1]) & wall()
    made = {"q0": [[0.0, 0.0]], "within": within}
    turns = {"law": jo.Coulomb(0.5), "inertia": 0.01}
    if not moves:
        jo.Motion(**made, **turns)
        return
    with pytest.raises(jo.InvalidValue, match=r"wall 0 .* may move along itself.*surface_velocity="):
        jo.Motion(**made, **turns)
    walls = {f"wall {k}": [0.0, 0.0] for k in range(len(within.sets[1].names))}
    jo.Motion(**made, **turns | {"law": jo.Coulomb(0.5, surface_velocity=walls)})
    jo.Motion(**made)  # without friction nobody is dragged


def test_a_vessel_or_a_plane_in_space_that_turns_must_say_how_fast():
    tilting = jo.Vessel([(1.0, 0.0), (1.0, 2.0)], axis=lambda t: [np.sin(t), 0.0, np.cos(t)])
    turning = jo.HalfSpace(lambda t: [0.1 * np.sin(t), 0.1 * np.cos(t), 1.0], lambda t: 0.1 * t)
    for wall in (tilting, turning):
        for radii in ([0.1], lambda t: np.array([0.1 + 0.01 * t])):
            with pytest.raises(jo.InvalidValue, match="may move along itself"):
                jo.Motion(q0=[[0.0, 0.0, 1.0]], within=jo.Balls(radii) & wall, law=jo.Coulomb(0.5), inertia=0.1)


@pytest.mark.parametrize("scheme", [MAURY, MOREAU_JEAN], ids=["Maury", "MoreauJean"])
@pytest.mark.parametrize("d", [2, 3])
def test_a_turning_plane_drags_bodies_of_constant_and_of_given_radii_alike(scheme, d):
    w = 0.3

    def velocity(t, x):
        turned = np.zeros_like(x)
        turned[:, 0], turned[:, 1] = -w * x[:, 1], w * x[:, 0]
        return turned

    def end(radii):
        plane = jo.HalfSpace(lambda t: [-np.sin(w * t), np.cos(w * t), 0.0][:d], -1.0)
        disc = jo.Motion(
            q0=[[0.0, -0.6, 0.0][:d]], force=[0.0, -9.81, 0.0][:d], inertia=0.1,
            within=jo.Balls(radii) & plane, law=jo.Coulomb(0.7, surface_velocity={"wall 0": velocity}),
        )  # fmt: skip
        return jo.solve(disc, scheme, t=0.4, h=5e-3).u[-1]

    np.testing.assert_allclose(end([0.4]), end(lambda t: np.array([0.4])), atol=1e-9)


def test_rods_and_constraints_of_the_user_drag_nobody():
    """They are not asked how fast they move along themselves: they have no friction."""
    rod = jo.Rods([(0, -1)], lambda t: np.array([1.0 + 0.1 * t]), points=[[0.0, 1.0]])
    lift = jo.constraints(moving=True)(lambda t, q: q[:, 1] + 2.0 - t)
    with pytest.warns(jo.errors.NoFriction, match="^<lambda>: .* have no friction"):
        jo.Motion(q0=[[0.0, 0.0]], within=jo.Balls([0.1]) & rod & lift, law=jo.Coulomb(0.5))


class Floor(jo.ConstraintSet):
    """A floor as a user writes it in a class: rows of bodies and a wall, or rows on the whole configuration."""

    def __init__(self, contacts, equal=False):
        self.contacts, self.equalities = contacts, equal

    def linearise(self, t, q, cutoff=np.inf):
        n = len(q)
        G = np.zeros((n, n, 2))
        G[np.arange(n), np.arange(n), 1] = 1.0
        rows = np.arange(n)
        pairs = np.stack([rows, np.full(n, -1)] if self.contacts else [np.full(n, -1), rows], axis=1)
        equal = np.ones(n, dtype=bool) if self.equalities else None
        return Contacts(q[:, 1], Dense(G.reshape(n, -1)), pairs, constraint_count=n, part_count=n, at=q, equal=equal)


BODIES = {"balls": jo.Balls([0.3, 0.3]), "clumps": jo.Clumps([([[0.0, 0.0]], 0.3), ([[-0.2, 0.0], [0.2, 0.0]], 0.3)])}
WITHOUT = {
    "function": jo.constraints(lambda t, q: q[:, 1]),
    "two functions": jo.constraints(lambda t, q: q[:, 1]) & jo.constraints(lambda t, q: [9.0 - q[0, 0]]),
    "class": Floor(contacts=False),
}
NOT_MEANT = {
    "joint": jo.constraints(equal=True)(lambda t, q: [q[1, 0] - q[0, 0] - 2.0]),
    "rod": jo.Rods([(0, 1)], 2.0),
    "class of contacts": Floor(contacts=True),
    "joints of a class": Floor(contacts=False, equal=True),
    "wall": jo.HalfSpace([0.0, 1.0]),
}


def told(bodies, *sets, mu=0.5, law=jo.Coulomb):
    """The warnings of a problem and of two runs of it."""
    within = bodies
    for other in sets:
        within = within & other
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        problem = jo.Motion(q0=[[0.0, 0.0], [2.0, 0.0]], force=DOWN, within=within, law=law(mu))
        for scheme in (MAURY, MOREAU_JEAN):
            with contextlib.suppress(jo.JostleError):
                jo.solve(problem, scheme, t=0.02, h=0.01)
    return [one for one in said if one.category is jo.errors.NoFriction]


@pytest.mark.parametrize("bodies", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("other", WITHOUT.values(), ids=WITHOUT)
def test_constraints_of_the_user_say_once_that_they_have_no_friction(bodies, other):
    for law in (jo.Coulomb, jo.laws.ConvexFriction):
        assert len(told(bodies, other, law=law)) == 1
    assert len(told(bodies, other, NOT_MEANT["joint"])) == 1
    assert not told(bodies, other, mu=0.0)
    assert len(told(bodies, other, mu={(0, 1): 0.5})) == 1
    assert not told(bodies, other, mu={(0, 1): 0.0})


@pytest.mark.parametrize("bodies", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("other", NOT_MEANT.values(), ids=NOT_MEANT)
def test_rods_joints_and_walls_need_no_such_warning(bodies, other):
    assert not told(bodies, other)


@pytest.mark.parametrize(("gap", "left"), [(2e-9, 2e-9), (5e-9, 0.0)], ids=["a fifth of the tolerance", "half of it"])
def test_friction_does_not_chase_gaps_within_a_quarter_of_the_tolerance(gap, left):
    """Contacts that stick and depend on each other cannot all close at once what the last steps left of them."""
    disc = jo.Motion(q0=[[0.0, 1.0 + gap]], force=[0.0, -10.0], law=jo.Coulomb(0.5), within=jo.Balls([1.0]) & FLOOR)
    sol = jo.solve(disc, jo.Maury(), t=0.02, h=0.01)
    assert sol.q[-1, 0, 1] - 1.0 == pytest.approx(left, abs=1e-10)  # 2e-11 of it returns in a step


@pytest.mark.parametrize("h", [whole(0.003), 0.01])
def test_a_disc_comes_to_rest_in_a_narrow_wedge(h):
    """Friction keeps it from closing what the steps before left of its overlaps, which counts as closed."""
    across, up = np.cos(np.radians(5.0)), np.sin(np.radians(5.0))
    disc = jo.Motion(
        q0=[[0.02, 1.2 / up], [0.01, 1.2 / up + 2.5]], v0=[0.3, -1.0], force=DOWN, law=jo.Coulomb(0.3),
        within=jo.Balls([1.0, 0.8]) & jo.HalfSpace([across, up]) & jo.HalfSpace([-across, up]),
    )  # fmt: skip
    sol = solved(disc, MAURY, 0.9, h)
    assert sol.gaps().min() > -1e-8


def test_few_discs_at_rest_start_from_the_impulses_of_the_step_before():
    """A row of discs between walls that lean on each other: it rests, and a step needs no sweeps then."""
    n = 6
    walls = FLOOR & jo.HalfSpace([1.0, 0.0]) & jo.HalfSpace([-1.0, 0.0], offset=-11.0)
    discs = jo.Motion(
        q0=np.stack([np.arange(n) * 1.8 + 1.0, 1.0 + 0.87177978870813 * (np.arange(n) % 2)], axis=1), force=DOWN,
        law=jo.Coulomb(0.3), within=jo.Balls([1.0] * n) & walls,
    )  # fmt: skip
    sol = solved(discs, MAURY, 1.0, 0.02)
    assert sol.stats["rows"].max() < 60
    assert sol.stats["iterations"][:10].max() > 10
    assert sol.stats["iterations"][-10:].max() <= 5


def test_contacts_that_hold_do_not_bounce():
    """Restitution belongs to contacts that close, not to normals that turn while a disc rolls."""
    left, other = (
        solved(
            jo.Motion(
                q0=[[2.0, -1.5]], force=DOWN, law=jo.Coulomb(0.3, e=e), within=jo.Balls([0.5]) & jo.Inside([0, 0], 3.0)
            ),
            MOREAU_JEAN, 1.0, 0.01,
        )
        for e in (0.0, 0.9)
    )  # fmt: skip
    assert np.array_equal(left.q, other.q)
    assert all(len(p) == 1 and p[0] > 0.0 for p in left.multipliers[1:])


@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_a_disc_that_rolls_slowly_into_a_corner(mu):
    """With mu > 1 a corner locks: no impulses let the disc bounce, and a warning says so."""
    v, corner = 0.05, jo.Balls([0.1]) & FLOOR & jo.HalfSpace([-1.0, 0.0])
    disc = jo.Motion(
        q0=[[-0.1005, 0.1]], v0=[v, 0.0], spin0=-v / 0.1, force=DOWN, within=corner, law=jo.Coulomb(mu, e=0.3)
    )
    if mu < 1.0:
        assert solved(disc, MOREAU_JEAN, 0.2, 0.005).u[-1, 0, 0] == pytest.approx(-0.01, abs=1e-3)
        return
    with pytest.warns(jo.errors.Wedged, match="1 of the contacts that closed had e = 0"):
        sol = solved(disc, MOREAU_JEAN, 0.2, 0.005)
    close(sol.u[-1], [[0.0, 0.0]], 1e-9)


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_how_far_a_clump_is_off_its_centre_is_measured_by_its_size(size):
    def made(off):
        arms = size * np.array([[off + 1.0, 0.0], [off - 1.0, 0.0]])
        return jo.Motion(q0=[[0.0, 3.0]], within=jo.Clumps([(arms, 0.5 * size)]))

    assert made(1e-10).bodies.turn
    with pytest.raises(jo.InvalidValue, match=r"not the origin of its arms, by 6\.67e-05 of its size"):
        made(1e-4)


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore::jostle.errors.Wedged")
def test_a_pile_of_discs_that_bounce_finishes_at_the_default_tolerance():
    """In step 90, sweeps alone do not converge, and Newton's method from what they leave does."""
    rng, n = np.random.default_rng(3), 60
    radii = rng.uniform(0.08, 0.12, n)
    row, column = np.divmod(np.arange(n), 6)
    q0 = np.stack([0.15 + 0.28 * column + 0.03 * (row % 2), 0.15 + 0.26 * row], axis=1)
    mass = np.pi * radii**2
    pile = jo.Motion(
        q0=q0, v0=rng.normal(scale=0.2, size=q0.shape), mass=mass, force=np.outer(mass, [0.0, -9.81]),
        within=jo.Balls(radii) & jo.Box([0.0, 0.0], [1.8, np.inf]), law=jo.Coulomb(0.5, e=0.3),
    )  # fmt: skip
    assert solved(pile, MOREAU_JEAN, 0.95, 0.01).status == "finished"
