"""What a problem carries for its runs: changes, an ending and the longest step, used by solve or refused."""

import signal
import subprocess
import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import jostle as jo
from jostle.errors import InvalidValue, LongStep, SchemeRefuses
from jostle.problems import Remembers
from plain import crowd


def rain(n=20, kind=jo.Motion, **methods):
    """Balls that wait; a class with these methods."""
    within = jo.Balls(np.full(n, 0.4)) & jo.Box([0, -np.inf], [4, np.inf], radii=0.4)
    motion = {"force": [0.0, -1.0]} if kind is jo.Motion else {"velocity": [0.0, -1.0]}
    return type("Rain", (kind,), methods)(q0=np.zeros((n, 2)), within=within, present=np.zeros(n, dtype=bool), **motion)


def source(problem):
    return jo.Source(([0.5, 6], [3.5, 9]), rate=5.0, within=problem.within)


def here(sol):
    return np.isfinite(sol.q).all(axis=2).sum(axis=1)


@pytest.mark.parametrize(("kind", "scheme"), [(jo.Motion, jo.Maury()), (jo.Sweeping, jo.Venel())])
def test_changes_of_a_problem_act_as_those_that_are_given(kind, scheme):
    given, carrying = rain(kind=kind), rain(kind=kind, changes=lambda self: [source(self)])
    by_hand = jo.solve(given, scheme, t=3.0, h=0.02, changes=source(given))
    by_itself = jo.solve(carrying, scheme, t=3.0, h=0.02)
    assert here(by_itself)[-1] >= 14  # in first order one may find no free place
    assert by_itself.q.tobytes() == by_hand.q.tobytes()
    assert by_itself.problem is carrying


def test_changes_given_beside_those_of_the_problem_act_too():
    problem = rain(changes=lambda self: [source(self)])
    sol = jo.solve(problem, jo.Maury(), t=3.0, h=0.02, changes=jo.Outlet(lambda q: q[:, 1] < 6.0))
    assert 0 < here(sol)[-1] < 15


def drain(q):
    return q[:, 1] < 6.0


def lid(height):
    return lambda state: state.replace(u=np.minimum(state.u, height))


@pytest.mark.parametrize(
    "own",
    [
        lambda self: [source(self)],
        lambda self: [jo.Outlet(drain)],
        lambda self: [jo.Outlet(lambda q: q[:, 1] < 6.0)],
        lambda self: [lambda state: state],
        lambda self: [lid(3.0), lid(2.0)],
    ],
)
def test_changes_that_are_given_again_are_refused(own):
    """Also equal ones, which a problem may make anew each time it is asked."""
    problem = rain(changes=own)
    with pytest.raises(InvalidValue, match=r"changes= has what Rain\.changes\(\) says already, and would act twice"):
        jo.solve(problem, jo.Maury(), t=0.1, h=0.02, changes=problem.changes())
    jo.solve(problem, jo.Maury(), t=0.1, h=0.02, changes=lid(1.0))


def test_resumed_changes_of_a_problem_are_bit_identical(tmp_path):
    whole = jo.solve(rain(changes=lambda self: [source(self)]), jo.Maury(), t=3.0, h=0.02)
    for t, resume in ((1.5, False), (3.0, True)):
        output = jo.io.Output(checkpoint=tmp_path / "c", resume=resume)
        sol = jo.solve(rain(changes=lambda self: [source(self)]), jo.Maury(), t=t, h=0.02, output=output)
    assert sol.q[-1].tobytes() == whole.q[-1].tobytes()


def test_the_longest_step_of_a_problem_is_warned_of():
    with pytest.warns(LongStep, match=r"h = 0\.1 is longer than 0\.05"):
        jo.solve(rain(longest_step=lambda self: 0.05), jo.Maury(), t=0.2, h=0.1)
    jo.solve(rain(longest_step=lambda self: 0.05), jo.Maury(), t=0.2, h=0.05)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("changes", 3),
        ("changes", ["a"]),
        ("ending", True),
        ("longest_step", 0.1),
        ("changes", lambda self, state: state),
    ],
)
def test_an_attribute_of_the_name_that_is_no_such_method_is_refused(name, value):
    with pytest.raises(InvalidValue, match=rf"Rain\.{name} is .*, and solve needs the method {name}\(\).*rename it"):
        jo.solve(rain(**{name: value}), jo.Maury(), t=0.2, h=0.1)


