"""Bodies that come and go: who is there moves as if nobody else existed, and nobody comes in on another."""

from dataclasses import replace

import numpy as np
import pytest

import jostle as jo
from jostle.sets.presence import GONE, PRESENT, WAITING, Presence

G = 9.81
H = 0.01
ROUND_OFF = 1e-12
TOUCH = 1e-11
"""An overlap that counts as none."""
SCHEMES = [jo.Maury(), jo.MoreauJean(), jo.Venel()]
every_scheme = pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: type(scheme).__name__)
second_order = pytest.mark.parametrize("scheme", SCHEMES[:2], ids=lambda scheme: type(scheme).__name__)


def falling(scheme, *, q0, within, v0=0.0, mass=1.0, law=None, present=None):
    """Things that fall with weight, or at the speed 1, which is what the scheme can do."""
    down = np.zeros_like(np.asarray(q0, dtype=float))
    down[:, -1] = -1.0
    if isinstance(scheme, jo.Venel):
        return jo.Sweeping(q0=q0, within=within, velocity=down, present=present)
    weight = G * np.reshape(mass, (-1, 1)) * down
    return jo.Motion(q0=q0, within=within, v0=v0, force=weight, mass=mass, law=law, present=present)


def bodies(sol):
    """How many are there at each saved time."""
    return np.isfinite(sol.q).all(axis=2).sum(axis=1)


def smallest_gap(q, radii):
    """Between the balls that are there, one pair after the other."""
    there = np.isfinite(q).all(axis=1)
    i, j = np.triu_indices(there.sum(), k=1)
    apart = np.linalg.norm(q[there][j] - q[there][i], axis=1)
    return (apart - radii[there][i] - radii[there][j]).min(initial=np.inf)


def put(body, place, when=0.0):
    """A change that lets a waiting body in at a place, whatever is there."""

    def enter(state):
        if state.t < when or state.presence.codes[body] != WAITING:
            return state
        q = state.q.copy()
        q[body] = place
        return state.replace(q=q, presence=state.presence.changed(np.array([body]), PRESENT))

    return enter


# --- who leaves ---


def stacked_balls(scheme, mass):
    """Ball 1 rests on ball 0, which rests on the floor; ball 2 falls far away, ball 0 leaves when it is below -1."""
    within = jo.Balls(np.full(3, 0.5)) & jo.Outside([[0.0, -0.5]], 0.5, radii=0.5)
    q0 = [[0.0, 0.5], [0.0, 1.5], [9.0, -1.0 + 0.5 * G * 0.2**2 if not isinstance(scheme, jo.Venel) else -0.8]]
    stack = falling(scheme, q0=q0, within=within, mass=mass)
    outlet = jo.Outlet(lambda q: np.array([q[2, 1] < -1.0, False, False]))
    return jo.solve(stack, scheme, t=0.4, h=H, changes=outlet)


@every_scheme
def test_a_ball_falls_when_the_one_below_it_is_taken_out(scheme):
    sol = stacked_balls(scheme, 1.0)
    gone = np.isnan(sol.q[:, 0]).all(axis=1)
    first = int(np.argmax(gone))
    assert 15 <= first <= 25
    assert gone[first:].all()
    assert np.abs(sol.q[: first + 1, 1] - [0.0, 1.5]).max() < ROUND_OFF
    steps = np.arange(1, len(sol.t) - first)
    speed = np.ones(len(steps)) if isinstance(scheme, jo.Venel) else G * H * steps
    np.testing.assert_allclose(sol.u[first + 1 :, 1, 1], -speed, rtol=1e-10)
    assert sol.q[-1, 1, 1] < 1.4
    assert (sol.u[first:, 0] == 0.0).all()


@second_order
def test_contacts_carry_the_weight_of_those_who_are_there(scheme):
    """p / h is 3 g between the balls and 5 g at the floor; when the lower one has gone, both are gone."""
    sol = stacked_balls(scheme, np.array([2.0, 3.0, 1.0]))
    first = int(np.argmax(np.isnan(sol.q[:, 0, 0])))
    for k in range(2, len(sol.t)):
        force = {
            tuple(pair): p / H for pair, p in zip(sol.pairs[k].tolist(), sol.multipliers[k], strict=True) if p > 0.0
        }
        # the step that led to frame k was made with those who were there at frame k - 1
        expected = {(0, 1): 3.0 * G, (0, -1): 5.0 * G} if k <= first else {}
        assert force == pytest.approx(expected, rel=1e-9)


@second_order
def test_momentum_is_that_of_those_who_are_there(scheme):
    """Rain through an opening: without contacts each drop has v - g (t - t_in), and who left has nothing."""
    n, mass = 12, np.arange(1.0, 13.0)
    within = jo.Balls(np.full(n, 0.1))
    rain = falling(scheme, q0=np.zeros((n, 2)), within=within, mass=mass, present=np.zeros(n, dtype=bool))
    source = jo.Source(([0.0, 0.0], [200.0, 0.0]), rate=20.0, within=within, velocity=[1.0, -2.0])
    sol = jo.solve(rain, scheme, t=1.0, h=H, changes=[source, jo.Outlet(lambda q: q[:, 1] < -2.0)])
    there = np.isfinite(sol.q[:, :, 0])
    came = np.argmax(there, axis=0)
    age = (np.arange(len(sol.t))[:, None] - came) * H
    expected = np.where(there[..., None], np.stack([np.ones_like(age), -2.0 - G * age], axis=2), 0.0)
    np.testing.assert_allclose(sol.u, expected, atol=1e-10)
    assert there.any(axis=0).all()
    assert not there[-1].all()
    kinetic = 0.5 * (mass[:, None] * expected**2).sum(axis=(1, 2))
    np.testing.assert_allclose(sol.energy().kinetic, kinetic, rtol=1e-9)
    np.testing.assert_allclose(sol.energy().potential, G * np.nansum(mass * sol.q[:, :, 1], axis=1), atol=1e-9)


