"""Venel 2009, a numerical scheme for sweeping processes: `Venel` (22), Moreau's catching-up, gamma and eta.

Every expected value is a closed form worked out here, or the number that another program published.
"""

import numpy as np
import pytest
from scipy.optimize import nnls

import jostle as jo
from jostle.models.balls import HOLES
from rows import few, halvings, whole

SCHEMES = [jo.Venel(), jo.CatchingUp()]
both_schemes = pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: type(scheme).__name__)
few_schemes = pytest.mark.parametrize(
    "scheme", [SCHEMES[0], whole(SCHEMES[1])], ids=lambda scheme: type(scheme).__name__
)
DISC = jo.Outside(centre=[0.0, 0.0], radius=1.0)
HALVINGS = 0.5 ** np.arange(5)


def on_circle(angle):
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def swept(angle, time):
    """The solution of d(angle)/dt = sin(angle): tan(angle / 2) grows like exp(t)."""
    return 2.0 * np.arctan(np.tan(angle / 2.0) * np.exp(time))


def distance(q, exact):
    return np.linalg.norm(q - exact, axis=-1)


def fitted_order(h, error):
    return np.polyfit(np.log(h), np.log(error), 1)[0]


def reactions(sol, frame=-1):
    """{pair: multiplier} of the contacts that carry something in one frame."""
    pairs = zip(map(tuple, sol.pairs[frame].tolist()), sol.multipliers[frame], strict=True)
    return {pair: p for pair, p in pairs if p > 0.0}


# One step


def test_a_step_of_venel_goes_to_the_tangent_plane_and_a_step_of_catching_up_to_the_disc():
    """(22) and catching-up, one step on a disc, against their closed forms."""
    normal, wished, h = on_circle(np.radians(150.0)), np.array([1.0, 0.0]), 0.1
    drift = jo.Sweeping(q0=normal, velocity=wished, within=DISC)
    linearised = normal + h * (wished - (normal @ wished) * normal)
    nearest = (normal + h * wished) / np.linalg.norm(normal + h * wished)
    np.testing.assert_allclose(jo.solve(drift, jo.Venel(), t=h, h=h).q[-1], linearised, rtol=0, atol=1e-14)
    np.testing.assert_allclose(jo.solve(drift, jo.CatchingUp(), t=h, h=h).q[-1], nearest, rtol=0, atol=1e-14)


TOUCHING = {
    "point on a disc": jo.Sweeping(q0=on_circle(np.radians(150.0)), velocity=[1.0, 0.0], within=DISC),
    "point on a disc that moves": jo.Sweeping(
        q0=on_circle(np.radians(40.0)), velocity=[0.0, -0.5], within=jo.Outside(lambda t: [t, 0.0], 1.0)
    ),
    "three discs and a wall": jo.Sweeping(
        q0=[[0.5, 0.0], [1.2, np.sqrt(0.51)], [2.0, np.sqrt(0.51) - 0.6]],
        velocity=[[-1.0, 0.2], [-1.0, -0.3], [-1.0, 0.1]],
        within=jo.Balls([0.5, 0.5, 0.5]) & jo.HalfSpace([1.0, 0.0], radii=0.5),
    ),
}


@pytest.mark.parametrize("problem", TOUCHING.values(), ids=TOUCHING.keys())
def test_the_two_schemes_agree_to_the_square_of_h_in_a_step(problem):
    """Lemma 3.2: the linearised set is as good as the set itself, up to O(h^2) a step and not less."""
    steps = 0.1 * HALVINGS
    ends = [[jo.solve(problem, scheme, t=h, h=h).q[-1] for scheme in SCHEMES] for h in steps]
    apart = np.array([np.linalg.norm(linearised - nearest) for linearised, nearest in ends])
    assert fitted_order(steps, apart) == pytest.approx(2.0, abs=0.1)
    assert (apart <= 2.0 * steps**2).all()


# Points pushed by sets, and drift past obstacles


@both_schemes
def test_a_rotating_line_keeps_the_point_at_a_power_of_the_cosine(scheme):
    """P43: r_N = cos(w h)^N at every node, both schemes."""
    T, N = np.pi / 2.0, 40
    line = jo.HalfSpace(normal=lambda t: [-np.sin(t), np.cos(t)])
    sol = jo.solve(jo.Sweeping(q0=[1.0, 0.0], within=line), scheme, t=T, h=T / N)
    radius = np.cos(T / N) ** np.arange(N + 1)
    np.testing.assert_allclose(sol.q, radius[:, None] * on_circle(sol.t), rtol=0, atol=1e-12)
    assert np.linalg.norm(sol.q[-1]) == pytest.approx(0.969620574626, abs=1e-12)


