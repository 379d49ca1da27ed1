"""Every key of a scenario file changes what is computed: none is read, checked and then forgotten."""

from __future__ import annotations

import functools
import itertools
import types
import typing

import numpy as np
import pytest

import jostle as jo
from jostle.scenarios import ScenarioError, parse
from jostle.scenarios.fields import OneOf, Table
from jostle.scenarios.scenario import Scenario

RUN = "\n[run]\nt = 1.0\nh = 0.01\n"
DISCS = """
[problem]
kind = "grains"
dimension = 2
n = 4
radii = 0.1
start = { kind = "points", points = [[0.0, 1.0], [0.4, 1.1], [0.8, 1.0], [1.2, 1.1]] }
"""
LATTICE = """
[problem]
kind = "grains"
dimension = 2
n = 6
radii = 0.1
start = { kind = "lattice", lower = [0.0, 0.0], upper = [1.0, inf] }
"""
RANDOM = LATTICE.replace('"lattice"', '"random"').replace("inf", "2.0")
SPHERES = """
[problem]
kind = "grains"
dimension = 3
n = 2
radii = 0.1
start = { kind = "points", points = [[0.0, 0.1, 1.0], [0.4, 0.2, 1.1]] }
"""
FOUNTAIN = """
[problem]
kind = "grains"
dimension = 2
n = 4
radii = 0.05
waiting = 2
start = { kind = "random", lower = [0.0, 0.9], upper = [0.4, 1.1] }
sources = [
    { lower = [1.0, 1.0], upper = [3.0, 2.0], rate = 5.0 },
    { lower = [1.0, 1.0], upper = [3.0, 2.0], rate = 5.0 },
]
outlets = [{ below = 0.9 }]
"""
CRADLE = '\n[problem]\nkind = "cradle"\n'
LABYRINTH = '\n[problem]\nkind = "labyrinth"\n'
CROWD = """
[problem]
kind = "crowd"
rooms = [{ corners = [[0, 0], [6, 0], [6, 4], [0, 4]] }, { corners = [[6, 0], [9, 0], [9, 4], [6, 4]] },
         { corners = [[20, 0], [26, 0], [26, 4], [20, 4]] }]
doors = [[[6, 1], [6, 3]]]
exits = [{ name = "west", ends = [[0, 1], [0, 3]] }, { name = "east", ends = [[9, 1], [9, 3]] }]
stairs = [{ name = "down", start = [[20, 1], [20, 3]], end = [[5, 4], [3, 4]], length = 5.0 }]
groups = [{ n = 2, start = [[1, 1], [3, 1], [3, 3], [1, 3]] }, { places = [[24.0, 2.0], [23.0, 2.0]] }]
"""
CLOSE = CROWD.replace("[23.0, 2.0]] }", '[23.2, 2.1]] }, { places = [[2.0, 3.6]], goal = "east" }')
"""Some are near each other, and one goes another way."""
BESIDE = CLOSE.replace("[2.0, 3.6]", "[2.0, 3.2], [2.8, 3.2], [2.0, 3.65]")
"""One follows another, and has somebody beside them."""
WALKING = 'behaviour = { kind = "pedestrians" }'

FLOW = """
[problem]
kind = "flow"
lower = [0.0, 0.0]
upper = [4.0, 2.0]
cell = 0.25
closed = ["top"]
walls = [{ kind = "box", lower = [3.0, 0.0], upper = [3.5, 0.5] }, { kind = "disc", centre = [3.5, 1.5], radius = 0.3 }]
exits = [{ kind = "box", lower = [0.0, 0.0], upper = [0.5, 0.5] }]
blocks = [
    { kind = "box", lower = [1.0, 0.0], upper = [2.0, 1.0], density = 0.5, velocity = [1.0, 0.0] },
    { kind = "disc", centre = [2.5, 1.0], radius = 0.4, density = 0.6, towards = [0.0, 0.0], speed = 2.0 },
    { kind = "box", lower = [0.0, 1.5], upper = [0.5, 2.0], towards = [2.0, 2.0], speed = 2.0 },
    { kind = "disc", centre = [1.5, 1.5], radius = 0.4, velocity = [0.5, 0.5] },
]
"""
LOOSE = FLOW.replace("towards = [2.0", "density = 0.9, towards = [2.0").replace(
    "0.4, velocity", "0.4, density = 0.9, velocity"
)
WALKERS = """
[problem]
kind = "crowd_density"
lower = [0.0, 0.0]
upper = [4.0, 2.0]
cell = 0.25
closed = ["top"]
towards = [4.0, 1.0]
speed = 1.2
blocks = [
    { kind = "box", lower = [0.5, 0.5], upper = [1.5, 1.5], density = 0.5 },
    { kind = "disc", centre = [2.5, 1.0], radius = 0.4, density = 0.6 },
]
"""
BEHIND = '{ name = "back", start = [[26, 1], [26, 3]], end = [[3, 0], [5, 0]], length = 1.0 }'

