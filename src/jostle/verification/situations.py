"""The tests of guidelines, from single people to crowds: how each is made from a few numbers, run and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from jostle.crowds import crowd_summary, exit_use, flow, jams, leaving_times, travel, weidmann
from jostle.crowds.measure.crowding import FRUIN
from jostle.crowds.model.defaults import RADIUS, SPEED
from jostle.crowds.model.facts import crowd_facts
from jostle.result.solution import Solution
from jostle.scenarios import parse
from jostle.scenarios.toml import document

# Scenarios of the tests: how they are made from a few numbers and solved.


BEHAVIOUR: dict[str, Any] = {}
"""The key `behaviour` of all tests; empty for the default behaviour of scenario files."""
Corners = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Outcome:
    """The result of a test in words, whether the test passed, and a run of it for its picture."""

    found: str
    passed: bool
    sol: Solution | None = None


def rectangle(x0: float, y0: float, x1: float, y1: float) -> Corners:
    """The corners of a rectangle."""
    return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]


def solved(
    rooms: Sequence[Corners],
    exits: Mapping[str, Corners],
    groups: Sequence[Mapping[str, Any]],
    *,
    t: float,
    h: float = 0.05,
    every: float = 0.25,
    seed: int = 0,
    **more: Any,
) -> Solution:
    """Solve a scenario of a crowd."""
    problem = {
        "kind": "crowd",
        "rooms": [{"corners": corners} for corners in rooms],
        "exits": [{"name": name, "ends": ends} for name, ends in exits.items()],
        "groups": list(groups),
        **BEHAVIOUR,
        **more,
    }
    return _solved(document({"seed": seed, "problem": problem, "run": {"t": t, "h": h, "every": every}}))


@cache
def _solved(text: str) -> Solution:
    sol: Solution = parse(text, "the scenario").build().solve()
    return sol


IMO_FLOW = 1.33
"""Largest specific flow that the IMO allows (people per metre and second)."""
CONGESTION = FRUIN["walkways"][-1]
"""Density above which a walkway has the level of service F (people per square metre)."""
JAM = 10
"""Smallest number of people that make a jam in the tests."""
DENSITIES = (0.5, 1.0, 2.0, 3.0, 4.0)
"""Densities in the corridor (people per square metre) at which mean speeds are measured."""
NEAR_WEIDMANN = 0.1
"""Largest difference (m/s) between a mean speed and the curve of Weidmann 1993 that agree."""


def _last(sol: Solution) -> float:
    return crowd_summary(sol).evacuation_time


def _text(time: float) -> str:
    return "blocked or not finished" if np.isnan(time) else f"{time:.0f} s"


def door_flow() -> Outcome:
    """A hundred people leave a room of 8 m by 5 m by a door of 1 m."""
    sol = solved([rectangle(0, 0, 8, 5)], {"door": [[8, 2], [8, 3]]}, [{"n": 100}], t=200.0)
    found, use = crowd_summary(sol), exit_use(sol)["door"]
    return Outcome(
        f"{use.specific:.2f} people/s ({found.inside} left inside)", found.inside == 0 and use.specific <= IMO_FLOW, sol
    )


def counterflow() -> Outcome:
    """Forty people walk against 0, 4, 20 and 40 others in a corridor of 2 m; more others take more time."""
    rooms = [rectangle(0, 0, 7, 7), rectangle(7, 2.5, 17, 4.5), rectangle(17, 0, 24, 7)]
    times = []
    for others in (0, 4, 20, 40):
        groups: list[dict[str, Any]] = [{"n": 40, "start": rectangle(0, 0, 7, 7), "goal": "east"}]
        if others:
            groups.append({"n": others, "start": rectangle(17, 0, 24, 7), "goal": "west"})
        sol = solved(
            rooms, {"west": [[0, 2.5], [0, 4.5]], "east": [[24, 2.5], [24, 4.5]]}, groups, t=200.0,
            doors=[[[7, 2.5], [7, 4.5]], [[17, 2.5], [17, 4.5]]],
        )  # fmt: skip
        times.append(_last(sol))
        if np.isnan(times[-1]):
            break
    grows = len(times) == 4 and not np.isnan(times).any() and bool((np.diff(times) > 0.0).all())
    against = ", ".join(f"{_text(time)} against {n}" for n, time in zip((0, 4, 20, 40), times, strict=False))
    return Outcome(f"40 people: {against}", grows, sol)


def hall() -> Outcome:
    """People leave a hall with four exits of 1 m in about half the time that they need with two."""
    size = rectangle(0, 0, 12, 8)
    four: dict[str, Corners] = {
        "a": [[3, 0], [4, 0]], "b": [[8, 0], [9, 0]], "c": [[9, 8], [8, 8]], "d": [[4, 8], [3, 8]],
    }  # fmt: skip
    two = {name: four[name] for name in "ab"}
    runs = [solved([size], exits, [{"n": 120}], t=200.0) for exits in (four, two)]
    times = [_last(sol) for sol in runs]
    ratio = times[1] / times[0]
    return Outcome(
        f"{_text(times[0])} with four exits, {_text(times[1])} with two: {ratio:.2f} times as long",
        1.6 <= ratio <= 2.4,
        runs[0],
    )


def allocation() -> Outcome:
    """Twenty-three people from twelve cabins leave by the exits assigned to them."""
    rooms = [rectangle(0, 3, 15, 5)]
    doors: list[Corners] = []
    main: list[list[float]] = []
    secondary: list[list[float]] = []
    for k in range(12):
        x, low = 2.5 * (k % 6), k < 6
        rooms.append(rectangle(x, 0 if low else 5, x + 2.5, 3 if low else 8))
        y = 3 if low else 5
        doors.append([[x + 0.8, y], [x + 1.7, y]])
        places = [[x + 0.6, y - 1.8 if low else y + 1.8], [x + 1.6, y - 1.8 if low else y + 1.8]]
        (secondary if k % 6 >= 4 else main).extend(places)
    sol = solved(
        rooms, {"main": [[0, 5], [0, 3]], "secondary": [[15, 3], [15, 5]]},
        [{"name": "main", "places": main, "goal": "main"},
         {"name": "secondary", "places": secondary[:-1], "goal": "secondary"}],
        t=200.0, doors=doors,
    )  # fmt: skip
    uses = exit_use(sol)
    right = set(uses["main"].person) == set(range(len(main))) and uses["secondary"].count == len(secondary) - 1
    return Outcome(
        f"{uses['main'].count} of 16 by the main exit, {uses['secondary'].count} of 7 by the secondary one", right, sol
    )


def exit_choice() -> Outcome:
    """People on one side of a hall prefer the nearer of two exits; some take the other one because of the queue."""
    sol = solved(
        [rectangle(0, 0, 15, 8)], {"near": [[4, 0], [5, 0]], "far": [[10, 0], [11, 0]]},
        [{"n": 80, "start": rectangle(0, 0, 6, 8)}], t=200.0, avoid_jams=True,
    )  # fmt: skip
    uses = exit_use(sol)
    near, far = uses["near"].count, uses["far"].count
    return Outcome(f"{near} by the near exit, {far} by the far one", near > far > 0 and near + far == 80, sol)


def bottlenecks() -> Outcome:
    """Two bottlenecks of the same width in a row: a jam only before the first."""
    sol = solved(
        [rectangle(0, 0, 6, 6), rectangle(6, 2.5, 9, 3.5), rectangle(9, 0, 15, 6)], {"second": [[15, 2.5], [15, 3.5]]},
        [{"n": 60, "start": rectangle(0, 0, 5, 6)}], t=200.0, doors=[[[6, 2.5], [6, 3.5]], [[9, 2.5], [9, 3.5]]],
    )  # fmt: skip
    found = {jam.opening: jam.people for jam in jams(sol)}
    first, second = found.get("door 0", 0), found.get("exit 'second'", 0)
    return Outcome(f"up to {first} people in a jam before the first, {second or 'nobody'} before the second",
                   first >= JAM and second == 0, sol)  # fmt: skip


def stairs_jam() -> Outcome:
    """150 people walk from a room of 5 m by 8 m through a corridor of 2 m by 12 m and up stairs: jams before both."""
    up = {"name": "stairs", "start": [[17, 3], [17, 5]], "end": [[30, 3], [30, 5]], "length": 3.0, "pace": "up"}
    sol = solved(
        [rectangle(0, 0, 5, 8), rectangle(5, 3, 17, 5), rectangle(30, 3, 31, 5)], {"out": [[31, 3], [31, 5]]},
        [{"n": 150, "start": rectangle(0, 0, 5, 8)}], t=240.0, h=0.07, doors=[[[5, 3], [5, 5]]], stairs=[up],
    )  # fmt: skip
    before = {jam.opening: jam.people for jam in jams(sol)}.get("door 0", 0)
    into, onto = (flow(sol, line) for line in ([[5, 3], [5, 5]], [[17, 3], [17, 5]]))
    half = int(np.searchsorted(sol.t, np.median(onto.passed)))
    density = float(((sol.q[half, :, 0] > 14.0) & (sol.q[half, :, 0] < 17.0)).sum() / 6.0)
    return Outcome(
        f"up to {before} people in a jam before the corridor; {into.mean:.2f} people per second into the corridor, "
        f"{onto.mean:.2f} onto the stairs; {density:.1f} people/m² before the stairs when half of all have passed "
        f"(congestion: above {CONGESTION:.2f}, level F of Fruin 1971)",
        before >= JAM and onto.mean < into.mean and density > CONGESTION,
        sol,
    )


def crowd_at_corner(seed: int = 0) -> Outcome:
    """500 people in a corridor of 20 m go 34 m to a corner, around it, and 10 m on; straight ways as long as the inner
    and the outer wall, which is a quarter of a circle, take less and more time."""
    width, before, behind, depth = 20.0, 34.0, 10.0, 6.0
    corner = depth + before
    turn = [
        [corner + width * float(np.sin(angle)), width - width * float(np.cos(angle))]
        for angle in np.linspace(0.0, np.pi / 2.0, 13)
    ]
    far, end = corner + width, width + behind
    around = [[0.0, 0.0], *turn, [far, end], [corner, end], [corner, width], [0.0, width]]
    group = [{"n": 500, "start": rectangle(0, 0, depth, width)}]

    def run(area: Corners, ends: Corners) -> Solution:
        return solved([area], {"end": ends}, group, t=200.0, h=0.07, every=0.5, seed=seed)

    def straight(length: float) -> float:
        return _last(run(rectangle(0, 0, depth + length, width), [[depth + length, 0], [depth + length, width]]))

    inner, outer = before + behind, before + behind + width * np.pi / 2.0
    sol = run(around, [[far, end], [corner, end]])
    times = [straight(inner), _last(sol), straight(float(outer))]
    return Outcome(
        f"{_text(times[1])} around the corner, {_text(times[0])} and {_text(times[2])} on straight ways as long as the "
        f"inner and the outer wall ({inner:g} m and {outer:.1f} m)",
        times[0] <= times[1] <= times[2],
        sol,
    )


def exit_closes() -> Outcome:
    """One person walks to the nearer of two exits, which closes after 1 s: they leave by the other one."""
    sol = solved(
        [rectangle(0, 0, 10, 15)], {"near": [[4.5, 0], [5.5, 0]], "far": [[5.5, 15], [4.5, 15]]},
        [{"places": [[5, 5]]}], t=60.0, gates=[{"at": "near", "open": [[0.0, 1.0]]}],
    )  # fmt: skip
    uses, moved = exit_use(sol), float(sol.q[int(np.searchsorted(sol.t, 1.0)), 0, 1])
    return Outcome(
        f"after 1 s the person was at y = {moved:.1f} m, on the way to the near exit; "
        f"{uses['near'].count} left by it, {uses['far'].count} by the far one",
        moved < 5.0 and uses["near"].count == 0 and uses["far"].count == 1,
        sol,
    )


def corridor_speeds() -> Outcome:
    """The mean speed in a corridor of 3 m falls with the density, near the curve of Weidmann 1993."""
    length, width, found = 20.0, 3.0, []
    for density in DENSITIES:
        sol = solved(
            [rectangle(0, 0, length + 2, width)], {"end": [[length + 2, 0], [length + 2, width]]},
            [{"n": round(density * length * width), "start": rectangle(0, 0, length, width)}], t=4.0, every=0.5,
        )  # fmt: skip
        there = (sol.q[0, :, 0] > 4.0) & (sol.q[0, :, 0] < 10.0)
        walked = sol.q[-1, there, 0] - sol.q[2, there, 0]
        found.append(float(walked.mean() / (sol.t[-1] - sol.t[2])))
    wanted = weidmann(np.array(DENSITIES))
    off = np.abs(found - wanted)
    return Outcome(
        f"{', '.join(f'{v:.2f}' for v in found)} m/s at {', '.join(f'{d:g}' for d in DENSITIES)} people/m²; "
        f"Weidmann 1993: {', '.join(f'{v:.2f}' for v in wanted)}",
        bool((np.diff(found) < 0.0).all() and (off < NEAR_WEIDMANN).all()),
        sol,
    )


FILE = ((0.85, 0.86), (1.14, 0.54), (1.38, 0.35), (1.59, 0.25), (1.90, 0.155), (2.12, 0.095))
"""People a metre in single file and their speeds (m/s), Seyfried et al. 2005."""
NEAR_FILE = 0.06
"""Largest mean difference (m/s) between speeds in single file and the experiment that agree."""


def single_file() -> Outcome:
    """Thirty people walk behind each other; their speed before the first ones have an effect."""
    found = []
    for density, _ in FILE:
        length, x = 30 / density + 4.0, 0.4 + np.arange(30) / density
        sol = solved(
            [rectangle(0, 0, length, 0.6)], {"end": [[length, 0], [length, 0.6]]},
            [{"places": [[float(a), 0.3] for a in x]}], t=3.0, every=0.5,
        )  # fmt: skip
        found.append(float((sol.q[-1, 2:8, 0] - sol.q[2, 2:8, 0]).mean() / (sol.t[-1] - sol.t[2])))
    wanted = np.array([speed for _, speed in FILE])
    off = float(np.abs(found - wanted).mean())
    return Outcome(
        f"{', '.join(f'{v:.2f}' for v in found)} m/s at {', '.join(f'{d:g}' for d, _ in FILE)} people/m; Seyfried et "
        f"al. 2005: {', '.join(f'{v:.2f}' for v in wanted)}; {off:.2f} m/s apart on average",
        bool((np.diff(found) < 0.0).all()) and off <= NEAR_FILE,
        sol,
    )


STAIR_FLOWS = {"up": 0.85, "down": 0.98}
"""The largest flows a metre over stairs (people/s/m), Weidmann 1993."""
NEAR_STAIRS = 0.15
"""Largest difference (people/s/m) between flows over stairs that agree."""


def stair_flow() -> Outcome:
    """Eighty people walk from a room of 6 m by 8 m onto stairs of 2 m; the flow of the middle 60 % of them."""
    n, width, found = 80, 2.0, {}
    for pace in STAIR_FLOWS:
        way = {"name": "stairs", "start": [[12, 3], [12, 5]], "end": [[30, 3], [30, 5]], "length": 8.0, "pace": pace}
        sol = solved(
            [rectangle(0, 0, 6, 8), rectangle(6, 3, 12, 5), rectangle(30, 0, 34, 8)], {"out": [[34, 0], [34, 8]]},
            [{"n": n, "start": rectangle(0, 0, 6, 8)}], t=120.0, doors=[[[6, 3], [6, 5]]], stairs=[way],
        )  # fmt: skip
        passed = np.sort(flow(sol, [[12, 3], [12, 5]]).passed)
        first, last = int(0.2 * n), int(0.8 * n)
        found[pace] = float((last - first) / (passed[last] - passed[first]) / width) if len(passed) > last else 0.0
    return Outcome(
        f"{found['up']:.2f} people/s/m upwards, {found['down']:.2f} downwards",
        all(abs(found[pace] - wanted) <= NEAR_STAIRS for pace, wanted in STAIR_FLOWS.items()),
        sol,
    )


def parameters() -> Outcome:
    """The evacuation time falls with the desired speed, and grows with the number of people."""
    room, exits = [rectangle(0, 0, 8, 6)], {"door": [[8, 2.4], [8, 3.6]]}
    speeds = [_last(solved(room, exits, [{"n": 30, "speed": speed}], t=200.0)) for speed in (0.8, 1.2, 1.6)]
    runs = [solved(room, exits, [{"n": n}], t=200.0) for n in (15, 30, 60)]
    sizes = [_last(sol) for sol in runs]
    return Outcome(
        f"{', '.join(map(_text, speeds))} at 0.8, 1.2 and 1.6 m/s; "
        f"{', '.join(map(_text, sizes))} for 15, 30 and 60 people",
        bool((np.diff(speeds) < 0.0).all() and (np.diff(sizes) > 0.0).all()),
        runs[-1],
    )


# Tests of single people and of single capabilities: speeds, stairs, reaction times, corners, demographics.


CORRIDOR, STAIRS = 40.0, 10.0
"""Lengths (m) of the corridor and of the stairs that one person walks."""
PACE_UP, PACE_DOWN = 0.455, 0.518
"""Speeds on stairs relative to level ground: 0.610 and 0.694 m/s of 1.34 m/s (Weidmann 1993)."""
CLOSE = 0.01
"""Largest relative difference of times that agree."""
REACTION = (10.0, 100.0)
"""Smallest and largest reaction time (s)."""


def corridor() -> Outcome:
    """One person walks 40 m at 1.33 m/s; RiMEA allows 26 to 34 s."""
    sol = solved(
        [rectangle(0, 0, CORRIDOR + 1, 2)], {"end": [[CORRIDOR + 1, 0], [CORRIDOR + 1, 2]]},
        [{"places": [[1, 1]], "speed": 1.33}], t=60.0,
    )  # fmt: skip
    took, expected = float(leaving_times(sol)[0]), CORRIDOR / 1.33
    return Outcome(
        f"{took:.2f} s for 40 m at 1.33 m/s, exactly {expected:.2f} s", abs(took - expected) < CLOSE * expected, sol
    )


def stairs(pace: float) -> Outcome:
    """One person walks 10 m of stairs at a fraction of their speed."""
    way = {"name": "stairs", "start": [[2, 0], [2, 2]], "end": [[20, 0], [20, 2]], "length": STAIRS, "pace": pace}
    sol = solved(
        [rectangle(0, 0, 2, 2), rectangle(20, 0, 24, 2)], {"out": [[24, 0], [24, 2]]}, [{"places": [[1, 1]]}],
        t=60.0, every=0.05, stairs=[way],
    )  # fmt: skip
    on = (sol.q[:, 0, 0] > 2.0) & (sol.q[:, 0, 0] < 20.0)
    took = float(sol.t[np.flatnonzero(on)[-1] + 1] - sol.t[np.flatnonzero(on)[0]])
    expected = (STAIRS - RADIUS) / (pace * SPEED)
    return Outcome(
        f"{took:.1f} s for {STAIRS:g} m at {pace * SPEED:.2f} m/s, exactly {expected:.1f} s",
        abs(took - expected) < 0.15 + CLOSE * expected,
        sol,
    )


def reaction_times() -> Outcome:
    """Ten people in a room start to walk after 10 to 100 s."""
    low, high = REACTION
    sol = solved(
        [rectangle(0, 0, 8, 5)], {"door": [[8, 2], [8, 3]]},
        [{"n": 10, "reaction": {"kind": "uniform", "low": low, "high": high}}], t=200.0, h=0.07, every=0.5,
    )  # fmt: skip
    delay = travel(sol).delay
    right = bool((delay >= low - 0.5).all() and (delay <= high + 0.5).all() and len(np.unique(delay.round())) > 5)
    return Outcome(f"ten people started after {delay.min():.0f} to {delay.max():.0f} s, at different times", right, sol)


def corner() -> Outcome:
    """Twenty people walk around a corner without passing through walls."""
    sol = solved(
        [[[0, 0], [12, 0], [12, 12], [10, 12], [10, 2], [0, 2]]], {"end": [[12, 12], [10, 12]]},
        [{"n": 20, "start": rectangle(0, 0, 6, 2), "radius": 0.18}], t=90.0,
    )  # fmt: skip
    found = crowd_summary(sol)
    return Outcome(
        f"{found.people - found.inside} of 20 left, the last after {sol.t[-1]:.0f} s; the deepest overlap with a wall "
        f"or a person is {sol.overlap:.0e} radii",
        found.inside == 0 and sol.overlap < 1e-4,
        sol,
    )


def demographics() -> Outcome:
    """The walking speeds of fifty adults follow a table."""
    sol = solved(
        [rectangle(0, 0, 20, 10)], {"end": [[20, 4], [20, 6]]}, [{"n": 50, "speed": "weidmann"}], t=0.1, every=0.05,
    )  # fmt: skip
    speeds = crowd_facts(sol).speeds
    assert speeds is not None  # the scenario has them
    mean, spread = float(speeds.mean()), float(speeds.std())
    return Outcome(
        f"50 speeds from {speeds.min():.2f} to {speeds.max():.2f} m/s, mean {mean:.2f}, standard deviation "
        f"{spread:.2f} (Weidmann 1993: 1.34 and 0.26)",
        abs(mean - 1.34) < 3 * 0.26 / np.sqrt(50) and 0.18 < spread < 0.34,
        sol,
    )


def overtaking() -> Outcome:
    """Twenty people walk behind a person of 0.7 m width and 0.6 m/s in a corridor of 3 m."""
    length, slow = 20.0, 0.6
    sol = solved(
        [rectangle(0, 0, length + 6, 3)], {"end": [[length + 6, 0], [length + 6, 3]]},
        [{"places": [[6, 1.5]], "radius": 0.35, "speed": slow}, {"n": 20, "start": rectangle(0, 0, 5, 3)}], t=60.0,
    )  # fmt: skip
    left, expected = leaving_times(sol), length / slow
    before = int((left[1:] < left[0]).sum())
    return Outcome(
        f"{before} of 20 left before the slow person, who took {left[0]:.1f} s for 20 m; alone {expected:.1f} s",
        before == 20 and abs(left[0] - expected) < 0.1 * expected,
        sol,
    )


def family() -> Outcome:
    """Four people, one of them slow, stay together."""
    sol = solved(
        [rectangle(0, 0, 25, 4)], {"end": [[25, 0], [25, 4]]},
        [{"places": [[1, 1], [1, 2], [1, 3], [2, 2]], "speed": [1.4, 1.4, 1.4, 0.7], "family": 4}], t=90.0,
    )  # fmt: skip
    left = leaving_times(sol)
    return Outcome(f"the four left within {np.ptp(left):.1f} s of each other", bool(np.ptp(left) < 4.0), sol)


def lift() -> Outcome:
    """Six people take a lift to another floor, and leave; the lift arrives 12 s after it leaves."""
    every, travel, doors = 30.0, 8.0, 2.0
    way = {"name": "lift", "start": [[4, 0], [4, 2]], "end": [[20, 0], [20, 2]], "length": 2.5, "every": every}
    sol = solved(
        [rectangle(0, 0, 4, 2), rectangle(20, 0, 24, 2)], {"out": [[24, 0], [24, 2]]},
        [{"n": 6, "start": rectangle(0, 0, 3, 2)}], t=150.0, every=0.05,
        stairs=[{**way, "travel": travel, "doors": doors}],
    )  # fmt: skip
    found = crowd_summary(sol)
    first = sol.t[(sol.q[..., 0] >= 20.0).any(axis=1).argmax()]
    expected = every + travel + 2.0 * doors
    return Outcome(
        f"{found.people - found.inside} of 6 left, the last after {sol.t[-1]:.0f} s; they stepped off at "
        f"{first:.2f} s, exactly {expected:.2f} s",
        found.inside == 0 and bool(abs(first - expected) < CLOSE),
        sol,
    )