def test_everybody_may_leave_and_the_run_goes_on():
    rain = falling(jo.Maury(), q0=[[0.0, 0.1], [3.0, 0.2]], within=jo.Balls([0.5, 0.5]))
    sol = jo.solve(rain, jo.Maury(), t=0.5, h=H, changes=jo.Outlet(lambda q: q[:, 1] < 0.0))
    assert bodies(sol)[[0, -1]].tolist() == [2, 0]
    assert (sol.u[-1] == 0.0).all()
    empty = jo.solve(
        rain, jo.Maury(), t=0.5, h=H, changes=jo.Outlet(lambda q: q[:, 1] < 0.0),
        until=lambda state: state.presence is not None and not state.presence.here.any(),
    )  # fmt: skip
    assert empty.status == "stopped"
    assert bodies(empty)[-2:].tolist() == [1, 0]


def test_who_has_gone_does_not_come_back():
    """Neither by the outlet's own rule, which is true of the way out only, nor through a source."""
    within = jo.Balls(np.full(2, 0.1))
    rising = jo.Sweeping(q0=[[0.0, 0.0], [5.0, 0.0]], velocity=[0.0, 1.0], within=within, present=[True, False])
    source = jo.Source(([4.0, 0.0], [6.0, 0.0]), rate=10.0, within=within)
    out = jo.Outlet(lambda q: (q[:, 1] > 0.4) & (q[:, 1] < 0.5))
    sol = jo.solve(rising, jo.Venel(), t=2.0, h=H, changes=[source, out])
    there = np.isfinite(sol.q[:, :, 0]).astype(int)
    assert there.any(axis=0).all()
    assert (np.abs(np.diff(there, axis=0)).sum(axis=0) == [1, 2]).all()
    assert there[-1].tolist() == [0, 0]


# --- a run with absent bodies is the run without them ---


def in_a_box():
    """Places, walls for radii, and a place that just touches a wall of high number."""
    shift = np.random.default_rng(0).uniform(-0.05, 0.05, (27, 3))
    q = np.stack(np.meshgrid(*[np.arange(3.0)] * 3), axis=3).reshape(-1, 3) + shift + 0.6
    return q, lambda r: jo.Box([0, 0, 0], [3.2, 3.2, np.inf], radii=r), [2.75 + TOUCH, 1.0, 8.0]


def in_a_room():
    walls = [[[0, 0], [5, 0]], [[5, 0], [5, 9]], [[0, 0], [0, 9]], [[1, 1.5], [2, 1]], [[3, 1], [4, 1.5]]]
    shift = np.random.default_rng(1).uniform(-0.04, 0.04, (16, 2))
    q = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=2).reshape(-1, 2) * 1.1 + [0.75, 2.05] + shift
    return q, lambda r: jo.Segments(walls, radii=r), [0.45 - TOUCH, 8.0]


def in_a_vessel():
    around = 2.0 * np.pi * np.arange(5) / 5
    ring = np.stack([np.cos(around), np.sin(around)], axis=1)
    q = np.concatenate([np.column_stack([(0.9 + 0.05 * k) * ring, np.full(5, 1.3 + 1.05 * k)]) for k in range(3)])
    profile = [(0.0, 0.0), (0.6, 0.0), (1.6, 1.0), (1.6, 9.0)]
    return q, lambda r: jo.Vessel(profile, radii=r), [1.15 + TOUCH, 0.0, 8.0]


PLACES = {"box": in_a_box, "segments": in_a_room, "vessel": in_a_vessel}


@pytest.mark.each_value
@pytest.mark.parametrize("place", PLACES.values(), ids=list(PLACES))
@every_scheme
def test_a_run_with_absent_bodies_is_the_run_without_them(scheme, place):
    """Positions, velocities, gaps, energies, impacts, and impulses between the same pairs."""
    q, walls, _ = place()
    n = len(q)
    there = np.random.default_rng(2).permutation(n) < (2 * n) // 3
    radii, mass = np.full(n, 0.45), np.linspace(1.0, 2.0, n)
    law = jo.Restitution(0.5) if isinstance(scheme, jo.MoreauJean) else None
    number = np.flatnonzero(there)
    some = falling(scheme, q0=q, within=jo.Balls(radii) & walls(radii), mass=mass, law=law, present=there)
    only = falling(scheme, q0=q[there], within=jo.Balls(radii[there]) & walls(radii[there]), mass=mass[there], law=law)
    sol, alone = (jo.solve(problem, scheme, t=1.2, h=0.02) for problem in (some, only))
    assert alone.stats["active"].max() >= 4
    np.testing.assert_allclose(sol.q[:, there], alone.q, atol=1e-9)
    np.testing.assert_allclose(sol.u[:, there], alone.u, atol=1e-7)
    assert np.isnan(sol.q[:, ~there]).all()
    assert (sol.u[:, ~there] == 0.0).all()
    np.testing.assert_allclose(sol.gaps(), alone.gaps(), atol=1e-9)
    for mine, theirs in zip(sol.pairs, alone.pairs, strict=True):
        named = np.where(theirs >= 0, number[np.maximum(theirs, 0)], theirs)
        assert mine.tolist() == named.tolist()
    if isinstance(scheme, jo.Venel):
        return
    np.testing.assert_allclose(sol.energy().total, alone.energy().total, rtol=1e-8)
    hits, expected = sol.impacts(speed=0.1), alone.impacts(speed=0.1)
    assert len(expected) > 3
    np.testing.assert_allclose(hits.t, expected.t)
    np.testing.assert_allclose(hits.before, expected.before, rtol=1e-5)
    np.testing.assert_allclose(hits.after, expected.after, atol=1e-5)
    assert (
        hits.pairs.tolist()
        == np.where(expected.pairs >= 0, number[np.maximum(expected.pairs, 0)], expected.pairs).tolist()
    )


