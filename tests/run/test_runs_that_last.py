"""Output, checkpoints, Ctrl-C: a run that was interrupted and resumed is the run that was not, to the bit."""

import os
import signal
import tempfile
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jostle as jo
from jostle.contacts import Contacts
from jostle.errors import BrokenFile, FileIsThere, InvalidValue, NoSuchFile, WriteFailed
from jostle.io.checkpoint import read_whole, write_whole
from jostle.kernels import parallel as kernels
from numbers_of_files import contents
from plain import crowd as plain_crowd
from rows import examples, few


def pile(n=40, **more):
    return jo.models.spheres(np.linspace(0.3, 0.5, n), box=([0, 0], [6, np.inf]), **more)


def bouncing():
    q0 = [[0.5, 1.0], [1.7, 1.4], [0.9, 2.6]]
    within = jo.Balls([0.4, 0.5, 0.3]) & jo.Box([0, 0], [3, np.inf], radii=[0.4, 0.5, 0.3])
    return jo.Motion(q0=q0, v0=[[1, 0], [-1, 0], [0, 0]], force=[0, -9.81], within=within, law=jo.Restitution(0.6))


def crowd():
    room = jo.crowds.Room([(0, 0), (6, 0), (6, 5), (0, 5)], doors=[((6, 2), (6, 3.2))])
    return plain_crowd(30, radius=0.25, room=room, speed=1.4)


def sticky():
    press = lambda t, q: np.where(t < 0.4, -5.0, 4.0) * np.array([0.0, 1.0]) + 0.0 * q  # noqa: E731
    return jo.Motion(q0=[[0.0, 0.5], [1.2, 0.5]], force=press, within=jo.HalfSpace([0, 1], radii=0.5))


def rain():
    within = jo.Balls(np.full(30, 0.3)) & jo.Box([0, 0], [4, np.inf], radii=0.3)
    return jo.Motion(q0=np.zeros((30, 2)), force=[0.0, -5.0], within=within, present=np.zeros(30, dtype=bool))


def weather(problem):
    source = jo.Source(([0.5, 4], [3.5, 6]), rate=15.0, within=problem.within, seed=3)
    return {"changes": [source, jo.Outlet(lambda q: q[:, 1] < 0.5)]}


RUNS = {
    "Maury": (pile, jo.Maury(), {}),
    "many": (lambda: pile(150), jo.Maury(solver=jo.Automatic(tol=1e-6)), {}),
    "Budget": (lambda: pile(150), jo.Maury(solver=jo.GaussSeidel(max_iterations=30, budget=True)), {}),
    "Paoli": (bouncing, jo.Paoli(), {}),
    "MoreauJean": (bouncing, jo.MoreauJean(), {}),
    "Venel": (crowd, jo.Venel(), {}),
    "CatchingUp": (crowd, jo.CatchingUp(), {}),
    "Gluey": (sticky, jo.Gluey(), {}),
    "sources": (rain, jo.Maury(), weather),
}
STEPS, STEP = 45, 0.02
"""The number and the length of the steps of each of these runs."""
H = 0.01


def follow(name, folder, resume=False, **more):
    make, scheme, rest = RUNS[name]
    problem = make()
    output = jo.io.Output(
        folder / "run.vtkhdf",
        contacts=True,
        dtype=np.float64,
        checkpoint=folder / "run.checkpoint",
        resume=resume,
    )
    extra = rest(problem) if callable(rest) else rest
    return jo.solve(problem, scheme, t=STEPS * STEP, h=STEP, output=output, every=0.07, **extra, **more)


@pytest.fixture(scope="module", params=few(RUNS))
def never_interrupted(request, tmp_path_factory):
    """The name of a run, its folder and its solution."""
    folder = tmp_path_factory.mktemp("whole")
    return request.param, folder, follow(request.param, folder)


def ctrl_c(step):
    def at(progress):
        if progress.step == step:
            signal.raise_signal(signal.SIGINT)

    return at


