"""The models: shapes, an admissible start, and one number of each that was found without them."""

import numpy as np
import pytest
from scipy.optimize import brentq

import jostle as jo


def models():
    return {
        "spheres in the plane": (jo.models.spheres(np.full(20, 0.5), box=([0, 0], [6, np.inf])), (20, 2)),
        "spheres in space": (jo.models.spheres(np.full(30, 0.5), box=([0, 0, 0], [3, 4, np.inf])), (30, 3)),
        "labyrinth": (jo.models.labyrinth(), (2,)),
        "cradle": (jo.models.cradle(7), (7,)),
        "cradle with gaps": (jo.models.cradle(4, gap=0.3, striking=2), (4,)),
        "chain": (jo.models.chain(5, height=0.2), (5,)),
        "impact oscillator": (jo.models.impact_oscillator(), (1,)),
        "double pendulum": (jo.models.double_pendulum(), (2,)),
        "vibrating table": (jo.models.vibrating_table(2.0), (1,)),
        "vibrating table with restitution": (jo.models.vibrating_table(2.0, e=0.5), (1,)),
        "rack": (jo.models.rack(3), (7, 2)),
        "rack with a gap": (jo.models.rack(4, gap=0.5), (11, 2)),
    }


@pytest.mark.parametrize("name", models())
def test_every_model_has_its_shape_and_starts_in_its_set(name):
    problem, shape = models()[name]
    assert problem.q0.shape == shape
    assert problem.within.gap(0.0, problem.q0) >= -1e-12
    if isinstance(problem, jo.Motion):
        assert problem.v0.shape == problem.force(0.0, problem.q0, problem.v0).shape == shape
        scheme = jo.Maury() if problem.within.moving else jo.Paoli()
    else:
        assert problem.velocity(0.0, problem.q0).shape == shape
        scheme = jo.Venel()
    sol = jo.solve(problem, scheme, t=0.05, h=0.01)
    assert sol.status == "finished"
    assert np.isfinite(sol.q).all()


# --- spheres ---


@pytest.mark.parametrize("d", [2, 3])
def test_balls_weigh_what_balls_of_density_one_weigh(d):
    radii = np.random.default_rng(1).uniform(0.3, 0.5, 40)
    box = ([0.0] * d, [4.0] * (d - 1) + [np.inf])
    heap = jo.models.spheres(radii, box=box, gravity=2.0)
    volume = np.pi * radii**2 if d == 2 else 4.0 / 3.0 * np.pi * radii**3
    velocity = np.zeros((40, d))
    velocity[:, 0] = 1.0
    assert 2.0 * heap.metric(heap.q0).norm(velocity.ravel()) ** 2 / 2.0 == pytest.approx(volume.sum(), rel=1e-13)
    weight = heap.force(0.0, heap.q0, heap.v0)
    np.testing.assert_allclose(weight[:, -1], -2.0 * volume, rtol=1e-13)
    assert (weight[:, :-1] == 0.0).all()
    assert heap.within.gap(0.0, heap.q0) > 0.0


def test_the_floor_carries_the_weight_of_a_heap_at_rest():
    """P36: without friction the walls carry nothing; the floor carries the sum of the weights."""
    heap = jo.models.spheres(np.full(6, 0.5), box=([0, 0], [2.2, np.inf]), gravity=1.0)
    sol = jo.solve(heap, jo.Maury(), t=6.0, h=0.02)
    assert sol.gaps().min() >= -1e-8 * 0.5
    assert np.abs(sol.u[-1]).max() <= 1e-12
    floor = sol.pairs[-1][:, 1] == -2  # walls: q[0] >= lower, q[1] >= lower, q[0] <= upper
    assert sol.multipliers[-1][floor].sum() / 0.02 == pytest.approx(6 * np.pi * 0.25, rel=1e-12)


def test_the_same_seed_gives_the_same_heap():
    radii, box = np.linspace(0.3, 0.5, 12), ([0, 0], [4, np.inf])
    first, again, other = (jo.models.spheres(radii, box=box, seed=seed) for seed in (3, 3, 4))
    assert first.q0.tobytes() == again.q0.tobytes()
    assert first.q0.tobytes() != other.q0.tobytes()