def test_the_overshoot_of_a_curved_wall_does_not_depend_on_absent_bodies():
    q, radii = np.array([[0.0, 0, 0.5], [0.1, 0, 1.4], [0, 0.1, 2.3], [0.0, 0, 9.0]]), np.full(4, 0.45)
    found = []
    for n in (3, 4):
        within = jo.Balls(radii[:n]) & jo.Vessel([(0.0, 0.0), (1.0, 0.0), (1.0, 5.0)], radii=0.45)
        present = None if n == 3 else [True, True, True, False]
        fall = jo.Motion(q0=q[:n], force=[0.0, 0.0, -G], within=within, present=present)
        found.append(
            jo.solve(fall, jo.Maury(solver=jo.GaussSeidel(max_iterations=1, budget=True)), t=0.3, h=0.05).stats[
                "overshoot"
            ]
        )
    np.testing.assert_allclose(*found, atol=1e-9)


def test_the_smallest_gap_is_that_of_those_who_are_there():
    within = jo.Balls(np.full(4, 0.5)) & jo.HalfSpace([0.0, 1.0], radii=0.5)
    q = [[0.0, 3.0], [0.1, 3.0], [4.0, 2.0], [4.0, 5.0]]
    still = jo.Sweeping(q0=q, within=within, present=[True, False, False, True])
    assert jo.solve(still, jo.Venel(), t=H, h=H).gaps().tolist() == pytest.approx([2.5, 2.5])
    one = jo.Sweeping(q0=q, within=within, present=[False, False, True, False])
    assert jo.solve(one, jo.Venel(), t=H, h=H).gaps().tolist() == pytest.approx([1.5, 1.5])
    free = jo.Sweeping(q0=q, within=jo.Balls(np.full(4, 0.5)), present=[False, False, True, False])
    assert jo.solve(free, jo.Venel(), t=H, h=H).gaps().tolist() == [np.inf, np.inf]


def test_the_smallest_gap_of_nobody_is_infinite():
    nobody = jo.Sweeping(q0=np.zeros((3, 2)), within=jo.Balls(np.full(3, 0.5)), present=[False] * 3)
    assert jo.solve(nobody, jo.Venel(), t=H, h=H).gaps().tolist() == [np.inf, np.inf]


def test_many_bodies_have_the_gaps_of_those_who_are_there():
    """More than are looked at pair by pair: a list of pairs, and half of them absent."""
    random = np.random.default_rng(3)
    q = np.stack(np.meshgrid(np.arange(14.0), np.arange(14.0)), axis=2).reshape(-1, 2) + random.uniform(
        -0.1, 0.1, (196, 2)
    )
    there, radii = random.uniform(size=196) < 0.5, np.full(196, 0.3)
    still = jo.Sweeping(q0=q, within=jo.Balls(radii), present=there)
    gaps = jo.solve(still, jo.Venel(), t=H, h=H).gaps()
    assert gaps.tolist() == pytest.approx([jo.Balls(radii[there]).gap(0.0, q[there])] * 2, rel=1e-12)


# --- where those who are not there are kept ---


def waiting_in(within, n=6, **source):
    room = jo.Sweeping(q0=np.zeros((n, 2)), within=within, present=np.zeros(n, dtype=bool))
    return jo.solve(room, jo.Venel(), t=1.0, h=0.1, changes=jo.Source(within=within, rate=5.0, **source))


def test_waiting_bodies_do_not_meet_in_periodic_space():
    within = jo.Balls(np.full(30, 0.2), period=[4.0, 4.0])
    assert bodies(waiting_in(within, 30, box=([0.0, 0.0], [4.0, 4.0])))[-1] == 5


@pytest.mark.parametrize(
    "wall",
    [
        jo.Segments([[[-1, -4], [-1, 4]], [[1, -4], [1, 4]], [[-1, -4], [1, -4]], [[-1, 4], [1, 4]]], radii=0.1),
        jo.Outside([-1.0, -1.0], 0.3, radii=0.1),
    ],
    ids=["segments", "obstacle"],
)
def test_no_wall_minds_the_bodies_that_wait(wall):
    within = jo.Balls(np.full(6, 0.1)) & wall
    assert bodies(waiting_in(within, box=([-0.5, -0.5], [0.5, 0.5])))[-1] == 5


def test_bodies_of_any_size_and_any_number_can_wait():
    """Also those larger than the distance between the places where they wait."""
    within = jo.Balls(np.full(6, 50.0))
    assert bodies(waiting_in(within, box=([0.0, 0.0], [2000.0, 2000.0])))[-1] == 5


# --- who comes in ---


@every_scheme
def test_a_source_keeps_its_rate_where_there_is_room(scheme):
    n = 40
    within = jo.Balls(np.full(n, 0.05)) & jo.Box([0.0, -np.inf], [100.0, np.inf], radii=0.05)
    rain = falling(scheme, q0=np.zeros((n, 2)), within=within, present=np.zeros(n, dtype=bool))
    source = jo.Source(([1.0, 0.0], [99.0, 40.0]), rate=30.0, within=within)
    sol = jo.solve(rain, scheme, t=1.0, h=0.05, changes=source)
    assert bodies(sol).tolist() == [int(np.floor(30.0 * t * (1.0 + 1e-12))) for t in sol.t]
    there = np.isfinite(sol.q[:, :, 0])
    came = np.where(there.any(axis=0), np.argmax(there, axis=0), len(sol.t))
    assert (np.diff(came) >= 0).all()  # in the order of their numbers
    for body, frame in enumerate(came):
        if frame < len(sol.t):
            assert (sol.q[frame, body] >= [1.0, 0.0]).all()
            assert (sol.q[frame, body] <= [99.0, 40.0]).all()
    assert len(np.unique(sol.q[came[:30], np.arange(30)], axis=0)) == 30
    assert min(smallest_gap(q, np.full(n, 0.05)) for q in sol.q) >= -ROUND_OFF


