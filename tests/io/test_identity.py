"""A run is known by all that determines it: whatever changes the numbers changes the description."""

import functools
import logging
import subprocess
import sys

import numpy as np
import pytest

import jostle as jo
from jostle.errors import InvalidValue
from jostle.io.identity import describe, differences

H = 0.01
STRENGTH = 1.0


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
    "radii": (balls(), balls(radii=(0.3, 0.41))),
    "wall": (balls(), balls(height=0.1)),
    "period": (balls(), balls(period=9.0)),
    "moving wall": tuple(jo.Motion(q0=[0.0, 1.0], within=MOVING["table"](height)) for height in (0.1, 0.2)),
    "presence": (balls(), balls(present=[True, False])),
    "velocity": tuple(jo.Sweeping(q0=[0.0], velocity=[speed]) for speed in (1.0, 2.0)),
    "mass of a first-order problem": tuple(jo.Sweeping(q0=[0.0, 1.0], mass=mass) for mass in ([1.0, 2.0], [1.0, 3.0])),
    "a mass instead of none": (jo.Sweeping(q0=[0.0, 1.0]), jo.Sweeping(q0=[0.0, 1.0], mass=2.0)),
    "user set": tuple(jo.Motion(q0=[5.0], within=jo.constraints(lambda t, q, c=c: q - c)) for c in (0.0, 1.0)),
    "box": tuple(jo.Motion(q0=[[1.0, 1.0]], within=jo.Box([0, 0], [b, 9], radii=0.1)) for b in (3.0, 4.0)),
    "scheme": (jo.Maury(), jo.Gluey()),
    "samples": (jo.Maury(), jo.Maury(samples=1)),
    "tolerance": (jo.Maury(), jo.Maury(solver=jo.Automatic(tol=1e-6))),
}


@pytest.mark.parametrize("name", OTHERS)
def test_whatever_changes_the_numbers_changes_the_description(name):
    first, second = OTHERS[name]
    assert differences(describe(first), describe(second))
    assert not differences(describe(first), describe(first))


def test_global_numbers_that_a_function_reads_count_and_names_of_attributes_do_not(monkeypatch):
    def reads(t, q):
        return -STRENGTH * q

    def has_attribute(state):
        return state.STRENGTH

    before = describe(reads), describe(has_attribute)
    monkeypatch.setitem(globals(), "STRENGTH", 2.0)
    assert differences(before[0], describe(reads)) == [("STRENGTH", "1.0", "2.0")]
    assert describe(has_attribute) == before[1]


def test_a_run_does_not_change_what_it_is_known_by(tmp_path):
    """Lists of neighbours and what else is kept between steps is no part of it."""
    heap = jo.models.spheres(np.full(80, 0.4), box=([0, 0], [8, np.inf]))
    source = jo.Source(([0.5, 40], [3.5, 60]), rate=15.0, within=heap.within, seed=3)
    before = describe([heap, source])
    jo.solve(heap, jo.Maury(), t=0.1, h=H, change=source)
    assert describe([heap, source]) == before


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
    assert "nothing more can be seen" in str(describe(threading.Lock()))
    assert describe({"a", "b", "c"}) == describe({"c", "a", "b"})


@pytest.mark.parametrize("name", [name for name in OTHERS if isinstance(OTHERS[name][0], jo.Motion)])
def test_a_resume_with_other_physics_is_refused_with_both_values(name, tmp_path):
    first, second = OTHERS[name]
    scheme = jo.Paoli() if name in ("law", "mass function") else jo.Maury()
    if name == "mass function":
        first, second = (jo.Motion(q0=[0.0], mass=lambda q, m=m: [[m]]) for m in (1.0, 2.0))
    jo.solve(first, scheme, t=0.05, h=H, checkpoint=tmp_path / "c")
    with pytest.raises(InvalidValue, match=r"belongs to another run: .* was .*now.*; resume with the original"):
        jo.solve(second, scheme if name != "law" else jo.Paoli(), t=0.1, h=H, checkpoint=tmp_path / "c", resume=True)


def test_a_resume_with_other_sources_is_refused(tmp_path):
    within = jo.Balls([0.3, 0.3])
    rain = jo.Motion(q0=np.zeros((2, 2)), within=within, present=[False, False])
    sources = [jo.Source(([0, 0], [9, 9]), rate=1.0, within=within, seed=seed) for seed in (0, 1)]
    jo.solve(rain, jo.Maury(), t=0.05, h=H, change=sources[0], checkpoint=tmp_path / "c")
    with pytest.raises(InvalidValue, match=r"change was .*\[0\]\.seed was 0, now 1"):
        jo.solve(rain, jo.Maury(), t=0.1, h=H, change=sources[1], checkpoint=tmp_path / "c", resume=True)


INSTALLED = {
    "deep": "from matplotlib.figure import Figure as thing",
    "addresses": "from h5py import File as thing",
    "names in sets": "from rich.table import Table as thing",
}


def test_what_a_function_reads_from_installed_packages_is_known_by_its_name():
    """Their code was followed: into other objects in each process, and without end."""
    program = f"""
from jostle.io.identity import describe, digest

def force(t, q):
    return -q if thing is None else q

for line in {list(INSTALLED.values())}:
    exec(line)
    found = describe(force)
    assert len(found) < 20, (line, found)
    print(line, digest(found))
"""
    first, second = (
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.splitlines()
        for _ in range(2)
    )
    assert first == second
    assert len({line.split()[-1] for line in first}) == len(INSTALLED)


def test_a_function_that_logs_stays_the_same():
    logger = logging.getLogger("jostle.test")

    def force(t, q):
        logger.debug("called at %s", t)
        return -q

    before = describe(force)
    force(0.0, 1.0)
    assert describe(force) == before
