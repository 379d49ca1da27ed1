"""Spin and friction where the answer is known: to round-off, or with the order at which it is approached.

Letters as in mechanics: mu the friction coefficient, k = I / (m R^2) (disc 1/2, sphere 2/5, shell 2/3, hoop 1), s the
velocity with which a surface slides.
"""

import itertools

import numpy as np
import pytest

import jostle as jo
from rows import whole

G = 10.0
MAURY, MOREAU_JEAN = jo.Maury(), jo.MoreauJean()
BOTH = pytest.mark.parametrize("scheme", [MAURY, MOREAU_JEAN], ids=["Maury", "MoreauJean"])
PLANE_AND_SPACE = pytest.mark.parametrize("d", [2, 3])
SIDES = pytest.mark.parametrize("side", [1.0 - 1e-9, 1.0 + 1e-9], ids=["below", "above"])


def along(d, x, y):
    """(d,) x along the floor, y across it; in space turned by 0.6 about the normal of the floor."""
    return np.array([x, y]) if d == 2 else np.array([x * np.cos(0.6), x * np.sin(0.6), y])


def rolls(d, spin):
    """The spin of bodies that roll in the direction x with the speed R spin."""
    return -spin if d == 2 else spin * np.array([-np.sin(0.6), np.cos(0.6), 0.0])


def floor(d, **more):
    return jo.HalfSpace(along(d, 0.0, 1.0), **more)


def weight(d, slope=0.0):
    """Gravity on a slope, which goes down in the direction x."""
    return along(d, G * np.sin(slope), -G * np.cos(slope))


def puck(d, mu, v=0.0, slope=0.0, **more):
    """A point on the floor."""
    given = {"v0": along(d, v, 0.0), "law": jo.Coulomb(mu)} | more
    return jo.Motion(q0=np.zeros((1, d)), force=weight(d, slope), within=floor(d), **given)


def ball(d, mu, v=0.0, slope=0.0, k=None, R=0.5, **more):
    """A ball of mass 2 on the floor."""
    inertia = {} if k is None else {"inertia": k * 2.0 * R**2}
    given = {"q0": [along(d, 0.0, R)], "v0": along(d, v, 0.0), "law": jo.Coulomb(mu)} | inertia | more
    return jo.Motion(force=2.0 * weight(d, slope), mass=2.0, within=jo.Balls([R]) & floor(d), **given)


def solved(problem, scheme, t, h, **more):
    sol = jo.solve(problem, scheme, t=t, h=h, **more)
    assert sol.status == "finished"
    return sol


def order(error, steps):
    """The exponent p of an error h^p, fitted; and the errors."""
    errors = np.array([error(h) for h in steps])
    return np.polyfit(np.log(steps), np.log(errors), 1)[0], errors


def close(found, exact, tol=1e-11):
    assert np.asarray(found) == pytest.approx(np.asarray(exact), abs=tol, rel=tol)


# Points


@pytest.mark.each_value
@BOTH
@PLANE_AND_SPACE
@SIDES
def test_a_puck_stays_on_a_slope_if_and_only_if_mu_reaches_its_tangent(scheme, d, side):
    """F01."""
    mu = np.tan(0.3) * side
    sol = solved(puck(d, mu, slope=0.3), scheme, 0.2, 0.02)
    speed = max(0.0, 0.2 * G * (np.sin(0.3) - mu * np.cos(0.3)))
    close(sol.u[-1, 0], along(d, speed, 0.0), 1e-14)
    if side > 1.0:
        assert np.abs(sol.u).max() < 1e-15
    else:
        assert np.linalg.norm(sol.u[-1]) == pytest.approx(speed, rel=1e-5)


@pytest.mark.each_value
@BOTH
@PLANE_AND_SPACE
def test_a_puck_slides_down_a_slope_with_what_friction_leaves_of_gravity(scheme, d):
    """F01."""
    sol = solved(puck(d, 0.1, slope=0.5), scheme, 0.2, 0.02)
    close(sol.u[-1, 0], along(d, 0.2 * G * (np.sin(0.5) - 0.1 * np.cos(0.5)), 0.0))