WALLS = {
    "plane": (DISCS, {"normal": "[0, 1]", "through": "[0, -1]"}, {"normal": "[1, 1]", "through": "[0, -2]"}),
    "box": (DISCS, {"lower": "[-1, -1]", "upper": "[2, 2]"}, {"lower": "[-2, -1]", "upper": "[3, 2]"}),
    "segments": (DISCS, {"points": "[[-1, -1], [2, -1]]"}, {"points": "[[-1, -2], [2, -1]]"}),
    "polygon": (
        DISCS, {"corners": "[[-1, -1], [2, -1], [0, -2]]"}, {"corners": "[[-1, -1.5], [2, -1], [0, -2]]"},
    ),
    "bowl": (DISCS, {"centre": "[0.6, 1.0]", "radius": "5.0"}, {"centre": "[0, 1]", "radius": "4.0"}),
    "balls": (DISCS, {"centres": "[[0, -1]]", "radius": "0.5"}, {"centres": "[[0, -2]]", "radius": "0.4"}),
    "vessel": (
        SPHERES, {"profile": "[[0, 0], [3, 0], [3, 5]]", "base": "[0, 0, 0]", "axis": "[0, 0, 1]"},
        {"profile": "[[0, 0], [4, 0], [4, 5]]", "base": "[0, 0, -0.5]", "axis": "[0, 0.1, 1]"},
    ),
}  # fmt: skip
LAW = 'law = { kind = "coulomb", mu = 0.5 }'
CLUMPS = DISCS.replace("radii = 0.1", "clumps = [{ arms = [[-0.05, 0.0], [0.05, 0.0]], radii = 0.06 }, @]").replace(
    "@", "{ arms = [[0.0, -0.05], [0.0, 0.05]], radii = [0.05, 0.05] }"
)
SHAKEN = {"amplitude": "0.1", "frequency": "1.0"}
OTHER_SHAKEN = {"amplitude": "0.2", "frequency": "1.3", "direction": "[1, 1]", "phase": "0.2"}
TURNING = {"frequency": "0.1", "centre": "[0.5, -1]"}
OTHER_TURNING = {"frequency": "0.2", "centre": "[0.4, -1]"}


def table(values):
    return "{ " + ", ".join(f"{key} = {value}" for key, value in values.items()) + " }"


def _restitutions(problem):
    """e of two bodies, and of a body at each of its walls."""
    contacts = _contacts(problem)
    return problem.law.coefficients(contacts, np.ones(len(contacts.pairs)))


def _contacts(problem):
    """Contacts of two bodies, and of a body at each of its walls."""
    apart = problem.pose0.at(np.arange(float(problem.q0.size)).reshape(problem.q0.shape)).centres
    walls = problem.within.linearise(0.0, apart).constraint_count
    pairs = np.array([(0, len(apart) - 1), *((0, -1 - w) for w in range(walls))])
    return types.SimpleNamespace(pairs=pairs, gap=np.zeros(len(pairs)), only=lambda rows: None)


def _turns(problem):
    """How bodies are turned and turn, and the friction between them and on walls."""
    contacts = _contacts(problem)
    found = [problem.pose0.orientation, problem.spin0, problem.bodies.inertia]
    if isinstance(problem.law, jo.Coulomb):
        points = 0.1 + np.ones((len(contacts.pairs), problem.q0.shape[1]))
        found += [problem.law.friction(contacts), problem.law.resistance(contacts)]
        found += [problem.law.surface_velocities(contacts, 0.3, points), [problem.law.exact]]
    return found


