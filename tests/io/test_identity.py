"""A run is known by its data and by the values that its functions return."""

import functools
from collections import defaultdict, deque
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import pytest

import jostle as jo
from jostle.errors import InvalidValue
from jostle.io.identity import Called, describe, differences

H = 0.01


def of_closure(g):
    return lambda t, q: np.full_like(q, -g)


def of_default(g):
    def force(t, q, *, strength=g):
        return np.full_like(q, -strength)

    return force


class Spring:
    def __init__(self, k):
        self._k = k

    def __call__(self, t, q):
        return -self._k * q

    def pull(self, t, q):
        return -self._k * q


def one(t, q):
    return -1.0 * q


def two(t, q):
    return -2.0 * q


def balls(radii=(0.3, 0.4), height=0.0, period=None, **more):
    within = jo.Balls(radii, period=period) & jo.HalfSpace([0, 1], height, radii=radii)
    settings = {"q0": [[0.0, 1.0], [2.0, 1.5]], "force": [0.0, -9.81], "within": within}
    return jo.Motion(**(settings | more))


def rough(**more):
    return balls(**({"law": jo.Coulomb(0.5)} | more))


def dumbbell(arm):
    return jo.Motion(q0=[[0.0, 1.0]], within=jo.Clumps([([[-arm, 0.0], [arm, 0.0]], 0.3)]))


MOVING = {"table": lambda height: jo.HalfSpace([0, 1], lambda t: height * np.sin(t))}
OTHERS = {
    "q0": (balls(), balls(q0=[[0.0, 1.0], [2.0, 1.6]])),
    "v0": (balls(), balls(v0=[[0.0, 1.0], [0.0, 0.0]])),
    "constant force": (balls(), balls(force=[0.0, -1.62])),
    "closure of a force": (balls(force=of_closure(1.0)), balls(force=of_closure(2.0))),
    "default of a force": (balls(force=of_default(1.0)), balls(force=of_default(2.0))),
    "code of a force": (balls(force=one), balls(force=two)),
    "object as a force": (balls(force=Spring(1.0)), balls(force=Spring(2.0))),
    "method as a force": (balls(force=Spring(1.0).pull), balls(force=Spring(2.0).pull)),
    "partial force": (
        balls(force=functools.partial(lambda k, t, q: -k * q, 1.0)),
        balls(force=functools.partial(lambda k, t, q: -k * q, 2.0)),
    ),
    "force instead of none": (balls(), balls(force=one)),
    "mass": (balls(), balls(mass=[1.0, 2.0])),
    "mass function": (balls(mass=lambda q: np.eye(4)), balls(mass=lambda q: 2.0 * np.eye(4))),
    "law": (balls(), balls(law=jo.Restitution(0.5))),
    "friction": (rough(), rough(law=jo.Coulomb(0.6))),
    "inertia": (rough(inertia=0.1), rough(inertia=0.2)),
    "spin": (rough(), rough(spin0=1.0)),
    "turn": (rough(), rough(orientation0=1.0)),
    "arms of a clump": (dumbbell(0.4), dumbbell(0.5)),
    "radii": (balls(), balls(radii=(0.3, 0.41))),
    "wall": (balls(), balls(height=0.1)),
    "period": (balls(), balls(period=9.0)),
    "moving wall": tuple(jo.Motion(q0=[0.0, 1.0], within=MOVING["table"](height)) for height in (0.1, 0.2)),
    "presence": (balls(), balls(present=[True, False])),
    "velocity": tuple(jo.Sweeping(q0=[0.0], velocity=[speed]) for speed in (1.0, 2.0)),
    "mass of a first-order problem": tuple(jo.Sweeping(q0=[0.0, 1.0], mass=mass) for mass in ([1.0, 2.0], [1.0, 3.0])),
    "a mass instead of none": (jo.Sweeping(q0=[0.0, 1.0]), jo.Sweeping(q0=[0.0, 1.0], mass=2.0)),
    "user set": tuple(jo.Motion(q0=[5.0], within=jo.constraints(lambda t, q, c=c: q - c)) for c in (0.0, 1.0)),
    "user set at rest": tuple(
        jo.Motion(q0=[5.0], within=jo.constraints(moving=False)(lambda t, q, c=c: q - c)) for c in (0.0, 1.0)
    ),
    "box": tuple(jo.Motion(q0=[[1.0, 1.0]], within=jo.Box([0, 0], [b, 9], radii=0.1)) for b in (3.0, 4.0)),
    "scheme": (jo.Maury(), jo.Gluey()),
    "samples": (jo.Maury(), jo.Maury(samples=1)),
    "gap_tol": (jo.Maury(), jo.Maury(gap_tol=0.0)),
    "tolerance": (jo.Maury(), jo.Maury(solver=jo.Automatic(tol=1e-6))),
}


