"""Files that are not trajectories, or not whole: errors of ours that name the file and what is wrong."""

import os
import random
import re

import h5py
import numpy as np
import pytest

from jostle.errors import BrokenFile, JostleError, NoSuchFile
from jostle.io.exports import export
from jostle.io.hdf5 import SPARE_BYTES, lookup3, superblock
from jostle.io.reading import about, read
from jostle.io.repairing import repair
from jostle.io.trajectory import Writer
from rows import examples

VERBS = [
    read,
    about,
    repair,
    lambda path: Writer.reopen(path, 0, 0),
    lambda path: export(path, path.with_suffix(".csv")),
]


@pytest.fixture
def good(tmp_path):
    """A trajectory of some frames."""
    path = tmp_path / "good.vtkhdf"
    with Writer(path, shape=(300, 2), contacts=True, about={"seed": "7"}) as file:
        for k in range(20):
            q = np.full((300, 2), float(k))
            file.frame(k, q, q, 1.0, [[0, 1]] * 9, np.ones(9), np.ones((9, 2)))
    return path


def foreign(path):
    with h5py.File(path, "w", libver="latest") as file:
        file["numbers"] = np.arange(5)


def old(path):
    with h5py.File(path, "w") as file:
        file["numbers"] = np.arange(5)


def newer(path):
    with Writer(path, shape=(1,), about={}) as file:
        file.frame(0.0, [0], [0])
    with h5py.File(path, "r+") as file:
        file["jostle/run"].attrs["format"] = 99


MADE = {
    "is empty": lambda path: path.write_bytes(b""),
    "is not an HDF5 file": lambda path: path.write_bytes(random.Random(0).randbytes(5000)),
    "is not an HDF5 file and therefore": lambda path: path.write_text("t,x\n0,1\n"),
    "cannot be read: Is a directory": lambda path: path.mkdir(),
    "not a trajectory written by jostle": foreign,
    "an HDF5 file, but not": old,
    "is not of format 1, which this version of jostle reads": newer,
}


@pytest.mark.parametrize("what", MADE)
def test_what_is_no_trajectory_is_said_to_be_none(tmp_path, what):
    path = tmp_path / "file.vtkhdf"
    MADE[what](path)
    for verb in VERBS if what != "is not of format 1, which this version of jostle reads" else VERBS[:3]:
        with pytest.raises(BrokenFile, match=what) as caught:
            verb(path)
        assert str(path) in str(caught.value)
        assert isinstance(caught.value, OSError)
        assert caught.value.__cause__ is None


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    for verb in VERBS:
        with pytest.raises(NoSuchFile, match="there is no file"):
            verb(tmp_path / "nothing.vtkhdf")


def test_a_file_that_is_cut_off_is_said_to_be(good):
    whole = good.read_bytes()
    for length in (20, 47, 48, 100, 5000):
        good.write_bytes(whole[:length])
        for verb in VERBS:
            with pytest.raises(BrokenFile, match="truncated"):
                verb(good)
    block = bytearray(whole[:48])
    block[28:36] = (len(whole) + 2**27).to_bytes(8, "little")  # more is missing than is filled up with zeros
    block[44:48] = lookup3(bytes(block[:44])).to_bytes(4, "little")
    good.write_bytes(bytes(block) + whole[48:])
    for verb in VERBS:
        with pytest.raises(BrokenFile, match="truncated"):
            verb(good)