def wall_cases():
    for kind, (problem, keys, others) in WALLS.items():

        def walls(changed, problem=problem, kind=kind):
            return f"{problem}walls = [{table({'kind': repr(kind), **changed})}]\n".replace("'", '"')

        for key, other in others.items():
            yield walls(keys), walls({**keys, key: other})
        shaken = table({**SHAKEN, "direction": "[0, 1, 1]" if problem is SPHERES else "[0, 1]"})
        yield walls(keys), walls({**keys, "shaken": shaken})
        yield walls(keys), walls({**keys, "e": "0.5"})
        drag = "[1, 0, 0]" if problem is SPHERES else "[1, 0]"
        for key, other in {"mu": "0.9", "rolling": "0.01", "surface_velocity": drag}.items():
            yield with_(walls(keys), LAW), with_(walls({**keys, key: other}), LAW)
        if kind != "box":
            centre = TURNING if problem is DISCS else {**TURNING, "centre": "[0.5, -1, 0]", "axis": "[1, 0, 0]"}
            yield walls(keys), walls({**keys, "turning": table(centre)})
    plane = f'{DISCS}walls = [{{ kind = "plane", normal = [0, 1], through = [0, -1], shaken = @ }}]\n'
    for key, other in OTHER_SHAKEN.items():
        yield plane.replace("@", table(SHAKEN)), plane.replace("@", table({**SHAKEN, key: other}))
    plane = plane.replace("shaken", "turning")
    for key, other in OTHER_TURNING.items():
        yield plane.replace("@", table(TURNING)), plane.replace("@", table({**TURNING, key: other}))
    turning = f'{SPHERES}walls = [{{ kind = "plane", normal = [0, 0, 1], through = [0, 0, -1], turning = @ }}]\n'
    around = {"frequency": "0.1", "centre": "[0, 0, 0]"}
    yield (
        turning.replace("@", table({**around, "axis": "[1, 0, 0]"})),
        turning.replace("@", table({**around, "axis": "[0, 1, 0]"})),
    )


def with_(text, *more):
    """The text with further keys in [problem], or with tables after it."""
    return text + "\n".join(more) + "\n"


def replaced(text, *pairs):
    return [(text, text.replace(old, new, 1)) for old, new in pairs]


