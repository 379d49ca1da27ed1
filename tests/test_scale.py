"""Some hundred discs and spheres: bits, units, numbers, momentum, and that nothing overlaps, at any step.

Gaps are measured here pair by pair, and not by the cells that the runs rely on.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import jostle as jo
from plain import crowd as plain_crowd
from rows import whole

MAX_DENSE_ENTRIES = pytest.mark.filterwarnings("ignore::jostle.errors.CloseImpacts")
"""Discs that collide in the first step, as these do, get no restitution there: `Paoli` warns of it."""
H = 0.02
GRAVITY = 9.81
ROUND_OFF = 1e-12


class Heap(NamedTuple):
    """Balls thrown about in a box that is open at the top."""

    q: np.ndarray
    v: np.ndarray
    radii: np.ndarray
    width: float

    def problem(self, scheme, *, length=1.0, mass=1.0, e=0.0, order=slice(None)):
        """In units of length and mass, times as they are; Venel's bodies wish to fall."""
        q, v, radii = length * self.q[order], length * self.v[order], length * self.radii[order]
        d = q.shape[1]
        top = np.full(d, length * self.width)
        top[-1] = np.inf
        within, down = jo.Balls(radii) & jo.Box(np.zeros(d), top, radii=radii), np.zeros_like(q)
        down[:, -1] = -length
        if isinstance(scheme, jo.Venel):
            return jo.Sweeping(q0=q, within=within, velocity=3.0 * down + 0.2 * v)
        masses = mass * self.radii[order] ** d
        weight = GRAVITY * masses[:, None] * down
        return jo.Motion(q0=q, v0=v, force=weight, mass=masses, within=within, law=jo.Restitution(e))