def test_changes_that_are_no_list_of_functions_are_refused():
    with pytest.raises(InvalidValue, match=r"Rain\.changes\(\) must return a list of functions of the state, not None"):
        jo.solve(rain(changes=lambda self: None), jo.Maury(), t=0.2, h=0.1)
    with pytest.raises(InvalidValue, match="must be functions of the state"):
        jo.solve(rain(changes=lambda self: [3]), jo.Maury(), t=0.2, h=0.1)


@pytest.mark.parametrize(
    ("name", "found", "wanted"),
    [
        ("ending", True, "a function of the state, or None, not True"),
        ("ending", jo.stopping.Empty, "a function of the state, or None, not <class"),
        ("ending", lambda: True, "a function of the state, or None, not <lambda>"),
        ("longest_step", "0.1", "a positive number, or None, not '0.1'"),
        ("longest_step", -1.0, "a positive number, or None, not -1.0"),
        ("facts", ["a"], r"a dict of facts by name, not \['a'\]"),
    ],
)
def test_methods_that_return_something_else_are_refused(name, found, wanted):
    with pytest.raises(InvalidValue, match=rf"Rain\.{name}\(\) must return {wanted}"):
        _ = jo.solve(rain(**{name: lambda self: found}), jo.Maury(), t=0.2, h=0.1).facts


ROOM = [(0, 0), (5, 0), (5, 4), (0, 4)]


def people():
    return crowd(3, radius=0.25, room=jo.crowds.Room(ROOM, doors=[((5, 1.2), (5, 2.8))]))


def leaving(kind, **values):
    return type("Leaving", (kind,), {"changes": lambda self: [jo.Outlet(lambda q: q[:, 0] > 9.0)]})(**values)


def ball():
    return leaving(jo.Motion, q0=[[0.0, 1.0]], within=jo.HalfSpace([0.0, 1.0]))


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("solve_by_events", lambda: jo.solve_by_events(ball(), t=1.0)),
        ("solve_by_events", lambda: jo.sensitivity_by_events(ball(), t=1.0)),
        ("sensitivity", lambda: jo.sensitivity(ball(), jo.Maury(), t=1.0, h=0.1)),
        ("sensitivity", lambda: jo.sensitivity(lambda theta: ball(), jo.Maury(), t=1.0, h=0.1, theta=[1.0])),
        ("sensitivity", lambda: jo.sensitivity(people(), jo.Venel(), t=1.0, h=0.1)),
        ("solve with accuracy=", lambda: jo.solve(ball(), jo.Maury(), t=1.0, h=0.1, accuracy=0.1)),
        ("solve with accuracy=", lambda: jo.solve(people(), jo.Venel(), t=1.0, h=0.1, accuracy=0.1)),
    ],
)
def test_changes_are_refused_where_they_are_not_computed(name, run):
    with pytest.raises(SchemeRefuses, match=rf"{name} does not compute the changes of \w+ during a run \(Outlet\)"):
        run()


def ending(kind, **values):
    return type("Ending", (kind,), {"ending": lambda self: jo.stopping.Below(0.5)})(**values)


@pytest.mark.parametrize(
    "run",
    [
        lambda problem: jo.solve_by_events(problem, t=1.0),
        lambda problem: jo.sensitivity_by_events(problem, t=1.0),
        lambda problem: jo.sensitivity(problem, jo.Maury(), t=1.0, h=0.1),
    ],
)
def test_endings_are_refused_where_they_are_not_computed(run):
    falling = ending(jo.Motion, q0=[[0.0, 1.0]], force=[0.0, -1.0], within=jo.HalfSpace([0.0, 1.0]))
    with pytest.raises(SchemeRefuses, match=r"does not compute the ending of Ending during a run \(Below\)"):
        run(falling)
    assert jo.solve(falling, jo.Maury(), t=2.0, h=0.1, accuracy=0.1).t[-1] < 1.2