PROBLEMS = [
    *wall_cases(),
    *replaced(DISCS, ("radii = 0.1", "radii = 0.12")),
    (DISCS, SPHERES),
    *replaced(LATTICE, ("n = 6", "n = 7"), ("lower = [0.0", "lower = [0.1"), ("upper = [1.0", "upper = [0.7"),
              ("inf]", 'inf], lattice = "square"'), ("inf]", "inf], loose = 1.2"),
              ("radii = 0.1", "radii = { uniform = [0.05, 0.1] }")),
    *replaced(LATTICE.replace("radii = 0.1", "radii = { uniform = [0.05, 0.1] }"), ("[0.05", "[0.04")),
    *replaced(LATTICE.replace("radii = 0.1", "radii = { mixture = [{ radius = 0.1 }, { radius = 0.05 }] }"),
              ("radius = 0.05", "radius = 0.06"), ("radius = 0.05", "radius = 0.05, share = 2.0"),
              ("mixture = [{ radius = 0.1 }, { radius = 0.05 }]", "uniform = [0.05, 0.1]")),
    *replaced(RANDOM, ("lower = [0.0", "lower = [0.1"), ("2.0]", "3.0]")),
    *replaced(DISCS, ("[0.8, 1.0]", "[0.8, 1.2]")),
    *[(DISCS, with_(DISCS, more)) for more in (
        "swelling = { rate = 0.1 }", "density = 2000.0", "masses = [1.0, 2.0, 3.0, 4.0]", "e = 0.5", "gravity = 5.0",
        "velocity = [1.0, 0.0]", "period = [2.0, inf]", 'walls = [{ kind = "plane", normal = [0, 1] }]',
        "outlets = [{ below = 1.05 }]")],
    (DISCS, with_(DISCS, LAW)),
    (DISCS, CLUMPS),
    *replaced(with_(DISCS, LAW), ("mu = 0.5", "mu = 0.4"), ("mu = 0.5", "mu = 0.5, e = 0.5"),
              ("mu = 0.5", "mu = 0.5, rolling = 0.01"), ("coulomb", "convex_friction")),
    *replaced(with_(DISCS, LAW.replace("coulomb", "convex_friction")), ("mu = 0.5", "mu = 0.4"),
              ("mu = 0.5", "mu = 0.5, e = 0.5"), ("mu = 0.5", "mu = 0.5, rolling = 0.01")),
    *[(with_(DISCS, LAW), with_(DISCS, LAW, more)) for more in ("spin = 2.0", "inertia = 3.0")],
    *replaced(CLUMPS, ("[-0.05, 0.0], [0.05", "[-0.06, 0.0], [0.06"), ("radii = 0.06", "radii = 0.07"),
              ("radii = 0.06", "radii = 0.06, share = 3.0")),
    *replaced(with_(DISCS, "swelling = { rate = 0.1 }"), ("rate = 0.1", "rate = 0.2"),
              ("rate = 0.1", "rate = 0.1, most = 1.01")),
    *replaced(FOUNTAIN, ("waiting = 2", "waiting = 3"), ("below = 0.9", "below = 1.05"),
              ("below = 0.9", "above = 1.05"), ("below = 0.9", 'below = 0.9, axis = "x"'),
              ("lower = [1.0", "lower = [1.5"), ("upper = [3.0", "upper = [2.5"), ("rate = 5.0", "rate = 9.0"),
              ("rate = 5.0", "rate = 5.0, velocity = [0.5, 0.0]"),
              ("    { lower = [1.0, 1.0], upper = [3.0, 2.0], rate = 5.0 },\n", "")),
    *[(CRADLE, with_(CRADLE, more)) for more in (
        "n = 4", "striking = 2", "speed = 2.0", "gap = 0.1", "radius = 0.4", "mass = 2.0", "e = 0.5")],
    *[(LABYRINTH, with_(LABYRINTH, more)) for more in (
        "q0 = [0.4, 0.6]", "radius = 0.1", "board = [7.0, 4.0]", "holes = [[3.0, 2.0]]", "hole = 0.4",
        "tilts = [{ t = 0.0, velocity = [1.0, 0.0] }]")],
    *replaced(with_(LABYRINTH, "tilts = [{ t = 0.0, velocity = [1.0, 0.0] }, { t = 0.3, velocity = [0.0, 1.0] }]"),
              ("t = 0.3", "t = 0.5"), ("[0.0, 1.0]", "[0.5, 1.0]")),
    *replaced(CROWD, ("[26, 4], [20, 4]", "[26, 4], [23, 5], [20, 4]"),
              ("[0, 4]] }", "[0, 4]], holes = [[[4, 1], [5, 1], [5, 2]]] }"),
              ("[0, 1], [0, 3]", "[0, 1], [0, 2]"), ("[[6, 1], [6, 3]]", "[[6, 1], [6, 2]]"),
              ("[20, 1], [20, 3]", "[20, 0.5], [20, 2.5]"),
              ("length = 5.0", "length = 9.0"), ("n = 2", "n = 3"),
              (", start = [[1, 1], [3, 1], [3, 3], [1, 3]]", ""), ("[24.0, 2.0]", "[25.0, 2.0]"),
              ("n = 2", "n = 2, radius = 0.25"), ("n = 2", "n = 2, speed = 1.0"),
              ("n = 2", "n = 2, reaction = 0.5"),
              ("n = 2", "n = 2, enters = 0.5"),
              ("n = 2", 'n = 2, speed = { kind = "uniform", low = 1.0, high = 1.2 }'),
              ("n = 2", 'n = 2, goal = "east"'),
              ("n = 2, start", "places = [[1.0, 1.0]] }, { n = 2, start")),
    *replaced(CROWD.replace("n = 2", 'n = 2, speed = { kind = "uniform", low = 1.0, high = 1.2 }'),
              ("low = 1.0", "low = 0.9"), ("high = 1.2", "high = 1.3")),
    *[pair for kind in ("normal", "log-normal") for pair in replaced(CROWD.replace(
        "n = 2", f'n = 2, speed = {{ kind = "{kind}", mean = 1.0, deviation = 0.2, low = 0.3, high = 1.7 }}'),
        ("mean = 1.0", "mean = 1.1"), ("deviation = 0.2", "deviation = 0.3"), ("low = 0.3", "low = 1.2"),
        ("high = 1.7", "high = 0.7"))],
    *replaced(CROWD.replace("n = 2", 'n = 2, enters = { kind = "timetable", rows = [[0.0, 1], [0.5, 1]] }'),
              ("[[0.0, 1], [0.5, 1]]", "[[0.0, 2]]")),
    *replaced(CROWD.replace("n = 2", 'n = 2, enters = { kind = "steady", rate = 3.0 }'),
              ("rate = 3.0", "rate = 2.0"), ("rate = 3.0", "rate = 3.0, start = 0.3")),
    *[(CROWD, with_(CROWD, more)) for more in (
        "walls = [[[4, 1], [4, 3]]]", "columns = [[4, 2, 0.3]]", 'behaviour = { kind = "plain" }', "outlet = 2.5",
        'behaviour = { kind = "plain" }')],
    *[(with_(CLOSE, WALKING), with_(CLOSE, WALKING.replace(" }", f", {one} }}")))
      for one in ("own = 9.0", "others = 9.0", "strength = 9.0", "decay = 0.5")],
    *replaced(with_(CLOSE, WALKING.replace(" }", ", own = 0.0, T = 0.7, T_file = 0.7, strip = 1.0 }")),
              ("T_file = 0.7", "T_file = 1.4"), ("strip = 1.0", "strip = 0.1")),
    *replaced(with_(BESIDE, WALKING.replace(" }", ", own = 0.0, T = 0.7 }")), ("T = 0.7", "T = 1.4")),
    (with_(CLOSE, 'behaviour = { kind = "inhibition" }'), with_(CLOSE, 'behaviour = { kind = "inhibition", T = 2.0 }')),
    *replaced(with_(CLOSE, 'behaviour = { kind = "following", sight = 2.0 }').replace(
        "[23.2, 2.1]] }", "[23.2, 2.1]], speed = [1.3, 0.5] }"), ("sight = 2.0", "sight = 0.8")),
    (CROWD, CROWD.replace("length = 5.0 }", "length = 5.0 }, @".replace("@", BEHIND))),
    *replaced(FLOW, ("lower = [0.0, 0.0]", "lower = [-0.5, 0.0]"), ("upper = [4.0, 2.0]", "upper = [4.5, 2.0]"),
              ("cell = 0.25", "cell = 0.125"), ('["top"]', '["left"]'), ("lower = [3.0, 0.0]", "lower = [2.75, 0.0]"),
              ("upper = [3.5, 0.5]", "upper = [3.5, 0.25]"), ("centre = [3.5, 1.5]", "centre = [3.25, 1.5]"),
              ("radius = 0.3", "radius = 0.4"), ("upper = [0.5, 0.5]", "upper = [0.5, 0.25]"),
              ("lower = [1.0, 0.0]", "lower = [0.75, 0.0]"), ("upper = [2.0, 1.0]", "upper = [2.0, 0.75]"),
              ("density = 0.5", "density = 0.7"), ("velocity = [1.0, 0.0]", "velocity = [1.0, 0.1]"),
              ("centre = [2.5, 1.0]", "centre = [2.75, 1.0]"), ("radius = 0.4, density", "radius = 0.6, density"),
              ("density = 0.6", "density = 0.7"), ("towards = [0.0, 0.0]", "towards = [0.0, 1.0]"),
              ("speed = 2.0", "speed = 3.0"), ("towards = [2.0, 2.0]", "towards = [2.0, 1.0]"),
              ("towards = [2.0, 2.0], speed = 2.0", "towards = [2.0, 2.0], speed = 3.0"),
              ("velocity = [0.5, 0.5]", "velocity = [0.5, 0.4]")),
    (FLOW, with_(FLOW, "force = [0.0, -1.0]")),
    (with_(FLOW, '[scheme]\nkind = "impacts"'), with_(FLOW, "e = 0.5", '[scheme]\nkind = "impacts"')),
    *[(with_(LOOSE, f'[scheme]\nkind = "{kind}"\n{given}'), with_(LOOSE, f'[scheme]\nkind = "{kind}"\n{other}'))
      for kind, given, other in (
          ("splitting", "", "tol = 1e-6"), ("impacts", "", "tol = 1e-6"), ("impacts", "", 'structure = "square"'),
          ("barrier", "eps = 0.1", "eps = 0.2"), ("barrier", "eps = 0.1", "eps = 0.1\ngamma = 3.0"),
          ("barrier", "eps = 0.1", "eps = 0.1\ntol = 1e-6"))],
    *replaced(WALKERS, ("lower = [0.0, 0.0]", "lower = [-0.5, 0.0]"), ("upper = [4.0, 2.0]", "upper = [4.5, 2.0]"),
              ("cell = 0.25", "cell = 0.125"), ('["top"]', '["left"]'), ("towards = [4.0", "towards = [5.0"),
              ("speed = 1.2", "speed = 1.3"), ("towards = [4.0, 1.0]\nspeed = 1.2", "velocity = [1.0, 0.0]"),
              ("lower = [0.5", "lower = [0.75"), ("upper = [1.5", "upper = [1.25"), ("density = 0.5", "density = 0.7"),
              ("centre = [2.5", "centre = [2.75"), ("radius = 0.4", "radius = 0.6"), ("density = 0.6", "density = 0.7"),
              ("blocks", 'walls = [{ kind = "box", lower = [3, 0], upper = [4, 1] }]\nblocks'),
              ("blocks", 'exits = [{ kind = "box", lower = [3, 0], upper = [4, 1] }]\nblocks')),
]  # fmt: skip
OTHERS = [
    *replaced(with_(DISCS, RUN), ("t = 1.0", "t = 2.0"), ("h = 0.01", "h = 0.02"),
              ("h = 0.01", "h = 0.01\nevery = 0.1"), ("h = 0.01", "h = 0.01\nstrict = false"),
              ("h = 0.01", 'h = 0.01\nuntil = { kind = "at_rest", speed = 0.5 }')),
    *replaced(with_(DISCS, RUN, 'until = { kind = "below", height = 0.9 }'), ("0.9", "1.05"),
              ("0.9", "0.9, share = 0.4")),
    *replaced(with_(DISCS, RUN, 'until = { kind = "at_rest", speed = 0.5 }'), ("0.5", "2.0"),
              ("0.5", "0.5, after = 0.5")),
    *[(with_(DISCS, RUN, f'[scheme]\nkind = "{kind}"'), with_(DISCS, RUN, f'[scheme]\nkind = "{kind}"\n{more}'))
      for kind, more in (("maury", "samples = 3"), ("maury", "gap_tol = 1e-3"), ("gluey", "samples = 3"),
                         ("gluey", "weakest = -0.5"), ("paoli", "z = 0.0"), ("paoli", "implicit = true"))],
    *[(with_(DISCS, RUN, f'[solver]\nkind = "{kind}"'), with_(DISCS, RUN, f'[solver]\nkind = "{kind}"\n{more}'))
      for kind in ("automatic", "active_set", "interior_point", "gauss_seidel")
      for more in ("tol = 1e-4", "max_iterations = 77")],
    (with_(DISCS, RUN, '[solver]\nkind = "gauss_seidel"'),
     with_(DISCS, RUN, '[solver]\nkind = "gauss_seidel"\nbudget = true')),
    (with_(DISCS, RUN, '[solver]\nkind = "gauss_seidel"\nbudget = true'),
     with_(DISCS, RUN, '[solver]\nkind = "gauss_seidel"\nbudget = true\noverlap = 0.01')),
    (with_(DISCS, RUN), with_(DISCS, RUN, '[scheme]\nkind = "gluey"')),
    (with_(LATTICE, RUN), "seed = 3\n" + with_(LATTICE, RUN)),
]  # fmt: skip
CASES = [(with_(before, RUN), with_(after, RUN)) for before, after in PROBLEMS] + OTHERS