def test_a_resumed_run_is_the_run_that_was_never_interrupted(never_interrupted, tmp_path):
    name, whole, expected = never_interrupted
    for step in (1, 20, 21):
        with pytest.raises(jo.errors.Interrupted, match=f"after step {step}, t = .*run.checkpoint has the state"):
            follow(name, tmp_path, progress=ctrl_c(step), resume=step > 1)
        assert jo.io.read(tmp_path / "run.vtkhdf").status == "interrupted"
    sol = follow(name, tmp_path, resume=True)
    assert (sol.status, len(sol.stats)) == (expected.status, STEPS)
    assert contents(tmp_path / "run.vtkhdf") == contents(whole / "run.vtkhdf")
    mine, theirs = (read_whole(folder / "run.checkpoint") for folder in (tmp_path, whole))
    assert {key: value.tobytes() for key, value in mine.items()} == {k: v.tobytes() for k, v in theirs.items()}


def test_the_file_holds_what_a_run_in_memory_returns(never_interrupted):
    name, _, sol = never_interrupted
    make, scheme, rest = RUNS[name]
    problem = make()
    extra = rest(problem) if callable(rest) else rest
    kept = jo.solve(problem, scheme, t=STEPS * STEP, h=STEP, every=0.07, **extra)
    assert sol.status == kept.status
    assert sol.t.tolist() == kept.t.tolist()
    np.testing.assert_array_equal(sol.q[:], kept.q)
    np.testing.assert_array_equal(sol.u[:], kept.u)
    assert sol.stats.tobytes() == kept.stats.tobytes()
    for k in range(len(kept.t)):
        active = kept.multipliers[k] != 0.0
        assert sol.multipliers[k].tolist() == kept.multipliers[k][active].tolist()
        assert sol.pairs[k].tolist() == kept.pairs[k][active].tolist()


def test_a_run_can_go_on_for_longer_than_was_planned(tmp_path):
    file = tmp_path / "c"
    jo.solve(pile(), jo.Maury(), t=0.2, h=H, output=jo.io.Output(checkpoint=file))
    rest = jo.solve(pile(), jo.Maury(), t=0.5, h=H, output=jo.io.Output(checkpoint=file, resume=True))
    whole = jo.solve(pile(), jo.Maury(), t=0.5, h=H)
    assert rest.t[0] == pytest.approx(0.2)
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()
    again = jo.solve(
        pile(), jo.Maury(), t=0.5, h=H, output=jo.io.Output(checkpoint=file, resume=True)
    )  # nothing is left to do
    assert (again.status, len(again.stats)) == ("finished", 0)


def swing():
    """Time and place matter, so that a step at another time shows in the last bit."""
    return jo.Motion(q0=[0.3], v0=[1.0], force=lambda t, q: np.cos(7.0 * t) - 3.0 * q, within=jo.HalfSpace([1.0], -2.0))


def test_a_run_whose_last_step_was_shortened_goes_on_over_all_of_the_time(tmp_path):
    free = jo.Motion(q0=[0.0], v0=[1.0])
    jo.solve(free, jo.Maury(), t=0.5, h=0.03, output=jo.io.Output(checkpoint=tmp_path / "c"))
    rest = jo.solve(free, jo.Maury(), t=1.0, h=0.03, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    assert rest.t[0] == pytest.approx(0.48)
    assert rest.q[-1][0] == pytest.approx(1.0, rel=1e-14)
    assert rest.stats["h"].sum() == pytest.approx(0.52, rel=1e-14)


@given(t=st.floats(0.01, 0.5), more=st.floats(0.0, 0.5), h=st.floats(0.01, 0.2), parts=st.integers(1, 3))
@settings(max_examples=examples(12), deadline=None)
@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Paoli(), jo.MoreauJean()], ids=lambda scheme: type(scheme).__name__)
def test_a_run_that_goes_on_for_longer_is_the_longer_run(scheme, t, more, h, parts):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "c")
        for part in range(parts + 1):
            end = t + more * (part / parts)
            rest = jo.solve(swing(), scheme, t=end, h=h, output=jo.io.Output(checkpoint=file, resume=part > 0))
            assert rest.t[-1] == pytest.approx(end, rel=1e-15)
    whole = jo.solve(swing(), scheme, t=end, h=h)
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()
    assert rest.u[-1].tobytes() == whole.u[-1].tobytes()
    assert rest.stats["t"].tolist() == whole.stats["t"][len(whole.stats) - len(rest.stats) :].tolist()