@both_schemes
def test_a_rotating_line_is_followed_at_order_one(scheme):
    """P43: the error at T is r_0 w^2 T h / 2."""
    T = np.pi / 2.0
    line = jo.HalfSpace(normal=lambda t: [-np.sin(t), np.cos(t)])
    steps = T / 5 * HALVINGS
    ends = [jo.solve(jo.Sweeping(q0=[1.0, 0.0], within=line), scheme, t=T, h=h).q[-1] for h in steps]
    error = distance(np.array(ends), [0.0, 1.0])
    assert fitted_order(steps, error) == pytest.approx(1.0, abs=0.05)
    assert error[-1] / steps[-1] == pytest.approx(T / 2.0, rel=0.01)


START = np.radians(170.0)
T_LEAVE = np.log(np.tan(START / 2.0))


def past_the_disc(t):
    """P44: along the circle from 170 degrees to the top, then straight on."""
    angle = swept(START, -np.minimum(t, T_LEAVE))
    return on_circle(angle) + np.stack([np.maximum(t - T_LEAVE, 0.0), np.zeros_like(t)], axis=-1)


def drift_past_the_disc(scheme, h):
    return jo.solve(jo.Sweeping(q0=on_circle(START), velocity=[1.0, 0.0], within=DISC), scheme, t=3.0, h=h)


def test_the_closed_form_of_the_drift_gives_the_numbers_of_the_case():
    """P44: the exact answer itself."""
    assert pytest.approx(2.43624605372, abs=1e-11) == T_LEAVE
    np.testing.assert_allclose(past_the_disc(np.array(1.5)), [-0.73349274, 0.67969728], rtol=0, atol=1e-8)
    np.testing.assert_allclose(past_the_disc(np.array(3.0)), [0.56375394628, 1.0], rtol=0, atol=1e-11)


@both_schemes
def test_a_drift_past_a_disc_converges_at_order_one(scheme):
    """P44: sup error below 1.5 h, order 1 over five halvings, the constant 0.876 for both schemes."""
    steps = 0.2 * HALVINGS
    runs = [drift_past_the_disc(scheme, h) for h in steps]
    error = np.array([distance(sol.q, past_the_disc(sol.t)).max() for sol in runs])
    assert (error <= 1.5 * steps).all()
    assert fitted_order(steps, error) == pytest.approx(1.0, abs=0.05)
    assert error[-1] / steps[-1] == pytest.approx(0.876, abs=0.005)


def test_venel_slides_outside_the_disc_with_a_gap_of_order_two():
    """P44: 0 <= gap <= h^2 / 2 while it slides, since a step along the tangent is at most h long."""
    steps = 0.1 * HALVINGS
    runs = [drift_past_the_disc(jo.Venel(), h) for h in steps]
    gaps = [np.linalg.norm(sol.q[sol.t <= T_LEAVE], axis=1) - 1.0 for sol in runs]
    widest = np.array([gap.max() for gap in gaps])
    assert min(gap.min() for gap in gaps) >= -1e-14
    assert (widest <= 0.5 * steps**2).all()
    assert fitted_order(steps, widest) == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("h", [0.3, 1.0, 3.0])
def test_venel_never_enters_the_disc_however_long_the_step(h):
    """P44, Prop. 3.1: feasible at the nodes for every h, also when a free step would jump over the disc."""
    shot = jo.Sweeping(q0=[-1.2, 0.1], velocity=[1.0, 0.0], within=DISC)
    sol = jo.solve(shot, jo.Venel(), t=12.0, h=h)
    assert (np.linalg.norm(sol.q, axis=1) >= 1.0 - 1e-14).all()
    assert (np.diff(sol.q[:, 1]) >= -1e-14).all()
    assert sol.q[1, 0] < 0.0


@pytest.mark.parametrize("scheme", [SCHEMES[0], whole(SCHEMES[1])], ids=lambda scheme: type(scheme).__name__)
def test_a_bulldozer_pushes_the_point_and_lets_it_go(scheme):
    """P45: a disc at unit speed pushes a point from 20 degrees until it stands beside the disc; error below h."""
    start = np.radians(20.0)
    release = -np.log(np.tan(start / 2.0))
    assert release == pytest.approx(1.73541516267, abs=1e-11)
    pushed = jo.Sweeping(q0=on_circle(start), within=jo.Outside(centre=lambda t: [t, 0.0], radius=1.0))

    def exact(t):
        contact = np.minimum(t, release)
        return on_circle(swept(start, contact)) + np.stack([contact, np.zeros_like(t)], axis=-1)

    np.testing.assert_allclose(exact(np.array(1.0)), [1.62636712, 0.77952821], rtol=0, atol=1e-8)
    np.testing.assert_allclose(exact(np.array(2.5)), [1.73541516267, 1.0], rtol=0, atol=1e-11)
    steps = halvings(0.2, 5)
    runs = [jo.solve(pushed, scheme, t=2.5, h=h) for h in steps]
    error = np.array([distance(sol.q, exact(sol.t)).max() for sol in runs])
    assert (error <= steps).all()
    assert fitted_order(steps, error) == pytest.approx(1.0, abs=0.05)
    assert all((sol.u[-1] == 0.0).all() for sol in runs)