@functools.cache
def signature(text):
    """Numbers that follow from all that `solve` takes."""
    run = parse(text).build()
    if run.is_density:
        return signature_of_density(run)
    problem, random = run.problem, np.random.default_rng(0)
    start = run.scheme.start(problem, 0.0)
    shape = problem.q0.shape
    found = [problem.q0, getattr(problem, "v0", 0.0), [run.t, run.h, run.every, run.strict]]
    if isinstance(problem, jo.Motion):
        found += [problem.metric(problem.q0).mass, _restitutions(problem)]
        found += [] if problem.spin0 is None else _turns(problem)
    for t in (0.0, 0.37, 0.43):
        q = start.q + 0.07 * random.normal(size=shape) * (t > 0.0)
        force = isinstance(problem, jo.Motion)
        found.append(problem.force(t, q, np.ones(shape)) if force else problem.velocity(t, q))
        for speed, (right, down) in itertools.product((0.0, 1.0), ((0.0, 0.0), (0.0, 0.15), (5.0, 0.0), (7.0, 1.5))):
            moved, u = q.copy(), np.full(shape, speed)
            moved[..., 0] += right
            moved[..., -1] -= down
            state = start.replace(t=t, q=moved, u=u)
            places = start.centres
            contacts = state.within(problem.within).linearise(t, places, np.inf)
            found += [np.sort(contacts.gap), contacts.pairs.astype(float)]
            found.append([-1.0 if run.until is None else float(run.until(state))])
            for change in problem.changes():
                state = change(state)
                found += [np.nan_to_num(state.q), state.u]
    words = f"{run.scheme!r} {[type(one).__name__ for one in problem.changes()]} {run.until is None}"
    return b"".join(np.asarray(part, dtype=float).tobytes() for part in found), words