@PLANE_AND_SPACE
def test_stopping_distance(d):
    """F02: the sum of implicit Euler is known, and MoreauJean moves by mean velocities."""
    h, mu, steps = 0.02, 0.3, 20
    v = steps * mu * G * h
    exact = v**2 / (2.0 * mu * G)
    for scheme, distance in ((MAURY, exact - v * h / 2.0), (MOREAU_JEAN, exact)):
        sol = solved(puck(d, mu, v), scheme, 0.6, h)
        close(sol.q[-1, 0], along(d, distance, 0.0), 1e-13)
        assert np.abs(sol.u[-1]).max() < 1e-15
        found = sol.energy_balance()
        close([found.dissipated[-1], found.error[-1]], [0.5 * v**2, 0.0], 1e-12)


def test_stopping_distance_between_the_steps():
    """F02 for a speed that is no multiple of mu g h: order 1 for Maury, 2 for MoreauJean."""
    mu, v = 0.3, 1.2345
    for scheme, expected in ((MAURY, 1.0), (MOREAU_JEAN, 2.0)):
        for h in (0.04, 0.02):
            off = abs(solved(puck(2, mu, v), scheme, 0.6, h).q[-1, 0, 0] - v**2 / (2.0 * mu * G))
            assert off <= (v * h if expected == 1.0 else mu * G * h**2)


@BOTH
def test_pucks_stop_after_equal_straight_lines_in_all_directions(scheme):
    """F03."""
    angles = np.radians([0.0, 10.0, 22.5, 45.0, 100.0])
    v = 0.9 * np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    pucks = jo.Motion(q0=np.zeros((5, 3)), v0=v, force=[0.0, 0.0, -G], within=floor(3), law=jo.Coulomb(0.3))
    sol = solved(pucks, scheme, 0.4, 0.02)
    assert np.abs(sol.u[-1]).max() < 1e-15
    ways = np.linalg.norm(sol.q[-1], axis=1)
    close(ways, np.full(5, ways[0]), 1e-13)
    close(sol.q[-1], ways[0] * v / 0.9, 1e-13)


@BOTH
def test_a_puck_across_a_slope_ends_with_half_its_speed_straight_down(scheme):
    """F04: |v| + v_down = v0 at all times, here with the order 1 of an implicit step."""
    pucks = jo.Motion(
        q0=[[0.0, 0.0, 0.0]], v0=[1.0, 0.0, 0.0], force=G * np.array([0.0, -np.sin(0.4), -np.cos(0.4)]),
        within=floor(3), law=jo.Coulomb(np.tan(0.4)),
    )  # fmt: skip

    def error(h):
        u = solved(pucks, scheme, 1.0, h).u[:, 0]
        assert abs(u[-1, 0]) < 1e-2
        assert abs(-u[-1, 1] - 0.5) < 2.0 * h
        return np.abs(np.linalg.norm(u, axis=1) - u[:, 1] - 1.0).max()

    p, errors = order(error, (0.08, 0.04, 0.02))
    assert 0.85 < p < 1.15, errors


