"""Signals, and exceptions that end programs: the frames that were computed are kept, and the status says what ended."""

import signal

import numpy as np
import pytest

import jostle as jo
from jostle.run.free_flight import FreeFlight
from jostle.run.interrupts import ENDING, ending_signals

H = 1e-3


class Quit(BaseException):
    """An exception of a user that is no error."""


def thrown(error, after):
    """A ball, and the arguments of solve that raise an error after a time."""

    def late(t):
        if t > after:
            raise error

    def force(t, q, u):
        late(t)
        return [0.0, -4.0]

    ball = jo.Motion(q0=[0.0, 2.0], force=force, within=jo.HalfSpace([0, 1]), law=jo.Restitution(0.7))
    calm = jo.Motion(q0=[0.0, 2.0], force=[0.0, -4.0], within=jo.HalfSpace([0, 1]), law=jo.Restitution(0.7))
    return {
        "force": (ball, {}),
        "until": (calm, {"until": lambda state: bool(late(state.t))}),
        "changes": (calm, {"changes": lambda state: late(state.t) or state}),
        "progress": (calm, {"progress": lambda progress: late(progress.t)}),
    }


@pytest.mark.each_value
@pytest.mark.parametrize("where", ["force", "until", "changes", "progress"])
@pytest.mark.parametrize(
    "error", [SystemExit(3), GeneratorExit(), Quit(), MemoryError(), ZeroDivisionError()], ids=repr
)
@pytest.mark.parametrize("every", [None, 7, 0.05])
def test_whatever_a_function_raises_all_computed_frames_are_in_the_file(tmp_path, where, error, every):
    problem, options = thrown(error, after=0.31)[where]
    with pytest.raises(type(error)) as caught:
        jo.solve(problem, jo.Paoli(), t=1.0, h=H, every=every, output=tmp_path / "a.vtkhdf", **options)
    sol = jo.io.read(tmp_path / "a.vtkhdf")
    assert sol.status == ("failed" if isinstance(error, Exception) else "interrupted")
    assert caught.value.solution.t.tolist() == sol.t.tolist()
    done = round(sol.t[-1] / H)
    assert done >= 310
    assert len(sol.stats) == done  # the state of the last recorded step is there, whatever `every` is
    if every is None:
        assert len(sol.t) == done + 1


def test_an_interruption_names_the_last_step_also_in_free_flight(monkeypatch):
    flights = []

    def over(self, *arguments):
        state, number = real(self, *arguments)
        flights.append(number)
        if number > 2000:
            signal.raise_signal(signal.SIGINT)
        return state, number

    real = FreeFlight.over
    monkeypatch.setattr(FreeFlight, "over", over)
    ball = jo.Motion(q0=[0.0, 40.0], force=[0.0, -1.0], within=jo.HalfSpace([0, 1]), law=jo.Restitution(1.0))
    for every in (None, 400, 0.7):
        with pytest.raises(jo.errors.Interrupted) as caught:
            jo.solve(ball, jo.Paoli(), t=100.0, h=H, every=every)
        sol, step = caught.value.solution, flights[-1]
        assert step - flights[-2] > 100  # it came in a flight
        assert str(caught.value) == f"interrupted after step {step}, t = {sol.t[-1]:.6g}"
        assert len(sol.stats) == step == round(sol.t[-1] / H)
        assert every or len(sol.t) == step + 1


def test_a_resumed_run_that_is_interrupted_counts_its_steps_from_the_start(tmp_path):
    output = jo.io.Output(tmp_path / "a.vtkhdf", checkpoint=tmp_path / "a.checkpoint")
    again = jo.io.Output(tmp_path / "a.vtkhdf", checkpoint=tmp_path / "a.checkpoint", resume=True)
    ball = jo.Motion(q0=[0.0, 2.0], force=[0.0, -4.0], within=jo.HalfSpace([0, 1]), law=jo.Restitution(0.7))
    for stop, out in ((37, output), (55, again)):

        def press(progress, stop=stop):
            if progress.step == stop:
                signal.raise_signal(signal.SIGINT)

        with pytest.raises(jo.errors.Interrupted, match=f"after step {stop}, "):
            jo.solve(ball, jo.Paoli(), t=0.1, h=H, output=out, progress=press)
        assert len(jo.io.read(tmp_path / "a.vtkhdf").t) == stop + 1


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_that_ends_programs_interrupts_a_run_where_it_is_asked_to(number):
    ball = jo.Motion(q0=[1.0], force=[-1.0], within=jo.HalfSpace([1.0]))

    def end(progress):
        if progress.step == 4:
            signal.raise_signal(number)

    with ending_signals(), pytest.raises(jo.errors.Interrupted, match="after step 4, ") as caught:
        jo.solve(ball, jo.Maury(), t=0.1, h=H, progress=end)
    assert caught.value.signal == number
    assert signal.getsignal(number) is signal.SIG_DFL
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(jo.errors.Interrupted, match="after step 4, "):
            jo.solve(ball, jo.Maury(), t=0.1, h=H, progress=end)
        assert signal.getsignal(number) is signal.default_int_handler
        signal.signal(number, signal.SIG_IGN)  # as nohup does
        with ending_signals():
            assert jo.solve(ball, jo.Maury(), t=0.1, h=H, progress=end).status == "finished"
    finally:
        signal.signal(number, before)


def test_a_signal_while_the_checkpoint_of_an_interruption_is_written_closes_the_file(tmp_path, monkeypatch):
    def twice(progress):
        if progress.step == 5:
            signal.raise_signal(signal.SIGINT)
            monkeypatch.setattr("jostle.io.checkpoint.write_whole", lambda *_, **__: signal.raise_signal(signal.SIGINT))

    ball = jo.Motion(q0=[1.0], force=[-1.0], within=jo.HalfSpace([1.0]))
    output = jo.io.Output(tmp_path / "a.vtkhdf", checkpoint=tmp_path / "a.checkpoint")
    with pytest.raises(KeyboardInterrupt):
        jo.solve(ball, jo.Maury(), t=0.1, h=H, output=output, progress=twice)
    sol = jo.io.read(tmp_path / "a.vtkhdf")
    assert (sol.status, len(sol.t)) == ("interrupted", 6)


def test_the_frames_of_a_density_are_kept_at_system_exit(tmp_path):
    grid = jo.macro.Grid([0, 0], [1, 1], h=1 / 8, closed=True)
    block = grid.block([0, 0], [0.5, 1])

    def velocity(t, q):
        if t > 0.3:
            raise SystemExit(1)
        return np.full_like(q, 0.1)

    people = jo.macro.Crowd(grid=grid, density=0.5 * block, velocity=velocity)
    with pytest.raises(SystemExit):
        jo.macro.solve(people, jo.macro.Splitting(), t=1.0, h=0.02, output=tmp_path / "a.vtkhdf")
    images = jo.io.read_images(tmp_path / "a.vtkhdf")
    assert images.status == "interrupted"
    assert len(images.t) == len(images.steps) + 1 > 14