def test_a_point_inside_a_moving_disc_draws_a_tractrix():
    """P46: catching-up on a convex moving set, error below 0.5 h."""
    start = np.radians(95.0)
    pulled = jo.Sweeping(q0=on_circle(start), within=jo.Inside(centre=lambda t: [t, 0.0], radius=1.0))

    def exact(t):
        return on_circle(swept(start, t)) + np.stack([t, np.zeros_like(t)], axis=-1)

    np.testing.assert_allclose(exact(np.array(2.0)), [1.03029206158, 0.244267300656], rtol=0, atol=1e-11)
    steps = 0.2 * HALVINGS
    runs = [jo.solve(pulled, jo.CatchingUp(), t=2.0, h=h) for h in steps]
    error = np.array([distance(sol.q, exact(sol.t)).max() for sol in runs])
    assert (error <= 0.5 * steps).all()
    assert fitted_order(steps, error) == pytest.approx(1.0, abs=0.05)


INSIDE = jo.Inside(centre=[0.0, 0.0], radius=3.0)


@pytest.mark.parametrize("within", [INSIDE, INSIDE & DISC], ids=["disc", "annulus"])
def test_venel_measures_how_far_it_leaves_the_inside_of_a_disc(within):
    """P46: concave gaps are not covered by Venel; the scheme goes on and reports the overshoot, l^2 / 2 rho at most."""
    point = jo.Sweeping(q0=[2.0, 2.0], velocity=[1.0, 0.0], within=within)
    for h in (0.1, 0.05):
        sol = jo.solve(point, jo.Venel(), t=1.0, h=h)
        deepest = np.linalg.norm(sol.q, axis=1).max() - 3.0
        assert 0.0 < deepest <= h**2 / 6.0
        assert sol.overlap * 3.0 == pytest.approx(deepest)  # over the radius of the container


def test_venel_notices_that_it_left_a_set_whose_gap_is_not_convex():
    """P46: the same disc in the user's own words is found out at the step that leaves it."""

    @jo.constraints
    def inside(t, q):
        return [9.0 - q @ q]

    point = jo.Sweeping(q0=[2.0, 1.0], velocity=[1.0, 0.5], within=inside)
    with pytest.raises(jo.LeftTheSet, match="CatchingUp"):
        jo.solve(point, jo.Venel(), t=3.0, h=0.1)


@few_schemes
def test_the_play_operator_remembers_its_turning_points(scheme):
    """P47: an interval that swings with decay; x moves only when an end pushes it."""
    r = 0.5

    def middle(t):
        return 1.5 * np.exp(-0.1 * t) * np.sin(t)

    turns = np.arctan(10.0) + np.pi * np.arange(3)
    kept = [0.0]
    for turn in turns:
        kept.append(float(np.clip(kept[-1], middle(turn) - r, middle(turn) + r)))
    np.testing.assert_allclose(kept[1:], [0.788369126153, -0.441028276806, 0.187329585732], rtol=0, atol=1e-11)
    interval = jo.Box(lambda t: [middle(t) - r], lambda t: [middle(t) + r])
    sol = jo.solve(jo.Sweeping(q0=[0.0], within=interval), scheme, t=10.0, h=1e-2)
    exact = np.clip(np.array(kept)[np.searchsorted(turns, sol.t)], middle(sol.t) - r, middle(sol.t) + r)
    assert np.abs(sol.q[:, 0] - exact).max() <= 1e-4
    assert sol.q[-1, 0] == pytest.approx(0.187329585732, abs=1e-4)


def tilted(t, q):
    """P48: the tilt of the board, switched at 7 and 9."""
    return [1.0, 0.0] if t < 7.0 - 1e-9 else [0.0, -2.0] if t < 9.0 - 1e-9 else [-1.0, -0.5]


BOARD = DISC & jo.HalfSpace([-1.0, 0.0], -3.0) & jo.HalfSpace([0.0, 1.0], -1.5)


