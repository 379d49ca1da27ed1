"""What depends on the past of a run: cleared at its start, kept in checkpoints, given back when it is resumed."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

import jostle as jo
from jostle._tools.of_run import remembering
from jostle.errors import BrokenFile, InvalidValue
from jostle.io.checkpoint import read_whole, write_whole
from jostle.problems import Remembers
from plain import crowd as plain_crowd

pytest.importorskip("shapely")

H = 0.05
RUN = """
import os, signal, sys
import numpy as np
import jostle as jo

def people():
    box, exits = [(0, 0), (9, 0), (9, 4), (0, 4)], {"west": ((0, 1.4), (0, 2.6)), "east": ((9, 1.4), (9, 2.6))}
    plan = jo.crowds.Plan(box, exits=exits)
    q0 = np.array([[x, y] for x in (7.0, 8.0) for y in (0.6, 2.0, 3.4)])
    walk = jo.crowds.walk(plan, radius=0.25, speed=1.3, stops={"desk": (6, 3), "board": (4, 1)})
    routes = [["desk", "board", None], ["desk", "west"], ["board", "desk", "west"]] * 2
    journey = jo.crowds.Journey(walk, routes, people=6, reach=0.6)
    return jo.crowds.crowd(6, radius=0.25, room=plan, q0=q0, wish=jo.crowds.Following(journey, 0.25, sight=1.0))

def go(t, **more):
    crowd = people()
    return jo.solve(crowd, jo.Venel(), t=t, h=0.1, **more)

if __name__ == "__main__":
    def kill(progress):
        if progress.step == 25:
            os.kill(os.getpid(), signal.SIGKILL)
    go(8.0, output=jo.io.Output(checkpoint=sys.argv[1], seconds=0.0), progress=kill)