def test_who_was_there_at_the_start_and_who_has_left_do_not_count_against_the_rate():
    n = 30
    within = jo.Balls(np.full(n, 0.05))
    present = np.arange(n) % 3 == 0
    rain = jo.Sweeping(
        q0=np.stack([5.0 * np.arange(n), np.zeros(n)], axis=1), velocity=[0.0, -1.0], within=within, present=present
    )
    source = jo.Source(([0.0, 5.0], [200.0, 6.0]), rate=10.0, within=within)
    sol = jo.solve(rain, jo.Venel(), t=1.5, h=0.1, changes=[source, jo.Outlet(lambda q: q[:, 1] < -0.55)])
    there = np.isfinite(sol.q[:, :, 0])
    assert there[0].tolist() == present.tolist()
    assert there[:, ~present].sum(axis=1).tolist() == [int(np.floor(10.0 * t * (1.0 + 1e-12))) for t in sol.t]
    assert there[-1].sum() == 15
    assert not there[-1, present].any()


def test_a_source_counts_from_the_start_of_the_run_also_when_it_is_resumed(tmp_path):
    within = jo.Balls(np.full(40, 0.05))
    rain = jo.Sweeping(q0=np.zeros((40, 2)), within=within, present=np.zeros(40, dtype=bool))
    source = jo.Source(([0.0, 0.0], [100.0, 100.0]), rate=10.0, within=within)
    sol = jo.solve(rain, jo.Venel(), t=(3.0, 4.0), h=0.1, changes=source)
    assert bodies(sol).tolist() == list(range(11))
    given = {"h": 0.1, "changes": source, "output": jo.io.Output(checkpoint=tmp_path / "rain.checkpoint")}
    jo.solve(rain, jo.Venel(), t=(3.0, 3.5), **given)
    given["output"] = replace(given["output"], resume=True)
    assert bodies(jo.solve(rain, jo.Venel(), t=(3.0, 4.0), **given)).tolist() == list(range(5, 11))


@every_scheme
def test_nobody_comes_in_on_another(scheme):
    """A narrow shaft: most places are taken, and gaps are never negative but for what the scheme leaves."""
    n, radii = 60, np.linspace(0.2, 0.4, 60)
    within = jo.Balls(radii) & jo.Box([0.0, 0.0], [3.0, np.inf], radii=radii)
    rain = falling(scheme, q0=np.zeros((n, 2)), within=within, present=np.zeros(n, dtype=bool))
    source = jo.Source(([0.4, 1.0], [2.6, 4.0]), rate=40.0, within=within)
    sol = jo.solve(rain, scheme, t=1.2, h=0.02, changes=source)
    there = np.isfinite(sol.q[:, :, 0])
    assert 15 < there[-1].sum() < 48  # some had to wait
    overlaps = 0.02 * 8.0 if isinstance(scheme, jo.MoreauJean) else 1e-9  # h |u|, or what the solver leaves
    assert min(smallest_gap(q, radii) for q in sol.q) >= -overlaps
    for body in np.flatnonzero(there[-1]):
        frame = int(np.argmax(there[:, body]))
        others = there[frame] & (np.arange(n) != body)
        apart = np.linalg.norm(sol.q[frame, others] - sol.q[frame, body], axis=1)
        assert (apart >= radii[others] + radii[body]).all()


def test_a_source_waits_until_its_place_is_free_and_then_catches_up():
    """A disc as large as the source covers it, until it leaves at t = 0.5."""
    n = 21
    radii = np.append(5.0, np.full(20, 0.01))
    within = jo.Balls(radii)
    lid = jo.Sweeping(q0=np.zeros((n, 2)), velocity=np.append([[0.0, 1.0]], np.zeros((20, 2)), axis=0), within=within,
                      present=np.arange(n) == 0)  # fmt: skip
    source = jo.Source(([-1.0, -1.0], [1.0, 1.0]), rate=20.0, within=within)
    sol = jo.solve(
        lid, jo.Venel(), t=1.0, h=0.05, changes=[jo.Outlet(lambda q: (q[:, 1] > 0.475) & (radii > 1.0)), source]
    )
    before = sol.t < 0.49
    assert (bodies(sol)[before] == 1).all()
    assert bodies(sol)[-1] == 20
    assert np.isnan(sol.q[-1, 0]).all()
    assert bodies(sol)[np.argmin(before)] >= 9


def test_two_sources_keep_the_rate_of_each():
    within = jo.Balls(np.full(60, 0.05))
    room = jo.Sweeping(q0=np.zeros((60, 2)), within=within, present=np.zeros(60, dtype=bool))
    left, right = (
        jo.Source(([x, 0.0], [x + 40.0, 40.0]), rate=10.0, within=within, seed=seed)
        for seed, x in ((0, 0.0), (1, 100.0))
    )
    last = jo.solve(room, jo.Venel(), t=2.0, h=0.1, changes=[left, right]).q[-1]
    assert (last[:, 0] < 50.0).sum() == (last[:, 0] > 50.0).sum() == 20


@pytest.mark.parametrize("length", [2.0**10, 2.0**-10], ids=["km", "mm"])
def test_another_unit_of_length_changes_no_bit_where_bodies_come_and_go(length):
    """A power of two, by which floating point numbers scale exactly: also the places of those who are not there."""
    n = 40

    def run(unit):
        radii = unit * np.linspace(0.2, 0.4, n)
        within = jo.Balls(radii) & jo.Box([0.0, 0.0], [3.0 * unit, np.inf], radii=radii)
        rain = jo.Motion(q0=np.zeros((n, 2)), force=[0.0, -G * unit], within=within, present=np.zeros(n, dtype=bool))
        source = jo.Source((np.array([0.4, 1.0]) * unit, np.array([2.6, 4.0]) * unit), rate=40.0, within=within)
        out = jo.Outlet(lambda q: q[:, 0] > 2.5 * unit)
        return jo.solve(rain, jo.Maury(), t=0.8, h=0.02, changes=[source, out])

    plain, scaled = run(1.0), run(length)
    assert bodies(plain)[-1] > 10
    assert (scaled.q / length).tobytes() == plain.q.tobytes()
    stats = scaled.stats.copy()
    stats["dissipated"] /= length**2
    assert stats.tobytes() == plain.stats.tobytes()