def test_people_leave_gates_and_stairs_work_and_late_people_come_without_a_word():
    room = jo.crowds.Room([(0, 0), (8, 0), (8, 4), (0, 4)], doors=[((8, 1.5), (8, 2.5))])
    one = crowd(3, radius=0.2, room=room, gates=[jo.crowds.Gate("door 0", most=1)])
    assert np.isfinite(jo.crowds.leaving_times(jo.solve(one, jo.Venel(), t=30.0, h=0.05, every=0.5))).sum() == 1
    late = [jo.crowds.Group("late", 3, radius=0.2, enters=5.0), jo.crowds.Group("now", 1, radius=0.2)]
    sol = jo.solve(crowd(late, room=room), jo.Venel(), t=30.0, h=0.05, every=0.5)
    assert np.isfinite(jo.crowds.leaving_times(sol)).all()


def test_the_outlet_of_people_must_be_at_a_positive_distance():
    with pytest.raises(InvalidValue, match="outlet must be positive, not 0"):
        crowd(3, radius=0.25, room=jo.crowds.Room(ROOM, doors=[((5, 1.2), (5, 2.8))]), outlet=0.0)


# --- endings ---


class Calls(NamedTuple):
    count: int


class AfterCalls(Remembers):
    """True, or what is to be said, after a number of calls."""

    memory_type = Calls

    def __init__(self, most, said=True):
        self.most, self.said = most, said

    def __call__(self, state):
        self.memory = Calls((self.memory or Calls(0)).count + 1)
        return self.said if self.memory.count >= self.most else False


def ended(own=None, until=None, **more):
    """When and how a ball ends that has an ending of its own after 5 steps."""
    ball = type("Ended", (jo.Motion,), {"ending": lambda self: own})(q0=[1.0], within=jo.HalfSpace([1.0]))
    sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.1, until=until, **more)
    return sol.status, round(float(sol.t[-1]), 9)


def test_a_run_ends_by_the_first_of_the_own_condition_and_the_given_one():
    assert ended() == ("finished", 1.0)
    assert ended(AfterCalls(5)) == ("stopped", 0.5)
    assert ended(AfterCalls(5), until=lambda state: state.t > 0.25) == ("stopped", 0.3)
    assert ended(AfterCalls(5), until=lambda state: state.t > 0.75) == ("stopped", 0.5)
    assert ended(AfterCalls(5, "blocked"), until=lambda state: False) == ("blocked", 0.5)
    assert ended(AfterCalls(5), until=jo.stopping.Never()) == ("finished", 1.0)
    assert ended(until=jo.stopping.Never()) == ("finished", 1.0)


def test_an_ending_may_be_an_error_of_a_step():
    discs = jo.Balls(lambda t: np.array([1.0, 1.0]) + t) & jo.Box([0.0], [6.0])
    swelling = type("Swelling", (jo.Motion,), {"ending": lambda self: jo.stopping.Jammed()})(
        q0=[[1.0], [5.0]], within=discs
    )
    sol = jo.solve(swelling, jo.Maury(), t=1.0, h=0.1, until=lambda state: False)
    assert (sol.status, sol.t[-1]) == ("stopped", pytest.approx(0.5))


@pytest.mark.parametrize(("own", "given"), [(7, 9), (9, 7)])
def test_both_conditions_have_their_memory_in_checkpoints(own, given, tmp_path):
    output = jo.io.Output(checkpoint=tmp_path / "c", seconds=0.0)

    def stop(progress):
        if progress.step == 4:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(jo.errors.Interrupted):
        ended(AfterCalls(own), until=AfterCalls(given), output=output, progress=stop)
    again = ended(AfterCalls(own), until=AfterCalls(given), output=replace(output, resume=True))
    assert again == ended(AfterCalls(own), until=AfterCalls(given)) == ("stopped", 0.7)


def test_an_ending_that_is_no_method_is_refused():
    with pytest.raises(InvalidValue, match=r"Rain\.ending is 3, and solve needs the method ending\(\)"):
        jo.solve(rain(ending=3), jo.Maury(), t=0.2, h=0.1)