@both_schemes
def test_the_ball_rounds_the_hole_and_ends_on_the_floor(scheme):
    """P48: hole, wall, corner and floor in turn, to 1e-3 at h = 0.02; the flat parts are exact."""
    h = 0.02
    sol = jo.solve(jo.Sweeping(q0=[-3.0, 0.5], velocity=tilted, within=BOARD), scheme, t=11.0, h=h)
    at_7, at_9, at_11 = sol.q[[round(t / h) for t in (7.0, 9.0, 11.0)]]
    np.testing.assert_allclose(at_7, [3.0, 1.0], rtol=0, atol=1e-3)
    np.testing.assert_allclose(at_9, [3.0, -1.5], rtol=0, atol=1e-12)
    np.testing.assert_allclose(at_11, [1.0, -1.5], rtol=0, atol=1e-12)
    assert np.linalg.norm(sol.q, axis=1).min() >= 1.0 - 1e-14
    assert sol.q[:, 0].max() <= 3.0 + 1e-14
    assert sol.q[:, 1].min() >= -1.5 - 1e-14


@few_schemes
def test_the_ball_meets_hole_and_wall_on_time(scheme):
    """P48: contact with the hole, slide time and arrival at the wall, each to two steps."""
    h = 0.02
    sol = jo.solve(jo.Sweeping(q0=[-3.0, 0.5], velocity=tilted, within=BOARD), scheme, t=11.0, h=h)
    sliding = [t for k, t in enumerate(sol.t) if (0, -1) in reactions(sol, k)]
    assert sliding[0] == pytest.approx(3.0 - np.sqrt(0.75), abs=2 * h)
    assert sliding[0] == pytest.approx(2.13397459622, abs=2 * h)
    assert sliding[-1] - sliding[0] == pytest.approx(np.log(np.tan((np.pi - np.arcsin(0.5)) / 2.0)), abs=2 * h)
    assert sliding[-1] - sliding[0] == pytest.approx(1.31695789692, abs=2 * h)
    assert sol.t[np.argmax(sol.q[:, 0] >= 3.0 - 1e-12)] == pytest.approx(6.45093249314, abs=2 * h)


def test_venel_leaves_the_hole_at_the_height_of_its_top_up_to_the_square_of_h():
    """P48: the error at t = 7 is about 0.4 h^2."""
    steps = halvings(0.1, 5)
    ball = jo.Sweeping(q0=[-3.0, 0.5], velocity=[1.0, 0.0], within=BOARD)
    ends = np.array([jo.solve(ball, jo.Venel(), t=7.0, h=h).q[-1] for h in steps])
    assert (ends[:, 1] >= 1.0).all()
    assert (ends[:, 1] - 1.0 <= 0.5 * steps**2).all()
    np.testing.assert_allclose(ends[:, 0], 3.0, rtol=0, atol=1e-12)


def test_a_drift_through_an_annulus_follows_both_circles():
    """P49: prox-regular, not convex, Inside & Outside: inner arc, straight line, outer arc; 0.2 h at T."""
    cutoff = T_LEAVE + np.sqrt(8.0)
    assert cutoff == pytest.approx(5.26467317846, abs=1e-11)

    def exact(t):
        angle = swept(np.arcsin(1.0 / 3.0), -np.maximum(t - cutoff, 0.0) / 3.0)
        return np.where((t <= cutoff)[:, None], past_the_disc(t), 3.0 * on_circle(angle))

    np.testing.assert_allclose(exact(np.array([8.0]))[0], [2.97161877715, 0.411681725697], rtol=0, atol=1e-11)
    drift = jo.Sweeping(q0=on_circle(START), velocity=[1.0, 0.0], within=INSIDE & DISC)
    steps = 0.4 * HALVINGS
    runs = [jo.solve(drift, jo.CatchingUp(), t=8.0, h=h) for h in steps]
    at_the_end = np.array([distance(sol.q[-1], exact(sol.t[-1:])[0]) for sol in runs])
    error = np.array([distance(sol.q, exact(sol.t)).max() for sol in runs])
    assert (at_the_end <= 0.2 * steps).all()
    assert (error <= 1.5 * steps).all()
    assert fitted_order(steps, error) == pytest.approx(1.0, abs=0.05)
    radius = np.concatenate([np.linalg.norm(sol.q, axis=1) for sol in runs])
    assert radius.min() >= 1.0 - 1e-12
    assert radius.max() <= 3.0 + 1e-12


# The labyrinth of section 4.1


