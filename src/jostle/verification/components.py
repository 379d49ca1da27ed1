"""Tests of single people and of single abilities: speeds, stairs, reaction times, corners, demographics."""

from __future__ import annotations

import numpy as np

from jostle.crowds import crowd_summary, leaving_times, travel
from jostle.verification.runs import RADIUS, SPEED, NotApplicable, Outcome, rectangle, solved

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
        f"{took:.2f} s for 40 m at 1.33 m/s, exactly {expected:.2f} s", abs(took - expected) < CLOSE * expected
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
    return Outcome(f"ten people started after {delay.min():.0f} to {delay.max():.0f} s, at different times", right)


def corner() -> Outcome:
    """Twenty people walk around a corner without passing through walls."""
    sol = solved(
        [[[0, 0], [12, 0], [12, 12], [10, 12], [10, 2], [0, 2]]], {"end": [[12, 12], [10, 12]]},
        [{"n": 20, "region": rectangle(0, 0, 6, 2), "radius": 0.18}], t=90.0,
    )  # fmt: skip
    found = crowd_summary(sol)
    return Outcome(
        f"{found.people - found.inside} of 20 left, the last after {sol.t[-1]:.0f} s; the deepest overlap with a wall "
        f"or a person is {sol.overlap:.0e} radii",
        found.inside == 0 and sol.overlap < 1e-4,
    )


def demographics() -> Outcome:
    """The walking speeds of fifty adults follow a table."""
    sol = solved(
        [rectangle(0, 0, 20, 10)], {"end": [[20, 4], [20, 6]]}, [{"n": 50, "speed": "weidmann"}], t=0.1, every=0.05,
        refused="weidmann",
    )  # fmt: skip
    speeds = sol.facts.speeds
    if speeds is None:
        raise NotApplicable("the speeds are not known after the run")
    mean, spread = float(speeds.mean()), float(speeds.std())
    return Outcome(
        f"50 speeds from {speeds.min():.2f} to {speeds.max():.2f} m/s, mean {mean:.2f}, standard deviation "
        f"{spread:.2f} (Weidmann 1993: 1.34 and 0.26)",
        abs(mean - 1.34) < 3 * 0.26 / np.sqrt(50) and 0.18 < spread < 0.34,
    )


def slow_and_wide() -> Outcome:
    """A person of 0.7 m width and 0.6 m/s passes a door of 0.9 m at their own speed."""
    sol = solved(
        [rectangle(0, 0, 6, 2), rectangle(6, 0, 11, 2)], {"end": [[11, 0], [11, 2]]},
        [{"places": [[1, 1]], "radius": 0.35, "speed": 0.6}], t=60.0, doors=[[[6, 0.55], [6, 1.45]]],
    )  # fmt: skip
    took, expected = float(leaving_times(sol)[0]), 10.0 / 0.6
    return Outcome(
        f"{took:.2f} s for 10 m at 0.6 m/s, exactly {expected:.2f} s", abs(took - expected) < CLOSE * expected
    )


def family() -> Outcome:
    """Four people, one of them slow, stay together."""
    sol = solved(
        [rectangle(0, 0, 25, 4)], {"end": [[25, 0], [25, 4]]},
        [{"places": [[1, 1], [1, 2], [1, 3], [2, 2]], "speed": [1.4, 1.4, 1.4, 0.7], "family": 4}], t=90.0,
        refused="groups.0",
    )  # fmt: skip
    left = leaving_times(sol)
    return Outcome(f"the four left within {np.ptp(left):.1f} s of each other", bool(np.ptp(left) < 4.0))


def lift() -> Outcome:
    """Six people take a lift to another floor, and leave; the lift arrives 12 s after it leaves."""
    every, travel, doors = 30.0, 8.0, 2.0
    way = {"name": "lift", "start": [[4, 0], [4, 2]], "end": [[20, 0], [20, 2]], "length": 2.5, "every": every}
    sol = solved(
        [rectangle(0, 0, 4, 2), rectangle(20, 0, 24, 2)], {"out": [[24, 0], [24, 2]]},
        [{"n": 6, "region": rectangle(0, 0, 3, 2)}], t=150.0, every=0.05,
        stairs=[{**way, "travel": travel, "doors": doors}],
    )  # fmt: skip
    found = crowd_summary(sol)
    first = sol.t[(sol.q[..., 0] >= 20.0).any(axis=1).argmax()]
    expected = every + travel + 2.0 * doors
    return Outcome(
        f"{found.people - found.inside} of 6 left, the last after {sol.t[-1]:.0f} s; they stepped off at "
        f"{first:.2f} s, exactly {expected:.2f} s",
        found.inside == 0 and bool(abs(first - expected) < CLOSE),
    )
