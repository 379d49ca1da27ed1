"""Files of densities in trouble: kill -9, a full disk, a folder that cannot be written, a file that grows."""

import errno
import random
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc

import blocks as program
import by_vtk
import numpy as np
import pytest
from blocks import EVERY, STEP, blocks, kept, run

import jostle as jo
from jostle.errors import FileInUse, WriteFailed
from jostle.macro import Flow, Grid, Splitting


def contents(place):
    images = jo.io.read_images(place)
    fields = {name: np.asarray(field) for name, field in (images.fields | dict(enumerate(images.faces))).items()}
    return fields | images.totals | {"t": images.t, "steps": images.steps}


def killed(folder, frames):
    """Run until the file has these frames, and kill the process soon after."""
    command = [sys.executable, program.__file__, str(folder)]
    place = folder / "run.vtkhdf"
    with subprocess.Popen(command) as process:
        while process.poll() is None and count(place) < frames:
            time.sleep(0.02)
        with pytest.raises(FileInUse):
            jo.io.repair(place)
        try:
            process.wait(random.uniform(0.0, 0.1))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    return jo.io.read_images(place)


def count(place):
    try:
        return len(jo.io.read_images(place).t)
    except OSError:  # not there yet, or without a frame
        return 0


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_a_killed_run_keeps_its_frames_can_be_repaired_and_is_resumed_with_the_same_bits(tmp_path):
    place = tmp_path / "run.vtkhdf"
    images = killed(tmp_path, 8)
    assert images.status == "running"
    end = images.t[-1] + 20 * STEP
    (tmp_path / "whole").mkdir()
    run(tmp_path / "whole", end)
    whole = contents(tmp_path / "whole" / "run.vtkhdf")
    assert (images.t == whole["t"][: len(images.t)]).all()
    before = place.read_bytes()
    found = contents(place)
    for name, values in found.items():  # the records of some steps after the last frame may be there
        assert len(values) == len(images.t) or name == "steps"
        np.testing.assert_array_equal(values, whole[name][: len(values)])

    assert jo.io.repair(place, tmp_path / "repaired.vtkhdf")
    assert place.read_bytes() == before
    assert not jo.io.repair(tmp_path / "repaired.vtkhdf")
    assert by_vtk.times(by_vtk.reader(tmp_path / "repaired.vtkhdf")) == pytest.approx(images.t)

    run(tmp_path, end, **kept(tmp_path, resume=True))
    resumed = contents(place)
    for name, values in whole.items():
        np.testing.assert_array_equal(resumed[name], values, strict=True)


def test_a_full_disk_is_an_error_that_says_what_is_safe(tmp_path, full_disk, monkeypatch):
    monkeypatch.setattr("jostle.io.growing.COMMIT_INTERVAL", 0.0)
    with full_disk(700_000), pytest.raises(WriteFailed, match="File too large") as full:
        run(tmp_path, 1e6, every=1)
    frames = full.value.frames
    assert len(full.value.solution.t) == frames > 3
    assert f"Its first {frames} frames are safe and can be read. Free disk space" in str(full.value)
    images = jo.io.read_images(tmp_path / "run.vtkhdf")
    assert (len(images.t), images.status) == (frames, "failed")
    assert np.asarray(images.fields["density"]).shape == (len(images.t), 16, 4)


def test_densities_are_stored_in_double_precision_only(tmp_path):
    with pytest.raises(jo.InvalidValue, match="double precision: remove dtype=float32"):
        run(tmp_path, STEP, dtype=np.float32)
    run(tmp_path, STEP, dtype=np.float64)


