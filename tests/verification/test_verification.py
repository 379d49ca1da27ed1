"""The table of verification tests: every test of the guidelines has one line, and the verdicts are computed."""

import json
from pathlib import Path

import pytest

import jostle as jo
from jostle.verification import situations, standards
from jostle.verification import situations as components
from jostle.verification.situations import Outcome, rectangle, solved

pytest.importorskip("shapely")

SAVED = Path(__file__).parents[2] / "docs" / "_static" / "verification.json"
"""The results that the page on verification shows."""


def test_every_test_of_the_guidelines_is_there_once():
    numbers = {name: list(tests) for name, tests in standards.TESTS.items()}
    assert list(numbers) == list(standards.EDITIONS)
    assert numbers["RiMEA"] == [str(k) for k in range(1, 17)]
    assert numbers["IMO"] == [str(k) for k in range(1, 12)]
    assert numbers["ISO"] == [str(k) for k in range(1, 17)]
    assert numbers["NIST"] == ["1.1", *(f"2.{k}" for k in range(1, 11)), "3.1", "3.2", "3.3", "4.1", "5.1", "5.2"]


def test_the_page_shows_the_tests_as_they_are_defined():
    shown = [(row["guideline"], row["number"], row["asks"], row["expected"]) for row in json.loads(SAVED.read_text())]
    defined = [(name, *test) for name, tests in standards.TESTS.items() for test in tests.items()]
    assert shown == [(name, number, asks, expected) for name, number, (asks, expected, *_) in defined]


@pytest.mark.whole
def test_the_page_shows_the_verdicts_of_today():
    """Verdicts only: the figures of chaotic runs may differ on another processor."""
    assert [row["verdict"] for row in json.loads(SAVED.read_text())] == [line.verdict for line in standards.verify()]


def test_the_known_failures_are_those_of_the_page():
    """Reports name them."""
    named = ", ".join(standards.KNOWN_FAILURES).split(", ")
    rows = [row for row in json.loads(SAVED.read_text()) if row["verdict"] == "fail"]
    assert named == [f"{row['guideline']} {row['number']}" for row in rows]


def test_cheap_tests_pass():
    assert components.corridor().passed
    assert situations.exit_closes().passed
    assert components.corner().passed


def test_each_function_runs_once_and_its_verdict_is_shown_wherever_it_belongs(monkeypatch, jostle):
    calls = []

    def wrong():
        calls.append(1)
        return Outcome("too slow", False)

    walk = standards.Requirement("Walk.", "soon", wrong, "people are tired")
    breathe = standards.Requirement("Breathe.", "", "there is no smoke")
    monkeypatch.setattr(standards, "TESTS", {"RiMEA": {"1": walk}, "IMO": {"1": walk, "3": breathe}})
    found = [(line.guideline, line.number, line.found, line.verdict) for line in standards.verify()]
    assert found == [
        ("RiMEA", "1", "too slow. Why: people are tired", "fail"),
        ("IMO", "1", "too slow. Why: people are tired", "fail"),
        ("IMO", "3", "there is no smoke", "not applicable"),
    ]
    assert len(calls) == 1
    code, out, _ = jostle("dev", "verify", "imo")
    assert code == 0
    assert "0 pass, 1 fail, 1 not applicable" in out
    assert [line["number"] for line in json.loads(jostle("dev", "verify", "RiMEA", "--json")[1])] == ["1"]
    code, _, err = jostle("dev", "verify", "DIN")
    assert code == 2
    assert "the guidelines are RiMEA, IMO" in err


def test_a_wrong_scenario_is_an_error_and_not_a_test_that_does_not_apply():
    room, exits = [rectangle(0, 0, 4, 2)], {"east": [[4, 0], [4, 2]]}
    for wrong in ({"places": [[1, 1]], "wings": 2}, {"places": [[9, 9]]}):
        with pytest.raises(jo.scenarios.ScenarioError):
            solved(room, exits, [wrong], t=1.0)


def test_the_tests_can_be_run_with_another_behaviour(monkeypatch):
    file = [rectangle(0, 0, 6, 2)], {"east": [[6, 0], [6, 2]]}, [{"places": [[1, 1], [1.9, 1]]}]
    for T in (1.0, 2.0):
        monkeypatch.setitem(situations.BEHAVIOUR, "behaviour", {"kind": "pedestrians", "T_file": T})
        assert solved(*file, t=0.05, every=0.05).u[-1, 0, 0] == pytest.approx(0.5 / T)