@pytest.mark.parametrize(
    ("box", "what"),
    [
        (([0, 0], [np.inf, np.inf]), "only the top of the box may be open"),
        (([0, 0], [0.5, np.inf]), "the largest ball needs"),
        (([0, 0], [2.5, 3.0]), "3 high; .* balls .* need"),
    ],
)
def test_a_box_too_small_or_too_open_is_refused(box, what):
    with pytest.raises(jo.InvalidValue, match=what):
        jo.models.spheres(np.full(9, 0.5), box=box)


# --- labyrinth ---


def test_the_ball_rolls_freely_to_the_first_hole_and_around_it():
    """q0 + t (1, 0.3) meets the hole at (1.4, 0.8) when |q0 + t v - c| = 1/2."""
    q0, v, c = np.array([0.5, 0.6]), np.array([1.0, 0.3]), np.array([1.4, 0.8])
    meets = brentq(lambda t: np.linalg.norm(q0 + t * v - c) - 0.5, 0.0, 0.8)
    h = 0.002
    sol = jo.solve(jo.models.labyrinth(), jo.Venel(), t=1.0, h=h)
    touching = sol.t[1:][sol.stats["active"] > 0]
    assert touching[0] == pytest.approx(meets, abs=2.0 * h)
    free = sol.t < meets - h
    np.testing.assert_allclose(sol.q[free], q0 + sol.t[free, None] * v, atol=1e-12)
    along = np.linalg.norm(sol.q[-1] - c)
    assert 0.5 - 1e-9 <= along <= 0.5 + 1e-3


def test_the_board_is_tilted_three_ways():
    board = jo.models.labyrinth()
    q = np.array([3.0, 2.0])
    assert [board.velocity(t, q).tolist() for t in (0.0, 4.99, 5.0, 8.0)] == [
        [1.0, 0.3], [1.0, 0.3], [0.2, 1.0], [1.0, -0.15],
    ]  # fmt: skip


# --- balls on a line ---


def test_the_touching_cradle_moves_as_one():
    """P30: n = 5, e = 1: (-0.6, 0.4, 0.4, 0.4, 0.4); P32: two balls hit three: (-0.2, -0.2, 0.8, 0.8, 0.8)."""
    one = jo.solve(jo.models.cradle(5), jo.Paoli(), t=3.0, h=0.01)
    np.testing.assert_allclose(one.u[-1], [-0.6, 0.4, 0.4, 0.4, 0.4], atol=1e-9)
    two = jo.solve(jo.models.cradle(5, striking=2), jo.Paoli(), t=3.0, h=0.01)
    np.testing.assert_allclose(two.u[-1], [-0.2, -0.2, 0.8, 0.8, 0.8], atol=1e-9)


def test_the_cradle_with_gaps_collides_two_by_two():
    """P31: unit gaps, e = 1/2: (13/64, 15/64, 9/16) after the third collision at t = 13."""
    balls = jo.models.cradle(3, gap=1.0, radius=0.25, e=0.5)
    sol = jo.solve(balls, jo.Paoli(), t=14.0, h=0.01)
    np.testing.assert_allclose(sol.u[-1], [13.0 / 64.0, 15.0 / 64.0, 9.0 / 16.0], atol=1e-9)


def test_the_column_carries_its_weight():
    """P36: p_k / (m g) = (6, 5, 4, 3, 2, 1) in every step."""
    sol = jo.solve(jo.models.chain(6, mass=2.0, gravity=3.0), jo.Maury(), t=1.0, h=0.1)
    for p in sol.multipliers[1:]:
        np.testing.assert_allclose(p / 0.1, 6.0 * np.array([6, 5, 4, 3, 2, 1]), rtol=1e-12)
    assert np.abs(sol.q - sol.q[0]).max() <= 1e-12


def test_the_column_falls_from_its_height():
    """The lowest ball is in the air for sqrt(2 height / g)."""
    drop = jo.models.chain(3, height=0.5, gravity=1.0)
    assert drop.q0.tolist() == [1.0, 2.0, 3.0]
    impacts = jo.solve(drop, jo.Maury(), t=1.5, h=1e-3).impacts(speed=0.1)
    assert impacts.t.tolist() == pytest.approx([1.0], abs=2e-3)


# --- machines ---