@pytest.mark.each_value
@both_schemes
@pytest.mark.parametrize("h", [0.5, 0.1, 0.02])
def test_the_labyrinth_ball_never_leaves_its_board(scheme, h):
    """Prop. 3.1: no hole is entered and no wall crossed, at any step; gaps worked out here."""
    if h == 0.5 and isinstance(scheme, jo.CatchingUp):  # it projects q + h U, which lies beyond the middle of a hole
        with pytest.raises(jo.LeftTheSet, match="went through obstacle 0"):
            jo.solve(jo.models.labyrinth(), scheme, t=10.0, h=h)
        return
    q = jo.solve(jo.models.labyrinth(), scheme, t=10.0, h=h).q
    holes = np.linalg.norm(q[:, None, :] - HOLES, axis=2) - 0.5
    walls = np.concatenate([q, [6.0, 4.0] - q], axis=1)
    assert holes.min() >= -1e-14
    assert walls.min() >= -1e-14
    assert holes.min() <= h**2
    assert walls.min() <= 1e-14


@both_schemes
def test_the_labyrinth_ball_ends_on_the_far_wall(scheme):
    """Section 4.1: at the wall y = 4 when the tilt is changed at 7.5, then freely and along x = 6, down at 0.15."""
    sol = jo.solve(jo.models.labyrinth(), scheme, t=10.0, h=0.02)
    assert sol(7.5)[1] == pytest.approx(4.0, abs=1e-12)
    np.testing.assert_allclose(sol.q[-1], [6.0, 4.0 - 2.5 * 0.15], rtol=0, atol=1e-12)


# Crowds, section 4.2


def pooled(values):
    """Isotonic regression of values, by pooling adjacent violators."""
    blocks = []
    for value in values:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, m), (b, n) = blocks[-2:]
            blocks[-2:] = [[(a * m + b * n) / (m + n), m + n]]
    return np.concatenate([np.full(n, value) for value, n in blocks])


QUEUE, WISH, OFFSETS = np.array([0.0, 1.5, 3.0, 5.0]), np.array([2.0, 1.0, 0.5, 0.0]), np.arange(4.0)


def queue_on_a_line():
    return jo.Sweeping(q0=QUEUE, velocity=WISH, within=jo.Line([0.5] * 4))


def queue_in_the_plane():
    flat = np.zeros(4)
    return jo.Sweeping(
        q0=np.stack([QUEUE, flat], axis=1), velocity=np.stack([WISH, flat], axis=1), within=jo.Balls([0.5] * 4)
    )


# In the plane a long step of catching-up may let discs change places: the set is not convex there.
@pytest.mark.parametrize(
    ("scheme", "queue"),
    [(jo.Venel(), queue_on_a_line), (jo.Venel(), queue_in_the_plane), (jo.CatchingUp(), queue_on_a_line)],
    ids=["Venel, line", "Venel, plane", "CatchingUp, line"],
)
@pytest.mark.parametrize("h", few([0.01, 0.07, 0.5, 1.7, 3.0]))
def test_a_queue_is_exact_at_every_node_for_every_step(scheme, queue, h):
    """P50: q(t) = P_K(q0 + t U), an isotonic regression, to 1e-12 whatever h."""
    sol = jo.solve(queue(), scheme, t=3.0, h=h)
    exact = np.array([OFFSETS + pooled(QUEUE + t * WISH - OFFSETS) for t in sol.t])
    along = sol.q.reshape(len(sol.t), 4, -1)
    np.testing.assert_allclose(along[:, :, 0], exact, rtol=0, atol=1e-12)
    assert (along[:, :, 1:] == 0.0).all()
    np.testing.assert_allclose(along[-1, :, 0], [3.5, 4.5, 5.5, 6.5], rtol=0, atol=1e-12)


@both_schemes
def test_the_queue_merges_three_times(scheme):
    """P50: merge times 0.5, 0.75, 9/7 and the velocities between them."""
    sol = jo.solve(queue_on_a_line(), scheme, t=3.0, h=0.01)
    stages = [
        (0.0, 0.5, [2.0, 1.0, 0.5, 0.0]),
        (0.5, 0.75, [1.5, 1.5, 0.5, 0.0]),
        (0.75, 1.28571428571, [7 / 6, 7 / 6, 7 / 6, 0.0]),
        (1.28571428571, 3.0, [0.875, 0.875, 0.875, 0.875]),
    ]
    for start, end, velocity in stages:
        during = (sol.t > start + 0.0101) & (sol.t < end + 1e-9)
        assert during.any()
        np.testing.assert_allclose(sol.u[during] - velocity, 0.0, rtol=0, atol=1e-11)


WIDTH = 3.0
ARCH = np.array([[np.sqrt(0.75), 1.0], [np.sqrt(0.75), -1.0]])
DOOR = jo.Balls([1.0, 1.0]) & jo.Outside(centre=[[0.0, WIDTH / 2], [0.0, -WIDTH / 2]], radius=0.0, radii=1.0)


def through_the_door(q0, scheme, t, h):
    return jo.solve(jo.Sweeping(q0=q0, velocity=[-1.0, 0.0], within=DOOR), scheme, t=t, h=h)


