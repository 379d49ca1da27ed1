"""A disk that is full, or fails: a clear error, no noise, and what was acknowledged stays."""

import errno
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import victim
from victim import assert_right

import jostle as jo
from jostle.errors import FileIsThere, NoSuchFile, WriteFailed
from jostle.io import growing
from jostle.io.exports import export
from jostle.io.hdf5 import superblock
from jostle.io.reading import read
from jostle.io.repairing import repair
from jostle.io.trajectory import Writer
from rows import whole

PROGRAM = """
import os, resource, signal, sys
import victim
from victim import assert_right
from jostle.errors import WriteFailed
from jostle.io.trajectory import Writer

path, n, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    with Writer(path, shape=(n, 3), contacts=True, about={}) as file:
        for k in range(10**6):
            file.frame(0.25 * k, *victim.state(n, k))
            file.commit()
except WriteFailed as error:
    print(error.frames, error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no limits of file sizes")
@pytest.mark.parametrize(("n", "limit"), [whole((10, 800_000)), whole((10, 900_123)), (1000, 3_000_000)])
def test_a_full_disk_is_an_error_that_says_what_is_safe(tmp_path, n, limit):
    path = tmp_path / "run.vtkhdf"
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(path), str(n), str(limit)]
    path_of_python = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(path_of_python)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=here)
    assert (done.returncode, done.stderr) == (0, "")
    frames, message = done.stdout.split(maxsplit=1)
    assert int(frames) > 3
    assert f"{path} cannot be written: File too large. Its first {frames} frames are safe" in message
    assert "Free disk space" in message
    assert_kept(path, n, int(frames))


def assert_kept(path, n, frames):
    sol = read(path)
    assert len(sol.t) == frames
    assert_right(sol, n)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
@pytest.mark.parametrize("frames", [0, 1, 10])
def test_a_disk_that_fails_in_the_middle_of_a_write_leaves_what_was_there(tmp_path, frames, capfd):
    path = tmp_path / "run.vtkhdf"
    file = Writer(path, shape=(50, 3), contacts=True, about={})
    for k in range(frames):
        file.frame(0.25 * k, *victim.state(50, k))
        file.commit()
    broken = os.open("/dev/full", os.O_RDWR)
    os.dup2(broken, file._file.id.get_vfd_handle())  # from now on each write of HDF5 fails
    os.close(broken)
    file.frame(0.25 * frames, *victim.state(50, frames))
    safe = f"Its first {frames} frames are safe" if frames else "It has no frame"
    with pytest.raises(WriteFailed, match=f"No space left on device. {safe}") as failed:
        file.commit()
    assert failed.value.frames == frames
    assert failed.value.errno in (None, errno.ENOSPC)
    for attempt in (file.commit, lambda: file.steps([]), lambda: file.frame(1.0, *victim.state(50, 1))):
        with pytest.raises(WriteFailed, match="cannot be written"):
            attempt()
    assert file.broken
    file.close()
    del file, failed
    assert capfd.readouterr() == ("", "")
    if frames:
        assert_kept(path, 50, frames)
    assert superblock(path)[11] != 0
    assert repair(path)
    with Writer.reopen(path, frames, 0) as file:
        file.frame(0.25 * frames, *victim.state(50, frames))
    assert_kept(path, 50, frames + 1)


def test_a_disk_without_room_is_noticed_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(growing, "MAX_PENDING_BYTES", 0)  # no space is reserved for more than one frame
    path = tmp_path / "run.vtkhdf"
    file = Writer(path, shape=(50, 3), contacts=True, about={})
    file.frame(0.0, *victim.state(50, 0))

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(WriteFailed, match=r"No space left on device\. Its first 1 frames are safe"):
        file.frame(0.25, *victim.state(50, 1))
    assert superblock(path)[11] == 0
    assert read(path).status == "failed"
    assert_kept(path, 50, 1)
    with pytest.raises(WriteFailed, match="cannot be written"):
        file.commit()


def test_what_cannot_be_written_at_all_is_a_clear_error(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    with Writer(tmp_path / "run.vtkhdf", shape=(1,), about={}) as file:
        file.frame(0.0, [0], [0])
    monkeypatch.setattr(Path, "write_bytes", refuse)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(WriteFailed, match=r"other.vtkhdf cannot be created: Disk quota exceeded"):
        Writer(tmp_path / "other.vtkhdf", shape=(1,), about={})
    with pytest.raises(WriteFailed, match=r"run.csv cannot be written: Disk quota exceeded"):
        export(tmp_path / "run.vtkhdf", tmp_path / "run.csv")
    assert os.listdir(tmp_path) == ["run.vtkhdf"]


RUN = """
import resource, signal, sys
import jostle as jo
from jostle.errors import WriteFailed