def heap(d, n, ratio=1.25, seed=0):
    """n balls of diameters 1 / ratio to 1, each in a cell of its own."""
    random = np.random.default_rng([d, n, seed])
    side = int(np.ceil((n / 1.5) ** (1.0 / d)))
    index = np.unravel_index(np.arange(n), (n // side ** (d - 1) + 1,) + (side,) * (d - 1))
    radii = 0.5 * ratio ** -random.uniform(size=n)
    q = np.stack(index[::-1], axis=1) + 0.5 + random.uniform(-0.9, 0.9, (n, d)) * (0.5 - radii[:, None])
    return Heap(q, random.normal(size=(n, d)), radii, float(side))


def smallest_gap(q, radii, period=None):
    """All pairs, one after the other; the nearest images in periodic space."""
    i, j = np.triu_indices(len(q), k=1)
    apart = q[j] - q[i]
    if period is not None:
        apart = apart - period * np.round(apart / period)
    return (np.linalg.norm(apart, axis=1) - radii[i] - radii[j]).min()


MEMBERS = {
    "Maury": (jo.Maury(), 0.0),
    "MoreauJean": (jo.MoreauJean(), 0.5),
    "Venel": (jo.Venel(), 0.0),
}
BALLS = {"discs": (2, 600), "spheres": (3, 400)}
every_scheme = pytest.mark.parametrize(("scheme", "e"), MEMBERS.values(), ids=list(MEMBERS))
discs_and_spheres = pytest.mark.parametrize(("d", "n"), BALLS.values(), ids=list(BALLS))


# --- bits ---


def assert_same_bits(one, two):
    for mine, theirs in zip((one.q, one.u, *one.multipliers), (two.q, two.u, *two.multipliers), strict=True):
        assert mine.tobytes() == theirs.tobytes()
    assert one.stats.tobytes() == two.stats.tobytes()


@pytest.mark.each_value
@discs_and_spheres
@every_scheme
def test_the_same_start_gives_the_same_bits(scheme, e, d, n):
    runs = [jo.solve(heap(d, n).problem(scheme, e=e), scheme, t=0.4, h=H) for _ in range(2)]
    assert runs[0].stats["active"].max() > 100
    assert_same_bits(*runs)
    other = jo.solve(heap(d, n, seed=1).problem(scheme, e=e), scheme, t=0.04, h=H)
    assert other.q[:3].tobytes() != runs[0].q[:3].tobytes()


@MAX_DENSE_ENTRIES
def test_the_same_start_gives_the_same_bits_by_paoli():
    runs = [jo.solve(heap(2, 100).problem(jo.Paoli(), e=0.5), jo.Paoli(), t=0.3, h=0.01) for _ in range(2)]
    assert len(runs[0].impacts(speed=0.1)) > 20
    assert_same_bits(*runs)
    assert runs[0].z.tobytes() == runs[1].z.tobytes()


def test_a_set_that_was_used_before_gives_the_bits_of_a_new_one():
    """The list of pairs that a set keeps from the last run does not show."""
    crowd = heap(2, 300)
    problem = crowd.problem(jo.Maury())
    first = jo.solve(problem, jo.Maury(), t=0.3, h=H)
    problem.within.gap(0.0, crowd.q + 0.3 * np.random.default_rng(0).normal(size=crowd.q.shape))
    assert_same_bits(first, jo.solve(problem, jo.Maury(), t=0.3, h=H))


# --- units ---


@cache
def plain_run(scheme, e, d, n):
    return jo.solve(heap(d, n).problem(scheme, e=e), scheme, t=0.3, h=H)


def without_units(sol, energy):
    """The records of the steps, with energies in another unit."""
    stats = sol.stats.copy()
    for name in ("dissipated", "wall_work"):
        stats[name] /= energy
    return stats


BINARY = {"km": (2.0**10, 1.0), "mm": (2.0**-10, 1.0), "heavy": (1.0, 4.0**5)}
DECIMAL = {"km": (1e3, 1.0), "mm": (1e-3, 1.0), "heavy": (1.0, 1e3)}


@pytest.mark.each_value
@pytest.mark.parametrize(("length", "mass"), BINARY.values(), ids=list(BINARY))
@discs_and_spheres
@every_scheme
def test_units_that_are_powers_of_two_change_no_bit(scheme, e, d, n, length, mass):
    """Floating point numbers scale exactly by them: any number with a hidden unit shows."""
    plain = plain_run(scheme, e, d, n)
    scaled = jo.solve(heap(d, n).problem(scheme, e=e, length=length, mass=mass), scheme, t=0.3, h=H)
    assert plain.stats["active"].max() > 100
    assert (scaled.q / length).tobytes() == plain.q.tobytes()
    assert (scaled.u / length).tobytes() == plain.u.tobytes()
    impulse = length if isinstance(scheme, jo.Venel) else length * mass
    assert all(
        (p / impulse).tobytes() == q.tobytes() for p, q in zip(scaled.multipliers, plain.multipliers, strict=True)
    )
    assert without_units(scaled, impulse * length).tobytes() == plain.stats.tobytes()
    np.testing.assert_array_equal(scaled.gaps() / length, plain.gaps())


@pytest.mark.each_value
@pytest.mark.parametrize(("length", "mass"), DECIMAL.values(), ids=list(DECIMAL))
@every_scheme
def test_other_units_change_round_off_only(scheme, e, length, mass):
    for d, n in BALLS.values():
        plain = plain_run(scheme, e, d, n)
        scaled = jo.solve(heap(d, n).problem(scheme, e=e, length=length, mass=mass), scheme, t=0.3, h=H)
        np.testing.assert_allclose(scaled.q / length, plain.q, atol=1e-8)
        np.testing.assert_allclose(scaled.u / length, plain.u, atol=1e-6)
        assert scaled.stats["iterations"].tolist() == plain.stats["iterations"].tolist()
        assert scaled.stats["solver"].tolist() == plain.stats["solver"].tolist()


@MAX_DENSE_ENTRIES
@pytest.mark.parametrize(("length", "mass"), DECIMAL.values(), ids=list(DECIMAL))
def test_other_units_change_round_off_only_by_paoli(length, mass):
    plain, scaled = (
        jo.solve(heap(2, 100).problem(jo.Paoli(), e=0.5, length=x, mass=m), jo.Paoli(), t=0.3, h=0.01)
        for x, m in ((1.0, 1.0), (length, mass))
    )
    np.testing.assert_allclose(scaled.q / length, plain.q, atol=1e-8)
    assert scaled.stats["iterations"].tolist() == plain.stats["iterations"].tolist()


# --- numbers ---


@pytest.mark.each_value
@pytest.mark.parametrize(("d", "n"), [(2, 300), (3, 200)], ids=["discs", "spheres"])
@every_scheme
def test_other_numbers_for_the_same_bodies_give_the_same_motion(scheme, e, d, n):
    tight = type(scheme)(solver=jo.Automatic(tol=1e-11))
    order = np.random.default_rng(5).permutation(n)
    plain, permuted = (
        jo.solve(heap(d, n).problem(scheme, e=e, order=numbers), tight, t=0.3, h=H) for numbers in (slice(None), order)
    )
    assert plain.stats["active"].max() > 50
    np.testing.assert_allclose(permuted.q, plain.q[:, order], atol=1e-5)
    np.testing.assert_allclose(permuted.gaps(), plain.gaps(), atol=1e-5)
    assert permuted.stats["rows"].tolist() == plain.stats["rows"].tolist()


# --- nothing overlaps ---


@pytest.mark.each_value
@pytest.mark.parametrize(("d", "n"), [(2, 400), (3, 300)], ids=["discs", "spheres"])
@every_scheme
def test_balls_of_very_different_sizes_do_not_overlap(scheme, e, d, n):
    """Radii from 0.025 to 0.5; Moreau and Jean allow h |u|."""
    crowd = heap(d, n, ratio=20.0)
    assert crowd.radii.max() / crowd.radii.min() > 18.0
    sol = jo.solve(crowd.problem(scheme, e=e), scheme, t=0.6, h=H)
    assert sol.stats["active"].sum() > 300
    allowed = H * np.abs(sol.u).max() if isinstance(scheme, jo.MoreauJean) else 2e-8 * crowd.radii.min()
    for q, gap in zip(sol.q[::3], sol.gaps()[::3], strict=True):
        assert smallest_gap(q, crowd.radii) >= -allowed
        walls = np.concatenate([q - crowd.radii[:, None], crowd.width - q[:, :-1] - crowd.radii[:, None]], axis=1)
        assert gap == pytest.approx(min(smallest_gap(q, crowd.radii), walls.min()), abs=ROUND_OFF)


def in_a_periodic_box(d, n=300):
    """(q, radii at 0, period, masses, v)."""
    random = np.random.default_rng(d)
    side = int(np.ceil(n ** (1.0 / d)))
    q = np.stack(np.meshgrid(*[np.arange(side) + 0.5] * d), axis=d).reshape(-1, d)[:n]
    q = q + random.uniform(-0.12, 0.12, (n, d)) + side * random.integers(-2, 3, (n, d))
    return q, random.uniform(0.2, 0.28, n), float(side), random.uniform(1.0, 3.0, n), random.normal(size=(n, d))


@pytest.mark.each_value
@pytest.mark.parametrize("speed", [0.0, 0.3])
@pytest.mark.parametrize("d", [2, 3])
def test_radii_that_grow_in_a_periodic_box_never_overlap(d, speed):
    """By four fifths; who is pushed keeps the common momentum, though energy comes in.

    Without a velocity nobody strays from where the list of pairs was made, until they touch: growth alone outdates it.
    """
    q, r, period, mass, v = in_a_periodic_box(d)
    balls = jo.Balls(lambda t: r * (1.0 + t), period=period)
    sol = jo.solve(jo.Motion(q0=q, v0=speed * v, mass=mass, within=balls), jo.Maury(), t=0.8, h=H)
    assert sol.stats["active"].max() > 40
    assert smallest_gap(q, 1.8 * r, period) < -0.1  # if they stayed
    for t, x in zip(sol.t[::4], sol.q[::4], strict=True):
        assert smallest_gap(x, r * (1.0 + t), period) >= -2e-8 * r.min()
    momentum = np.einsum("n,knd->kd", mass, sol.u)
    assert np.abs(momentum - momentum[0]).max() <= 1e-12 * mass.sum()


@pytest.mark.each_value
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(
    ("scheme", "e"), [*list(MEMBERS.values())[:2], (jo.MoreauJean(), 1.0)], ids=["Maury", "half", "elastic"]
)
def test_a_periodic_box_conserves_momentum(scheme, e, d):
    q, r, period, mass, v = in_a_periodic_box(d)
    gas = jo.Motion(q0=q, v0=v, mass=mass, within=jo.Balls(1.25 * r, period=period), law=jo.Restitution(e))
    sol = jo.solve(gas, scheme, t=0.6, h=H)
    assert len(sol.impacts(speed=0.1)) > 100
    momentum = np.einsum("n,knd->kd", mass, sol.u)
    assert np.abs(momentum - momentum[0]).max() <= 1e-12 * mass.sum()
    energy = sol.energy().kinetic
    assert (np.diff(energy) <= 1e-9 * energy[0]).all()
    assert energy[-1] < 0.95 * energy[0] or e == 1.0


@pytest.mark.parametrize(("scheme", "e"), list(MEMBERS.values())[:2], ids=list(MEMBERS)[:2])
def test_momentum_changes_by_gravity_and_walls_alone(scheme, e):
    for d, n in BALLS.values():
        problem = heap(d, n).problem(scheme, e=e)
        sol = jo.solve(problem, scheme, t=0.4, h=H)
        mass = problem.mass.mass.reshape(n, d)
        gravity, touched = H * problem.constant_force.sum(axis=0), 0.0
        for k in range(1, len(sol.t)):
            wall = sol.pairs[k][:, 1] < 0
            from_walls = -(sol.multipliers[k][wall, None] * sol.normals[k][wall]).sum(axis=0)
            change = (mass * (sol.u[k] - sol.u[k - 1])).sum(axis=0)
            np.testing.assert_allclose(change, gravity + from_walls, atol=1e-11 * np.abs(gravity).max())
            touched = max(touched, np.abs(from_walls).max())
        assert touched > 0.2 * np.abs(gravity).max()


# --- the cut-off is checked ---


@pytest.mark.parametrize(("h", "speed"), [(1e-3, 1e3), (0.1, 1e3), (1.0, 1e5), (1e4, 1.0)])
def test_a_bullet_overlaps_nothing_whatever_the_step(h, speed):
    """Heavy and fast into a loose pile: it goes thousands of radii in a step, if nobody is in its way."""
    pile = heap(2, 110)
    q, radii = np.append(pile.q, [[4.3, 14.0]], axis=0), np.append(pile.radii, 0.3)
    v = np.zeros_like(q)
    v[-1] = [0.1 * speed, -speed]
    within = jo.Balls(radii) & jo.HalfSpace([0.0, 1.0], radii=radii)
    shot = jo.Motion(q0=q, v0=v, mass=np.append(np.ones(110), 50.0), within=within)
    sol = jo.solve(shot, jo.Maury(), t=3 * h, h=h)
    assert sol.q[-1, -1, 1] < 14.0
    for x in sol.q[1:]:
        allowed = 2e-8 * radii.min() + ROUND_OFF * np.abs(x).max()
        assert smallest_gap(x, radii) >= -allowed
        assert (x[:, 1] - radii).min() >= -allowed
    assert sol.stats["converged"].all()


@pytest.mark.parametrize("gap", [1e-15, 1e-12])
def test_contacts_that_round_off_opened_carry_from_the_first_step(gap):
    """Two discs on a floor, at rest: `Contacts.tolerance` calls these gaps closed, so nothing moves."""
    within = jo.Balls(np.full(2, 0.5)) & jo.HalfSpace([0.0, 1.0], radii=0.5)
    stack = jo.Motion(q0=[[0.0, 0.5 + gap], [0.0, 1.5 + 2.0 * gap]], force=[0.0, -GRAVITY], within=within)
    sol = jo.solve(stack, jo.MoreauJean(), t=0.1, h=H)
    assert sol.gaps().min() >= -ROUND_OFF
    np.testing.assert_allclose(sol.u, 0.0, atol=ROUND_OFF)


@pytest.mark.parametrize("h", [0.3, 1.0, 6.0])
def test_a_piston_overlaps_nothing_though_nobody_wishes_to_move(h):
    """The first cut-off is nothing at all, since no velocity is wished; those pushed run into others."""
    random = np.random.default_rng(0)
    q = np.stack(np.meshgrid(1.3 * np.arange(10.0), np.arange(10.0)), axis=2).reshape(-1, 2) + 0.5
    q, radii = q + random.uniform(-0.04, 0.04, q.shape), np.full(100, 0.45)
    piston = jo.Box(lambda t: [t, -np.inf], [np.inf, np.inf], radii=0.45)
    sol = jo.solve(jo.Sweeping(q0=q, within=jo.Balls(radii) & piston), jo.Venel(), t=6.0, h=h)
    for t, x in zip(sol.t, sol.q, strict=True):
        assert smallest_gap(x, radii) >= -2e-8 * 0.45
        assert x[:, 0].min() >= t + 0.45 - 2e-8 * 0.45
    assert sol.q[-1, :, 0].max() > q[:, 0].max() + 0.5


def test_the_first_look_for_contacts_is_mostly_enough(monkeypatch):
    """Who is pushed goes further than he wishes; without a look at the step before, each fourth step looks again."""
    plan = jo.crowds.Plan([(0, 0), (7, 0), (7, 7), (0, 7)], exits={"door": ((7, 3), (7, 4))})
    people = plain_crowd(130, radius=0.2, room=plan, speed=1.2, seed=1)
    asked = []
    contacts = type(people.within).contacts
    monkeypatch.setattr(type(people.within), "contacts", lambda *args: asked.append(args) or contacts(*args))
    scheme = jo.Venel(solver=jo.Automatic(tol=1e-4))
    steps = len(jo.solve(people, scheme, t=5.0, h=0.05).stats)
    assert steps <= len(asked) <= 1.18 * steps


def test_the_nearest_point_of_many_is_that_of_few_though_one_is_pushed_far():
    """A light disc between two heavy ones, which overlap it by 0.05, is squeezed out by five times as much.

    It runs into a small disc that was out of reach: with 70 more far away, as without them.
    """
    q, radii = np.array([[-0.95, 0.0], [0.95, 0.0], [0.0, 0.05], [0.02, 0.75]]), np.array([0.5, 0.5, 0.5, 0.1])
    mass, far = np.array([1e4, 1e4, 1.0, 1.0]), np.stack([100.0 + 5.0 * np.arange(70), np.zeros(70)], axis=1)
    few = jo.nearest(q, jo.Balls(radii), mass=mass).point
    everybody = np.concatenate([q, far])
    many = jo.nearest(everybody, jo.Balls(np.append(radii, np.full(70, 0.5))), mass=np.append(mass, np.ones(70))).point
    assert few[2, 1] > 0.25
    assert few[3, 1] > 0.85
    assert smallest_gap(few, radii) >= -1e-10
    np.testing.assert_allclose(many[:4], few, atol=1e-6)
    assert (many[4:] == far).all()


# --- impacts ---


def impacts_from_multipliers(sol, speed):
    """New pairs with p > 0: the rates of their gaps in the frames around, and p of two steps."""
    active = [
        {tuple(pair): row for row, pair in enumerate(pairs.tolist()) if p[row] > 0.0}
        for pairs, p in zip(sol.pairs, sol.multipliers, strict=True)
    ]

    def rate(u, pair, normal):
        return normal @ ((u[pair[1]] if pair[1] >= 0 else 0.0) - u[pair[0]])

    found = []
    for k in range(1, len(sol.t)):
        after = min(k + 1, len(sol.t) - 1)
        closing = {body for pair in active[after] if pair not in active[k] for body in pair if body >= 0}
        for pair, row in active[k].items():
            before = rate(sol.u[k - 1], pair, sol.normals[k][row])
            if pair in active[k - 1] or -before <= speed:
                continue
            impulse = sol.multipliers[k][row]
            if after > k and pair in active[after]:
                impulse += sol.multipliers[after][active[after][pair]]
            left = (
                np.nan
                if closing & set(pair) or pair in active[after]
                else rate(sol.u[after], pair, sol.normals[k][row])
            )
            found.append((sol.t[k], pair, before, impulse, left))  # NaN: the step after belongs to another impact, too
    return found


@pytest.mark.each_value
@discs_and_spheres
@pytest.mark.parametrize(("scheme", "e"), list(MEMBERS.values())[:2], ids=list(MEMBERS)[:2])
def test_impacts_of_many_are_those_that_the_multipliers_tell(scheme, e, d, n):
    sol = jo.solve(heap(d, n).problem(scheme, e=e), scheme, t=0.4, h=H)
    mine, theirs = list(sol.impacts(speed=1e-3)), impacts_from_multipliers(sol, 1e-3)
    assert len(mine) > 300
    assert [hit[:2] for hit in mine] == [hit[:2] for hit in theirs]
    before, after, impulse = np.array([hit[2:] for hit in mine]).T
    their_before, their_impulse, their_after = np.array([hit[2:] for hit in theirs]).T
    alone = np.isfinite(their_after)
    assert alone.sum() > 10
    np.testing.assert_allclose(before, their_before, atol=ROUND_OFF)
    np.testing.assert_allclose(impulse, their_impulse, atol=ROUND_OFF)
    np.testing.assert_allclose(after[alone], their_after[alone], atol=ROUND_OFF)


# --- Paoli ---


@MAX_DENSE_ENTRIES
@pytest.mark.parametrize("e", [whole(0.0), whole(0.5), 0.9])
def test_the_projected_positions_of_paoli_do_not_overlap(e):
    """Z^n is in K; U^n leaves it by O(h) if e > 0."""
    crowd, h = heap(2, 150), 0.01
    sol = jo.solve(crowd.problem(jo.Paoli(), e=e), jo.Paoli(), t=0.4, h=h)
    assert sol.stats["active"].max() > 20
    for z in sol.z:
        assert smallest_gap(z, crowd.radii) >= -2e-8 * crowd.radii.min()
        assert (z - crowd.radii[:, None]).min() >= -2e-8 * crowd.radii.min()
        assert (z[:, 0] + crowd.radii).max() <= crowd.width + 2e-8 * crowd.radii.min()
    deepest = -min(smallest_gap(q, crowd.radii) for q in sol.q)
    assert deepest <= (2e-8 * crowd.radii.min() if e == 0.0 else h * np.abs(sol.u).max())
    assert deepest > 1e-4 or e == 0.0


@MAX_DENSE_ENTRIES
@pytest.mark.parametrize("e", [whole(0.0), 0.5])
def test_paoli_moves_few_discs_alike_whether_or_not_many_more_are_far_away(e):
    """60 discs are projected with all their pairs, 80 with those within the cutoff: the same motion."""
    crowd, scheme = heap(2, 60), jo.Paoli(solver=jo.Automatic(tol=1e-11))
    far = np.stack([1000.0 + 50.0 * np.arange(20.0), np.full(20, 500.0)], axis=1)
    sols = []
    for n in (60, 80):
        q, v = np.concatenate([crowd.q, far])[:n], np.concatenate([crowd.v, np.zeros((20, 2))])[:n]
        radii = np.append(crowd.radii, np.full(20, 0.45))[:n]
        within = jo.Balls(radii) & jo.Box([0.0, 0.0], [np.inf, np.inf], radii=radii)
        motion = jo.Motion(q0=q, v0=v, force=[-1.0, -GRAVITY], within=within, law=jo.Restitution(e))
        sols.append(jo.solve(motion, scheme, t=0.3, h=0.01))
    few, many = sols
    assert len(few.impacts(speed=0.05)) > 20
    np.testing.assert_allclose(many.q[:, :60], few.q, atol=1e-7)
    np.testing.assert_allclose(many.z[:, :60], few.z, atol=1e-7)
    assert [hit[1] for hit in many.impacts(speed=0.05)] == [hit[1] for hit in few.impacts(speed=0.05)]