def test_a_crowd_ends_when_the_outlet_has_taken_everyone_and_not_before():
    sol = jo.solve(people(), jo.Venel(), t=60.0, h=0.05)
    assert sol.status == "stopped"
    assert not np.isfinite(sol.q[-1]).any()
    assert jo.crowds.evacuation_time(sol) < sol.t[-1] < 15.0


def test_people_who_stand_outside_are_not_blocked():
    """Their wish ends behind the door, before the outlet."""
    room = jo.crowds.Room(ROOM, doors=[((5, 1.2), (5, 2.8))])
    out = crowd(1, radius=0.25, room=room, q0=[[4.0, 2.0]], wish=lambda t, q: np.where(q < 5.3, [1.0, 0.0], 0.0))
    sol = jo.solve(out, jo.Venel(), t=60.0, h=0.1)
    assert (sol.status, sol.t[-1] < 15.0) == ("stopped", True)


def test_people_whom_a_gate_cuts_off_end_a_run_only_if_it_never_opens_again():
    room = jo.crowds.Room(ROOM, doors=[((5, 1.2), (5, 2.8))])

    def run(**gate):
        gated = crowd(3, radius=0.25, room=room, gates=[jo.crowds.Gate("door 0", **gate)])
        return jo.solve(gated, jo.Venel(), t=60.0, h=0.1)

    sol = run(most=1)
    assert (sol.status, sol.t[-1] < 30.0, np.isfinite(jo.crowds.leaving_times(sol)).sum()) == ("blocked", True, 1)
    sol = run(open=[(30.0, np.inf)])
    assert (sol.status, np.isfinite(jo.crowds.leaving_times(sol)).sum()) == ("stopped", 3)


# --- facts ---

FACTS = {
    "colour": "red", "sizes": np.array([0.5, np.inf]), "open": True, "none": None, "deep": {"a": [1, (2, "b")]},
}  # fmt: skip
READ = {"colour": "red", "sizes": [0.5, np.inf], "open": True, "none": None, "deep": {"a": [1, [2, "b"]]}}


def test_facts_of_a_problem_survive_files_that_nobody_knows_them_in(tmp_path):
    """Also one that is read and written again, and a run that is resumed."""
    balls = {"q0": [[0.0, 1.0], [3.0, 2.0]], "force": [0.0, -1.0], "within": jo.Balls([0.5, 0.5])}
    problem = type("Painted", (jo.Motion,), {"facts": lambda self: FACTS | {"groups": {"low": [0]}}})(**balls)
    sol = jo.solve(problem, jo.Maury(), t=0.5, h=0.1)
    for t, resume in ((0.3, False), (0.5, True)):
        output = jo.io.Output(tmp_path / "a.vtkhdf", checkpoint=tmp_path / "c", resume=resume)
        stored = jo.solve(problem, jo.Maury(), t=t, h=0.1, output=output)
    written = jo.io.read(jo.io.write(sol, tmp_path / "b.vtkhdf"))
    again = jo.io.read(jo.io.write(written, tmp_path / "d.vtkhdf"))
    for one in (sol, stored, written, again):
        assert one.facts.carried == READ
        assert one.facts.groups.names == ("low",)
        assert one.facts.groups.number.tolist() == [0, -1]
    assert jo.io.about(tmp_path / "a.vtkhdf")["colour"] == "red"


def test_what_a_file_cannot_store_is_no_fact():
    sol = jo.solve(rain(facts=lambda self: {"a": [1, object()]}), jo.Maury(), t=0.1, h=0.1)
    with pytest.raises(
        InvalidValue, match=r"Rain\.facts\(\)\['a'\]\[1\] is <.*, which a file cannot store: a fact is No"
    ):
        _ = sol.facts


def test_a_problem_whose_facts_have_units_refuses_others():
    with pytest.raises(InvalidValue, match="units: Crowd is measured in m, not in cm: convert its data"):
        jo.result.facts.Facts.of(people(), units=jo.result.facts.Units("cm", "s"))


def test_files_and_results_know_nothing_of_crowds():
    code = "import sys, jostle.io.reading, jostle.io.saving; print([m for m in sys.modules if m.startswith('jostle.')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not [name for name in ("plans", "crowds", "macro", "scenarios") if f"'jostle.{name}" in found]