@pytest.mark.each_value
@pytest.mark.parametrize("every", [None, 7, 0.11])
@pytest.mark.parametrize("h", [0.03, np.array([0.05, 0.2, 0.05, 0.1, 0.1])])
def test_the_file_of_a_run_that_went_on_is_that_of_the_longer_run(tmp_path, every, h):
    """The frame that was saved because it was the last, and the step that was cut, are replaced."""
    for name, ends in (("whole", [1.0]), ("parts", [0.25, 0.4, 1.0])):
        for k, end in enumerate(ends):
            steps = h if np.ndim(h) == 0 else np.tile(h, 2)[: np.searchsorted(np.cumsum([*h, *h]), end - 1e-9) + 1]
            path = tmp_path / f"{name}.vtkhdf"
            output = jo.io.Output(path, dtype=np.float64, checkpoint=tmp_path / name, resume=k > 0)
            sol = jo.solve(swing(), jo.Maury(), t=end, h=steps, every=every, output=output)
            assert sol.t[-1] == end
    parts, whole = contents(tmp_path / "parts.vtkhdf"), contents(tmp_path / "whole.vtkhdf")
    assert parts.pop("jostle/changes") != whole.pop("jostle/changes") == b""
    assert parts == whole


def test_other_steps_than_those_that_were_done_are_refused(tmp_path):
    steps = np.array([0.125, 0.25, 0.5])
    jo.solve(swing(), jo.Maury(), t=0.875, h=steps, output=jo.io.Output(checkpoint=tmp_path / "c"))
    again = {"output": jo.io.Output(checkpoint=tmp_path / "c", resume=True)}
    for other in (np.array([0.25, 0.125, 0.5, 0.1]), np.array([0.125, 0.25])):
        with pytest.raises(InvalidValue, match=r"h was 3 steps|cannot go back"):
            jo.solve(swing(), jo.Maury(), t=float(other.sum()), h=other, **again)
    with pytest.raises(InvalidValue, match=r"h was 3 steps .*, now it is 0\.1"):
        jo.solve(swing(), jo.Maury(), t=1.0, h=0.1, **again)