def test_a_folder_that_cannot_be_written_is_an_error_before_the_first_step(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("jostle.io.growing.create", refuse)  # tests may run as a user who may write everywhere
    steps = []
    with pytest.raises(WriteFailed, match="cannot be created: Permission denied"):
        run(tmp_path, 1.0, progress=steps.append)
    assert steps == []


@pytest.fixture
def copied(tmp_path):
    """The file of a run in progress, as kill -9 would leave it."""

    def look(progress):
        if progress.step == 30:
            shutil.copy(tmp_path / "run.vtkhdf", tmp_path / "killed.vtkhdf")

    run(tmp_path, 0.4, progress=look, checkpoint=tmp_path / "killed.checkpoint", seconds=0.0)
    return tmp_path / "killed.vtkhdf"


def test_the_commands_tell_that_a_run_was_killed_and_repair_its_file(copied, jostle):
    assert "killed: the process that wrote it ended" in jostle("info", copied)[1]
    code, out, _ = jostle("dev", "repair", copied, "--in-place")
    assert (code, out.split(": ")[1]) == (0, "11 frames, up to t = 0.3\n")
    assert "needs no repair" in jostle("dev", "repair", copied, "--in-place")[1]


def test_frames_are_not_kept_in_memory(tmp_path, monkeypatch):
    """A run with a file needs as much memory with many frames as with few."""
    monkeypatch.setattr("jostle.io.growing.COMMIT_INTERVAL", 0.0)

    grid = Grid([0, 0], [4, 4], h=1 / 16, closed=True)
    at_rest = Flow(grid=grid, density=grid.block([1, 1], [2, 2]), velocity=grid.velocity(0.0, 0))

    def needed(steps):
        tracemalloc.start()
        sol = jo.macro.solve(at_rest, Splitting(), t=steps * STEP, h=STEP, output=tmp_path / f"{steps}.vtkhdf")
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most, len(sol.t) * sol.density[0].nbytes

    few, _ = needed(3)
    many, size = needed(23)
    assert many - few < 0.5 * size


def test_a_result_with_a_file_is_that_of_a_run_in_memory(tmp_path):
    sol, memory = run(tmp_path, 1.0), jo.macro.solve(blocks(), Splitting(), t=1.0, h=STEP, every=EVERY)
    assert repr(sol) == repr(memory)
    for name in ("t", "density", "pressure", "cells", "mass", "gone", "energy", "momentum", "stats"):
        np.testing.assert_array_equal(np.asarray(getattr(sol, name)), getattr(memory, name), strict=True)
    for one, two in zip(sol.velocity, memory.velocity, strict=True):
        np.testing.assert_array_equal(np.asarray(one), two, strict=True)
        np.testing.assert_array_equal(one[::-2, 1], two[::-2, 1])
        np.testing.assert_array_equal(one[[3, 1, 3]], two[[3, 1, 3]])
        np.testing.assert_array_equal(one[..., 0], two[..., 0])
    np.testing.assert_array_equal(sol.state(-1).density, memory.state(-1).density)


def test_ctrl_c_comes_after_the_step_and_the_run_goes_on_with_the_same_bits(tmp_path):
    def press(progress):
        if progress.step == 20:  # between two saved frames
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(jo.errors.Interrupted, match=r"after step 20, t = 0\.2; .*run\.checkpoint") as caught:
        run(tmp_path, 0.4, progress=press, **kept(tmp_path))
    assert caught.value.solution.status == "interrupted"
    assert caught.value.solution.t[-1] == pytest.approx(0.2)
    run(tmp_path, 0.4, **kept(tmp_path, resume=True))
    (tmp_path / "whole").mkdir()
    run(tmp_path / "whole", 0.4)
    resumed, whole = contents(tmp_path / "run.vtkhdf"), contents(tmp_path / "whole" / "run.vtkhdf")
    for name, values in whole.items():
        np.testing.assert_array_equal(resumed[name], values, strict=True)


def test_arrays_in_files_take_part_in_arithmetic(tmp_path):
    grid = jo.macro.Grid([0, 0], [1, 1], h=1 / 8, closed=True)
    flow = jo.macro.Flow(grid=grid, density=0.5 * grid.block([0, 0], [0.5, 1]), velocity=grid.velocity(0.1, 0.0))
    in_memory = jo.macro.solve(flow, jo.macro.Splitting(), t=0.3, h=0.1)
    in_file = jo.macro.solve(flow, jo.macro.Splitting(), t=0.3, h=0.1, output=tmp_path / "run.vtkhdf")
    assert (2.0 * in_file.density + 1.0 == 2.0 * in_memory.density + 1.0).all()
    assert (np.sqrt(in_file.density) == np.sqrt(in_memory.density)).all()