def test_the_same_seed_gives_the_same_bits_and_another_other_places():
    n = 30

    def run(seed):
        within = jo.Balls(np.full(n, 0.3)) & jo.Box([0.0, 0.0], [4.0, np.inf], radii=0.3)
        rain = falling(jo.Maury(), q0=np.zeros((n, 2)), within=within, present=np.zeros(n, dtype=bool))
        source = jo.Source(([0.5, 4.0], [3.5, 6.0]), rate=25.0, within=within, seed=seed)
        out = jo.Outlet(lambda q: q[:, 0] > 3.0)
        return jo.solve(rain, jo.Maury(), t=1.2, h=0.02, changes=[source, out])

    first, again, other = run(0), run(0), run(1)
    assert bodies(first).max() > 10
    assert first.q.tobytes() == again.q.tobytes()
    assert first.u.tobytes() == again.u.tobytes()
    assert np.isfinite(first.q).sum() > 0
    assert first.q.tobytes() != other.q.tobytes()


def test_who_comes_in_has_the_velocity_of_the_source():
    within = jo.Balls(np.full(3, 0.1))
    drops = jo.Motion(q0=np.zeros((3, 2)), v0=[7.0, 7.0], within=within, present=[False] * 3)
    sol = jo.solve(
        drops,
        jo.Maury(),
        t=1.0,
        h=0.1,
        changes=jo.Source(([0, 0], [9, 0]), rate=2.0, within=within, velocity=[0.5, -3.0]),
    )
    first = int(np.argmax(np.isfinite(sol.q[:, 0, 0])))
    assert first == 5
    assert (sol.u[:first, 0] == 0.0).all()
    assert (sol.u[first:, 0] == [0.5, -3.0]).all()
    np.testing.assert_allclose(sol.q[first + 1, 0] - sol.q[first, 0], [0.05, -0.3], atol=1e-14)


TWINS = {
    "other velocities": [{"velocity": [1.0, 0.0]}, {"velocity": [-1.0, 0.0]}],
    "nothing different": [{}, {}],
    "other seeds": [{"seed": 1}, {"seed": 2}],
    "three of a kind": [{}, {}, {}],
}


@pytest.mark.parametrize("differences", TWINS.values(), ids=TWINS)
def test_each_source_counts_its_own_bodies(differences):
    """Sources of the same box and rate: ten bodies each in a unit of time."""
    n = 10 * len(differences) + 10
    within = jo.Balls(np.full(n, 0.01))
    rain = jo.Motion(q0=np.zeros((n, 2)), within=within, present=np.zeros(n, dtype=bool))
    sources = [jo.Source(([0, 0], [99, 99]), rate=10.0, within=within, **one) for one in differences]
    sol = jo.solve(rain, jo.Maury(), t=1.0, h=0.1, changes=sources)
    assert bodies(sol)[-1] == 10 * len(differences)
    speeds = [one.get("velocity", [0.0, 0.0]) for one in differences]
    for velocity in speeds:
        assert (sol.u[-1][np.isfinite(sol.q[-1]).all(axis=1)] == velocity).all(axis=1).sum() >= 10


def test_sources_with_different_velocities_are_told_apart_inside_a_users_change_too():
    n = 30
    within = jo.Balls(np.full(n, 0.01))
    rain = jo.Motion(q0=np.zeros((n, 2)), within=within, present=np.zeros(n, dtype=bool))
    left, right = (jo.Source(([0, 0], [99, 99]), rate=10.0, within=within, velocity=[v, 0.0]) for v in (-1.0, 1.0))
    assert bodies(jo.solve(rain, jo.Maury(), t=1.0, h=0.1, changes=lambda state: right(left(state))))[-1] == 20


def test_equal_sources_are_told_apart_after_a_resume_too(tmp_path):
    n, file = 30, tmp_path / "rain.checkpoint"
    within = jo.Balls(np.full(n, 0.01))
    rain = jo.Motion(q0=np.zeros((n, 2)), within=within, present=np.zeros(n, dtype=bool))
    sources = [jo.Source(([0, 0], [99, 99]), rate=10.0, within=within) for _ in range(2)]
    jo.solve(rain, jo.Maury(), t=0.5, h=0.1, changes=sources, output=jo.io.Output(checkpoint=file))
    rest = jo.solve(rain, jo.Maury(), t=1.0, h=0.1, changes=sources, output=jo.io.Output(checkpoint=file, resume=True))
    whole = jo.solve(rain, jo.Maury(), t=1.0, h=0.1, changes=sources)
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()
    assert bodies(whole)[-1] == 20


def test_of_two_newcomers_on_one_place_the_earlier_one_comes_in():
    """The box is a point: of all that are due only the first finds room."""
    within = jo.Balls(np.full(4, 0.5))
    rain = jo.Motion(q0=np.zeros((4, 2)), within=within, present=np.zeros(4, dtype=bool))
    source = jo.Source(([0.0, 0.0], [0.1, 0.1]), rate=40.0, within=within)
    sol = jo.solve(rain, jo.Maury(), t=0.3, h=0.1, changes=source)
    assert np.isfinite(sol.q[-1]).all(axis=1).tolist() == [True, False, False, False]


