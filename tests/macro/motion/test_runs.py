"""Runs of densities: frames, checkpoints, files, errors."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import jostle as jo
from jostle.macro import Crowd, Flow, Grid, Splitting
from jostle.problems import Remembers
from rows import whole


@pytest.fixture
def blocks():
    grid = Grid([0, 0], [4, 1], h=1 / 4, closed=True)
    left, right = grid.block([0, 0], [1, 1]), grid.block([2, 0], [3, 1])
    return Flow(grid=grid, density=0.8 * (left | right), velocity=grid.velocity(left - right, 0))


def same(one, two):
    """The same frames and step records; a run that was resumed without a file has those after its checkpoint."""
    frames, steps = len(two.t) - len(one.t), len(two.stats) - len(one.stats)
    assert (one.t == two.t[frames:]).all()
    for a, b in zip(
        (one.density, one.pressure, *one.velocity), (two.density, two.pressure, *two.velocity), strict=True
    ):
        assert (np.asarray(a) == np.asarray(b)[frames:]).all()
    assert (one.stats == two.stats[steps:]).all()
    assert (one.mass == two.mass[frames:]).all()
    assert (one.energy == two.energy[frames:]).all()


def test_a_longer_run_may_save_less_often(blocks, tmp_path):
    output = jo.io.Output(tmp_path / "run.vtkhdf", checkpoint=tmp_path / "run.npz")
    jo.macro.solve(blocks, Splitting(), t=0.4, h=0.1, every=0.2, output=output)
    resumed = jo.macro.solve(blocks, Splitting(), t=1.2, h=0.1, every=0.4, output=replace(output, resume=True))
    whole = jo.macro.solve(blocks, Splitting(), t=1.2, h=0.1, every=0.4)
    assert resumed.t == pytest.approx([0.0, 0.2, 0.4, 0.8, 1.2])
    assert (resumed.density[2:] == whole.density[1:]).all()
    assert (resumed.pressure[3:] == whole.pressure[2:]).all()
    assert (resumed.stats == whole.stats).all()


def test_the_pressure_of_a_frame_is_the_mean_since_the_frame_before(blocks):
    each, fourth = (jo.macro.solve(blocks, Splitting(), t=1.2, h=0.1, every=every) for every in (1, 4))
    steps = np.asarray(each.pressure)[1:].reshape(3, 4, *blocks.grid.shape)
    assert np.ptp(steps, axis=1).max() > 0.1 * steps.max() > 0.0
    np.testing.assert_allclose(fourth.pressure[1:], steps.mean(axis=1), atol=1e-12)


def test_a_run_ends_when_its_problem_is_empty():
    grid = Grid([0, 0], [2, 1], h=1 / 4)
    flow = Flow(grid=grid, density=grid.block([0, 0], [1, 1]), velocity=grid.velocity(1.0, 0))
    sol = jo.macro.solve(flow, Splitting(), t=9.0, h=0.1, until=flow.empty)
    assert sol.status == "stopped"
    assert sol.mass[-1] <= 1e-3 < sol.mass[-2]


@pytest.mark.parametrize("every", [whole(1), whole(4), 0.35])
def test_a_run_that_was_stopped_goes_on_with_the_same_bits(blocks, tmp_path, every):
    whole = jo.macro.solve(blocks, Splitting(), t=2.0, h=0.1, every=every)

    place = tmp_path / "run.npz"
    output = jo.io.Output(tmp_path / "run.vtkhdf", checkpoint=place)
    jo.macro.solve(blocks, Splitting(), t=0.75, h=0.1, every=every, output=output)
    shutil.copy(place, tmp_path / "early.npz")
    resumed = jo.macro.solve(blocks, Splitting(), t=2.0, h=0.1, every=every, output=replace(output, resume=True))
    assert len(resumed.t) == len(whole.t)
    same(resumed, whole)
    rest = jo.macro.solve(
        blocks,
        Splitting(),
        t=2.0,
        h=0.1,
        every=every,
        output=jo.io.Output(checkpoint=tmp_path / "early.npz", resume=True),
    )
    assert rest.t[0] == pytest.approx(0.7)
    assert (rest.density[0] == jo.macro.solve(blocks, Splitting(), t=2.0, h=0.1).density[7]).all()
    frames = -int((whole.t > 0.75).sum())
    assert (rest.t[frames:] == whole.t[frames:]).all()
    assert (rest.density[frames:] == whole.density[frames:]).all()
    assert (rest.pressure[frames:] == whole.pressure[frames:]).all()
    assert (rest.stats == whole.stats[7:]).all()
    with pytest.raises(jo.errors.FileIsThere, match=r"checkpoint of another run .*overwrite=True"):
        jo.macro.solve(blocks, Splitting(tol=1e-6), t=2.0, h=0.1, every=every, output=jo.io.Output(checkpoint=place))
    with pytest.raises(jo.errors.FileIsThere, match="exists already"):
        jo.macro.solve(blocks, Splitting(), t=2.0, h=0.1, every=every, output=output)
    with pytest.raises(jo.InvalidValue, match="belongs to another run: scheme"):
        jo.macro.solve(
            blocks, Splitting(tol=1e-6), t=2.0, h=0.1, every=every, output=jo.io.Output(checkpoint=place, resume=True)
        )
    with pytest.raises(jo.InvalidValue, match="belongs to another run: h"):
        jo.macro.solve(
            blocks, Splitting(), t=2.0, h=0.05, every=every, output=jo.io.Output(checkpoint=place, resume=True)
        )


def test_a_run_is_not_resumed_with_another_function_or_an_earlier_end(tmp_path):
    grid = Grid([0, 0], [4, 1], h=1 / 4, closed=True)

    def people(speed):
        return Crowd(grid=grid, density=0.5, velocity=lambda t, q: np.full_like(q, [speed, 0.0]))

    place = tmp_path / "run.npz"
    jo.macro.solve(people(1.0), Splitting(), t=0.5, h=0.1, output=jo.io.Output(checkpoint=place))
    with pytest.raises(jo.InvalidValue, match=r"another run: a function returns other values: velocity at the start"):
        jo.macro.solve(people(-1.0), Splitting(), t=1.0, h=0.1, output=jo.io.Output(checkpoint=place, resume=True))
    with pytest.raises(jo.InvalidValue, match=r"reached t = 0\.5, and cannot go back to t = 0\.2"):
        jo.macro.solve(people(1.0), Splitting(), t=0.2, h=0.1, output=jo.io.Output(checkpoint=place, resume=True))
    resumed = jo.macro.solve(people(1.0), Splitting(), t=1.0, h=0.1, output=jo.io.Output(checkpoint=place, resume=True))
    assert len(resumed.t) == 6
    same(resumed, jo.macro.solve(people(1.0), Splitting(), t=1.0, h=0.1))


class Times(NamedTuple):
    before: float
    steps: int


class AfterSteps(Remembers):
    """True after a number of steps of the run, counted from its start."""

    memory_type = Times

    def __init__(self, most):
        self.most = most

    def restore(self, memory):
        if memory is not None and memory.steps > 1000:
            raise jo.InvalidValue(f"{memory.steps} steps")
        self.memory = memory

    def __call__(self, state):
        before, steps = self.memory or Times(0.0, 0)
        assert state.t > before
        self.memory = Times(state.t, steps + 1)
        return steps + 1 >= self.most


def test_a_condition_that_remembers_starts_anew_with_each_run(blocks):
    until = AfterSteps(7)
    for _ in range(2):
        assert len(jo.macro.solve(blocks, Splitting(), t=2.0, h=0.1, until=until).stats) == 7


@pytest.mark.parametrize("t", [0.5, 0.45])
def test_a_condition_that_remembers_is_stored_in_the_checkpoint(blocks, tmp_path, t):
    place = tmp_path / "run.npz"
    whole = jo.macro.solve(blocks, Splitting(), t=2.0, h=0.1, until=AfterSteps(7))
    jo.macro.solve(blocks, Splitting(), t=t, h=0.1, until=AfterSteps(7), output=jo.io.Output(checkpoint=place))
    for _ in range(2):  # first a run that reached its end, then one that was stopped
        resumed = jo.macro.solve(
            blocks, Splitting(), t=2.0, h=0.1, until=AfterSteps(7), output=jo.io.Output(checkpoint=place, resume=True)
        )
        same(resumed, whole)
        assert resumed.status == "stopped"
    longer = jo.macro.solve(
        blocks, Splitting(), t=2.0, h=0.1, until=AfterSteps(9), output=jo.io.Output(checkpoint=place, resume=True)
    )
    same(longer, jo.macro.solve(blocks, Splitting(), t=2.0, h=0.1, until=AfterSteps(9)))

    with np.load(place) as kept:
        values = dict(kept)
    np.savez(place, **(values | {"until.steps": np.array(5000)}))
    with pytest.raises(jo.errors.BrokenFile, match="damaged: the memory of until is invalid: 5000 steps"):
        jo.macro.solve(
            blocks, Splitting(), t=2.0, h=0.1, until=AfterSteps(9), output=jo.io.Output(checkpoint=place, resume=True)
        )


def test_a_desired_velocity_that_remembers_is_stored_in_the_checkpoint(tmp_path):
    class Slower(AfterSteps):
        """A crowd that walks more slowly in each step."""

        def __call__(self, t, q):
            _, steps = self.memory or Times(0.0, 0)
            self.memory = Times(t, steps + 1)
            return np.full_like(q, [1.0 / (steps + 1), 0.0])

    grid = Grid([0, 0], [4, 1], h=1 / 4, closed=True)
    people = Crowd(grid=grid, density=0.5, velocity=Slower(0))
    whole = jo.macro.solve(people, Splitting(), t=1.0, h=0.1)
    place = tmp_path / "run.npz"
    jo.macro.solve(people, Splitting(), t=0.5, h=0.1, output=jo.io.Output(checkpoint=place))
    same(jo.macro.solve(people, Splitting(), t=1.0, h=0.1, output=jo.io.Output(checkpoint=place, resume=True)), whole)


def test_a_condition_ends_a_run_before_a_step_with_its_error(blocks):
    class Fails(Splitting):
        def advance(self, problem, state, h, t):
            if t > 0.55:
                raise jo.errors.EmptySet("no room")
            return super().advance(problem, state, h, t)

    class NoRoom:
        ended_by = jo.errors.EmptySet

        def __call__(self, state):
            return False

    sol = jo.macro.solve(blocks, Fails(), t=2.0, h=0.1, every=3, until=NoRoom())
    assert (sol.status, sol.t[-1], len(sol.stats)) == ("stopped", pytest.approx(0.5), 5)


@pytest.mark.parametrize("said", [None, "no", 0.3, np.array([True, False])])
def test_until_must_say_true_or_false(blocks, said):
    with pytest.raises(jo.InvalidValue, match=r"until\(state\) must return True, False or 'blocked'"):
        jo.macro.solve(blocks, Splitting(), t=1.0, h=0.1, until=lambda state: said)


def test_damaged_and_missing_checkpoints_are_said(blocks, tmp_path):
    place = tmp_path / "run.npz"
    with pytest.raises(jo.errors.NoSuchFile, match="there is no checkpoint"):
        jo.macro.solve(blocks, Splitting(), t=1.0, h=0.1, output=jo.io.Output(checkpoint=place, resume=True))
    with pytest.raises(jo.InvalidValue, match="resume needs a checkpoint"):
        jo.macro.solve(blocks, Splitting(), t=1.0, h=0.1, output=jo.io.Output(resume=True))
    place.write_bytes(b"nothing of the kind")
    with pytest.raises(jo.errors.BrokenFile, match="damaged"):
        jo.macro.solve(blocks, Splitting(), t=1.0, h=0.1, output=jo.io.Output(checkpoint=place, resume=True))


def test_other_files_are_not_replaced_by_checkpoints(blocks, tmp_path):
    place = tmp_path / "run.npz"
    place.write_text("a diary")
    with pytest.raises(jo.errors.FileIsThere, match="is not replaced"):
        jo.macro.solve(blocks, Splitting(), t=1.0, h=0.1, output=jo.io.Output(checkpoint=place, overwrite=True))
    assert place.read_text() == "a diary"


def test_a_checkpoint_that_unpacks_to_more_than_it_has_is_refused(blocks, tmp_path):
    place = tmp_path / "run.npz"
    jo.macro.solve(blocks, Splitting(), t=0.2, h=0.1, output=jo.io.Output(checkpoint=place))
    with np.load(place) as kept:
        np.savez_compressed(place, **kept)
    with pytest.raises(jo.errors.BrokenFile, match=r"more bytes than it has|compressed"):
        jo.macro.solve(blocks, Splitting(), t=0.4, h=0.1, output=jo.io.Output(checkpoint=place, resume=True))


def test_a_byte_of_a_checkpoint_that_changed_is_refused_or_changes_nothing(blocks, tmp_path):
    place, random, refused = tmp_path / "run.npz", np.random.default_rng(0), 0
    first = jo.macro.solve(blocks, Splitting(), t=0.2, h=0.1, output=jo.io.Output(checkpoint=place))
    good = place.read_bytes()
    for byte in random.integers(0, len(good), 60):
        bad = bytearray(good)
        bad[byte] ^= 1 << int(random.integers(8))
        place.write_bytes(bad)
        try:
            same(
                jo.macro.solve(blocks, Splitting(), t=0.2, h=0.1, output=jo.io.Output(checkpoint=place, resume=True)),
                first,
            )
        except jo.errors.JostleError:
            refused += 1
    assert refused > 20


def test_an_error_keeps_what_was_computed(blocks, tmp_path):
    def fail(state):
        if state.t > 0.55:
            raise RuntimeError("enough")
        return False

    place = tmp_path / "run.vtkhdf"
    with pytest.raises(RuntimeError) as caught:
        jo.macro.solve(blocks, Splitting(), t=2.0, h=0.1, until=fail, output=place)
    sol = caught.value.solution
    assert sol.status == "failed"
    assert sol.t[-1] == pytest.approx(0.5)
    assert place.exists()


def test_until_stops_a_run_and_frames_are_saved_when_due(blocks):
    sol = jo.macro.solve(blocks, Splitting(), t=2.0, h=0.1, every=3, until=lambda state: state.t > 0.95)
    assert sol.status == "stopped"
    assert sol.t == pytest.approx([0.0, 0.3, 0.6, 0.9, 1.0])
    assert len(sol.stats) == 10


def test_progress_is_told(blocks):
    told = []
    jo.macro.solve(blocks, Splitting(), t=0.3, h=0.1, progress=told.append)
    assert [(news.step, news.steps) for news in told] == [(1, 3), (2, 3), (3, 3)]


def test_vtk_reads_the_images(blocks, tmp_path):
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    place = tmp_path / "blocks.vtkhdf"
    sol = jo.macro.solve(blocks, Splitting(), t=1.0, h=0.1, output=place)
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(place))
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtk.vtkStreamingDemandDrivenPipeline.TIME_STEPS())
    assert times == pytest.approx(sol.t)
    for frame in (0, 5, len(sol.t) - 1):
        reader.UpdateTimeStep(times[frame])
        image = reader.GetOutputDataObject(0)
        assert image.GetDimensions() == (17, 5, 2)
        assert image.GetSpacing()[:2] == (0.25, 0.25)
        cells = image.GetCellData()
        density = vtk_to_numpy(cells.GetArray("density")).reshape(4, 16)
        assert (density == sol.density[frame].T).all()
        velocity = vtk_to_numpy(cells.GetArray("velocity")).reshape(4, 16, 3)
        assert (velocity[..., :2] == sol.cells[frame].swapaxes(0, 1)).all()


def test_paths_that_cannot_be_written_are_refused_before_the_run(blocks, tmp_path):
    with pytest.raises(jo.InvalidValue, match=r"must end in \.vtkhdf"):
        jo.macro.solve(blocks, Splitting(), t=1.0, h=0.1, output=tmp_path / "a.h5")
    with pytest.raises(jo.InvalidValue, match="folder"):
        jo.macro.solve(blocks, Splitting(), t=1.0, h=0.1, output=tmp_path / "no" / "a.vtkhdf")


TWO_RUNS = """
import hashlib
import numpy as np
import jostle as jo

