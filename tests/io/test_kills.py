"""kill -9 at random moments: what was acknowledged is there, and can be read, repaired, and continued."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import by_vtk
import h5py
import numpy as np
import pytest
import victim
from victim import assert_right

from jostle.errors import BrokenFile, FileInUse
from jostle.io import layout
from jostle.io.growing import notes
from jostle.io.hdf5 import clear_flags, reading, superblock
from jostle.io.reading import about, read
from jostle.io.repairing import repair
from jostle.io.trajectory import Writer
from rows import whole

PATIENCE = 300.0
"""Seconds until something that should happen counts as never happening."""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")


@pytest.fixture(scope="module")
def program():
    """Something that writes trajectories until it is killed."""
    command = [sys.executable, str(Path(victim.__file__))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.stdin.close()


def comes_true(what):
    """Wait for it; False if it never comes."""
    end = time.monotonic() + PATIENCE
    while not what() and time.monotonic() < end:
        time.sleep(0.001)
    return what()


def frames_in(path):
    """How many frames count by now."""
    try:
        return len(read(path).t)
    except OSError:  # not there yet, or without a frame
        return 0


def start(program, path, n):
    """The process that writes frames of n bodies to the path."""
    program.stdin.write(f"{path} {n}\n")
    program.stdin.flush()
    return int(program.stdout.readline())


def killed(program, child):
    """Kill it; how many frames it had said were safe."""
    os.kill(child, signal.SIGKILL)
    acknowledged = 0
    while (line := program.stdout.readline()) != "dead\n":
        acknowledged = int(line)
    return acknowledged


def test_a_note_that_a_kill_left_unfinished_does_not_count(tmp_path):
    path = tmp_path / "run.vtkhdf"
    with Writer(path, shape=(1, 2), about={}) as file:
        file.frame(0.0, np.zeros((1, 2)), np.zeros((1, 2)), 0.5)
        file.note({"step": 1})
    with h5py.File(path, "r+") as file:
        changes = file["jostle/changes"]
        changes.resize(len(changes) + 6, axis=0)
        changes[-6:] = np.frombuffer(b'{"step', dtype=np.uint8)
    with reading(path) as file:
        assert notes(file) == [{"step": 1}]


@pytest.mark.parametrize(("n", "kills"), [(10, 4), whole((10, 6)), whole((1000, 6)), (100_000, 2), whole((100_000, 5))])
def test_every_acknowledged_frame_survives_a_kill(program, tmp_path, n, kills):
    chance = random.Random()
    for attempt in range(kills):
        path = tmp_path / f"{attempt}.vtkhdf"
        child = start(program, path, n)
        if attempt:
            assert comes_true(path.exists if attempt < kills // 2 else lambda path=path: frames_in(path) > 0)
        time.sleep(chance.uniform(0.0, 0.06 if n < 100_000 else 0.3))
        acknowledged = killed(program, child)
        if not path.exists():
            assert attempt == acknowledged == 0
            continue
        assert about(path) == {"n": str(n)}
        try:
            sol = read(path)
        except BrokenFile as error:
            assert "contains no frame: its run was killed" in str(error)  # noqa: PT017
            assert acknowledged == 0
            continue
        count = len(sol.t)
        assert count >= acknowledged
        assert len(sol.stats) >= acknowledged
        assert len(sol.impacts()) >= acknowledged
        assert sol.impacts().before.tolist() == [-1.0 - k for k in range(len(sol.impacts()))]
        assert sol.status == "running"
        some = None if n == 10 else {0, count - 1, max(acknowledged - 1, 0), chance.randrange(count)}
        assert_right(sol, n, some)
        assert repair(path)
        assert superblock(path)[11] == 0
        assert not repair(path)
        assert len(read(path).t) == count
        assert_right(read(path), n, {0, count - 1})
        reader = by_vtk.reader(path)
        assert reader.GetNumberOfSteps() == count
        for k in {0, count - 1, chance.randrange(count)}:
            q, _, radii, pairs, multipliers, _ = victim.state(n, k)
            here, found = ~np.isnan(q[:, 0]), by_vtk.at(reader, 0.25 * k)
            np.testing.assert_array_equal(found.points, q[here])
            np.testing.assert_array_equal(found.point_data["radius"], radii[here])
            np.testing.assert_array_equal(found.cell_data["impulse"][1:], multipliers)
            np.testing.assert_array_equal(found.cell_data["second_body"][1:], pairs[:, 1])
        path.unlink()


def test_a_file_that_is_being_written_can_be_read_but_not_repaired_or_continued(program, tmp_path):
    path = tmp_path / "live.vtkhdf"
    child = start(program, path, 50)
    seen, end = [], time.monotonic() + PATIENCE
    try:
        while (len(seen) < 20 or seen[-1] == seen[0]) and time.monotonic() < end:
            try:
                sol = read(path)
            except OSError:  # not there yet, or without a frame
                assert not seen
                continue
            seen.append(len(sol.t))
            assert_right(sol, 50, {0, seen[-1] - 1})
            for attempt in (repair, lambda path: Writer.reopen(path, 0, 0)):
                with pytest.raises(FileInUse, match="is being written by another process"):
                    attempt(path)
    finally:
        killed(program, child)
    assert len(seen) >= 20
    assert seen[-1] > seen[0]
    assert repair(path)


def test_a_killed_file_can_be_continued(program, tmp_path):
    path = tmp_path / "run.vtkhdf"
    child = start(program, path, 20)
    assert comes_true(lambda: frames_in(path) > 6)
    acknowledged = killed(program, child)
    assert acknowledged > 3
    with Writer.reopen(path, acknowledged - 2, acknowledged - 2) as file:
        for k in range(acknowledged - 2, acknowledged + 5):
            file.frame(0.25 * k, *victim.state(20, k))
    sol = read(path)
    assert (len(sol.t), len(sol.stats), sol.status) == (acknowledged + 5, acknowledged - 2, "finished")
    assert_right(sol, 20)
    assert not repair(path)


def test_frames_are_in_the_file_before_they_count(tmp_path, monkeypatch):
    path, copy = tmp_path / "run.vtkhdf", tmp_path / "copy.vtkhdf"
    plain = h5py.h5a.open

    def look_first(place, name):
        if name == b"NSteps":
            shutil.copy(path, copy)  # as if it had been killed now
        return plain(place, name)

    monkeypatch.setattr("jostle.io.growing.COMMIT_INTERVAL", np.inf)
    with Writer(path, shape=(10, 3), contacts=True, about={}) as file:
        for k in range(8):
            file.frame(0.25 * k, *victim.state(10, k))
        monkeypatch.setattr(h5py.h5a, "open", look_first)
        file.commit()
        monkeypatch.undo()
    assert len(read(path).t) == 8
    with reading(copy) as opened:
        assert layout.header(opened).frames == 0
    for name, values in stored(path).items():
        np.testing.assert_array_equal(stored(copy)[name], values)


def stored(path):
    """All data sets."""
    found = {}
    with reading(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


@pytest.mark.parametrize("flags", ["set", "cleared"])
def test_what_was_half_written_is_cut_off_by_a_repair(tmp_path, monkeypatch, flags):
    """VTK reads the times of all steps into room for as many as count: longer data sets would be its end."""
    path, copy = tmp_path / "run.vtkhdf", tmp_path / "copy.vtkhdf"
    file = Writer(path, shape=(10, 3), contacts=True, about={})
    file.frame(0.0, *victim.state(10, 0))
    file.commit()
    monkeypatch.setattr("jostle.io.growing.COMMIT_INTERVAL", np.inf)
    monkeypatch.setattr("jostle.io.growing.say", lambda file, *_: file.flush())  # killed before the frames count
    for k in range(1, 200):
        file.frame(0.25 * k, *victim.state(10, k))
    file.commit()
    copy.write_bytes(path.read_bytes())
    monkeypatch.undo()
    file.close()
    assert len(read(copy).t) == 1
    if flags == "cleared":  # by a writer that was killed when it began to go on with the file
        assert clear_flags(copy)
    assert repair(copy)
    assert not repair(copy)
    with h5py.File(copy) as opened:
        assert len(opened["VTKHDF/Steps/Values"]) == len(opened["VTKHDF/NumberOfPoints"]) == 1
        assert len(opened["VTKHDF/Points"]) == 9
        assert len(opened["VTKHDF/Lines/Connectivity"]) == 18
    found = by_vtk.at(by_vtk.reader(copy), 0.0)
    assert len(found.points) == 9
    assert_right(read(copy), 10, [0])
