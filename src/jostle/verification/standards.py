"""The tests of the guidelines in order: what each test requires, and the function that runs it.

    RiMEA      Guideline for Microscopic Evacuation Analysis, version 3.0 (2016), annex 1, tests 1 to 15
    IMO        MSC.1/Circ.1533 (2016), annex 3: tests 1 to 11
    NIST       Technical Note 1822 (2013), whose components became ISO 20414 (2020)

Numbers of people and sizes are reduced where a test requires hundreds, so that all tests take less than a minute.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from jostle.errors import InvalidValue
from jostle.verification import situations
from jostle.verification import situations as components
from jostle.verification.situations import NotApplicable, Outcome

PASS, FAIL, NOT_APPLICABLE = "pass", "fail", "not applicable"
"""Verdicts of a test."""


class Line(NamedTuple):
    """One test of a guideline, with its result.

    >>> Line("IMO", "1", "Walk 40 m.", "30 s", "pass").verdict
    'pass'
    """

    guideline: str
    number: str
    asks: str
    found: str
    verdict: str


class Test(NamedTuple):
    """One test of a guideline: a function, or the reason why it does not apply."""

    guideline: str
    number: str
    asks: str
    answer: Callable[[], Outcome] | str


@cache
def stairs_up() -> Outcome:
    """Stairs upwards."""
    return components.stairs(components.PACE_UP)


@cache
def stairs_down() -> Outcome:
    """Stairs downwards."""
    return components.stairs(components.PACE_DOWN)


NO_SMOKE = "smoke and toxic gases are not modelled"
TESTS = (
    Test("RiMEA", "1", "One person keeps their speed in a corridor of 40 m.", components.corridor),
    Test("RiMEA", "2", "One person keeps their speed on stairs upwards.", stairs_up),
    Test("RiMEA", "3", "One person keeps their speed on stairs downwards.", stairs_down),
    Test("RiMEA", "4", "The fundamental diagram of a corridor (reduced: 20 m by 3 m).", situations.corridor_speeds),
    Test("RiMEA", "5", "Ten people start after their reaction times of 10 to 100 s.", components.reaction_times),
    Test("RiMEA", "6", "Twenty people go around a corner, and not through walls.", components.corner),
    Test("RiMEA", "7", "The speeds of fifty adults follow the table of the guideline.", components.demographics),
    Test("RiMEA", "8", "The influence of parameters on the time (reduced: one room).", situations.parameters),
    Test("RiMEA", "9", "A hall with four exits, then two (reduced: 120 people).", situations.hall),
    Test("RiMEA", "10", "People of twelve cabins take the exits they are assigned.", situations.allocation),
    Test("RiMEA", "11", "People prefer the nearer exit, some the other (reduced: 80 people).", situations.exit_choice),
    Test("RiMEA", "12", "Two bottlenecks: a jam before the first only (reduced: 60).", situations.bottlenecks),
    Test("RiMEA", "13", "Jams before a corridor and before the stairs behind it.", situations.stairs_jam),
    Test(
        "RiMEA", "14", "Describe the choice between a short way over stairs and a long one on the level.",
        "it asks for a description: everyone takes the shortest way, or with avoid_jams the one with the shortest "
        "expected time; a goal fixes it",
    ),
    Test("RiMEA", "15", "A large crowd goes around a corner.", situations.crowd_at_corner),
    Test("IMO", "1", "One person keeps their speed in a corridor of 40 m.", components.corridor),
    Test("IMO", "2", "One person keeps their speed on stairs upwards.", stairs_up),
    Test("IMO", "3", "One person keeps their speed on stairs downwards.", stairs_down),
    Test("IMO", "4", "At most 1.33 people per second pass a door of 1 m.", situations.door_flow),
    Test("IMO", "5", "Ten people start after their response times.", components.reaction_times),
    Test("IMO", "6", "Twenty people go around a corner, and not through walls.", components.corner),
    Test("IMO", "7", "The speeds of fifty people follow a table.", components.demographics),
    Test("IMO", "8", "Counterflow takes longer, the more people (reduced: 40).", situations.counterflow),
    Test("IMO", "9", "With two exits instead of four it takes about twice as long.", situations.hall),
    Test("IMO", "10", "People of twelve cabins take the exits they are assigned.", situations.allocation),
    Test("IMO", "11", "Jams before a corridor and before the stairs behind it.", situations.stairs_jam),
    Test("NIST", "1.1", "Pre-evacuation times follow a distribution.", components.reaction_times),
    Test("NIST", "2.1", "Speed in a corridor.", components.corridor),
    Test("NIST", "2.2", "Speed on stairs.", stairs_up),
    Test("NIST", "2.3", "Movement around a corner.", components.corner),
    Test("NIST", "2.4", "Assigned demographics.", components.demographics),
    Test("NIST", "2.5", "Reduced visibility and walking speed.", NO_SMOKE),
    Test("NIST", "2.6", "Incapacitation of people.", NO_SMOKE),
    Test("NIST", "2.7", "Usage of lifts.", components.lift),
    Test("NIST", "2.8", "Horizontal counterflow (reduced: 40 people).", situations.counterflow),
    Test("NIST", "2.9", "A group stays together.", components.family),
    Test("NIST", "2.10", "A person with a movement disability.", components.slow_and_wide),
    Test("NIST", "3.1", "Exit route allocation.", situations.allocation),
    Test("NIST", "3.2", "Social influence on the choice of an exit.", "people do not watch which exit others choose"),
    Test("NIST", "3.3", "Affiliation: people go to the exit that they know.", situations.allocation),
    Test("NIST", "4.1", "An exit that is not available any more is not used.", situations.exit_closes),
    Test("NIST", "5.1", "Congestion before a corridor and before stairs.", situations.stairs_jam),
    Test("NIST", "5.2", "The flow through a door stays below a given maximum.", situations.door_flow),
)  # fmt: skip
"""All tests, in the order of the guidelines."""


def verify(guideline: str = "") -> list[Line]:
    """Run the tests of a guideline, "RiMEA", "IMO" or "NIST", or of all of them; it takes about a minute.

    >>> verify("DIN")
    Traceback (most recent call last):
    jostle.errors.InvalidValue: unknown guideline 'DIN'; the guidelines are RiMEA, IMO, NIST
    """
    guidelines = list(dict.fromkeys(test.guideline for test in TESTS))
    if guideline and guideline not in guidelines:
        raise InvalidValue(f"unknown guideline {guideline!r}; the guidelines are {', '.join(guidelines)}")
    known: dict[Callable[[], Outcome], Outcome | NotApplicable] = {}
    lines = []
    for test in TESTS:
        if guideline and test.guideline != guideline:
            continue
        if isinstance(test.answer, str):
            lines.append(Line(test.guideline, test.number, test.asks, test.answer, NOT_APPLICABLE))
            continue
        if test.answer not in known:
            try:
                known[test.answer] = test.answer()
            except NotApplicable as reason:
                known[test.answer] = reason
        found = known[test.answer]
        if isinstance(found, NotApplicable):
            lines.append(Line(test.guideline, test.number, test.asks, str(found), NOT_APPLICABLE))
        else:
            verdict = PASS if found.passed else FAIL
            lines.append(Line(test.guideline, test.number, test.asks, found.found, verdict))
    return lines
