"""Runs of crowds say whether the building is empty, people are blocked, or the time is over."""

import json
import signal

import numpy as np
import pytest

import jostle as jo
from jostle.cli import main
from jostle.crowds.model.crowd import STANDSTILL, WITHOUT_PROGRESS, EmptyOrBlocked
from jostle.scenarios import parse
from jostle.schemes.state import State

pytest.importorskip("shapely")

CORRIDOR = """
[problem]
kind = "crowd"
behaviour = { kind = "inhibition" }
rooms = [{ corners = [[0, 0], [6, 0], [6, 0.7], [0, 0.7]] }]
exits = [{ name = "west", ends = [[0, 0], [0, 0.7]] }, { name = "east", ends = [[6, 0], [6, 0.7]] }]
groups = [
    { places = [[2, 0.35]], goal = "east" },
    { places = [[4, 0.35]], goal = "GOAL" },
]
[run]
t = 40.0
h = 0.1
"""
BLOCKED, EMPTY = CORRIDOR.replace("GOAL", "west"), CORRIDOR.replace("GOAL", "east")


def run(text, **more):
    built = jo.scenarios.parse(text).build()._asdict()
    return jo.solve(**built, **more)


def test_two_people_who_meet_in_a_narrow_corridor_are_blocked():
    sol = run(BLOCKED)
    assert (sol.status, sol.message) == ("blocked", "blocked: nobody has moved for a while")
    apart = np.linalg.norm(sol.q[:, 0] - sol.q[:, 1], axis=1)
    met = sol.t[np.argmax(apart < 0.45)]
    assert met + STANDSTILL <= sol.t[-1] <= met + STANDSTILL + 4.0
    assert sol.t[-1] < 40.0


def test_an_empty_building_has_met_its_condition_and_a_slow_crowd_has_reached_its_time():
    empty = run(EMPTY)
    assert (empty.status, empty.message) == ("stopped", "no bodies left")
    late = run(EMPTY.replace("t = 40.0", "t = 1.0"))
    assert (late.status, late.message) == ("finished", "reached the end time")


def test_a_run_that_shall_never_end_early_is_not_ended_as_blocked():
    sol = run(BLOCKED.replace("h = 0.1", 'h = 0.1\nuntil = { kind = "never" }').replace("t = 40.0", "t = 20.0"))
    assert (sol.status, sol.t[-1]) == ("finished", 20.0)


@pytest.mark.parametrize("text", [BLOCKED, EMPTY], ids=["blocked", "empty"])
def test_a_crowd_that_was_interrupted_ends_as_if_it_had_not_been(text, tmp_path):
    """What the condition remembers of the standstill is in the checkpoint."""
    whole = run(text)

    def ctrl_c(progress):
        if progress.step % 35 == 0:
            signal.raise_signal(signal.SIGINT)

    resume, interruptions = False, 0
    while True:
        try:
            sol = run(text, output=jo.io.Output(checkpoint=tmp_path / "c", resume=resume), progress=ctrl_c)
            break
        except jo.errors.Interrupted:
            resume, interruptions = True, interruptions + 1
    assert interruptions > 1 or text == EMPTY
    assert (sol.status, sol.t[-1]) == (whole.status, whole.t[-1])
    assert sol.q[-1].tobytes() == whole.q[-1].tobytes()


def test_somebody_who_moves_a_little_now_and_then_is_not_blocked():
    """The standstill counts from the last move; 40 % of a radius is none, 60 % is."""
    state = State.of(0.0, np.zeros((2, 2)), np.zeros((2, 2)))

    def ends_at(step):
        until = EmptyOrBlocked(lambda state: False, np.array([1.0, 1.0]))
        for t in np.arange(0.0, 60.0, 0.5):
            q = np.array([[0.0, 0.0], [3.0, step * (t // 9.0)]])
            if until(state.replace(t=float(t), q=q)):
                return t
        return np.inf

    assert [ends_at(0.0), ends_at(0.4)] == [STANDSTILL] * 2
    assert ends_at(0.6) == np.inf


def test_people_who_step_to_and_fro_and_come_no_nearer_are_blocked():
    """One of two comes nearer for the first 20 s; then both only step aside and back."""
    state = State.of(0.0, np.zeros((2, 2)), np.zeros((2, 2)))
    until = EmptyOrBlocked(
        lambda state: False, np.ones(2), order=lambda q: (50.0 - q[:, 0], np.zeros(len(q), dtype=int))
    )
    for t in np.arange(0.0, 90.0, 0.5):
        q = np.array([[0.0, 2.0 * (t // 2.0 % 2.0)], [min(t, 20.0), 5.0]])
        if found := until(state.replace(t=float(t), q=q)):
            break
    assert (found, t) == ("blocked", 20.0 + WITHOUT_PROGRESS)


def test_a_second_run_with_the_same_condition_starts_afresh():
    built = jo.scenarios.parse(BLOCKED).build()._asdict()
    first, second = jo.solve(**built), jo.solve(**built)
    assert first.t[-1] == second.t[-1]


@pytest.mark.parametrize(
    ("text", "code", "status", "message"),
    [
        (BLOCKED, 4, "blocked", "blocked: nobody has moved for a while"),
        (EMPTY, 0, "stopped", "building empty"),
        (BLOCKED.replace("t = 40.0", "t = 2.0"), 0, "finished", "reached the end time"),
    ],
    ids=["blocked", "empty", "time over"],
)
def test_the_command_line_says_how_a_crowd_ended(tmp_path, monkeypatch, capsys, text, code, status, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(SystemExit) as ended:
        main(["run", "a.toml", "--json"])
    assert (ended.value.code or 0) == code
    found = json.loads(capsys.readouterr().out)
    assert (found["status"], found["message"]) == (status, message)
    with pytest.raises(SystemExit):
        main(["info", "a.vtkhdf"])
    assert f"{message} ({status})" in " ".join(capsys.readouterr().out.split())


def test_a_budget_that_was_too_small_does_not_hide_that_people_are_blocked():
    built = jo.scenarios.parse(BLOCKED).build()._asdict()
    built["scheme"] = jo.Venel(solver=jo.GaussSeidel(max_iterations=1, budget=True))
    assert jo.solve(**built).status == "blocked"


def test_people_before_an_exit_that_has_closed_for_good_end_the_run_and_missed_it():
    text = """
    [problem]
    kind = "crowd"
    rooms = [{ corners = [[0, 0], [4, 0], [4, 3], [0, 3]] }]
    exits = [{ name = "east", ends = [[4, 0.5], [4, 2.5]] }]
    gates = [{ at = "east", open = [[0.0, 0.1]] }]
    [[problem.groups]]
    places = [[3.0, 0.5], [3.0, 0.95], [3.0, 1.4], [3.0, 1.85], [3.0, 2.3]]
    [run]
    t = 30.0
    h = 0.05
    every = 1.0
    """
    sol = jo.solve(**parse(text).build()._asdict())
    assert sol.status == "blocked"
    assert 10.0 < sol.t[-1] < 15.0
    assert jo.crowds.crowd_summary(sol).missed == 5