"""
scope: dict = {"__name__": "run"}
exec(RUN, scope)
go, people = scope["go"], scope["people"]


@pytest.mark.whole
def test_a_journey_that_is_killed_and_resumed_ends_as_if_it_had_not_been(tmp_path):
    """kill -9 while some people have passed their first stop, and others have not."""
    whole = go(8.0)
    script, path = tmp_path / "run.py", tmp_path / "run.checkpoint"
    script.write_text(RUN)
    killed = subprocess.run([sys.executable, script, path], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    stage = read_whole(path)["problem.stage"]
    assert (stage == 0).any()
    assert (stage > 0).any()
    np.testing.assert_array_equal(go(8.0, output=jo.io.Output(checkpoint=path, resume=True)).q[-1], whole.q[-1])


def test_a_second_run_with_the_same_people_starts_afresh():
    crowd = people()
    first, second = (jo.solve(crowd, jo.Venel(), t=12.0, h=H).q for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert crowd.wish.memory.stage.max() > 0


def test_a_journey_that_starts_at_a_later_stage_returns_to_it():
    plan = people().plan
    walk = jo.crowds.walk(plan, radius=0.25, stops={"desk": (2, 3)})
    journey = jo.crowds.Journey(walk, ["desk", "west", "east"], people=1, reach=0.5, stage=[1])
    journey.remember(0.0, np.array([[0.1, 2.0]]))
    assert journey.stage.tolist() == [2]
    journey.restore(None)
    assert journey.stage.tolist() == [1]


def test_a_checkpoint_without_the_memory_or_with_a_wrong_one_is_refused(tmp_path):
    path = tmp_path / "c"
    go(3.0, output=jo.io.Output(checkpoint=path))
    kept = read_whole(path)
    for wrong in (np.zeros(3, dtype=np.int64), np.full(6, 9)):
        write_whole(path, kept | {"problem.stage": wrong})
        with pytest.raises(
            BrokenFile, match="damaged: the memory of problem is invalid: stage must be one number below 3"
        ):
            go(4.0, output=jo.io.Output(checkpoint=path, resume=True))
    write_whole(path, {name: value for name, value in kept.items() if name != "problem.stage"})
    with pytest.raises(BrokenFile, match=r"problem\.stage"):
        go(4.0, output=jo.io.Output(checkpoint=path, resume=True))


class Count(NamedTuple):
    """How often something was called."""

    calls: int


class Counting(Remembers):
    """What remembers how often it was called, and does `act` with that."""

    memory_type = Count

    def __init__(self, act):
        self.act = act

    def __call__(self, *given):
        calls = 0 if self.memory is None else self.memory.calls
        self.memory = Count(calls + 1)
        return self.act(calls, *given)


def runs(where, t, **more):
    """Of a ball that is pushed, stopped or moved by something that counts."""
    act = {
        "until": lambda calls, state: calls >= 34,
        "force": lambda calls, t, q, u: np.array([1.0 if calls % 7 < 3 else -1.5]),
        "changes": lambda calls, state: state.replace(u=state.u + (0.1 if calls % 5 == 0 else 0.0)),
    }[where]
    counting = Counting(act)
    force = counting if where == "force" else [-1.0]
    ball = jo.Motion(q0=[1.0], force=force, within=jo.HalfSpace([1.0]))
    options = {where: counting} if where != "force" else {}
    return jo.solve(ball, jo.Maury(), t=t, h=H, **options, **more)


@pytest.mark.parametrize("where", ["until", "force", "changes"])
def test_conditions_forces_and_changes_may_remember_something(where, tmp_path):
    whole = runs(where, 2.0)
    runs(where, 1.0, output=jo.io.Output(checkpoint=tmp_path / "c"))
    again = runs(where, 2.0, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    assert again.status == whole.status
    assert again.q[-1].tobytes() == whole.q[-1].tobytes()
    assert again.t[-1] == whole.t[-1]
    forgetful = runs(
        where, 2.0, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True)
    )  # the run itself has not changed
    assert forgetful.q[-1].tobytes() == whole.q[-1].tobytes()


@pytest.mark.parametrize("checkpoint", [False, True])
def test_after_a_run_the_memory_is_that_of_its_last_step(checkpoint, tmp_path):
    """The checkpoint of a run that was stopped is that of the step before."""
    stop, output = Counting(lambda calls, state: calls >= 4), jo.io.Output(checkpoint=tmp_path / "c")
    ball = jo.Motion(q0=[1.0], force=[-1.0], within=jo.HalfSpace([1.0]))
    jo.solve(ball, jo.Maury(), t=1.0, h=H, until=stop, output=output if checkpoint else None)
    assert stop.memory == Count(5)


def test_what_is_called_in_one_run_does_not_change_which_run_it_is(tmp_path):
    """The same objects are given again: their memory is no part of what identifies the run."""
    counting = Counting(lambda calls, t, q, u: np.array([1.0 if calls % 7 < 3 else -1.5]))
    ball = jo.Motion(q0=[1.0], force=counting, within=jo.HalfSpace([1.0]))
    whole = jo.solve(ball, jo.Maury(), t=2.0, h=H)
    jo.solve(ball, jo.Maury(), t=1.0, h=H, output=jo.io.Output(checkpoint=tmp_path / "c"))
    again = jo.solve(ball, jo.Maury(), t=2.0, h=H, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    assert again.q[-1].tobytes() == whole.q[-1].tobytes()


def test_a_memory_that_a_checkpoint_cannot_hold_is_refused(tmp_path):
    class Words(Counting):
        memory_type = str

        def __call__(self, state):
            self.memory = "words"
            return False

    ball = jo.Motion(q0=[1.0], force=[-1.0], within=jo.HalfSpace([1.0]))
    with pytest.raises(InvalidValue, match="cannot store the memory of the until, str: it must be a NamedTuple"):
        jo.solve(ball, jo.Maury(), t=0.2, h=H, until=Words(None), output=jo.io.Output(checkpoint=tmp_path / "c"))


def test_only_what_remembers_something_is_found():
    walk = jo.crowds.walk(people().plan, radius=0.25)
    journey = jo.crowds.Journey(walk, [None], people=6, reach=0.5)
    assert isinstance(walk, Remembers)
    assert remembering(walk) is None
    assert remembering(journey) is journey
    behaviour = jo.crowds.Inhibition(journey, 0.25)
    assert remembering(behaviour) is behaviour
    assert behaviour.memory.stage is journey.stage
    assert jo.Sweeping(q0=np.zeros((6, 2)), velocity=walk).past is None
    assert people().past is not None


class Steps(NamedTuple):
    count: np.ndarray


class InPlace(Remembers):
    """True after eight steps; it counts in the array that it remembers."""

    memory_type = Steps

    def __call__(self, state):
        self.memory = self.memory or Steps(np.zeros(1))
        self.memory.count[0] += 1.0
        return bool(self.memory.count[0] >= 8.0)


def test_a_memory_that_changes_in_place_is_copied_into_checkpoints(tmp_path):
    """The last step to 0.55 is not part of a longer run, which continues from the step before, with its memory."""
    ball = jo.Motion(q0=[0.0, 5.0], force=[0.0, -9.81], within=jo.HalfSpace([0, 1]))
    whole = jo.solve(ball, jo.Maury(), t=2.0, h=0.1, until=InPlace())
    jo.solve(ball, jo.Maury(), t=0.55, h=0.1, until=InPlace(), output=jo.io.Output(checkpoint=tmp_path / "run.npz"))
    go_on = jo.io.Output(checkpoint=tmp_path / "run.npz", resume=True)
    assert (
        jo.solve(ball, jo.Maury(), t=2.0, h=0.1, until=InPlace(), output=go_on).t[-1]
        == whole.t[-1]
        == pytest.approx(0.8)
    )

    grid = jo.macro.Grid([0, 0], [4, 1], h=1 / 4, closed=True)
    people = jo.macro.Crowd(grid=grid, density=0.5, velocity=grid.velocity(1.0, 0.0))
    output = jo.io.Output(checkpoint=tmp_path / "density.npz")
    jo.macro.solve(people, jo.macro.Splitting(), t=0.55, h=0.1, until=InPlace(), output=output)
    go_on = replace(output, resume=True)
    resumed = jo.macro.solve(people, jo.macro.Splitting(), t=2.0, h=0.1, until=InPlace(), output=go_on)
    assert resumed.t[-1] == pytest.approx(0.8)


def test_another_condition_starts_without_the_memory_of_the_first(tmp_path):
    """The condition may change when a run is resumed, also to one that remembers something else."""
    ball = jo.Motion(q0=[0.0, 5.0], force=[0.0, -9.81], within=jo.HalfSpace([0, 1]))
    output = jo.io.Output(checkpoint=tmp_path / "run.npz")
    jo.solve(ball, jo.Maury(), t=0.5, h=0.1, until=Counting(lambda calls, state: False), output=output)
    go_on = replace(output, resume=True)
    assert jo.solve(ball, jo.Maury(), t=2.0, h=0.1, until=InPlace(), output=go_on).t[-1] == pytest.approx(1.3)

    grid = jo.macro.Grid([0, 0], [4, 1], h=1 / 4, closed=True)
    people = jo.macro.Crowd(grid=grid, density=0.5, velocity=grid.velocity(1.0, 0.0))
    output, never = jo.io.Output(checkpoint=tmp_path / "density.npz"), Counting(lambda calls, state: False)
    jo.macro.solve(people, jo.macro.Splitting(), t=0.5, h=0.1, until=never, output=output)
    go_on = replace(output, resume=True)
    resumed = jo.macro.solve(people, jo.macro.Splitting(), t=2.0, h=0.1, until=InPlace(), output=go_on)
    assert resumed.t[-1] == pytest.approx(1.3)


class Tally:
    """A change that counts its calls, and does not inherit from `Remembers`."""

    def __init__(self):
        self._calls = 0

    def __call__(self, state):
        self._calls += 1
        return state

    def method(self, state):
        return self(state)


def counting():
    calls = 0

    def change(state):
        nonlocal calls
        calls += 1
        return state

    return change


generator = np.random.default_rng(3)


def shaken(state):
    return state.replace(u=state.u + 1e-3 * generator.normal(size=state.u.shape))


class Patience(Tally):
    def __call__(self, state):
        return super().__call__(state) is None


@pytest.mark.parametrize(
    "change", [Tally, lambda: Tally().method, counting, lambda: partial(counting()), lambda: shaken]
)
def test_a_run_is_resumed_with_a_warning_of_changes_that_are_functions(tmp_path, change):
    ball, output = jo.Motion(q0=[1.0], within=jo.HalfSpace([1.0])), jo.io.Output(checkpoint=tmp_path / "checkpoint")
    still = [Push(0.0), change()]
    jo.solve(ball, jo.Maury(), t=0.1, h=0.025, changes=still, output=output)
    with pytest.warns(jo.errors.NotReproducible, match="the names alone of change1, and nothing"):
        jo.solve(ball, jo.Maury(), t=0.2, h=0.025, changes=still, output=replace(output, resume=True))


def test_a_condition_that_counts_is_a_warning_and_a_function_is_none(tmp_path):
    ball, output = jo.Motion(q0=[1.0], within=jo.HalfSpace([1.0])), jo.io.Output(checkpoint=tmp_path / "checkpoint")
    again = replace(output, resume=True)
    jo.solve(ball, jo.Maury(), t=0.1, h=0.025, output=output)
    jo.solve(ball, jo.Maury(), t=0.2, h=0.025, until=lambda state: False, output=again)
    with pytest.warns(jo.errors.NotReproducible, match="the names alone of until"):
        jo.solve(ball, jo.Maury(), t=0.3, h=0.025, until=Patience(), output=again)


@dataclass(frozen=True)
class Push:
    """A change that is a dataclass: its data are compared."""

    speed: float

    def __call__(self, state):
        return state.replace(u=state.u + self.speed)


def test_changes_that_are_dataclasses_are_compared_by_their_data(tmp_path):
    ball, output = jo.Motion(q0=[1.0], within=jo.HalfSpace([1.0])), jo.io.Output(checkpoint=tmp_path / "checkpoint")
    again = replace(output, resume=True)
    jo.solve(ball, jo.Maury(), t=0.1, h=0.025, changes=Push(0.1), output=output)
    with pytest.raises(InvalidValue, match=r"changes was .*speed was 0\.1, now 0\.2"):
        jo.solve(ball, jo.Maury(), t=0.2, h=0.025, changes=Push(0.2), output=again)
    whole = jo.solve(ball, jo.Maury(), t=0.2, h=0.025, changes=Push(0.1))
    resumed = jo.solve(ball, jo.Maury(), t=0.2, h=0.025, changes=Push(0.1), output=again)
    assert resumed.q[-1].tobytes() == whole.q[-1].tobytes()


def test_functions_without_a_memory_cause_no_warning(tmp_path):
    """Nor do a generator that the checkpoint keeps, and conditions of jostle that keep what they computed."""
    drawing, size, plan = (
        np.random.default_rng(3),
        np.ones(2),
        jo.crowds.Plan([(0, 0), (4, 0), (4, 3), (0, 3)], exits={"door": ((4, 1), (4, 2))}),
    )

    def change(state):
        return state.replace(u=state.u + size[0] * 1e-6 * drawing.normal(size=state.u.shape))

    people = plain_crowd(3, radius=0.2, room=plan, wish=lambda t, q: 0.0 * q, seed=1)
    output = jo.io.Output(checkpoint=tmp_path / "checkpoint", random=drawing)
    sol = jo.solve(people, jo.Venel(), t=0.1, h=0.025, changes=[change], until=plan.empty, output=output)
    assert sol.status == "finished"


def test_a_condition_around_which_a_list_contains_itself_runs_with_checkpoints(tmp_path):
    tree = {"children": [{"children": []}]}
    tree["children"][0]["parent"] = tree
    ball = jo.Motion(q0=[1.0], within=jo.HalfSpace([1.0]))
    output = jo.io.Output(checkpoint=tmp_path / "checkpoint")
    sol = jo.solve(ball, jo.Maury(), t=0.1, h=0.025, until=lambda state: "leaf" in tree, output=output)
    assert sol.status == "finished"


def test_a_memory_that_all_runs_would_share_is_refused():
    with pytest.raises(InvalidValue, match=r"Shared\.memory would belong to all runs at once: leave it out of the cl"):
        type("Shared", (Remembers,), {"memory_type": Count, "memory": None})

    class Alone:
        memory_type, memory = Count, None

        def restore(self, memory):
            self.memory = memory

        def __call__(self, state):
            return False

    ball = jo.Motion(q0=[1.0], force=[-1.0], within=jo.HalfSpace([1.0]))
    with pytest.raises(InvalidValue, match=r"its class must inherit from jostle\.problems\.Remembers"):
        jo.solve(ball, jo.Maury(), t=0.2, h=H, until=Alone())


# Runs of one problem beside each other and inside each other.


def building():
    """A gate, a lift, late entries, waiting areas, families and the quickest way: all that remembers something."""
    ground, upper = [(0, 0), (9, 0), (9, 4), (0, 4)], [(20, 0), (26, 0), (26, 4), (20, 4)]
    lift = jo.crowds.Link(
        "lift", ((20, 1), (20, 2.5)), ((9, 1), (9, 2.5)), length=1.5, every=9.0, travel=2.0, doors=0.5
    )
    exits = {"west": ((0, 1.4), (0, 2.6)), "north": ((4, 4), (5.2, 4))}
    plan = jo.crowds.Plan([ground, upper], exits=exits, links=[lift])
    groups = [
        jo.crowds.Group("above", 3, radius=0.2, start=upper, family=2),
        jo.crowds.Group("here", 6, radius=0.2, start=ground, route=["desk"]),
        jo.crowds.Group("late", 4, radius=0.2, start=ground, enters=[0.5, 1.0, 1.5, 2.0]),
    ]
    gates = [jo.crowds.Gate("west", most=3), jo.crowds.Gate("north", open=[(3.0, 99.0)])]
    stops = {"desk": jo.crowds.Stop((6, 3), dwell=1.0)}
    behaviour = jo.crowds.Pedestrians()
    return plain_crowd(groups, room=plan, gates=gates, stops=stops, behaviour=behaviour, seed=3)


def walked(people, t=4.0, **more):
    return np.array(jo.solve(people, jo.Venel(), t=t, h=H, **more).q).tobytes()


@pytest.fixture(scope="module")
def alone():
    return walked(building())


def test_runs_of_one_problem_in_threads_have_the_bits_of_one_alone(alone):
    people = building()
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda k: walked(people), range(3)))
    assert [one == alone for one in found] == [True] * 3


def test_a_run_inside_another_one_of_the_same_problem_changes_neither(alone):
    people, inside = building(), []

    def look(progress):
        if progress.step == 70:
            inside.append(walked(people))

    assert walked(people, progress=look) == alone
    assert inside == [alone]


def test_runs_after_each_other_have_the_same_bits_and_the_problem_is_that_of_the_user(alone, tmp_path):
    people = building()
    walked(people, t=3.0)
    assert walked(people) == alone
    output = jo.io.Output(tmp_path / "a.vtkhdf", checkpoint=tmp_path / "c", dtype=float)
    walked(people, t=3.0, output=output)
    assert walked(people, output=replace(output, resume=True)) == alone
    assert jo.solve(people, jo.Venel(), t=0.1, h=H).problem is people


def test_conditions_of_the_user_count_for_each_run_alone():
    """Three runs at once with one condition that counts, and one inside another."""
    ball, stop = jo.Motion(q0=[1.0], force=[-1.0], within=jo.HalfSpace([1.0])), Counting(lambda calls, state: calls > 7)

    def go(progress=None):
        return jo.solve(ball, jo.Maury(), t=1.0, h=H, until=stop, progress=progress).t[-1]

    alone, inside = go(), []
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda k: go(), range(3))) == [alone] * 3
    assert go(progress=lambda progress: inside.append(go())) == alone
    assert inside == [alone] * 9