BY_VALUES = {"moving wall", "user set", "user set at rest", "velocity", "mass function"} | {
    name for name in OTHERS if "force" in name
}
"""What functions determine; the description does not tell them apart."""


@pytest.mark.parametrize("name", sorted(OTHERS.keys() - BY_VALUES))
def test_whatever_data_change_the_numbers_change_the_description(name):
    first, second = OTHERS[name]
    assert differences(describe(first, called=True), describe(second, called=True))
    assert not differences(describe(first, called=True), describe(first, called=True))


def test_a_run_does_not_change_what_it_is_known_by(tmp_path):
    """Lists of neighbours and what else is kept between steps is no part of it."""
    heap = jo.models.spheres(np.full(80, 0.4), box=([0, 0], [8, np.inf]))
    source = jo.Source(([0.5, 40], [3.5, 60]), rate=15.0, within=heap.within, seed=3)
    before = describe([heap, source])
    jo.solve(heap, jo.Maury(), t=0.1, h=H, changes=source)
    assert describe([heap, source]) == before


def test_who_shares_the_bodies_does_not_count_but_their_numbers_do():
    floor = jo.HalfSpace([0.0, 1.0])

    def run(within, mass=1.0):
        return describe(jo.Motion(q0=[[0, 1], [0, 3]], mass=mass, within=within))

    balls = jo.Balls([0.1, 0.2])
    one = run(balls & floor)
    assert run(balls & deepcopy(floor)) == one == run(balls & jo.HalfSpace([0.0, 1.0], radii=[0.1, 0.2]))
    changed = {place for place, _, _ in differences(one, run(balls & floor, mass=2.0))}
    assert changed == {"mass.mass", "mass.root"}
    assert "within.sets[0].radii" in {place for place, _, _ in differences(one, run(jo.Balls([0.1, 0.3]) & floor))}


def test_seeds_and_rates_of_sources_count():
    within = jo.Balls([0.3, 0.3])
    box = ([0.0, 0.0], [3.0, 3.0])
    sources = [
        jo.Source(box, rate=rate, within=within, seed=seed, velocity=[v, 0.0])
        for rate, seed, v in [(1, 0, 0), (2, 0, 0), (1, 1, 0), (1, 0, 1.0)]
    ]
    assert len({tuple(sorted(describe(source).items())) for source in sources}) == 4


def test_a_generator_is_known_by_its_seed_and_not_by_what_was_drawn():
    first, second = np.random.default_rng(1), np.random.default_rng(1)
    first.normal(size=7)
    assert describe(first) == describe(second) != describe(np.random.default_rng(2))


def test_things_that_hold_themselves_and_things_that_show_nothing_are_described():
    import threading

    loop = []
    loop.append(loop)
    assert describe(loop) == {"[0]": "the same as the whole"}
    assert describe(threading.Lock()) == {"type": "_thread.lock"}
    assert describe({"a", "b", "c"}) == describe({"c", "a", "b"})


@pytest.mark.parametrize("name", [name for name in OTHERS if isinstance(OTHERS[name][0], jo.Motion)])
def test_a_resume_with_other_physics_is_refused_with_both_values(name, tmp_path):
    first, second = OTHERS[name]
    scheme = jo.Paoli() if name in ("law", "mass function") else jo.Maury()
    if name == "mass function":
        first, second = (jo.Motion(q0=[0.0], mass=lambda q, m=m: [[m]]) for m in (1.0, 2.0))
    jo.solve(first, scheme, t=0.05, h=H, output=jo.io.Output(checkpoint=tmp_path / "c"))
    with pytest.raises(InvalidValue, match=r"belongs to another run: .* was .*now.*; resume with the original"):
        jo.solve(
            second,
            scheme if name != "law" else jo.Paoli(),
            t=0.1,
            h=H,
            output=jo.io.Output(checkpoint=tmp_path / "c", resume=True),
        )