grid = jo.macro.Grid([-1, -1], [1, 1], h=1 / 32)
r = np.hypot(*grid.centres)
to_centre = lambda t, q: -q / np.linalg.norm(q, axis=1, keepdims=True)
crowd = jo.macro.Crowd(grid=grid, density=np.where(r < 0.9, 0.25, 0.0), velocity=to_centre)
flow = jo.macro.Flow(grid=grid, density=0.5 * (r < 0.9), velocity=grid.velocity(lambda x, y: -np.sign(x), 0))
for problem, scheme in ((crowd, jo.macro.Splitting()), (flow, jo.macro.Impacts())):
    sol = jo.macro.solve(problem, scheme, t=0.03, h=0.01, every=3)
    print(hashlib.sha256(sol.density[-1].tobytes() + sol.pressure[-1].tobytes()).hexdigest())
"""


def test_two_processes_compute_the_same_bits(capsys):
    """Their arrays have other addresses and other distances from each other."""
    exec(compile(TWO_RUNS, "two runs", "exec"), {})
    other = {"PYTHONHASHSEED": "2", "LONG": "x" * 50_000, "PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "123"}
    program = [sys.executable, "-c", TWO_RUNS]
    done = subprocess.run(program, env=os.environ | other, capture_output=True, text=True, check=True)
    assert done.stdout == capsys.readouterr().out