def signature_of_density(run):
    """Numbers that follow from all that `macro.solve` takes."""
    problem, start = run.problem, run.scheme.start(run.problem, 0.0)
    grid, domain = problem.grid, problem.domain
    found = [grid.lower, grid.upper, grid.h, grid.closed, problem.density, domain.walls, domain.exits, *start.velocity]
    found += [[run.t, run.h, run.every]]
    if isinstance(problem, jo.macro.Flow):
        found += [problem.force, [problem.law.e]]
    return b"".join(np.asarray(part, dtype=float).tobytes() for part in found), repr(run.scheme)


def changed_keys(before, after):
    """(table, key) of all that two scenarios do not have in common."""
    for key in type(before).model_fields:
        a, b = getattr(before, key), getattr(after, key)
        if a == b:
            continue
        yield type(before).__name__, key
        pairs = zip(a, b, strict=False) if isinstance(a, tuple) and isinstance(b, tuple) else [(a, b)]
        for one, other in pairs:
            if isinstance(one, Table) and type(one) is type(other):
                yield from changed_keys(one, other)


def tables(annotation):
    """All tables that may stand at a place, and those inside them."""
    if isinstance(annotation, OneOf):
        for kind in annotation.names():
            yield from tables(annotation.table(kind))
    if (
        isinstance(annotation, type)
        and not isinstance(annotation, types.GenericAlias)
        and issubclass(annotation, Table)
    ):
        yield annotation
        for field in annotation.model_fields.values():
            for part in (*field.metadata, field.annotation):
                yield from tables(part)
    for inner in typing.get_args(annotation):
        yield from tables(inner)