def test_a_resume_with_other_sources_is_refused(tmp_path):
    within = jo.Balls([0.3, 0.3])
    rain = jo.Motion(q0=np.zeros((2, 2)), within=within, present=[False, False])
    sources = [jo.Source(([0, 0], [9, 9]), rate=1.0, within=within, seed=seed) for seed in (0, 1)]
    jo.solve(rain, jo.Maury(), t=0.05, h=H, changes=sources[0], output=jo.io.Output(checkpoint=tmp_path / "c"))
    with pytest.raises(InvalidValue, match=r"changes was .*\[0\]\.seed was 0, now 1"):
        jo.solve(
            rain,
            jo.Maury(),
            t=0.1,
            h=H,
            changes=sources[1],
            output=jo.io.Output(checkpoint=tmp_path / "c", resume=True),
        )


def with_attribute(g):
    def force(t, q):
        return np.full_like(q, -force.g)

    force.g = g
    return force


def with_class(g):
    class Weight(NamedTuple):
        unit: str = "N"

    Weight.g = g
    weight = Weight()
    return lambda t, q: np.full_like(q, -weight.g)


def of_table(table):
    return lambda t, q: np.full_like(q, -table["g"])


class Missing(dict):
    def __init__(self, g):
        self.g = g

    def __missing__(self, name):
        return self.g


OPAQUE = {
    "deque": lambda g: of_closure_entry(deque([g])),
    "default of a dictionary": lambda g: of_table(defaultdict(lambda: g)),
    "attribute of a function": with_attribute,
    "ufunc": lambda g: (lambda weigh: lambda t, q: -weigh(q).astype(float))(np.frompyfunc(lambda x: g, 1, 1)),
    "subclass of a dictionary": lambda g: of_table(Missing(g)),
    "class of a tuple": with_class,
    "table of records": lambda g: of_table(np.rec.fromrecords([(g,)], names="g")[0]),
    "for a while": lambda g: lambda t, q: np.full_like(q, -g if 0.02 < t < 0.03 else -9.81),
    "elsewhere": lambda g: lambda t, q: np.full_like(q, -9.81 if q[0] == 50.0 else -g),
    "fast": lambda g: lambda t, q, u: np.full_like(q, -9.81 if u[0] == 0.0 else -g),
}


def of_closure_entry(values):
    return lambda t, q: np.full_like(q, -values[0])


@pytest.mark.parametrize("make", OPAQUE.values(), ids=OPAQUE)
def test_a_resume_with_a_force_that_returns_other_values_is_refused_whatever_it_computes_them_from(make, tmp_path):
    def ball(g):
        return jo.Motion(q0=[50.0], force=make(g), within=jo.HalfSpace([1.0]))

    jo.solve(ball(9.81), jo.Maury(), t=0.1, h=H, output=jo.io.Output(checkpoint=tmp_path / "c"))
    with pytest.raises(
        InvalidValue, match=r"a function returns other values: force at .* was .*9\.81\d*\], now .*5\.0"
    ):
        jo.solve(ball(5.0), jo.Maury(), t=0.2, h=H, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    rest = jo.solve(ball(9.81), jo.Maury(), t=0.2, h=H, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    assert rest.q[-1].tobytes() == jo.solve(ball(9.81), jo.Maury(), t=0.2, h=H).q[-1].tobytes()


class Counting:
    """A force that counts its calls, or a law that does."""

    calls = 0

    def __call__(self, t, q):
        self.calls += 1
        return -q


def test_a_force_that_counts_its_calls_stays_the_same(tmp_path):
    spring = jo.Motion(q0=[1.0], force=Counting(), within=jo.HalfSpace([1.0]))
    jo.solve(spring, jo.Maury(), t=0.1, h=H, output=jo.io.Output(checkpoint=tmp_path / "c"))
    assert (
        jo.solve(spring, jo.Maury(), t=0.2, h=H, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True)).t[-1]
        == 0.2
    )


@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_laws_and_sets_of_users_are_compared_by_their_values(factor, tmp_path):
    class Law(jo.laws.ImpactLaw):
        def __init__(self, e):
            self._e = e

        def coefficients(self, contacts, speed):
            return np.where(speed > 1.0, self._e, 0.3)

    class Floor(jo.ConstraintSet):
        moving = True

        def __init__(self, speed):
            self._floor = jo.HalfSpace([1.0], lambda t: -speed * t)

        def linearise(self, t, q, cutoff=np.inf):
            return self._floor.linearise(t, q, cutoff)

    def ball(law, floor):
        return jo.Motion(q0=[0.5], v0=[-2.0], law=Law(0.8 * law), within=Floor(0.1 * floor))

    jo.solve(ball(1.0, 1.0), jo.MoreauJean(), t=0.1, h=H, output=jo.io.Output(checkpoint=tmp_path / "c"))
    for name, other in (("law", ball(factor, 1.0)), ("set 0, Floor,", ball(1.0, factor))):
        if factor != 1.0:
            with pytest.raises(InvalidValue, match=f"returns other values: {name} at"):
                jo.solve(
                    other, jo.MoreauJean(), t=0.2, h=H, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True)
                )
        else:
            jo.solve(other, jo.MoreauJean(), t=0.2, h=H, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))