@pytest.mark.each_value
@BOTH
@PLANE_AND_SPACE
def test_a_puck_on_a_belt_is_left_behind(scheme, d):
    """F05: slips for V / (mu g), back by V^2 / (2 mu g); half of the work of the belt is dissipated."""
    h, mu, steps = 0.02, 0.3, 20
    V = steps * mu * G * h
    law = jo.Coulomb(mu, surface_velocity={"wall 0": along(d, V, 0.0)})
    block = jo.Motion(q0=np.zeros((1, d)), force=weight(d), within=floor(d), law=law)
    sol = solved(block, scheme, 0.6, h)
    back = V**2 / (2.0 * mu * G) - (V * h / 2.0 if scheme is MAURY else 0.0)
    close(sol.q[-1, 0], along(d, 0.6 * V - back, 0.0), 1e-13)
    close(sol.u[steps // 2, 0], along(d, V / 2.0, 0.0), 1e-13)
    found = sol.energy_balance()
    close([found.work_of_walls[-1], found.dissipated[-1], found.error[-1]], [V**2, V**2 / 2.0, 0.0], 1e-12)


@BOTH
@pytest.mark.parametrize("h", [0.03, whole(0.015)])
def test_dry_friction_oscillator_stops_at_its_last_turning_point(scheme, h):
    """F06: turning points (-1)^n (x0 - 2 n d), half a period pi sqrt(m / k) apart; both schemes have order 2."""
    k, mu, x0, m = 40.0, 0.2, 0.45, 2.0
    d, half = mu * m * G / k, np.pi * np.sqrt(m / k)
    exact = np.array([-(x0 - 2.0 * d), x0 - 4.0 * d])
    assert abs(exact[1]) < d < abs(exact[0])

    def spring(t, q):
        return np.array([0.0, -m * G]) - k * q * [1.0, 0.0]

    body = jo.Motion(q0=[[x0, 0.0]], mass=m, force=spring, within=floor(2), law=jo.Coulomb(mu))
    sol = solved(body, scheme, 2.2 * half, h)
    x, u = sol.q[:, 0, 0], sol.u[:, 0, 0]
    assert abs(u[-1]) < 1e-12
    assert sol.t[np.flatnonzero(np.abs(u) > 1e-12)[-1]] == pytest.approx(2.0 * half, abs=3.0 * h)
    assert np.abs([x.min(), x[-1]] - exact).max() < 2.0 * h**2


# The convex law


@pytest.mark.filterwarnings("ignore::jostle.errors.ThrownUp")
@PLANE_AND_SPACE
def test_the_convex_law_throws_up_a_body_that_begins_to_slide(d):
    """F11: with mu v / (1 + mu^2), whatever h; mu = 0.5 and v = 1 give a hop of 0.08 under g = 1."""
    for h in (0.01, 0.002):
        law = jo.laws.ConvexFriction(0.5)
        thrown = jo.Motion(q0=np.zeros((1, d)), v0=along(d, 1.0, 0.0), within=floor(d), law=law)
        sol = solved(thrown, MAURY, 5 * h, h)
        close(sol.u[1:, 0, -1], np.full(5, 0.4), 1e-12)
        with_weight = jo.Motion(
            q0=np.zeros((1, d)), v0=along(d, 1.0, 0.0), force=along(d, 0.0, -1.0), within=floor(d), law=law
        )
        assert solved(with_weight, MAURY, 0.5, 10 * h).q[:, 0, -1].max() == pytest.approx(0.08, abs=5 * h)


def test_the_convex_law_warns_where_it_throws_a_body_up_and_coulombs_law_does_not():
    sliding = {"q0": np.zeros((1, 2)), "v0": [1.0, 0.0], "within": floor(2)}
    with pytest.warns(jo.errors.ThrownUp, match=r"jo\.Coulomb"):
        jo.solve(jo.Motion(**sliding, law=jo.laws.ConvexFriction(0.5)), MAURY, t=0.02, h=0.01)
    jo.solve(jo.Motion(**sliding, law=jo.Coulomb(0.5)), MAURY, t=0.02, h=0.01)  # warnings are errors here


@pytest.mark.filterwarnings("ignore::jostle.errors.ThrownUp")
@PLANE_AND_SPACE
def test_the_convex_law_leaves_a_gap_while_a_body_slides(d):
    """F10: mu h |s|; the friction itself is that of Coulomb's law as long as the gap hardly changes."""
    h, mu, slope = 0.01, 0.5, 0.6
    sol = solved(puck(d, mu, slope=slope, law=jo.laws.ConvexFriction(mu)), MAURY, 0.5, h)
    speed = np.linalg.norm(sol.u[:, 0, :-1], axis=1)
    close(sol.q[1:, 0, -1], mu * h * speed[1:], 1e-12)
    exact = solved(puck(d, mu, slope=slope), MAURY, 0.5, h)
    assert np.abs(exact.q[:, 0, -1]).max() < 1e-15


# Balls


SHAPES = pytest.mark.parametrize(("d", "k"), [(2, 0.5), (2, 1.0), (3, 0.4), (3, 2.0 / 3.0)])


@pytest.mark.each_value
@BOTH
@SHAPES
@pytest.mark.parametrize("side", [0.7, 1.0 - 1e-9, 1.0 + 1e-9, 2.0])
def test_a_ball_rolls_down_a_slope_or_slides(scheme, d, k, side):
    """F13: no slip if and only if tan a <= mu (1 + 1/k)."""
    a, t, R, h = 0.5, 0.2, 0.5, 0.02
    mu = np.tan(a) / (1.0 + 1.0 / k) * side
    rolling = side > 1.0
    v = t * (G * np.sin(a) / (1.0 + k) if rolling else G * (np.sin(a) - mu * np.cos(a)))
    spin = v / R if rolling else t * mu * G * np.cos(a) / (k * R)
    sol = solved(ball(d, mu, slope=a, k=None if k in (0.5, 0.4) else k), scheme, t, h)
    close(sol.u[-1, 0], along(d, v, 0.0), 1e-13)
    close(sol.spin[-1, 0], rolls(d, spin), 1e-13)
    slip = np.linalg.norm(sol.u[-1, 0] - along(d, R * spin, 0.0))
    if rolling:
        assert slip < 1e-14
    else:
        assert np.linalg.norm(sol.u[-1, 0]) - R * np.linalg.norm(sol.spin[-1, 0]) == pytest.approx(
            v - R * spin, rel=1e-4
        )
    close(sol.q[-1, 0], along(d, (v * t / 2.0) + (v * h / 2.0 if scheme is MAURY else 0.0), R), 1e-12)
    found = sol.energy_balance()
    assert np.abs(found.error[-1]) < (2.0 * G * v * h if scheme is MAURY else 1e-12)
    close(found.dissipated[-1], 0.0 if rolling else found.dissipated[-1], 1e-12)


@pytest.mark.each_value
@BOTH
@PLANE_AND_SPACE
def test_a_disc_dropped_on_a_slope(scheme, d):
    """F14: Bloch & Lefebvre-Lepot 2023, figures 5 and 6; in space a ball with the inertia of the disc."""
    a, mu = np.radians(30.0), [0.1, 1.0]
    x, turn = np.array([20.7698729811, 16.8591167564]), np.array([-8.4602540378, -16.2817664872])
    v, spin = np.array([4.1339745962, 3.3333333333]), np.array([-1.7320508076, -3.3333333333])
    dropped = jo.Motion(
        q0=[along(d, 0.0, 2.0), along(d, -9.0, 2.0)], force=along(d, np.sin(a), -np.cos(a)), inertia=0.5,
        within=jo.Balls([1.0, 1.0]) & floor(d), law=jo.Coulomb(dict(enumerate(mu))),
    )  # fmt: skip
    e = along(d, 1.0, 0.0)

    def error(h):
        sol = solved(dropped, scheme, 10.0, h)
        close(sol.u[-1] @ e, v, 1e-9)
        close(sol.spin[-1], [rolls(d, -each) for each in spin], 1e-9)
        if d == 2:
            assert sol.orientation[-1] == pytest.approx(turn, abs=3.0 * h)
        return np.abs(sol.q[-1] @ e + [0.0, 9.0] - x).max()

    for h in (0.4, 0.2):
        assert error(h) < 3.0 * h


@pytest.mark.each_value
@BOTH
@SHAPES
def test_a_bowling_ball_slides_and_then_rolls(scheme, d, k):
    """F15: rolls with (v + k R w) / (1 + k) from t = (v - R w) / (mu g (1 + 1/k))."""
    v, w, mu, R, h = 3.0, 1.0, 0.5, 0.5, 0.02
    sol = solved(ball(d, mu, v, k=k, spin0=rolls(d, w)), scheme, 0.6, h)
    final = (v + k * R * w) / (1.0 + k)
    close(sol.u[-1, 0], along(d, final, 0.0), 1e-12)
    close(sol.spin[-1, 0], rolls(d, final / R), 1e-12)
    start = (v - R * w) / (mu * G * (1.0 + 1.0 / k))
    speed = sol.u[:, 0] @ along(d, 1.0, 0.0)
    close(speed[sol.t < start], v - mu * G * sol.t[sol.t < start], 1e-12)
    close(speed[sol.t > start + h], np.full(np.count_nonzero(sol.t > start + h), final), 1e-12)
    close(sol.energy_balance().dissipated[-1], 2.0 * (v - R * w) ** 2 / 2.0 * k / (1.0 + k), 1e-11)


@BOTH
def test_a_billiard_ball_with_any_spin(scheme):
    """F16: v - k / (1 + k) s after k |s| / ((1 + k) mu g), in a constant direction of slip; spin about z stays."""
    mu, R, k, v, w = 0.2, 0.5, 0.4, np.array([1.0, 0.3, 0.0]), np.array([-4.0, 5.0, 7.0])
    slip = v + np.cross(w, [0.0, 0.0, -R])
    end = k * np.linalg.norm(slip) / ((1.0 + k) * mu * G)
    thrown = jo.Motion(
        q0=[[0.0, 0.0, R]], v0=v, spin0=w, force=[0.0, 0.0, -G], within=jo.Balls([R]) & floor(3), law=jo.Coulomb(mu)
    )
    sol = solved(thrown, scheme, 1.5 * end, end / 20.0)
    final = v - k / (1.0 + k) * slip
    close(sol.u[-1, 0], final, 1e-12)
    close(sol.spin[-1, 0], [-final[1] / R, final[0] / R, w[2]], 1e-12)
    now = sol.u[:, 0] + np.cross(sol.spin[:, 0], [0.0, 0.0, -R])
    close(np.cross(now, slip), np.zeros_like(now), 1e-12)
    close(np.linalg.norm(now, axis=1), np.maximum(0.0, 1.0 - sol.t / end) * np.linalg.norm(slip), 1e-12)
    close(sol.spin[:, 0, 2], np.full(len(sol.t), w[2]), 1e-15)


@pytest.mark.parametrize(
    ("scheme", "d", "k"), [(MAURY, 2, None), whole((MAURY, 2, 1.0)), (MAURY, 3, 0.4), (MOREAU_JEAN, 2, 0.5)]
)
def test_a_ball_leaves_a_fixed_one_that_it_rolls_down(scheme, d, k):
    """F18: at cos theta = 2 / (3 + k), 2/3 without friction; it starts at theta = 0.4 with the speed from the top."""
    R, r, start = 1.0, 0.25, 0.4
    radius, inertia = R + r, {} if k is None else {"inertia": k * r * r}
    up, side = along(d, 0.0, 1.0), along(d, 1.0, 0.0)
    v = np.sqrt(2.0 * G * radius * (1.0 - np.cos(start)) / (1.0 + (k or 0.0)))
    rolling = jo.Motion(
        q0=[radius * (np.cos(start) * up + np.sin(start) * side)], v0=v * (np.cos(start) * side - np.sin(start) * up),
        spin0=rolls(d, 0.0 if k is None else v / r), force=weight(d), within=jo.Balls([r]) & jo.Outside(0.0 * up, R),
        law=jo.Coulomb(0.0 if k is None else 1e4), **inertia,
    )  # fmt: skip

    exact = 2.0 / (3.0 + (k or 0.0))

    def error(h):
        sol = jo.solve(rolling, scheme, t=1.0, h=h, until=lambda s: s.q[0] @ up < (exact - 0.1) * radius)
        assert sol.status == "stopped"
        last = max(frame for frame, p in enumerate(sol.multipliers) if p.any())
        return abs(sol.q[last, 0] @ up / np.linalg.norm(sol.q[last, 0]) - exact)

    for h in (0.016, 0.008):  # MoreauJean hops before it leaves, with and without friction
        assert error(h) < (2.0 * h if scheme is MAURY else np.sqrt(h))


@pytest.mark.each_value
@PLANE_AND_SPACE
@pytest.mark.parametrize("e", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("mu", [0.05, 0.5])
def test_impact_with_friction(d, e, mu):
    """F20: p_n = (1 + e) m v_n, p_t = min(mu p_n, m |s| k / (1 + k)), with backspin, in all schemes that can."""
    R, m, k, v, down, w = 0.5, 2.0, 0.5 if d == 2 else 0.4, 1.0, 2.0, -3.0
    slip = v - R * w
    normal = (1.0 + e) * m * down
    tangential = min(mu * normal, m * slip * k / (1.0 + k))
    assert (tangential < mu * normal) == (mu == 0.5)
    for scheme in (MAURY, MOREAU_JEAN) if e == 0.0 else (MOREAU_JEAN,):
        thrown = jo.Motion(
            q0=[along(d, 0.0, R + 0.3)], v0=along(d, v, -down), spin0=rolls(d, w), mass=m,
            within=jo.Balls([R]) & floor(d), law=jo.Coulomb(mu, e),
        )  # fmt: skip
        sol = solved(thrown, scheme, 0.2, 0.02)
        close(sol.u[-1, 0], along(d, v - tangential / m, e * down), 1e-12)
        close(sol.spin[-1, 0], rolls(d, w + tangential / (k * m * R)), 1e-12)
        pushed = sum(p.sum() for p in sol.multipliers)
        rubbed = sum((p.sum(axis=0) for p in sol.tangential), np.zeros(d))
        close(pushed, normal, 1e-12)
        close(np.linalg.norm(rubbed), tangential, 1e-12)


# Several contacts, and clumps


@BOTH
@pytest.mark.parametrize("k", [0.5, 1.0])
@pytest.mark.parametrize("step", [0.1, 0.4])
def test_a_disc_rolls_over_a_step(scheme, k, step):
    """F24: at the edge w+ / w = (1 + k - step / R) / (1 + k), and the disc turns about the edge."""
    R, w = 1.0, 2.0
    edge = np.array([np.sqrt(R**2 - (R - step) ** 2), step])
    over = jo.Motion(
        q0=[[0.0, R]], v0=[R * w, 0.0], spin0=-w, inertia=k * R**2, law=jo.Coulomb(100.0),
        within=jo.Balls([R]) & floor(2) & jo.Outside(edge, 0.0),
    )  # fmt: skip
    after = w * (1.0 + k - step / R) / (1.0 + k)
    exact = after * np.array([R - step, edge[0], -1.0])

    def error(h):
        sol = solved(over, scheme, h, h)
        return np.abs([*sol.u[-1, 0], sol.spin[-1, 0]] - exact).max()

    if scheme is MAURY:
        assert error(0.001) < 1e-10
    else:  # contacts are found half a step later
        p, errors = order(error, (4e-3, 2e-3, 1e-3))
        assert 0.9 < p < 1.1, errors


def block(width, height, **more):
    """The corners of a block, and its inertia."""
    arms = np.array([[-width, -height], [width, -height], [width, height], [-width, height]]) / 2.0
    return {"within": jo.Clumps([(arms, 0.0)]) & floor(2), "inertia": (width**2 + height**2) / 12.0, **more}


@BOTH
def test_a_rocking_block_changes_its_corner(scheme):
    """F25: w+ / w = 1 - 3/2 sin^2 a if mu reaches (1 - w+/w) / (1 + w+/w) / tan a, 0.1312 at 10 degrees."""
    a = np.radians(10.0)
    width, height, w = 2.0 * np.sin(a), 2.0 * np.cos(a), 1.0
    ratio = 1.0 - 1.5 * np.sin(a) ** 2
    least = (1.0 - ratio) / (1.0 + ratio) / np.tan(a)
    assert least == pytest.approx(0.1312, abs=5e-5)
    for mu in (least * (1.0 + 1e-6), 1.0, least * (1.0 - 1e-6), 0.0):
        rocking = jo.Motion(
            q0=[[0.0, height / 2.0]], v0=[height / 2.0 * w, -width / 2.0 * w], spin0=-w, law=jo.Coulomb(mu),
            **block(width, height),
        )  # fmt: skip
        h = 1e-3 if scheme is MAURY else 1e-9  # MoreauJean finds contacts half a step later
        sol = solved(rocking, scheme, h, h)
        corner = sol.u[-1, 0] + sol.spin[-1] * np.array([height, width]) / 2.0
        assert abs(corner[1]) < 2e-9
        if mu > least:
            close(sol.spin[-1], [-ratio * w], 2e-9)
            assert abs(corner[0]) < 2e-9
        else:
            assert corner[0] > 1e-8
            assert abs(sol.spin[-1, 0] + ratio * w) > 1e-8


@pytest.mark.each_value
@BOTH
@pytest.mark.parametrize("tips", [False, True], ids=["flat", "tips"])
@pytest.mark.parametrize("slides", [False, True], ids=["sticks", "slides"])
def test_a_block_on_a_slope_tips_or_slides(scheme, tips, slides):
    """F26: slides if and only if mu < tan a; tips if and only if width / height < min(mu, tan a)."""
    a = 0.4
    mu = np.tan(a) * (0.999 if slides else 1.001)
    width, height = (0.998 if tips else 1.002) * np.tan(a), 1.0
    on_slope = jo.Motion(q0=[[0.0, 0.5]], force=weight(2, a), law=jo.Coulomb(mu), **block(width, height))
    sol = solved(on_slope, scheme, 0.2, 0.02)
    moves, turns = sol.u[-1, 0, 0], -sol.spin[-1, 0]
    if tips:
        assert turns > 1e-4
    else:
        assert abs(turns) < 2e-6  # gaps within the tolerance are not closed: 1e-8 of the block, in a step of 0.02
        close(moves, 0.2 * G * (np.sin(a) - mu * np.cos(a)) if slides else 0.0, 1e-8)


@pytest.mark.each_value
@BOTH
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("sides", list(itertools.product([0.99, 1.01], [0.99, 1.01])))
def test_three_cylinders_or_four_spheres_stand(scheme, d, sides):
    """F27: with theta between a contact and the vertical, mu >= tan(theta/2), and tan(theta/2) / (d + 1) on the floor.

    The floor pushes each of d bodies with (d + 1) / d weights, the upper one with 1/d of a weight along the normal.
    """
    theta = np.radians(30.0) if d == 2 else np.arcsin(1.0 / np.sqrt(3.0))
    least = np.tan(theta / 2.0)
    R, turns = 0.5, 2.0 * np.pi * np.arange(3) / 3.0
    lower = np.array([[-R, R], [R, R]])
    if d == 3:
        lower = np.stack(
            [2 * R / np.sqrt(3) * np.cos(turns), 2 * R / np.sqrt(3) * np.sin(turns), R + 0 * turns], axis=1
        )
    top = np.append(np.zeros(d - 1), R + 2.0 * R * np.cos(theta))
    law = jo.Coulomb({"wall 0": least / (d + 1) * sides[0], (d, "lower"): least * sides[1]},
                     groups={"lower": list(range(d))})  # fmt: skip
    standing = jo.Motion(
        q0=np.vstack([lower, top]), force=np.append(np.zeros(d - 1), -G), within=jo.Balls([R] * (d + 1)) & floor(d),
        law=law,
    )  # fmt: skip
    sol = solved(standing, scheme, 0.1, 0.01)
    if min(sides) > 1.0:
        assert np.abs(sol.u).max() < 1e-8
    else:
        assert np.abs(sol.u[-1]).max() > 1e-3