def test_a_run_does_not_go_back_in_time(tmp_path):
    jo.solve(swing(), jo.Maury(), t=0.5, h=0.03, output=jo.io.Output(checkpoint=tmp_path / "c"))
    for end in (0.47, 0.3, 0.0):
        with pytest.raises(InvalidValue, match=r"has reached t = 0\.48, and cannot go back to t = "):
            jo.solve(swing(), jo.Maury(), t=end, h=0.03, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    sol = jo.solve(swing(), jo.Maury(), t=0.49, h=0.03, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    assert sol.q[-1].tobytes() == jo.solve(swing(), jo.Maury(), t=0.49, h=0.03).q[-1].tobytes()


@pytest.mark.filterwarnings("ignore:the checkpoint does not contain what functions remember.* seen of until")
def test_until_sees_the_same_contacts_after_a_resume(tmp_path):
    """Also when the run had ended: the last step is computed again, and not judged by what the checkpoint has of it."""
    seen = []

    def heavy(state):
        seen.append(type(state.contacts))
        return float(state.contacts.gap.min()) < 0.05

    ball = jo.Motion(q0=[1.0], force=[-1.0], within=jo.HalfSpace([1.0]))
    first = jo.solve(ball, jo.Maury(), t=3.0, h=H, until=heavy, output=jo.io.Output(checkpoint=tmp_path / "c"))
    again = jo.solve(
        ball, jo.Maury(), t=3.0, h=H, until=heavy, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True)
    )
    assert (again.status, again.t[-1]) == (first.status, first.t[-1]) == ("stopped", first.t[-1])
    assert set(seen) == {Contacts}


def test_a_run_that_was_stopped_and_goes_on_to_its_end_is_finished(tmp_path):
    output = jo.io.Output(tmp_path / "a.vtkhdf", checkpoint=tmp_path / "a.checkpoint")
    first = jo.solve(swing(), jo.Maury(), t=1.0, h=H, until=lambda state: state.t > 0.2, output=output)
    assert first.status == "stopped"
    go_on = replace(output, resume=True)
    second = jo.solve(swing(), jo.Maury(), t=1.0, h=H, until=lambda state: False, output=go_on)
    assert (second.status, second.t[-1]) == ("finished", 1.0)
    assert jo.io.read(tmp_path / "a.vtkhdf").status == "finished"
    third = jo.solve(swing(), jo.Maury(), t=1.0, h=H, output=go_on)
    assert (third.status, third.message) == ("finished", "reached the end time")


def test_steps_that_were_not_solved_are_remembered_by_a_resumed_run(tmp_path):
    column = jo.Motion(q0=[0.5, 1.5, 2.5], force=[-9.81] * 3, within=jo.Line([0.5] * 3, lower=0.0))
    hurried = jo.Maury(solver=jo.GaussSeidel(max_iterations=1))
    for resume in (False, True):
        output = jo.io.Output(checkpoint=tmp_path / "c", resume=resume)
        sol = jo.solve(column, hurried, t=0.375, h=0.125, strict=False, output=output)  # no step is done again
        assert (sol.status, len(sol.stats)) == ("not converged", 0 if resume else 3)


def test_what_changes_when_a_run_is_resumed_is_recorded_in_its_file(tmp_path):
    path = tmp_path / "a.vtkhdf"

    def run(text, t, every, resume):
        output = jo.io.Output(path, about={"scenario": text}, checkpoint=tmp_path / "c", resume=resume)
        return jo.solve(swing(), jo.Maury(), t=t, h=H, every=every, output=output)

    run("old", 0.2, 0.1, False)
    assert "changes" not in jo.io.about(path)
    run("old", 0.2, 0.1, True)
    assert "changes" not in jo.io.about(path)
    run("new", 0.4, 0.05, True)
    run("new", 0.5, 0.05, True)
    about = jo.io.about(path)
    assert about["scenario"] == "new"
    first, second = about["changes"].splitlines()
    assert "resumed after step 20, t = 0.2: t was 0.2, now 0.4; every was 0.1, now 0.05; scenario changed" in first
    assert second.endswith("t was 0.4, now 0.5")
    copy = jo.io.export(path, tmp_path / "copy.vtkhdf")
    assert jo.io.about(copy) == about


@pytest.fixture
def threads():
    """threads(n) makes the kernels use n threads, for this test."""
    before = kernels.threads()
    if before < 2:
        pytest.skip("this machine has one core")
    yield kernels.use_threads
    kernels.use_threads(before)


def test_a_resume_with_another_number_of_threads_has_the_same_bits_and_records_it(tmp_path, threads, monkeypatch):
    """Rows are swept in blocks of space, whoever sweeps them: here in a small problem too."""
    monkeypatch.setattr("jostle.kernels.cpu.arrangement.BLOCKED_ROWS", 50)
    monkeypatch.setattr("jostle.kernels.cpu.arrangement.ROWS_A_BLOCK", 20)
    monkeypatch.setattr("jostle.solvers.gauss_seidel.PARALLEL_ROWS", 50)
    monkeypatch.setattr("jostle.solvers.gauss_seidel.ROWS_A_THREAD", 10)
    pile = jo.models.spheres(np.full(150, 0.5), box=([0, 0], [12, np.inf]))
    scheme = jo.Maury(solver=jo.GaussSeidel(tol=1e-6))

    def solved(t, name, resume=False):
        path = tmp_path / f"{name}.vtkhdf"
        output = jo.io.Output(path, checkpoint=path.with_suffix(".checkpoint"), resume=resume)
        return jo.solve(pile, scheme, t=t, h=0.02, every=0.2, output=output)

    threads(1)
    alone = solved(0.6, "alone")
    assert alone.stats["rows"].max() > 100
    solved(0.3, "shared")
    threads(2)
    shared = solved(0.6, "shared", resume=True)
    assert shared.q[-1].tobytes() == alone.q[-1].tobytes()
    words = jo.io.about(tmp_path / "shared.vtkhdf")
    assert words["threads"] == "2"
    assert "threads was 1, now 2" in words["changes"].splitlines()[-1]


def test_saving_that_changes_at_a_resume_goes_on_with_the_new_times(tmp_path):
    jo.solve(swing(), jo.Maury(), t=0.5, h=H, every=0.01, output=jo.io.Output(checkpoint=tmp_path / "c"))
    rest = jo.solve(
        swing(), jo.Maury(), t=1.0, h=H, every=0.2, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True)
    )
    np.testing.assert_allclose(rest.t, [0.5, 0.6, 0.8, 1.0], rtol=1e-12)