@both_schemes
def test_two_persons_block_a_door_symmetrically(scheme):
    """P51: the arch stays where it is to 1e-12 over t = 2, carried by corners and shoulders."""
    sol = through_the_door(ARCH, scheme, t=2.0, h=0.02)
    assert ARCH[0, 0] == pytest.approx(0.866025403784, abs=1e-12)
    assert np.abs(sol.q - ARCH).max() < 1e-12
    found = reactions(sol)
    assert found.keys() == {(0, 1), (0, -1), (1, -2)}
    assert found[0, -1] == pytest.approx(1.15470053838, abs=1e-11)
    assert found[1, -2] == pytest.approx(1.15470053838, abs=1e-11)
    assert found[0, 1] == pytest.approx(0.57735026919, abs=1e-11)


@both_schemes
def test_two_persons_who_come_straight_to_a_door_make_an_arch_and_stay_symmetric(scheme):
    """P51: symmetric data stay symmetric, and end blocked at the arch."""
    sol = through_the_door(ARCH + np.array([[1.0, 0.3], [1.0, -0.3]]), scheme, t=3.0, h=0.02)
    mirrored = sol.q[:, ::-1] * [1.0, -1.0]
    assert np.abs(sol.q - mirrored).max() < 1e-12
    np.testing.assert_allclose(sol.q[-1], ARCH, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("scheme", "h"), [(jo.Venel(), 5e-3), (jo.CatchingUp(), 1e-2)], ids=["Venel", "CatchingUp"])
def test_an_uneven_arch_collapses_at_the_rate_of_its_linearisation(scheme, h):
    """P51: antisymmetric perturbations grow like exp(2 kappa t / r), within 1 %."""
    S = (WIDTH - 2.0) / 2.0
    C = np.sqrt(1.0 - S**2)
    kappa = C / 2.0 + S**2 * (1.0 + S) / (2.0 * C)
    assert 2.0 * kappa == pytest.approx(1.29903810568, abs=1e-11)
    turned = np.array([[-S, -C], [S, -C]])  # both discs turn about their corners, one in and one out
    sol = through_the_door(ARCH + 1e-6 * turned, scheme, t=1.0, h=h)
    uneven = sol.q[:, 1, 0] - sol.q[:, 0, 0]
    rate = np.polyfit(sol.t, np.log(uneven), 1)[0]
    assert rate == pytest.approx(2.0 * kappa, rel=0.01)


MEETING = np.array([[-0.2, -0.05], [0.2, 0.05]])
TOWARDS = np.array([[0.25, 0.0], [-0.25, 0.0]])


def meet(q0, scheme):
    return jo.solve(jo.Sweeping(q0=q0, velocity=TOWARDS, within=jo.Balls([0.1, 0.1])), scheme, t=5.0, h=0.005)


def test_two_discs_pass_each_other_as_in_scopi():
    """P52: SCoPI, two_spheres_asymmetrical.json, 1000 steps, to 1e-9."""
    person = np.array([1.0044671397, -0.100006390141])
    sol = meet(MEETING, jo.Venel())
    assert len(sol.t) == 1001
    np.testing.assert_allclose(sol.q[-1], [person, -person], rtol=0, atol=1e-9)


@both_schemes
def test_two_discs_pass_each_other_as_the_exact_solution_does(scheme):
    """P52: contact at 0.4536, parting at 0.9804, then straight on at the distance of the radii; error 0.088 h."""
    r, v, h = 0.1, 0.25, 0.005
    contact = (0.2 - r * np.cos(np.pi / 6.0)) / v
    parting = contact - r / v * np.log(np.tan(np.pi / 12.0))
    assert contact == pytest.approx(0.4535898385, abs=1e-10)
    assert parting == pytest.approx(0.9803729973, abs=1e-10)
    sol = meet(MEETING, scheme)
    np.testing.assert_allclose(sol.q[-1, :, 0], v * (5.0 - parting) * np.array([1.0, -1.0]), rtol=0, atol=0.1 * h)
    np.testing.assert_allclose(sol.q[-1, :, 1], [-r, r], rtol=0, atol=h**2)
    assert sol.q[-1, 0, 0] == pytest.approx(1.00490675069, abs=0.1 * h)
    touching = sol.t[[(0, 1) in reactions(sol, k) for k in range(len(sol.t))]]
    assert touching[0] == pytest.approx(contact, abs=2 * h)
    assert touching[-1] == pytest.approx(parting, abs=2 * h)


