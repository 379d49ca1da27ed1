"""Tests of many people: flows, counterflow, halls, allocation and choice of exits, bottlenecks, stairs, corners."""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.crowds import crowd_summary, exit_use, flow, jams, weidmann
from jostle.crowds.crowding import FRUIN
from jostle.result.solution import Solution
from jostle.verification.runs import Corners, Outcome, rectangle, solved

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
        f"{use.specific:.2f} people per metre and second ({found.inside} left inside); experiments at doors of 1 m: "
        f"1.8 to 2.8 (Seyfried 2009, Daamen 2010)",
        found.inside == 0 and use.specific <= IMO_FLOW,
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
    return Outcome(f"40 people: {against}", grows)


def hall() -> Outcome:
    """People leave a hall with four exits of 1 m in about half the time that they need with two."""
    size = rectangle(0, 0, 12, 8)
    four: dict[str, Corners] = {
        "a": [[3, 0], [4, 0]], "b": [[8, 0], [9, 0]], "c": [[9, 8], [8, 8]], "d": [[4, 8], [3, 8]],
    }  # fmt: skip
    two = {name: four[name] for name in "ab"}
    times = [_last(solved([size], exits, [{"n": 120}], t=200.0)) for exits in (four, two)]
    ratio = times[1] / times[0]
    return Outcome(
        f"{_text(times[0])} with four exits, {_text(times[1])} with two: {ratio:.2f} times as long", 1.6 <= ratio <= 2.4
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
        f"{uses['main'].count} of 16 by the main exit, {uses['secondary'].count} of 7 by the secondary one", right
    )


def exit_choice() -> Outcome:
    """People on one side of a hall prefer the nearer of two exits; some take the other one because of the queue."""
    sol = solved(
        [rectangle(0, 0, 15, 8)], {"near": [[4, 0], [5, 0]], "far": [[10, 0], [11, 0]]},
        [{"n": 80, "start": rectangle(0, 0, 6, 8)}], t=200.0, avoid_jams=True,
    )  # fmt: skip
    uses = exit_use(sol)
    near, far = uses["near"].count, uses["far"].count
    return Outcome(f"{near} by the near exit, {far} by the far one", near > far > 0 and near + far == 80)


def bottlenecks() -> Outcome:
    """Two bottlenecks of the same width in a row: a jam only before the first."""
    sol = solved(
        [rectangle(0, 0, 6, 6), rectangle(6, 2.5, 9, 3.5), rectangle(9, 0, 15, 6)], {"second": [[15, 2.5], [15, 3.5]]},
        [{"n": 60, "start": rectangle(0, 0, 5, 6)}], t=200.0, doors=[[[6, 2.5], [6, 3.5]], [[9, 2.5], [9, 3.5]]],
    )  # fmt: skip
    found = {jam.opening: jam.people for jam in jams(sol)}
    first, second = found.get("door 0", 0), found.get("exit 'second'", 0)
    return Outcome(f"up to {first} people in a jam before the first, {second or 'nobody'} before the second",
                   first >= JAM and second == 0)  # fmt: skip


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
    )


def crowd_at_corner() -> Outcome:
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

    def last(area: Corners, ends: Corners) -> float:
        return _last(solved([area], {"end": ends}, group, t=200.0, h=0.07, every=0.5))

    def straight(length: float) -> float:
        return last(rectangle(0, 0, depth + length, width), [[depth + length, 0], [depth + length, width]])

    inner, outer = before + behind, before + behind + width * np.pi / 2.0
    times = [straight(inner), last(around, [[far, end], [corner, end]]), straight(float(outer))]
    return Outcome(
        f"{_text(times[1])} around the corner, {_text(times[0])} and {_text(times[2])} on straight ways as long as the "
        f"inner and the outer wall ({inner:g} m and {outer:.1f} m)",
        times[0] <= times[1] <= times[2],
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
    )


def parameters() -> Outcome:
    """The evacuation time falls with the desired speed, and grows with the number of people."""
    room, exits = [rectangle(0, 0, 8, 6)], {"door": [[8, 2.4], [8, 3.6]]}
    speeds = [_last(solved(room, exits, [{"n": 30, "speed": speed}], t=200.0)) for speed in (0.8, 1.2, 1.6)]
    sizes = [_last(solved(room, exits, [{"n": n}], t=200.0)) for n in (15, 30, 60)]
    return Outcome(
        f"{', '.join(map(_text, speeds))} at 0.8, 1.2 and 1.6 m/s; "
        f"{', '.join(map(_text, sizes))} for 15, 30 and 60 people",
        bool((np.diff(speeds) < 0.0).all() and (np.diff(sizes) > 0.0).all()),
    )