@pytest.mark.parametrize("opened", [False, True], ids=["closed", "left open"])
def test_the_whole_frames_of_a_file_that_is_cut_off_are_read_and_kept_by_a_repair(tmp_path, opened):
    path = tmp_path / "run.vtkhdf"
    with Writer(path, shape=(300, 2), contacts=True, about={}) as file:
        for k in range(200):
            q = np.full((300, 2), k + 1.0)
            file.frame(k, q, q, 1.0, [[0, 1]] * 9, np.full(9, k + 1.0), np.ones((9, 2)))
            if k % 10 == 0:
                file.commit()
    content, seen = bytearray(path.read_bytes()), []
    if opened:
        content[11] = 5
        content[44:48] = lookup3(bytes(content[:44])).to_bytes(4, "little")
    for lost in (1, SPARE_BYTES):
        path.write_bytes(content[:-lost])
        assert (read(path).q[:, 0, 0] == np.arange(1, 201)).all()
        assert repair(path) == opened
        assert read(path).status == "finished"
    for lost in (10, 60_000, 120_000):
        path.write_bytes(content[: -SPARE_BYTES - lost])
        sol = read(path)
        if lost == 10:
            assert (sol.q[:, 0, 0] == np.arange(1, 201)).all()
        else:
            with pytest.raises(BrokenFile, match=f"truncated: its last {lost} bytes are missing"):
                np.asarray(sol.q)
        assert repair(path, tmp_path / f"{lost}.vtkhdf")
        assert repair(path)
        for place in (path, tmp_path / f"{lost}.vtkhdf"):
            kept = read(place)
            assert (kept.q[:, 0, 0] == np.arange(1, len(kept.t) + 1)).all()
            assert kept.multipliers[-1].tolist() == [len(kept.t)] * 9
            assert kept.status == ("finished" if lost == 10 else "running")
        assert not repair(path)
        seen.append(len(kept.t))
    assert seen[0] == 200 > seen[1] > seen[2] > 50


def test_a_file_that_was_left_open_and_then_cut_off_never_raises_an_error_of_others(good):
    whole = bytearray(good.read_bytes())
    whole[11] = 5
    whole[44:48] = lookup3(bytes(whole[:44])).to_bytes(4, "little")
    for length in random.Random(1).sample(range(48, len(whole)), 15):
        good.write_bytes(whole[:length])
        gone_through(good)


def gone_through(path):
    """Read all of a file that may be damaged: it works, or the error is ours."""
    for verb in (about, look, repair, look):
        try:
            verb(path)
        except JostleError as error:
            assert str(path) in str(error)  # noqa: PT017


def look(path):
    sol = read(path)
    return [np.asarray(sol.q), np.asarray(sol.u), list(sol.pairs), list(sol.multipliers), list(sol.normals), sol.stats]


def test_damaged_bytes_never_raise_an_error_of_others(good):
    whole, chance, failed = good.read_bytes(), random.Random(2), 0
    blocks = [found.start() for found in re.finditer(b"OHDR|EAHD|EAIB|EADB|GCOL", whole)]
    for at in chance.sample(blocks, examples(24)) + chance.sample(range(len(whole) - 64), examples(15)):
        broken = bytearray(whole)
        broken[at : at + 64] = chance.randbytes(64)
        good.write_bytes(broken)
        gone_through(good)
        try:
            look(good)
        except JostleError:
            failed += 1
    assert failed > examples(39) / 5


def test_a_wrong_checksum_is_found(good):
    broken = bytearray(good.read_bytes())
    broken[46] ^= 1
    good.write_bytes(broken)
    with pytest.raises(BrokenFile, match="checksum"):
        superblock(good)


def test_the_checksum_is_that_of_hdf5(good):
    block = good.read_bytes()[:48]
    assert lookup3(block[:44]) == int.from_bytes(block[44:48], "little")
    known = {b"": 0xDEADBEEF, b"Four score and seven years ago": 0x17770551}
    for data, value in known.items():
        assert lookup3(data) == value


def test_a_file_left_open_in_another_way_is_read_and_repaired(good):
    """Flag 1 alone: opened for writing, not by one writer with many readers."""
    block = bytearray(good.read_bytes())
    block[11] = 1
    block[44:48] = lookup3(bytes(block[:44])).to_bytes(4, "little")
    good.write_bytes(block)
    assert len(read(good).t) == 20
    assert repair(good)
    assert len(read(good).t) == 20


def test_a_foreign_file_that_was_left_open_is_not_touched(tmp_path):
    path = tmp_path / "file.h5"
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file["numbers"] = np.arange(5)
        file.swmr_mode = True
        copy = tmp_path / "copy.h5"
        copy.write_bytes(path.read_bytes())
    before = copy.read_bytes()
    with pytest.raises(BrokenFile, match="not a trajectory written by jostle"):
        repair(copy)
    assert copy.read_bytes() == before
    with pytest.raises(BrokenFile, match=rf"^{re.escape(str(copy))} is an HDF5 file, but not a trajectory"):
        read(copy)
    with pytest.raises(BrokenFile, match="not a trajectory"):
        Writer.reopen(copy, 0, 0)
    assert copy.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["copy.h5", "file.h5"]