@pytest.mark.parametrize(("before", "after"), CASES, ids=range(len(CASES)))
def test_what_a_key_says_changes_what_is_computed(before, after):
    assert signature(before) != signature(after)


SHOWN = {("Scenario", "title"), ("Scenario", "output"), ("OutputTable", "contacts"), ("OutputTable", "precision")}
SHOWN |= {("Crowd", "labels"), ("LabelTable", "name"), ("LabelTable", "place")}
SHOWN |= {("Crowd", "areas"), *(("AreaTable", key) for key in ("name", "corners", "counts"))}
"""Keys that decide what the command line shows and stores: the tests of the command line and of plans change them."""
NAMES = {("ExitTable", "name"), ("LinkTable", "name"), ("GroupTable", "name")}
NAMES |= {(table, "name") for table in ("StopTable", "WaitingAreaTable", "QueueTable")}
"""Names by which goals and errors call things: test_scenario_crowds."""
DRAWING = ("file", "scale", "shift", "walls", "exits", "tolerance")
LATER = {("LinkTable", "end"), ("Crowd", "avoid_jams"), ("Crowd", "stops"), ("GroupTable", "route")}
LATER |= {("GroupTable", "knows"), ("GroupTable", "family")}
LATER |= {(table, key) for table in ("StopTable", "WaitingAreaTable") for key in ("dwell", "until")}
LATER |= {("LinkTable", key) for key in ("pace", "flights", "both", "every", "travel", "doors")}
LATER |= {("Crowd", "plan"), *(("DrawingTable", key) for key in DRAWING)}
LATER |= {("Crowd", "gates"), *(("GateTable", key) for key in ("at", "open", "most"))}
LATER |= {("StopTable", "place"), ("StopTable", "reach"), ("WaitingAreaTable", "corners")}
LATER |= {("QueueTable", key) for key in ("line", "service", "spacing", "until")}
"""Keys that matter after a while: below, in test_scenario_crowds, and in tests of stops, gates, stairs and drawings."""