def test_who_is_let_out_is_put_aside_and_leaves_the_place_free():
    """Another one walks through the very place, and those who look at q do not find the first one there."""
    seen = []
    q0 = np.array([[0.0, 0.0], [-2.0, 0.0]])
    walk = jo.Sweeping(q0=q0, velocity=[[0.0, 0.0], [1.0, 0.0]], within=jo.Balls([0.5, 0.5]))

    def watch(state):
        if state.presence is not None:
            seen.append(state.q[0])
            assert (state.q[0] == state.presence.aside[0]).all()
        return False

    change = jo.Outlet(lambda q: np.arange(len(q)) == 0)
    sol = jo.solve(walk, jo.Venel(), t=4.0, h=0.5, changes=change, until=watch)
    np.testing.assert_allclose(sol.q[-1, 1], [2.0, 0.0], atol=1e-12)
    assert len(seen) == 8
    assert np.hypot(*np.array(seen).T).min() > 1.0


# --- changes of the user ---


OVERLAPS = {
    "a ball that is there": ([0.4, 2.0], "balls 0 and 3"),
    "a wall": ([5.0, 0.2], "ball 3 and plane"),
}


@pytest.mark.parametrize(("place", "named"), OVERLAPS.values(), ids=list(OVERLAPS))
@every_scheme
def test_who_is_put_on_another_by_a_users_change_is_named(scheme, place, named):
    within = jo.Balls(np.full(4, 0.5)) & jo.HalfSpace([0.0, 1.0], radii=0.5)
    q0 = [[0.0, 2.0], [3.0, 2.0], [9.0, 2.0], [6.0, 6.0]]
    fall = falling(scheme, q0=q0, within=within, present=[True, True, True, False])
    with pytest.raises(jo.InfeasibleStart, match=named) as caught:
        jo.solve(fall, scheme, t=0.1, h=H, changes=put(3, place, when=0.045))
    assert caught.value.step == 5
    assert caught.value.solution.t[-1] == pytest.approx(0.04)
    free = jo.solve(fall, scheme, t=0.1, h=H, changes=put(3, [6.0, 6.0], when=0.045))
    assert bodies(free).tolist() == [3] * 5 + [4] * 6


def test_two_who_are_put_on_each_other_are_named():
    within = jo.Balls(np.full(3, 0.5))
    still = jo.Sweeping(q0=np.zeros((3, 2)), within=within, present=[True, False, False])
    with pytest.raises(jo.InfeasibleStart, match="balls 1 and 2"):
        jo.solve(still, jo.Venel(), t=0.1, h=H, changes=[put(1, [5.0, 0.0]), put(2, [5.5, 0.0])])


@pytest.mark.parametrize("place", PLACES.values(), ids=list(PLACES))
def test_one_body_may_come_in_where_there_are_more_walls_than_bodies(place):
    q, walls, touching = place()
    radii = np.full(2, 0.45)
    fall = falling(jo.Maury(), q0=q[:2], within=jo.Balls(radii) & walls(radii), present=[True, False])
    sol = jo.solve(fall, jo.Maury(), t=0.1, h=H, changes=put(1, touching, when=0.045))
    assert bodies(sol).tolist() == [1] * 5 + [2] * 6


def test_who_comes_in_is_not_blamed_for_the_overlaps_of_others():
    """Moreau-Jean leaves ball 0 in the floor by 0.04; the last ball comes in far away."""
    within = jo.Balls(np.full(4, 0.3)) & jo.HalfSpace([0.0, 1.0], radii=0.3)
    q0 = [[0.0, 0.36], [3.0, 5.0], [6.0, 5.0], [9.0, 5.0]]
    fall = jo.Motion(q0=q0, v0=[0.0, -1.0], within=within, present=[True, True, True, False])
    sol = jo.solve(fall, jo.MoreauJean(), t=0.3, h=0.1, changes=put(3, [9.0, 5.0]))
    assert sol.gaps()[1] == pytest.approx(-0.04)
    assert bodies(sol)[-1] == 4


def test_changes_are_made_one_after_the_other():
    """The first puts a body in, the second takes out who is on the right: in the same step."""
    within = jo.Balls(np.full(2, 0.1))
    still = jo.Sweeping(q0=[[0.0, 0.0], [1.0, 0.0]], within=within, present=[True, False])
    out = jo.Outlet(lambda q: q[:, 0] > 4.0)
    seen = []
    jo.solve(
        still,
        jo.Venel(),
        t=0.03,
        h=H,
        changes=[put(1, [5.0, 0.0]), out],
        until=lambda state: seen.append(state) or False,
    )
    assert [state.presence.codes.tolist() for state in seen] == [[PRESENT, GONE]] * 3
    seen.clear()
    jo.solve(
        still,
        jo.Venel(),
        t=0.03,
        h=H,
        changes=[out, put(1, [5.0, 0.0])],
        until=lambda state: seen.append(state) or False,
    )
    assert [state.presence.codes.tolist() for state in seen] == [[PRESENT, PRESENT], [PRESENT, GONE], [PRESENT, GONE]]


def test_a_change_may_push():
    """Any other function of the state will do: a kick to body 1 after half the time."""
    free = jo.Motion(q0=[[0.0, 0.0], [5.0, 0.0]], within=jo.Balls([0.5, 0.5]))

    push = np.array([[0.0, 0.0], [0.0, 1.0]])

    def kick(state):
        return state.replace(u=state.u + push) if 0.045 < state.t < 0.055 else state

    sol = jo.solve(free, jo.Maury(), t=0.1, h=H, changes=kick)
    assert sol.u[:, 1, 1].tolist() == [0.0] * 5 + [1.0] * 6
    np.testing.assert_allclose(sol.q[-1], [[0.0, 0.0], [5.0, 0.05]], atol=1e-14)


# --- numbers are kept ---