def test_an_output_of_another_kind_is_refused_at_a_resume(tmp_path):
    output = jo.io.Output(tmp_path / "a.vtkhdf", checkpoint=tmp_path / "c")
    jo.solve(swing(), jo.Maury(), t=0.1, h=H, output=output)
    for other, words in (
        (replace(output, dtype=np.float64, resume=True), "dtype = float32, now it is float64"),
        (replace(output, contacts=True, resume=True), "contacts = False, now it is True"),
    ):
        with pytest.raises(InvalidValue, match=words):
            jo.solve(swing(), jo.Maury(), t=0.2, h=H, output=other)


def test_a_generator_goes_on_where_the_step_before_the_end_left_it(tmp_path):
    """The last step was cut to end at t: the longer run draws its numbers again."""

    def run(checkpoint, t, resume=False):
        random = np.random.default_rng(5)
        kick = jo.Motion(q0=np.zeros(3), force=lambda t, q: random.normal(size=3))
        keep = None if checkpoint is None else jo.io.Output(checkpoint=checkpoint, random=random, resume=resume)
        return jo.solve(kick, jo.Maury(), t=t, h=0.03, output=keep)

    run(tmp_path / "c", t=0.5)
    rest, whole = run(tmp_path / "c", t=1.0, resume=True), run(None, t=1.0)
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()


def test_a_checkpoint_of_another_run_is_not_replaced(tmp_path):
    file, text = tmp_path / "c", tmp_path / "notes"
    jo.solve(swing(), jo.Maury(), t=0.1, h=H, output=jo.io.Output(checkpoint=file))
    jo.solve(swing(), jo.Maury(), t=0.2, h=H, output=jo.io.Output(checkpoint=file))  # the same run
    before = file.read_bytes()
    with pytest.raises(FileIsThere, match=r"checkpoint of another run \(h was 0\.01, now it is 0\.02\)"):
        jo.solve(swing(), jo.Maury(), t=0.1, h=2 * H, output=jo.io.Output(checkpoint=file))
    assert file.read_bytes() == before
    text.write_text("my notes")
    for overwrite in (False, True):
        with pytest.raises(FileIsThere, match="is not replaced"):
            jo.solve(swing(), jo.Maury(), t=0.1, h=H, output=jo.io.Output(checkpoint=text, overwrite=overwrite))
    assert text.read_text() == "my notes"
    jo.solve(swing(), jo.Maury(), t=0.1, h=2 * H, output=jo.io.Output(checkpoint=file, overwrite=True))
    assert file.read_bytes() != before


def test_impacts_of_a_resumed_run_are_those_that_come_after():
    problem = jo.Motion(q0=[0.0], force=[-1.0], within=jo.HalfSpace([1.0]))  # at rest: it touches all the time
    whole = jo.solve(problem, jo.Maury(), t=1.0, h=H)
    state = jo.Maury().step(problem, jo.Maury().start(problem, 0.0), H)
    from jostle.result.recording import ImpactLog

    assert ImpactLog(problem, jo.Maury(), state).memory.touching.tolist() == [[0, -1]]
    assert len(whole.impacts()) == 0


def test_a_random_force_goes_on_with_the_same_numbers(tmp_path):
    def run(checkpoint, t, resume=False):
        random = np.random.default_rng(5)
        kick = jo.Motion(q0=np.zeros(3), force=lambda t, q: random.normal(size=3))
        keep = None if checkpoint is None else jo.io.Output(checkpoint=checkpoint, random=random, resume=resume)
        return jo.solve(kick, jo.Maury(), t=t, h=H, output=keep)

    run(tmp_path / "c", t=0.3)
    rest, whole = run(tmp_path / "c", t=1.0, resume=True), run(None, t=1.0)
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()


def test_nobody_draws_from_the_generator_of_a_run_to_examine_a_stiff_force(tmp_path):
    def run(checkpoint, t, resume=False):
        random = np.random.default_rng(5)
        spring = jo.Motion(q0=[1.0], force=lambda t, q: -5e4 * q * random.uniform(0.9, 1.1, 1))
        keep = jo.io.Output(checkpoint=checkpoint, random=random, resume=resume)
        return jo.solve(spring, jo.Maury(), t=t, h=H, output=keep)

    run(tmp_path / "c", t=2 * H)
    rest, whole = run(tmp_path / "c", t=0.3, resume=True), run(tmp_path / "whole", t=0.3)
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()