def test_values_of_functions_agree_up_to_round_off_and_not_more():
    def returned(force):
        return Called(lambda t, state: {"force": lambda: force}).returned(0.0)

    thrust = np.linspace(-1.0, 2.0, 1000)
    before = returned(thrust)
    for one in (0, 500, 999):
        other = thrust.copy()
        other[one] += 1e-4
        assert differences(before, returned(other))
    assert not differences(before, returned(thrust * (1.0 + 1e-13)))
    assert not differences({"gap": [np.inf, 1.0]}, {"gap": [np.inf, 1.0]})
    assert differences({"gap": [np.inf, 1.0]}, {"gap": [1.0, 1.0]})


def test_comparing_runs_leaves_the_random_generator_as_it_was(tmp_path):
    def noisy(generator, size=1.0):
        return jo.Motion(q0=[0.0], force=lambda t, q: size * generator.normal(size=1))

    def go(t, size=1.0, resume=False):
        generator = np.random.default_rng(5)
        kept = jo.io.Output(checkpoint=tmp_path / "c", random=generator, seconds=0.0, resume=resume)
        return jo.solve(noisy(generator, size), jo.Maury(), t=t, h=H, output=kept)

    go(0.1)
    with pytest.raises(InvalidValue, match="force at the start"):
        go(0.2, size=2.0, resume=True)
    whole = jo.solve(noisy(np.random.default_rng(5)), jo.Maury(), t=0.2, h=H)
    assert go(0.2, resume=True).q[-1].tobytes() == whole.q[-1].tobytes()


def test_laws_and_slopes_that_are_functions_are_compared_where_nothing_touches(tmp_path):
    def falling(e):
        within = jo.Balls([0.1, 0.1]) & jo.HalfSpace([0.0, 1.0])
        law = jo.Restitution(lambda v: e + 0.0 * v)
        return jo.Motion(q0=[[0.0, 3.0], [1.0, 3.0]], force=[0.0, -9.81], within=within, law=law)

    def sprung(k):
        return jo.Motion(q0=[1.0], force=jo.StiffForce(lambda t, q: -10.0 * q, stiffness=lambda t, q, u: k))

    for number, (make, other) in enumerate(((falling, 0.1), (sprung, 2e4))):
        file = tmp_path / f"{number}.checkpoint"
        jo.solve(make(0.9), jo.MoreauJean(), t=0.1, h=0.01, output=jo.io.Output(checkpoint=file))
        with pytest.raises(jo.InvalidValue, match="belongs to another run: a function returns other values"):
            jo.solve(make(other), jo.MoreauJean(), t=0.2, h=0.01, output=jo.io.Output(checkpoint=file, resume=True))


def test_a_function_that_depends_on_how_often_it_is_called_is_a_warning(tmp_path):
    calls = []
    counting = jo.Motion(q0=[1.0], force=lambda t, q: calls.append(t) or [float(len(calls))])
    with pytest.warns(jo.errors.NotReproducible, match="force returned .* when it was called again"):
        jo.solve(counting, jo.Maury(), t=0.1, h=0.01, output=jo.io.Output(checkpoint=tmp_path / "run.checkpoint"))