def bed_with_a_visitor():
    """A crystal of discs at rest, one more resting on it, and one that waits."""
    row, k = (side.ravel() for side in np.meshgrid(np.arange(10), np.arange(12), indexing="ij"))
    q = np.stack([k + 0.5 * (row % 2), np.sqrt(3.0) / 2.0 * row], axis=1) + 0.5
    last = q[-12:]
    top = (last[5] + last[6]) / 2.0 + [0.0, np.sqrt(3.0) / 2.0]
    q = np.concatenate([q, [top, [3.0, 20.0]]])
    within = jo.Balls(np.full(len(q), 0.5)) & jo.Box([0.0, 0.0], [12.5, np.inf], radii=0.5)
    return jo.Motion(q0=q, force=[0.0, -G], within=within, present=np.arange(len(q)) != len(q) - 1)


def test_warm_starts_survive_those_who_come_and_go():
    """After one leaves the top of a bed and another comes in above it, the bed needs few iterations as before."""
    bed = bed_with_a_visitor()
    n = len(bed.q0)
    scheme = jo.Maury(solver=jo.GaussSeidel(tol=1e-5))

    def leave(state):
        if state.t < 0.045 or state.presence.codes[n - 2] == GONE:
            return state
        presence = state.presence.changed(np.array([n - 2]), GONE)
        return state.replace(q=presence.placed(state.q), u=presence.still(state.u), presence=presence)

    sol = jo.solve(bed, scheme, t=0.1, h=H, changes=[leave, put(n - 1, [3.0, 20.0], when=0.045)])
    iterations = sol.stats["iterations"]
    assert sol.stats["rows"].min() >= 100
    assert bodies(sol).tolist() == [n - 1] * 11
    assert np.isnan(sol.q[-1, n - 2]).all()
    assert 0 < iterations[5:].mean() <= 0.6 * iterations[0]
    total = [p[pairs[:, 1] == -2].sum() / (H * G) for pairs, p in zip(sol.pairs[1:], sol.multipliers[1:], strict=True)]
    assert len(total) == 10
    np.testing.assert_allclose(total[2:5], n - 1, rtol=1e-3)
    np.testing.assert_allclose(total[7:], n - 2, rtol=1e-3)


def test_impacts_name_the_bodies_by_the_numbers_they_always_had():
    """Body 4 comes in and falls on the floor, then body 1 has left; the others were never there."""
    within = jo.Balls(np.full(5, 0.1)) & jo.Box([-np.inf, 0.0], [np.inf, np.inf], radii=0.1)
    q0 = [[0.0, 5.0], [1.0, 0.3], [2.0, 5.0], [3.0, 5.0], [4.0, 5.0]]
    fall = jo.Motion(q0=q0, v0=[0.0, -1.0], within=within, present=[False, True, False, False, False])
    out = jo.Outlet(lambda q: np.arange(5) == np.where((q[4] > 0.0).all(), 1, -1))
    drop = put(4, [4.0, 0.4], when=0.295)

    def enter(state):
        after = drop(state)
        u = state.u.copy()
        u[4] = [0.0, -1.0]
        return after.replace(u=u) if after is not state else after

    sol = jo.solve(fall, jo.Maury(), t=1.0, h=H, changes=[enter, out])
    hits = sol.impacts()
    assert hits.pairs.tolist() == [[1, -1], [4, -1]]
    np.testing.assert_allclose(hits.t, [0.21, 0.61], atol=0.011)
    np.testing.assert_allclose(hits.before, [-1.0, -1.0])
    assert np.isnan(sol.q[-1, :4]).all()


# --- refusals ---


def test_schemes_that_project_everybody_together_refuse_by_name():
    within, q0 = jo.Balls([0.5, 0.5]), [[0.0, 0.0], [3.0, 0.0]]
    with pytest.raises(jo.errors.SchemeRefuses, match=r"Paoli .*use Maury or MoreauJean$"):
        jo.solve(jo.Motion(q0=q0, within=within, present=[True, False]), jo.Paoli(), t=0.1, h=H)
    with pytest.raises(jo.errors.SchemeRefuses, match=r"CatchingUp .*use Venel$"):
        jo.solve(jo.Sweeping(q0=q0, within=within, present=[True, False]), jo.CatchingUp(), t=0.1, h=H)


@pytest.mark.parametrize("scheme", [jo.Paoli(), jo.CatchingUp()], ids=lambda scheme: type(scheme).__name__)
def test_schemes_that_project_everybody_together_refuse_an_outlet(scheme):
    q0, within = [[0.0, 1.0], [3.0, -20.0]], jo.Balls([0.5, 0.5])
    up = [0.0, 1.0]
    first = isinstance(scheme, jo.CatchingUp)
    rise = jo.Sweeping(q0=q0, velocity=up, within=within) if first else jo.Motion(q0=q0, v0=up, within=within)
    with pytest.raises(jo.errors.SchemeRefuses, match=type(scheme).__name__):
        jo.solve(rise, scheme, t=2.0, h=0.1, changes=jo.Outlet(lambda q: q[:, 1] > 2.0))


@every_scheme
def test_constraints_on_the_whole_configuration_are_refused(scheme):
    @jo.constraints(convex=True, moving=False, length=0.5)
    def together(t, q):
        return [q[:, 1].sum() + 100.0]

    within, q0 = jo.Balls([0.5, 0.5]) & together, [[0.0, 0.0], [3.0, 0.0]]
    with pytest.raises(jo.InvalidValue, match="constraints on the whole configuration"):
        jo.solve(falling(scheme, q0=q0, within=within, present=[True, False]), scheme, t=0.1, h=H)
    out = jo.Outlet(lambda q: q[:, 0] > 2.0)
    with pytest.raises(jo.InvalidValue, match=r"step 1 .*constraints on the whole configuration"):
        jo.solve(falling(scheme, q0=q0, within=within), scheme, t=0.1, h=H, changes=out)
    assert jo.solve(falling(scheme, q0=q0, within=within), scheme, t=0.1, h=H).status == "finished"


WRONG = {
    "too few": [True],
    "too many": [True, False, True],
    "numbers": [1, 0],
    "words": ["yes", "no"],
    "one for all": True,
    "one a coordinate": [[True, True], [False, False]],
}