def test_the_oscillator_follows_its_periodic_orbit():
    """P27: omega = 2.6, r = 0.8: back in the middle of the stable orbit after each period; v = 0.505439970894."""
    period = 2.0 * np.pi / 2.6
    t0, x0, v0 = 2.37345214975, -0.659030593353, -0.0505439970894
    h = period / 400
    sol = jo.solve(jo.models.impact_oscillator(x0=x0, v0=v0), jo.Paoli(), t=(t0, t0 + 4.0 * period), h=h)
    assert abs(sol.q[-1][0] - x0) <= h
    assert sol.q.max() <= 0.01
    assert len(sol.impacts()) == 4
    np.testing.assert_allclose(-sol.impacts().before, 0.505439970894, atol=4.0 * h)


def test_the_pendulum_hits_its_stop():
    """P19: t_i = 0.456522569149, state(1) = (0.109884020636, -0.474856263845), both within 4 h."""
    h = 1e-3
    sol = jo.solve(jo.models.double_pendulum(), jo.Paoli(), t=1.0, h=h)
    assert sol.impacts().t[0] == pytest.approx(0.456522569149, abs=4.0 * h)
    np.testing.assert_allclose(sol.q[-1], [0.109884020636, -0.474856263845], atol=4.0 * h)


def on_the_table(t, Gamma=2.0):
    """P15: the table until sin(2 pi t) = 1 / Gamma, then a parabola."""
    turn = 2.0 * np.pi
    A, leave = Gamma / turn**2, np.arcsin(1.0 / Gamma) / turn
    flight = A / Gamma + A * turn * np.cos(turn * leave) * (t - leave) - (t - leave) ** 2 / 2.0
    return np.where(t < leave, A * np.sin(turn * t), flight)


def test_the_ball_leaves_the_vibrating_table():
    """P15, Gamma = 2: sup error 2 h^2 while on the table and in flight; lands at 0.824812574824."""
    h = 1e-3
    sol = jo.solve(jo.models.vibrating_table(2.0), jo.Maury(), t=0.9, h=h)
    flying = sol.t < 0.824812574824
    assert np.abs(sol.q[flying, 0] - on_the_table(sol.t[flying])).max() <= 2.0 * h**2
    landing = sol.impacts(speed=0.1)
    assert landing.t.tolist() == pytest.approx([0.824812574824], abs=2.0 * h)
    assert landing.before[0] == pytest.approx(-0.609990363844, abs=5.0 * h)  # the rate of the gap: the table moves


def test_seen_from_the_table_the_ball_lands_at_the_same_time():
    """P15 in the frame of the table, e = 1/2: the first landing comes at 0.824812574824 with -0.609990363844."""
    h = 1e-3
    sol = jo.solve(jo.models.vibrating_table(2.0, e=0.5), jo.Paoli(), t=0.85, h=h)
    first = sol.impacts(speed=0.1)
    assert first.t[0] == pytest.approx(0.824812574824, abs=4.0 * h)
    assert first.before[0] == pytest.approx(-0.609990363844, abs=10.0 * h)
    assert first.after[0] == pytest.approx(0.5 * 0.609990363844, abs=10.0 * h)


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_on_a_gentle_table_the_ball_stays(e):
    """Gamma < 1: it never takes off."""
    scheme = jo.Maury() if e == 0.0 else jo.Paoli()
    sol = jo.solve(jo.models.vibrating_table(0.9, e=e), scheme, t=2.0, h=1e-2)
    assert sol.gaps().max() <= 1e-9


# --- rack ---


@pytest.mark.parametrize(("rows", "cue"), [(2, 2.0 / 7.0), (3, 6.0 / 31.0), (4, 14.0 / 97.0)])
def test_the_break_of_a_rack(rows, cue):
    """P38: u_cue = 0.285714285714, 0.193548387097, 0.144329896907 for 2, 3, 4 rows."""
    break_ = jo.models.rack(rows)
    contacts = break_.within.linearise(0.0, break_.q0)
    after = jo.impact(break_.v0, contacts.cone()).velocity
    np.testing.assert_allclose(after[0], [cue, 0.0], atol=1e-10)
    assert np.count_nonzero(np.abs(contacts.gap) < 1e-9) == 1 + 3 * rows * (rows - 1) // 2


def test_the_cue_ball_arrives_after_its_gap():
    sol = jo.solve(jo.models.rack(3, gap=0.5), jo.Maury(), t=1.0, h=0.01)
    assert sol.impacts().t[0] == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(sol.u[-1].sum(axis=0), [1.0, 0.0], atol=1e-9)
