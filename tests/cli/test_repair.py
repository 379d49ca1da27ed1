"""``jostle dev repair``: what a killed run left behind becomes a file that other programs open, and nothing is lost."""

import h5py
import numpy as np
import pytest

import jostle as jo
from jostle.io import Writer

FRAMES = 7


@pytest.fixture
def killed(here, monkeypatch):
    """run.vtkhdf: its writer was killed when 7 frames counted and rows of others were already written."""
    monkeypatch.setattr("jostle.io.growing.COMMIT_INTERVAL", np.inf)
    file = Writer(here / "live.vtkhdf", shape=(4, 2), about={"seed": "7"})
    for k in range(FRAMES):
        file.frame(0.5 * k, np.full((4, 2), float(k)), np.zeros((4, 2)))
    file.commit()
    monkeypatch.setattr("jostle.io.growing.say", lambda file, *_: file.flush())
    file.frame(9.0, np.full((4, 2), 9.0), np.zeros((4, 2)))
    file.commit()
    (here / "run.vtkhdf").write_bytes((here / "live.vtkhdf").read_bytes())
    monkeypatch.undo()
    monkeypatch.chdir(here)
    file.close()
    (here / "live.vtkhdf").unlink()
    return here / "run.vtkhdf"


def rows(path):
    """Number of times in a file, as a program that knows nothing of jostle reads it."""
    with h5py.File(path) as file:
        return len(file["VTKHDF/Steps/Values"])


def assert_whole(path):
    sol = jo.io.read(path)
    assert rows(path) == len(sol.t) == FRAMES
    np.testing.assert_array_equal(sol.q[-1], np.full((4, 2), FRAMES - 1.0))
    assert jo.io.about(path) == {"seed": "7"}


def test_a_killed_trajectory_is_repaired_beside_the_original(killed, jostle):
    with pytest.raises(OSError, match="open"):
        rows(killed)
    before = killed.read_bytes()
    code, out, _ = jostle("dev", "repair", "run.vtkhdf")
    assert (code, out) == (0, "saved run.repaired.vtkhdf: 7 frames, up to t = 3; run.vtkhdf is unchanged\n")
    assert killed.read_bytes() == before
    assert_whole("run.repaired.vtkhdf")


def test_in_place_repairs_the_file_itself_and_nothing_is_left_to_repair(killed, jostle):
    killed.with_suffix(".checkpoint").touch()
    code, out, err = jostle("dev", "repair", "run.vtkhdf", "--in-place")
    assert (code, out) == (0, "repaired run.vtkhdf: 7 frames, up to t = 3\n")
    assert "jostle resume run.vtkhdf" in err
    assert_whole(killed)
    code, out, _ = jostle("dev", "repair", "run.vtkhdf")
    assert (code, out) == (0, "run.vtkhdf needs no repair: 7 frames, up to t = 3\n")
    assert not killed.with_name("run.repaired.vtkhdf").exists()


def test_a_file_that_is_there_is_never_replaced(killed, jostle):
    killed.with_name("mine.vtkhdf").write_text("mine")
    code, _, err = jostle("dev", "repair", "run.vtkhdf", "-o", "mine.vtkhdf")
    assert code == 1
    assert "mine.vtkhdf exists already" in err
    assert killed.with_name("mine.vtkhdf").read_text() == "mine"
    assert jostle("dev", "repair", "run.vtkhdf", "-o", "run.vtkhdf")[0] == 1
    code, _, err = jostle("dev", "repair", "run.vtkhdf", "-o", "new.vtkhdf", "--in-place")
    assert code == 2
    assert "not both" in err


def test_a_file_that_is_being_written_is_refused(here, jostle):
    with Writer(here / "live.vtkhdf", shape=(2,), about={}) as file:
        file.frame(0.0, [0.0, 1.0], [0.0, 0.0])
        file.commit()
        for option in ([], ["--in-place"]):
            code, _, err = jostle("dev", "repair", "live.vtkhdf", *option)
            assert code == 1
            assert "is being written" in err
    assert not (here / "live.repaired.vtkhdf").exists()


def test_a_file_that_is_no_trajectory_or_holds_no_frame_is_an_error(here, jostle):
    (here / "a.vtkhdf").write_text("no trajectory")
    assert "not an HDF5 file" in jostle("dev", "repair", "a.vtkhdf")[2]
    Writer(here / "empty.vtkhdf", shape=(2,), about={}).close()
    assert "no frame" in jostle("dev", "repair", "empty.vtkhdf")[2]
    assert "there is no file" in jostle("dev", "repair", "nowhere.vtkhdf")[2]
    assert sorted(path.name for path in here.iterdir()) == ["a.vtkhdf", "empty.vtkhdf"]


def test_a_moving_density_needs_no_repair(here, jostle):
    assert jostle("run", "blocks", "-q", "--set", "run.t=0.02", "-o", "d.vtkhdf")[0] == 0
    code, out, _ = jostle("dev", "repair", "d.vtkhdf")
    assert code == 0
    assert "d.vtkhdf needs no repair" in out