@pytest.mark.parametrize("text", [DISCS, LATTICE, RANDOM, FOUNTAIN, CRADLE, CROWD, LABYRINTH, FLOW, WALKERS])
def test_the_same_file_gives_the_same_numbers(text):
    assert signature.__wrapped__(with_(text, RUN)) == signature(with_(text, RUN))


def test_every_key_is_among_the_cases():
    every = {(table.__name__, key) for table in tables(Scenario) for key in table.model_fields if key != "kind"}
    covered = {key for before, after in CASES for key in changed_keys(parse(before), parse(after))}
    assert {"Grains", "Cradle", "Crowd", "Labyrinth", "GlueyTable", "GaussSeidelTable"} <= {name for name, _ in every}
    assert every - covered - SHOWN - NAMES - LATER == set()


def test_the_areas_of_a_file_are_those_of_its_plan():
    row = 'areas = [{ name = "row", corners = [[0, 0], [1, 0], [1, 1]], counts = false }]'
    (area,) = parse(with_(CROWD, row, RUN)).build().problem.plan.areas.values()
    assert (area.name, area.counts, np.asarray(area.corners).tolist()) == ("row", False, [[0, 0], [1, 0], [1, 1]])


def test_people_come_off_the_stairs_at_their_end():
    steep = CROWD.replace("length = 5.0", "length = 0.5").replace("[24.0, 2.0], [23.0", "[20.5, 2.0], [21.5")

    def left(end):
        scenario = parse(with_(steep.replace("[5, 4], [3, 4]", end), 'behaviour = { kind = "plain" }', RUN))
        sol = jo.solve(**scenario.build()._replace(t=2.0, h=0.05, until=jo.stopping.Never())._asdict())
        came = sol.q[:, 2:, 0]
        return came[(came > 0.0) & (came < 10.0)].max()

    assert left("[5, 4], [3, 4]") == pytest.approx(4.0, abs=0.8)
    assert left("[2.5, 4], [0.5, 4]") == pytest.approx(1.5, abs=0.8)


def test_two_sources_with_the_same_box_have_places_of_their_own():
    """The seed of a source depends on its number: bodies 2 and 3 do not both try the same places."""
    first, second = parse(with_(FOUNTAIN, RUN)).build().problem.changes()[:2]
    assert first.seed != second.seed


def test_grains_have_the_density_of_water_unless_the_file_says_otherwise():
    default, water = (parse(with_(DISCS, more, RUN)).build().problem for more in ("", "density = 1000.0"))
    assert default.metric(default.q0).mass.tobytes() == water.metric(water.q0).mass.tobytes()
    assert default.metric(default.q0).mass == pytest.approx(1000.0 * np.pi * 0.1**2)


def test_what_is_wrong_with_a_number_is_never_called_a_table():
    """Every number, text and switch says in words what it allows."""
    for value in ("2.0", '"a"', "nan"):
        with pytest.raises(ScenarioError) as error:
            parse(with_(DISCS, RUN, f'[solver]\nkind = "gauss_seidel"\noverlap = {value}'))
        assert str(error.value) == (f"scenario:15: solver.overlap = {value}: must be a number from 0 to less than 1")