@both_schemes
def test_two_discs_face_to_face_stop_as_in_scopi(scheme):
    """P52: SCoPI, two_spheres_symmetrical.json: they stop where they touch."""
    sol = meet(MEETING * [1.0, 0.0], scheme)
    np.testing.assert_allclose(sol.q[-1], [[-0.1, 0.0], [0.1, 0.0]], rtol=0, atol=1e-12)
    assert reactions(sol)[0, 1] == pytest.approx(0.25, abs=1e-9)


def corridor(offset, scheme, h=0.02):
    """P54: four persons one behind the other, in a corridor of width 1.6 with its end at x = 5."""
    k = np.arange(4)
    q0 = np.stack([4.3 - 1.15 * k, offset * (-1.0) ** k], axis=1)
    within = jo.Balls([0.5] * 4) & jo.Box([-np.inf, -0.8], [5.0, 0.8], radii=0.5)
    return jo.solve(jo.Sweeping(q0=q0, velocity=[1.0, 0.0], within=within), scheme, t=14.0, h=h)


SIDE_BELOW, END, SIDE_ABOVE = -1, -2, -3


@few_schemes
def test_a_single_file_stays_a_single_file(scheme):
    """P54: on the axis nobody leaves it; each carries those behind."""
    sol = corridor(0.0, scheme)
    np.testing.assert_allclose(sol.q[-1], [[4.5, 0.0], [3.5, 0.0], [2.5, 0.0], [1.5, 0.0]], rtol=0, atol=1e-6)
    assert (sol.q[:, :, 1] == 0.0).all()
    found = reactions(sol)
    assert found.keys() == {(0, END), (0, 1), (1, 2), (2, 3)}
    np.testing.assert_allclose([found[0, END], found[0, 1], found[1, 2], found[2, 3]], [4, 3, 2, 1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("sign", [1.0, whole(-1.0)])
def test_an_uneven_file_jams_in_a_zigzag(sign):
    """P54: an offset of 1e-3 buckles the file: x_k = 4.5 - 0.8 k, y = +-0.3, and contact forces (N - k) 2r / dx."""
    sol = corridor(1e-3 * sign, jo.Venel())
    y = 0.3 * sign
    np.testing.assert_allclose(sol.q[-1], [[4.5, y], [3.7, -y], [2.9, y], [2.1, -y]], rtol=0, atol=1e-6)
    found = reactions(sol)
    np.testing.assert_allclose([found[k, k + 1] for k in range(3)], [3.75, 2.5, 1.25], rtol=0, atol=1e-6)
    # The end carries all four wishes; each side wall what the contacts of a person push sideways (0.6 of the force).
    sides = [SIDE_ABOVE, SIDE_BELOW] * 2 if sign > 0 else [SIDE_BELOW, SIDE_ABOVE] * 2
    walls = [found[0, END], *(found[k, side] for k, side in enumerate(sides))]
    np.testing.assert_allclose(walls, [4.0, 2.25, 3.75, 2.25, 0.75], rtol=0, atol=1e-6)


def test_catching_up_jams_in_the_same_zigzag():
    """P54: the final state does not depend on the scheme."""
    sol = corridor(1e-3, jo.CatchingUp(), h=0.1)
    np.testing.assert_allclose(sol.q[-1], [[4.5, 0.3], [3.7, -0.3], [2.9, 0.3], [2.1, -0.3]], rtol=0, atol=1e-6)


# The constants of Propositions 4.2 and 4.5


def touching_cone(centres):
    centres = np.asarray(centres, dtype=float)
    return jo.Balls(np.full(len(centres), 0.5)).linearise(0.0, centres).cone()


def straight_chain(N):
    return np.stack([np.arange(N), np.zeros(N)], axis=1)


def bent_chain(phi):
    return np.array([[-1.0, 0.0], [0.0, 0.0], on_circle(phi)])


TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
FLOWER = np.concatenate([[[0.0, 0.0]], on_circle(np.pi / 3.0 * np.arange(6))])
LATTICE = np.array([[i + 0.5 * j, j * np.sqrt(0.75)] for j in range(4) for i in range(4)])


@pytest.mark.parametrize(("N", "value"), [(3, 529.089784441), (4, 1374.61558263), (6, 43987.6986441)])
def test_gamma_is_the_formula_of_proposition_4_2(N, value):
    """P53: 3 sqrt(2) N (3 / sin(2 pi / N))^N."""
    assert jo.analysis.gamma(N) == pytest.approx(value, rel=1e-9)
    assert jo.analysis.gamma(N) == pytest.approx(3 * np.sqrt(2) * N * (3 / np.sin(2 * np.pi / N)) ** N, rel=1e-12)


@pytest.mark.parametrize(("N", "value"), [(3, 0.00133645895646), (4, 0.000514403292181)])
@pytest.mark.parametrize("radius", [1.0, 0.25])
def test_eta_is_the_formula_of_proposition_4_5(N, value, radius):
    """P53: eta / r = (sin(2 pi / N) / 3)^N / (6 N), which is alpha / (M gamma) of Prop. 2.9."""
    assert jo.analysis.eta(N, radius) == pytest.approx(value * radius, rel=1e-9)
    alpha, M = np.sqrt(2.0), 2.0 / radius
    assert jo.analysis.eta(N, radius) == pytest.approx(alpha / (M * jo.analysis.gamma(N)), rel=1e-9)


def test_one_or_two_discs_have_constants_although_the_formula_divides_by_zero():
    """P53: gamma = 1 for N = 1, 2; eta = 2 r / sqrt(2) for a pair, no bound for one disc, an error for none."""
    assert jo.analysis.gamma(1) == jo.analysis.gamma(2) == 1.0
    assert jo.analysis.eta(1, 0.5) == np.inf
    assert jo.analysis.eta(2, 0.5) == pytest.approx(1.0 / np.sqrt(2.0), rel=1e-12)
    for constant in (jo.analysis.gamma, lambda N: jo.analysis.eta(N, 1.0)):
        with pytest.raises(jo.InvalidValue):
            constant(0)


@pytest.mark.parametrize("part", [0.5, 0.999, 1.001, 1.5])
def test_the_constant_of_a_pair_is_how_far_its_projection_is_single_valued(part):
    """P53: pushed together by less than eta a pair comes back; by more, the discs have changed places (Def. 2.3)."""
    r = 0.5
    pair = np.array([[-r, 0.0], [r, 0.0]])
    inwards = np.array([[1.0, 0.0], [-1.0, 0.0]]) / np.sqrt(2.0)
    found = jo.nearest(pair + part * jo.analysis.eta(2, r) * inwards, jo.Balls([r, r])).point
    np.testing.assert_allclose(found, pair if part < 1.0 else -pair, rtol=0, atol=1e-9)


@pytest.mark.parametrize("N", few(range(2, 13)))
def test_the_best_gamma_of_a_straight_chain(N):
    """P53: sqrt(N (N^2 - 1) / 6)."""
    found = jo.analysis.inverse_triangle(touching_cone(straight_chain(N)))
    assert found == pytest.approx(np.sqrt(N * (N**2 - 1) / 6), abs=1e-9)


@pytest.mark.parametrize(
    ("centres", "value"),
    [
        (straight_chain(1), 1.0),
        (straight_chain(2), 1.0),
        (straight_chain(3), 2.0),
        (straight_chain(4), 3.16227766017),
        (straight_chain(10), 12.8452325787),
        (TRIANGLE, 1.41421356237),
        (bent_chain(np.pi / 2), 1.41421356237),
    ],
    ids=["alone", "pair", "chain 3", "chain 4", "chain 10", "triangle", "bent 90"],
)
def test_the_best_gamma_of_small_configurations(centres, value):
    """P53: the printed numbers."""
    assert jo.analysis.inverse_triangle(touching_cone(centres)) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("degrees", few([0, 20, 45, 90, 110, -70]))
def test_the_best_gamma_of_a_bent_chain(degrees):
    """P53: 2 / sqrt(2 - cos phi), phi the turning angle."""
    phi = np.radians(degrees)
    found = jo.analysis.inverse_triangle(touching_cone(bent_chain(phi)))
    assert found == pytest.approx(2.0 / np.sqrt(2.0 - np.cos(phi)), abs=1e-9)


def nearest_of_hull(rows):
    """The length of the shortest point of the convex hull of the rows (Lawson & Hanson 1974, chapter 23)."""
    weights, _ = nnls(np.vstack([rows.T, np.ones(len(rows))]), np.append(np.zeros(rows.shape[1]), 1.0))
    return np.linalg.norm(rows.T @ weights) / weights.sum()


@pytest.mark.parametrize(
    "centres",
    [TRIANGLE, FLOWER, LATTICE, LATTICE[:7], *(straight_chain(N) for N in range(3, 9)), bent_chain(0.7)],
    ids=["triangle", "flower", "lattice", "part", *(f"chain {N}" for N in range(3, 9)), "bent"],
)
def test_the_best_gamma_is_the_definition_and_below_the_formula(centres):
    """P53, (A5'): gamma = |G| / min |sum a G| over the simplex, and never above the constant of Prop. 4.2."""
    cone = touching_cone(centres)
    rows = cone.G.toarray()
    found = jo.analysis.inverse_triangle(cone)
    assert found == pytest.approx(np.sqrt(2.0) / nearest_of_hull(rows), abs=1e-9)
    assert 1.0 <= found <= jo.analysis.gamma(len(centres))