path, limit = sys.argv[1], int(sys.argv[2])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
computed = []
ball = jo.Motion(q0=[[0.0, 1.0]] * 20, v0=[1.0, 0.0], within=jo.HalfSpace([0.0, 1.0]))
try:
    jo.solve(ball, jo.Maury(), t=1000.0, h=0.01, output=path, progress=lambda now: computed.append(now.t))
except WriteFailed as error:
    sol = error.solution
    print(len(computed), error.frames, len(sol.t), len(sol.stats), sol.t[-1], sol.q[-1, 0, 0], error.step)
"""


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="cannot reserve space on the disk")
def test_a_disk_that_fills_before_the_first_commit_is_due_keeps_all_that_was_computed(tmp_path):
    """Frames are written each half second; these steps take less, and nothing of them was kept."""
    path = tmp_path / "run.vtkhdf"
    command = [sys.executable, "-W", "error", "-c", RUN, str(path), "900000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    computed, frames, saved, records, t, x, step = (float(word) for word in done.stdout.split())
    assert 100 < computed <= saved == frames
    assert records >= frames - 1 == step - 1 == computed
    assert t == pytest.approx(0.01 * computed) == x
    assert len(read(path).t) == saved


def test_space_that_was_free_when_frames_were_computed_is_theirs(tmp_path, monkeypatch):
    """Another program that fills the disk meanwhile cannot take it; from then on each frame is written at once."""
    monkeypatch.setattr(growing, "MAX_PENDING_BYTES", 500_000)
    path = tmp_path / "run.vtkhdf"
    file = Writer(path, shape=(50, 3), contacts=True, about={})
    for k in range(2):
        file.frame(0.25 * k, *victim.state(50, k))

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    file.commit()
    assert file.acknowledged == 2

    def fill():
        while True:
            file.frame(0.25 * file.acknowledged, *victim.state(50, file.acknowledged))

    with pytest.raises(WriteFailed, match="No space left on device") as failed:
        fill()
    assert failed.value.frames == file.acknowledged > 20
    assert_kept(path, 50, file.acknowledged)


@pytest.fixture
def read_only(monkeypatch):
    """read_only(folder) lets each change of a folder fail, as on a disk that takes no changes."""

    def fail(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def close(folder):
        for owner, name in ((Path, "unlink"), (Path, "write_bytes"), (os, "replace"), (os, "link"), (os, "rename")):
            real = getattr(owner, name)
            change = lambda path, *rest, real=real, **more: (  # noqa: E731
                fail() if folder in Path(path).parents else real(path, *rest, **more)
            )
            monkeypatch.setattr(owner, name, change)
        real_open = open
        monkeypatch.setattr(
            "builtins.open",
            lambda path, mode="r", *rest, **more: (
                fail()
                if set(mode) & set("wxa+") and folder in Path(str(path)).parents
                else real_open(path, mode, *rest, **more)
            ),
        )

    return close


BALL = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))


def test_on_a_disk_that_takes_no_changes_the_error_is_that_of_the_write(tmp_path, read_only):
    (tmp_path / "old.vtkhdf").write_bytes(b"")
    jo.solve(BALL, jo.Maury(), t=0.1, h=0.1, output=tmp_path / "run.vtkhdf")
    read_only(tmp_path)
    with pytest.raises(WriteFailed, match=r"new\.vtkhdf cannot be created: Read-only file system"):
        jo.solve(BALL, jo.Maury(), t=0.1, h=0.1, output=tmp_path / "new.vtkhdf")
    with pytest.raises(WriteFailed, match=r"cannot be created: Read-only file system"):
        jo.solve(BALL, jo.Maury(), t=0.1, h=0.1, output=jo.io.Output(tmp_path / "run.vtkhdf", overwrite=True))
    with pytest.raises(WriteFailed, match="Read-only file system"):
        export(tmp_path / "run.vtkhdf", tmp_path / "copy.vtkhdf")
    with pytest.raises(WriteFailed, match="Read-only file system"):
        export(tmp_path / "run.vtkhdf", tmp_path / "copy.csv")


def test_a_checkpoint_that_cannot_be_written_is_noticed_before_the_first_step(tmp_path, read_only):
    fixed, free, steps = tmp_path / "fixed", tmp_path / "free", []
    fixed.mkdir()
    free.mkdir()
    output = jo.io.Output(free / "run.vtkhdf", checkpoint=fixed / "run.checkpoint")
    jo.solve(BALL, jo.Maury(), t=0.5, h=0.1, output=output)
    before = (fixed / "run.checkpoint").read_bytes()
    read_only(fixed)
    for options in ({"overwrite": True}, {"resume": True}):
        with pytest.raises(WriteFailed, match=r"the checkpoint .*run\.checkpoint cannot be written: Read-only"):
            jo.solve(BALL, jo.Maury(), t=1.0, h=0.1, output=replace(output, **options), progress=steps.append)
    other = jo.io.Output(free / "other.vtkhdf", checkpoint=fixed / "other.checkpoint")
    with pytest.raises(WriteFailed, match=r"the checkpoint .*other\.checkpoint cannot be written: Read-only"):
        jo.solve(BALL, jo.Maury(), t=1.0, h=0.1, output=other, progress=steps.append)
    assert steps == []
    assert (fixed / "run.checkpoint").read_bytes() == before
    assert os.listdir(free) == ["run.vtkhdf"]
    assert len(read(free / "run.vtkhdf").t) == 6


def test_after_a_full_disk_the_advice_is_what_can_be_done(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(growing, "COMMIT_INTERVAL", 0.0)
    real, path = growing.reserve, tmp_path / "run.vtkhdf"

    def fill(progress):
        if progress.step == 4:
            monkeypatch.setattr(growing, "reserve", full)

    frames = "Its first 5 frames are safe and can be read. Free disk space, or use another disk, and"
    with pytest.raises(WriteFailed, match=rf"^step 5 \(t = 0\.5\): .*: No space .*{frames} start the run again$"):
        jo.solve(BALL, jo.Maury(), t=1.0, h=0.1, output=path, progress=fill)
    for seconds, words in ((60.0, "start the run again"), (0.0, "resume the run from .*c")):
        monkeypatch.setattr(growing, "reserve", real)
        path.unlink()
        output = jo.io.Output(path, checkpoint=tmp_path / "c", seconds=seconds)
        with pytest.raises(WriteFailed, match=f"{frames} {words}$"):
            jo.solve(BALL, jo.Maury(), t=1.0, h=0.1, output=output, progress=fill)
    monkeypatch.setattr(growing, "reserve", full)
    with pytest.raises(WriteFailed, match=r"It has no frame\. Free disk space, or use another disk$"):
        jo.solve(BALL, jo.Maury(), t=1.0, h=0.1, output=tmp_path / "none.vtkhdf")


@pytest.mark.parametrize("how", ["removed", "renamed", "replaced"])
def test_a_trajectory_that_loses_its_name_ends_the_run_with_the_next_write(tmp_path, monkeypatch, how):
    monkeypatch.setattr(growing, "COMMIT_INTERVAL", 0.0)
    path, aside, steps = tmp_path / "run.vtkhdf", tmp_path / "aside.vtkhdf", []

    def lose(progress):
        steps.append(progress.step)
        if progress.step == 3:
            path.unlink() if how == "removed" else path.rename(aside)
            if how == "replaced":
                path.write_text("mine")

    kind, words = (FileIsThere, "was replaced by") if how == "replaced" else (NoSuchFile, "was removed or renamed")
    output = jo.io.Output(path, checkpoint=tmp_path / "c")
    with pytest.raises(kind, match=rf"run\.vtkhdf {words}"):
        jo.solve(BALL, jo.Maury(), t=1.0, h=0.01, output=output, progress=lose)
    assert len(steps) < 6
    if how != "removed":
        sol = read(aside)
        assert (sol.status, sol.t[-1] >= 0.03) == ("failed", True)
    assert path.exists() == (how == "replaced")
    if how == "replaced":
        assert path.read_text() == "mine"