@pytest.mark.parametrize("present", WRONG.values(), ids=list(WRONG))
def test_present_is_one_true_or_false_a_body(present):
    for make in (jo.Motion, jo.Sweeping):
        with pytest.raises(jo.InvalidValue, match="one True or False for each body"):
            make(q0=[[0.0, 0.0], [3.0, 0.0]], present=present)
        assert make(q0=[[0.0, 0.0], [3.0, 0.0]], present=[True, False]).presence.here.tolist() == [True, False]


def test_one_body_without_a_number_cannot_come_or_go():
    with pytest.raises(jo.InvalidValue, match="one True or False for each body"):
        jo.Motion(q0=[0.0, 0.0], present=[True, False])
    with pytest.raises(jo.InvalidValue, match=r"step 1 .*one True or False for each body"):
        jo.solve(jo.Motion(q0=[0.0, 1.0]), jo.Maury(), t=0.1, h=H, changes=jo.Outlet(lambda q: q > 0.0))


def test_a_change_is_a_function_that_returns_a_state():
    free = jo.Motion(q0=[[0.0, 0.0]])
    with pytest.raises(jo.InvalidValue, match="must be functions of the state"):
        jo.solve(free, jo.Maury(), t=0.1, h=H, changes=3.0)
    with pytest.raises(jo.InvalidValue, match="must be functions of the state"):
        jo.solve(free, jo.Maury(), t=0.1, h=H, changes=[lambda state: state, None])
    with pytest.raises(jo.InvalidValue, match=r"step 1 .*must return a state"):
        jo.solve(free, jo.Maury(), t=0.1, h=H, changes=lambda state: None)


def test_a_source_needs_a_box_and_a_rate():
    within = jo.Balls([0.5])
    with pytest.raises(jo.InvalidValue, match="needs a box"):
        jo.Source(([0.0, 0.0], [1.0, -1.0]), rate=1.0, within=within)
    with pytest.raises(jo.InvalidValue, match="needs a box"):
        jo.Source(([0.0, 0.0], [1.0, 1.0, 1.0]), rate=1.0, within=within)
    with pytest.raises(jo.errors.NotFinite):
        jo.Source(([0.0, 0.0], [1.0, np.inf]), rate=1.0, within=within)
    for rate in (0.0, -1.0, np.nan):
        with pytest.raises(jo.InvalidValue, match="rate must be a positive number"):
            jo.Source(([0.0, 0.0], [1.0, 1.0]), rate=rate, within=within)


def test_presence_is_kept_aside_and_changed_by_copies():
    presence = Presence.of(np.array([[0.0, 0.0], [4.0, 1.0], [2.0, 2.0]]), [True, False, True])
    later = presence.changed(np.array([1]), PRESENT)
    assert presence.here.tolist() == [True, False, True]
    assert later.here.tolist() == [True, True, True]
    assert presence.waiting.tolist() == [1]
    assert later.waiting.tolist() == []
    q = np.array([[0.0, 0.0], [4.0, 1.0], [2.0, 2.0]])
    placed = presence.placed(q)
    assert placed[[0, 2]].tolist() == q[[0, 2]].tolist()
    assert (placed[1] < 0.0).all()
    assert presence.still(q)[1].tolist() == [0.0, 0.0]


def test_bodies_wait_farther_apart_than_they_are_wide():
    q = np.zeros((10, 2))
    presence = Presence.of(q, np.arange(10) == 3, widest=50.0)
    assert smallest_gap(presence.placed(q), np.full(10, 50.0)) > 100.0


class Rail(jo.ConstraintSet):
    """Each body stays on the line y = 0."""

    convex_gaps, moving, equalities, curved = False, False, True, True

    def linearise(self, t, q, cutoff=np.inf):
        body, G = np.arange(len(q)), np.zeros((len(q), *q.shape))
        G[body, body, 1] = 1.0
        pairs = np.stack([body, np.full(len(q), -1)], axis=1)
        rows = jo.convex.Polyhedron(G.reshape(len(q), -1), np.zeros(len(q))).G
        return jo.sets.Contacts(q[:, 1].copy(), rows, pairs, constraint_count=1, at=q, part_count=len(q), length=1.0,
                           equal=np.ones(len(q), dtype=bool))  # fmt: skip


@second_order
def test_equalities_hold_for_those_who_are_there_beside_other_sets(scheme):
    within = Rail() & jo.Balls([0.1, 0.1, 0.1]) & jo.HalfSpace([0.0, 1.0], -3.0)
    q0, v0 = [[0.0, 0.0], [0.3, 0.0], [0.6, 0.0]], [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    sol = jo.solve(
        jo.Motion(q0=q0, v0=v0, force=[0.0, -G], within=within, present=[True, True, False]), scheme, t=0.5, h=H
    )
    assert sol.q[-1][:2, 1] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert sol.u[-1][:2, 0] == pytest.approx([0.5, 0.5])
    assert np.isnan(sol.q[-1][2]).all()
    assert sol.gaps().min() > -2.0 * H  # of the balls and of the rail, not minus the distance to the floor


@pytest.mark.parametrize("within", [None, jo.HalfSpace([0.0, 1.0])])
@pytest.mark.parametrize("name", ["q", "u"])
def test_a_change_that_returns_nan_in_the_last_step_is_refused(name, within):
    """No step follows that would notice it."""

    def lose(state):
        return state.replace(**{name: getattr(state, name) * np.nan}) if state.t > 0.95 else state

    ball = jo.Motion(q0=[1.0, 2.0], v0=[0.0, -1.0], within=within)
    with pytest.raises(jo.errors.NotFinite, match=f"{name} of the changed state, entry .0,. became nan") as raised:
        jo.solve(ball, jo.Maury(), t=1.0, h=0.1, changes=lose)
    assert raised.value.step == 10
