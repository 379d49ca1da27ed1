"""A disk that is full, or fails: a clear error, no noise, and what was acknowledged stays."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
import victim
from victim import assert_right

from jostle.errors import WriteFailed
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