def test_checkpoints_of_other_runs_are_refused(tmp_path):
    file = tmp_path / "c"
    jo.solve(pile(), jo.Maury(), t=0.1, h=H, output=jo.io.Output(checkpoint=file))
    with pytest.raises(InvalidValue, match=r"belongs to another run: h was 0\.01, now it is 0\.02"):
        jo.solve(pile(), jo.Maury(), t=0.2, h=0.02, output=jo.io.Output(checkpoint=file, resume=True))
    with pytest.raises(InvalidValue, match="problem was Motion"):
        jo.solve(pile(seed=7), jo.Maury(), t=0.2, h=H, output=jo.io.Output(checkpoint=file, resume=True))
    with pytest.raises(InvalidValue, match="scheme was Maury"):
        jo.solve(pile(), jo.Maury(solver=jo.ActiveSet()), t=0.2, h=H, output=jo.io.Output(checkpoint=file, resume=True))


def test_a_checkpoint_with_a_negative_number_of_steps_is_damaged(tmp_path):
    file = tmp_path / "c"
    jo.solve(swing(), jo.Maury(), t=0.1, h=H, output=jo.io.Output(checkpoint=file))
    write_whole(file, read_whole(file) | {"step": -1})
    with pytest.raises(BrokenFile, match=r"step.* not negative"):
        jo.solve(swing(), jo.Maury(), t=0.2, h=H, output=jo.io.Output(checkpoint=file, resume=True))


def test_what_cannot_be_resumed_says_so(tmp_path):
    with pytest.raises(InvalidValue, match="resume needs a checkpoint"):
        jo.io.Output(tmp_path / "run.vtkhdf", resume=True)
    with pytest.raises(NoSuchFile, match="there is no checkpoint"):
        jo.solve(pile(), jo.Maury(), t=0.1, h=H, output=jo.io.Output(checkpoint=tmp_path / "none", resume=True))
    broken = tmp_path / "broken"
    for content in (b"", b"nonsense", b"PK\x03\x04 half a zip"):
        broken.write_bytes(content)
        with pytest.raises(BrokenFile, match="broken is not a checkpoint"):
            jo.solve(pile(), jo.Maury(), t=0.1, h=H, output=jo.io.Output(checkpoint=broken, resume=True))
    with pytest.raises(InvalidValue, match="seconds"):
        jo.io.Output(checkpoint=broken, seconds=-1.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs the name of a trajectory, of a checkpoint, or both"),
        ({"path": "run.vtkhdf", "resume": True}, "resume needs a checkpoint"),
        ({"path": "run.vtkhdf", "random": np.random.default_rng(0)}, "random needs a checkpoint"),
        ({"checkpoint": "c", "contacts": True}, "contacts, .* belong to a trajectory"),
        ({"checkpoint": "c", "dtype": np.float32}, "belong to a trajectory"),
        ({"checkpoint": "c", "units": jo.io.SI}, "belong to a trajectory"),
        ({"path": "c", "checkpoint": "./c"}, "output and checkpoint are both c: choose two names"),
    ],
)
def test_options_without_their_file_are_refused(options, words):
    with pytest.raises(InvalidValue, match=words):
        jo.io.Output(**options)


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(tmp_path):
    file = tmp_path / "c"
    jo.solve(pile(), jo.Maury(), t=0.1, h=H, output=jo.io.Output(checkpoint=file))
    before = file.read_bytes()
    tmp_path.chmod(0o500)
    try:
        if os.access(tmp_path, os.W_OK):
            pytest.skip("this user may write everywhere")
        with pytest.raises(WriteFailed, match=r"the checkpoint .* cannot be written"):
            jo.solve(pile(), jo.Maury(), t=0.2, h=H, output=jo.io.Output(checkpoint=file, resume=True))
    finally:
        tmp_path.chmod(0o700)
    assert file.read_bytes() == before
    with pytest.raises(WriteFailed, match=r"the checkpoint .* cannot be written: No such file"):
        jo.solve(pile(), jo.Maury(), t=0.1, h=H, output=jo.io.Output(checkpoint=tmp_path / "no" / "folder"))
    assert os.listdir(tmp_path) == ["c"]


def test_an_output_that_is_there_is_not_replaced(tmp_path):
    jo.solve(pile(), jo.Maury(), t=0.1, h=H, output=tmp_path / "run.vtkhdf")
    before = (tmp_path / "run.vtkhdf").read_bytes()
    with pytest.raises(FileIsThere, match=r"run\.vtkhdf"):
        jo.solve(pile(), jo.Maury(), t=0.1, h=H, output=tmp_path / "run.vtkhdf")
    assert (tmp_path / "run.vtkhdf").read_bytes() == before


def test_a_trajectory_of_another_run_is_not_cut_by_a_resume(tmp_path):
    """A checkpoint counts frames: those of another file must not be dropped for it."""
    file, mine, other = tmp_path / "c", tmp_path / "mine.vtkhdf", tmp_path / "other.vtkhdf"
    jo.solve(pile(), jo.Maury(), t=0.1, h=H, output=jo.io.Output(mine, checkpoint=file))
    jo.solve(pile(), jo.Maury(), t=0.4, h=H / 2, output=other)
    short = tmp_path / "short.vtkhdf"
    jo.solve(pile(), jo.Maury(), t=0.02, h=H, output=short)
    for path, words in ((other, "belongs to another run: its step 10 ends at"), (short, "fewer than the checkpoint")):
        before = path.read_bytes()
        with pytest.raises(InvalidValue, match=words):
            jo.solve(pile(), jo.Maury(), t=0.2, h=H, output=jo.io.Output(path, checkpoint=file, resume=True))
        assert path.read_bytes() == before
    jo.solve(pile(), jo.Maury(), t=0.1, h=H, output=jo.io.Output(checkpoint=file))
    with pytest.raises(InvalidValue, match=r"run without a trajectory: it cannot be continued with .*mine\.vtkhdf"):
        jo.solve(pile(), jo.Maury(), t=0.2, h=H, output=jo.io.Output(mine, checkpoint=file, resume=True))
    assert len(jo.io.read(mine).t) == 11


def test_a_memory_that_cannot_be_kept_is_refused(tmp_path):
    class Forgetful(jo.Maury):
        def step(self, problem, state, h):
            return super().step(problem, state, h).replace(memory=self.note)

    for note in ("words", type("Note", (), {"_asdict": lambda self: {"a": object()}})()):
        Forgetful.note = note
        with pytest.raises(InvalidValue, match=r"cannot store the memory of this scheme.*`memory_type`"):
            jo.solve(pile(), Forgetful(), t=0.05, h=H, output=jo.io.Output(checkpoint=tmp_path / "c"))


def test_an_error_in_the_middle_keeps_what_was_computed(tmp_path):
    def force(t, q):
        return np.full_like(q, np.nan if t > 0.3 else -1.0)

    problem = jo.Motion(q0=np.zeros((3, 2)), force=force)
    with pytest.raises(jo.errors.NotFinite, match=r"step 3\d") as caught:
        jo.solve(problem, jo.Maury(), t=1.0, h=H, every=0.1, output=tmp_path / "run.vtkhdf")
    sol = jo.io.read(tmp_path / "run.vtkhdf")
    assert sol.status == caught.value.solution.status == "failed"
    assert sol.t[-1] == pytest.approx(0.3, abs=2 * H)
    assert len(sol.stats) == round(sol.t[-1] / H)


def test_a_progress_that_fails_ends_the_run_and_closes_its_file(tmp_path):
    def fail(progress):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        jo.solve(pile(), jo.Maury(), t=0.1, h=H, every=0.05, output=tmp_path / "run.vtkhdf", progress=fail)
    assert jo.io.read(tmp_path / "run.vtkhdf").status == "failed"


def test_progress_tells_each_step():
    seen = []
    jo.solve(pile(), jo.Maury(), t=0.105, h=H, progress=seen.append)
    assert [p.step for p in seen] == list(range(1, 12))
    assert {p.steps for p in seen} == {11}
    assert {p.end for p in seen} == {0.105}
    assert seen[-1].t == 0.105
    assert all(p.state.projection is not None for p in seen)


def test_ctrl_c_comes_after_the_step_and_a_second_one_at_once():
    with pytest.raises(jo.errors.Interrupted) as caught:
        jo.solve(pile(), jo.Maury(), t=1.0, h=H, progress=ctrl_c(7))
    assert len(caught.value.solution.stats) == 7
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def twice(t, q):
        if t > 0.05:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return 0.0 * q

    with pytest.raises(KeyboardInterrupt) as caught:
        jo.solve(jo.Motion(q0=[0.0], force=twice), jo.Maury(), t=1.0, h=H)
    assert not isinstance(caught.value, jo.errors.Interrupted)
    assert len(caught.value.solution.stats) == 5
    assert caught.value.solution.status == "interrupted"


def test_ctrl_c_in_the_last_step_is_no_interruption():
    assert jo.solve(pile(), jo.Maury(), t=0.1, h=H, progress=ctrl_c(10)).status == "finished"


def test_threads_and_other_handlers_are_left_alone():
    found = []
    worker = threading.Thread(target=lambda: found.append(jo.solve(pile(), jo.Maury(), t=0.1, h=H).status))
    worker.start()
    worker.join()
    assert found == ["finished"]
    mine = lambda *_: found.append("mine")  # noqa: E731
    before = signal.signal(signal.SIGINT, mine)
    try:
        assert jo.solve(pile(), jo.Maury(), t=0.1, h=H, progress=ctrl_c(3)).status == "finished"
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)
    assert found[-1] == "mine"


def test_a_full_disk_is_a_clear_error_and_loses_nothing(tmp_path, full_disk, capfd, monkeypatch):
    path = tmp_path / "run.vtkhdf"
    monkeypatch.setattr("jostle.io.growing.COMMIT_INTERVAL", 0.02)
    jo.solve(pile(), jo.Maury(), t=10 * H, h=H)  # what it compiles is kept before the disk is full
    with full_disk(900_000), pytest.raises(WriteFailed, match="frames are safe") as failed:
        jo.solve(pile(), jo.Maury(), t=200.0, h=H, output=path)
    assert capfd.readouterr() == ("", "")  # HDF5 says nothing either
    sol = jo.io.read(path)
    assert failed.value.solution.t.tolist() == sol.t.tolist()
    assert len(sol.t) > 10
    assert np.isfinite(sol.q[:]).all()


def test_a_run_that_is_resumed_at_its_end_keeps_its_last_frame(tmp_path):
    """The end is saved although it is no multiple of `every`."""
    output = jo.io.Output(tmp_path / "a.vtkhdf", checkpoint=tmp_path / "a.checkpoint")
    first = jo.solve(bouncing(), jo.Paoli(), t=1.0, h=0.1, every=3, output=output)
    again = jo.solve(bouncing(), jo.Paoli(), t=1.0, h=0.1, every=3, output=replace(output, resume=True))
    assert again.t[:].tolist() == first.t[:].tolist()
    assert again.t[-1] == 1.0


def test_a_run_that_has_ended_is_not_gone_on_with(tmp_path):
    """`until` was true: to resume it changes nothing; to ask for more does."""
    ball = jo.Motion(q0=[0.0, 1.0], force=[0.0, -1.0], within=jo.HalfSpace([0, 1]))
    output = jo.io.Output(tmp_path / "a.vtkhdf", checkpoint=tmp_path / "a.checkpoint")

    def fallen(height):
        return lambda state: state.q[1] < height

    first = jo.solve(ball, jo.Maury(), t=3.0, h=0.01, until=fallen(0.5), output=output)
    assert first.status == "stopped"
    for _ in range(2):
        again = jo.solve(ball, jo.Maury(), t=3.0, h=0.01, until=fallen(0.5), output=replace(output, resume=True))
        assert (again.status, again.t[-1], len(again.t)) == ("stopped", first.t[-1], len(first.t))
    further = jo.solve(ball, jo.Maury(), t=3.0, h=0.01, until=fallen(0.2), output=replace(output, resume=True))
    assert further.status == "stopped"
    assert further.t[-1] > first.t[-1]


def test_a_checkpoint_without_a_folder_is_refused_before_the_run(tmp_path):
    """The first checkpoint is written after a minute, or at the end: the steps before it were computed for nothing."""
    steps = []
    ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    output = jo.io.Output(tmp_path / "run.vtkhdf", checkpoint=tmp_path / "none" / "run.checkpoint")
    with pytest.raises(NoSuchFile, match=r"run\.checkpoint cannot be created: there is no folder .*none"):
        jo.solve(ball, jo.Maury(), t=1.0, h=0.1, output=output, progress=steps.append)
    assert steps == []
    assert os.listdir(tmp_path) == []
