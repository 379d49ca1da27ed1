import os
import shutil
import tempfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from frames import assert_same, returned, runs
from hypothesis import given, settings
from hypothesis import strategies as st

import jostle as jo
from jostle.errors import FileInUse, FileIsThere, InvalidValue, JostleError, NoSuchFile
from jostle.io.hdf5 import SPARE_BYTES, superblock
from jostle.io.polydata import points_of
from jostle.io.reading import Ragged, about, read
from jostle.io.repairing import repair
from jostle.io.trajectory import Writer
from jostle.result.recording import STATISTICS
from rows import examples

FLAGS = 11


def record(k):
    return (0.5 * k, 0.5, 7, k, 9, 1e-9, 2e-9, 3e-9, 0.0, k % 2 == 0, "GaussSeidel", 0.25 * k, 0.5)


def saved(path):
    """All that VTK and we store: data sets by name, without their layout."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
        found |= {
            f"{group}@{key}": value
            for group in ("VTKHDF/Steps", "jostle/run")
            for key, value in file[group].attrs.items()
        }
    return found


def assert_identical(one, other):
    one, other = saved(one), saved(other)
    assert one.keys() == other.keys()
    for name, values in one.items():
        assert np.asarray(values).dtype == np.asarray(other[name]).dtype, name
        assert np.asarray(values).tobytes() == np.asarray(other[name]).tobytes(), name


@settings(max_examples=examples(20), deadline=None)
@given(runs(), st.booleans(), st.sampled_from([np.float32, np.float64]))
def test_what_is_written_comes_back(run, contacts, dtype):
    shape, frames = run
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.vtkhdf"
        with Writer(
            path, shape=shape, contacts=contacts, dtype=dtype, about={"seed": "7", "text": "äöü\n" * 9}
        ) as file:
            for k, frame in enumerate(frames):
                file.frame(0.1 * k, *frame)
                file.steps(np.array([record(k)], dtype=STATISTICS))
        sol = read(path)
        assert sol.t.tolist() == [0.1 * k for k in range(len(frames))]
        assert sol.q.shape == sol.u.shape == (len(frames), *shape)
        radii = Ragged(sol.q.source, sol.q.source.radii)
        everything = zip(sol.q, sol.u, radii, sol.pairs, sol.multipliers, sol.normals, strict=True)
        for found, frame in zip(everything, frames, strict=True):
            assert_same(found, returned(shape, *frame, contacts=contacts))
            assert [values.dtype for values in found] == [float, float, float, np.int64, float, float]
        assert (sol.stats == np.array([record(k) for k in range(len(frames))], dtype=STATISTICS)).all()
        assert sol.stats.dtype == STATISTICS
        assert (sol.status, about(path)) == ("finished", {"seed": "7", "text": "äöü\n" * 9})


@settings(max_examples=examples(20), deadline=None)
@given(runs(), st.booleans(), st.data())
def test_a_file_that_is_continued_equals_one_that_was_not_interrupted(run, contacts, data):
    shape, frames = run
    frames = [*frames, *frames[::-1]]
    keep = data.draw(st.integers(0, len(frames)))
    more = data.draw(st.integers(keep, len(frames)))
    with tempfile.TemporaryDirectory() as folder:
        whole, cut, copy = (Path(folder) / f"{name}.vtkhdf" for name in ("whole", "cut", "copy"))
        with Writer(whole, shape=shape, contacts=contacts, about={}) as file:
            for k, frame in enumerate(frames):
                file.frame(0.1 * k, *frame)
                file.steps([record(k)] * 2)
        with Writer(cut, shape=shape, contacts=contacts, about={}) as file:
            for k, frame in enumerate(frames[:more]):
                file.frame(0.1 * k, *frame)
                file.steps([record(k)] * 2)
                if k % 2:
                    file.commit()
            file.commit()
            shutil.copy(cut, copy)  # as if the process had been killed now
        with Writer.reopen(copy, keep, 2 * keep) as file:
            assert (file.acknowledged, file.acknowledged_steps) == (keep, 2 * keep)
            for k, frame in enumerate(frames[keep:], start=keep):
                file.frame(0.1 * k, *frame)
                file.steps([record(k)] * 2)
        assert_identical(whole, copy)


def test_a_continued_file_drops_what_came_later_at_once(tmp_path):
    path = tmp_path / "run.vtkhdf"
    with Writer(path, shape=(2,), about={}) as file:
        for k in range(5):
            file.frame(k, [k, k], [0, 0])
    with Writer.reopen(path, 3, 0) as file:
        assert read(path).t.tolist() == [0, 1, 2]
        assert read(path).status == "running"
        file.frame(7.0, [7, 7], [0, 0])
    assert read(path).t.tolist() == [0, 1, 2, 7]
    assert read(path).q[:, 1].tolist() == [0, 1, 2, 7]
    with pytest.raises(InvalidValue, match="has 4 frames, 0 step records and 0 impacts"):
        Writer.reopen(path, 5, 0)
    assert read(path).t.tolist() == [0, 1, 2, 7]
    Writer.reopen(path, 4, 0).close("finished")


def test_a_frame_counts_when_it_is_committed(tmp_path, monkeypatch):
    monkeypatch.setattr("jostle.io.growing.COMMIT_INTERVAL", np.inf)
    path = tmp_path / "run.vtkhdf"
    with Writer(path, shape=(3, 2), about={}) as file:
        file.frame(0.0, np.ones((3, 2)), np.zeros((3, 2)))
        assert file.acknowledged == 0
        with pytest.raises(JostleError, match="no frame yet: its run is in progress"):
            read(path)
        left = tmp_path / "left by a killed process.vtkhdf"
        left.write_bytes(path.read_bytes())
        with pytest.raises(JostleError, match="contains no frame: its run was killed"):
            read(left)
        file.commit()
        assert file.acknowledged == 1
        assert read(path).status == "running"
        file.frame(1.0, np.ones((3, 2)), np.zeros((3, 2)))
        assert len(read(path).t) == 1
    sol = read(path)
    assert (len(sol.t), sol.status) == (2, "finished")


def test_commits_come_by_themselves_after_some_time_or_some_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("jostle.io.growing.COMMIT_INTERVAL", 0.0)
    with Writer(tmp_path / "time.vtkhdf", shape=(3,), about={}) as file:
        file.frame(0.0, np.ones(3), np.zeros(3))
        assert file.acknowledged == 1
        file.steps([record(1)])
        assert file.acknowledged_steps == 1
    monkeypatch.setattr("jostle.io.growing.COMMIT_INTERVAL", np.inf)
    with Writer(tmp_path / "bytes.vtkhdf", shape=(100_000, 3), about={}) as file:
        for k in range(3):
            file.frame(k, np.full((100_000, 3), 1.0), np.zeros((100_000, 3)))
        assert file.acknowledged == 2


def test_radii_and_numbers_are_stored_again_only_when_they_change(tmp_path):
    path, radii = tmp_path / "run.vtkhdf", np.ones(4, dtype=np.float32)
    with Writer(path, shape=(4, 2), about={}) as file:
        for k in range(6):
            if k == 3:
                radii *= 2.0  # in place: the writer must not have kept the array itself
            q = np.full((4, 2), float(k))
            q[0] = np.nan if k == 5 else q[0]
            file.frame(k, q, q, radii)
    stored = saved(path)
    assert stored["VTKHDF/PointData/radius"].tolist() == [1] * 4 + [2] * 4 + [2] * 3
    assert stored["VTKHDF/PointData/body"].tolist() == [0, 1, 2, 3, 1, 2, 3]
    assert stored["VTKHDF/Steps/PointDataOffsets/radius"].tolist() == [0, 0, 0, 4, 4, 8]


def test_a_closed_file_is_clean_and_no_longer_than_it_must_be(tmp_path):
    path = tmp_path / "run.vtkhdf"
    with Writer(path, shape=(4, 2), about={}) as file:
        file.frame(0.0, np.zeros((4, 2)), np.zeros((4, 2)))
        file.commit()
        assert superblock(path)[FLAGS] != 0
    block = superblock(path)
    assert block[FLAGS] == 0
    assert int.from_bytes(block[28:36], "little") == path.stat().st_size - SPARE_BYTES
    assert not repair(path)
    with h5py.File(path) as plain:
        assert plain["VTKHDF/Steps"].attrs["NSteps"] == 1
    assert os.listdir(tmp_path) == ["run.vtkhdf"]


def write_nonsense(path):
    with Writer(path, shape=(1,), about={}) as file:
        file.frame(0.0, [0], [0])
        file.frame(1.0, [0, 0], [0])


def test_the_status_says_how_a_run_ended(tmp_path):
    for status in ("finished", "stopped", "not converged"):
        file = Writer(tmp_path / f"{status}.vtkhdf", shape=(1,), about={})
        file.frame(0.0, [0], [0])
        file.close(status)
        file.close("something else")
        assert read(tmp_path / f"{status}.vtkhdf").status == status
    with pytest.raises(InvalidValue):
        write_nonsense(tmp_path / "failed.vtkhdf")
    assert read(tmp_path / "failed.vtkhdf").status == "failed"


def test_two_writers_of_one_file_are_refused(tmp_path):
    path = tmp_path / "run.vtkhdf"
    with Writer(path, shape=(1,), about={}) as file:
        file.frame(0.0, [0], [0])
        file.commit()
        read(path)  # opening and closing the file in this process must not lose the lock
        for attempt in (lambda: Writer.reopen(path, 0, 0), lambda: repair(path)):
            with pytest.raises(FileInUse, match="is being written"):
                attempt()
        with pytest.raises(FileIsThere, match="exists already"):
            Writer(path, shape=(1,), about={})
        file.frame(1.0, [1], [1])
    assert read(path).q[:].tolist() == [[0], [1]]
    with pytest.raises(FileIsThere, match="exists already"):
        Writer(path, shape=(1,), about={})
    with pytest.raises(NoSuchFile, match="there is no folder"):
        Writer(tmp_path / "nowhere" / "run.vtkhdf", shape=(1,), about={})


def test_frames_that_do_not_fit_are_refused_and_leave_the_file_as_it_was(tmp_path):
    path = tmp_path / "run.vtkhdf"
    with Writer(path, shape=(2, 2), contacts=True, about={}) as file:
        file.frame(0.0, np.zeros((2, 2)), np.zeros((2, 2)))
        with pytest.raises(InvalidValue, match="shape"):
            file.frame(1.0, np.zeros((3, 2)), np.zeros((3, 2)))
        with pytest.raises(InvalidValue, match="radii"):
            file.frame(1.0, np.zeros((2, 2)), np.zeros((2, 2)), np.ones(3))
        with pytest.raises(InvalidValue, match="multipliers"):
            file.frame(1.0, np.zeros((2, 2)), np.zeros((2, 2)), 1.0, [[0, 1]], [1.0, 2.0], [[1.0, 0.0]])
        file.frame(2.0, np.ones((2, 2)), np.ones((2, 2)))
    with pytest.raises(InvalidValue, match="is closed"):
        file.frame(3.0, np.ones((2, 2)), np.ones((2, 2)))
    assert read(path).t.tolist() == [0.0, 2.0]
    assert read(path).q[1].tolist() == [[1, 1], [1, 1]]
    with pytest.raises(InvalidValue, match="dtype"):
        Writer(tmp_path / "other.vtkhdf", shape=(1,), dtype=int, about={})
    with pytest.raises(InvalidValue, match="about"):
        Writer(tmp_path / "other.vtkhdf", shape=(1,), about={"text": "a\ud800"})
    assert os.listdir(tmp_path) == ["run.vtkhdf"]


def test_one_radius_a_body_fits_also_where_each_entry_of_q_is_drawn(tmp_path):
    path = tmp_path / "run.vtkhdf"
    with Writer(path, shape=(6,), about={}) as file:
        file.frame(0.0, np.arange(6), np.zeros(6), [1.0, 2.0, 3.0])
    assert saved(path)["VTKHDF/PointData/radius"].tolist() == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("shape", [(5, 2), (7,), (2, 3, 2)])
def test_lazy_arrays_are_indexed_as_those_of_numpy(tmp_path, shape):
    path, random = tmp_path / "run.vtkhdf", np.random.default_rng(0)
    whole = random.random((9, *shape)).astype(np.float32).astype(float)
    if shape == (5, 2):
        whole[random.random((9, 5)) < 0.3] = np.nan
    with Writer(path, shape=shape, about={}) as file:
        for k, q in enumerate(whole):
            file.frame(k, q, q)
    q = read(path).q
    chosen = [
        0, -1, np.int64(3), slice(None), slice(2, 7), slice(7, 1, -2), slice(None, None, -1), slice(4, 4), [1, 5, 2],
        [-1, 0, -1], np.array([[0, 1], [8, 3]]), np.arange(9) % 2 == 0, [], (3, 1), (slice(1, 4), 1), (slice(None), -1),
        ([0, 2], [1, 0]), (-2, slice(1, 3)), Ellipsis, (Ellipsis, 0), None, np.isnan(whole), (),
        (slice(None, None, -2), [1, 0]),
    ]  # fmt: skip
    for index in chosen:
        np.testing.assert_array_equal(q[index], whole[index], strict=True)
    assert (len(q), q.shape, q.ndim, q.size, q.dtype) == (9, whole.shape, whole.ndim, whole.size, whole.dtype)
    np.testing.assert_array_equal(np.asarray(q), whole)
    np.testing.assert_array_equal(np.asarray(q, dtype=np.float32), whole.astype(np.float32), strict=True)
    np.testing.assert_array_equal(list(q), whole)
    np.testing.assert_array_equal(np.add(q, 1.0), whole + 1.0)
    for wrong in (9, -10, [0, 9], (0, 99)):
        with pytest.raises(IndexError):
            q[wrong]
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(q, copy=False)


def test_contacts_are_sequences(tmp_path):
    path = tmp_path / "run.vtkhdf"
    with Writer(path, shape=(3, 2), contacts=True, about={}) as file:
        for k in range(4):
            file.frame(k, np.zeros((3, 2)), np.zeros((3, 2)), 1.0, np.ones((k, 2), int), np.ones(k), np.ones((k, 2)))
    sol = read(path)
    assert [len(p) for p in sol.multipliers] == [0, 1, 2, 3]
    assert [len(p) for p in sol.pairs[1:3]] == [1, 2]
    assert sol.normals[-1].shape == (3, 2)
    assert len(sol.normals) == 4
    with pytest.raises(IndexError):
        sol.pairs[4]


def pile():
    """Three balls that fall on a plane."""
    q0 = np.array([[0.0, 1.0], [0.1, 3.2], [4.0, 1.5]])
    within = jo.Balls([1.0, 1.0, 0.5]) & jo.HalfSpace([0.0, 1.0], radii=[1.0, 1.0, 0.5])
    return jo.Motion(q0=q0, force=np.tile([0.0, -9.81], (3, 1)), within=within)


def test_a_solution_from_a_file_answers_as_the_one_in_memory(tmp_path):
    problem = pile()
    sol = jo.solve(problem, jo.Maury(), t=1.0, h=0.02)
    path = jo.io.write(sol, tmp_path / "pile.vtkhdf", dtype=np.float64)
    back = read(path, problem, jo.Maury())
    np.testing.assert_array_equal(back(0.505), sol(0.505))
    np.testing.assert_array_equal(back(np.array([[0.0, 0.3], [1.0, 0.777]])), sol(np.array([[0.0, 0.3], [1.0, 0.777]])))
    np.testing.assert_array_equal(back.gaps(), sol.gaps())
    np.testing.assert_array_equal(back.energy().total, sol.energy().total)
    assert back.residual == sol.residual
    assert (back.stats == sol.stats).all()
    assert repr(back) == repr(sol)
    for k in range(len(sol.t)):
        active = sol.multipliers[k] > 0
        found = (back.pairs[k], back.multipliers[k])
        assert_same(found, (sol.pairs[k][active], sol.multipliers[k][active]))
    single = read(jo.io.write(sol, tmp_path / "single.vtkhdf"), problem)
    np.testing.assert_allclose(single.q[:], sol.q, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(single.gaps(), sol.gaps(), atol=1e-6)
    with pytest.raises(InvalidValue, match="has shape"):
        read(path, jo.Motion(q0=[0.0], within=jo.Free()))


def test_bodies_that_come_and_go_come_back(tmp_path):
    q0 = np.array([[0.0, 0.5], [0.0, 9.0], [3.0, 0.5]])
    problem = jo.Motion(
        q0=q0, v0=np.tile([1.0, 0.0], (3, 1)), within=jo.Balls(np.full(3, 0.5)), present=[True, False, True]
    )
    gone = jo.Outlet(lambda q: q[:, 0] > 3.5)
    sol = jo.solve(problem, jo.Maury(), t=1.0, h=0.1, changes=gone)
    assert np.isnan(sol.q).any()
    back = read(jo.io.write(sol, tmp_path / "run.vtkhdf", dtype=np.float64), problem)
    np.testing.assert_array_equal(back.q[:], sol.q)
    np.testing.assert_array_equal(back.u[:], sol.u)
    np.testing.assert_array_equal(back.gaps(), sol.gaps())


def test_a_solution_stays_readable_in_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Writer("run.vtkhdf", shape=(1,), about={}) as file:
        file.frame(0.0, [5], [0])
    sol = read("run.vtkhdf")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert sol.q[0].tolist() == [5]


def test_points_of_every_shape():
    assert points_of((4, 3)) == (4, 3)
    assert points_of((4, 0)) == (0, 1)
    assert points_of(()) == (1, 1)


def test_a_writer_that_is_forgotten_leaves_a_file_that_can_be_continued(tmp_path, monkeypatch):
    monkeypatch.setattr("jostle.io.growing.COMMIT_INTERVAL", np.inf)
    path = tmp_path / "run.vtkhdf"
    file = Writer(path, shape=(1,), about={})
    file.frame(0.0, [5], [0])
    file.commit()
    file.frame(1.0, [6], [0])
    del file
    assert read(path).q[:].tolist() == [[5]]
    with Writer.reopen(path, 1, 0) as again:
        again.frame(1.0, [7], [0])
    assert read(path).q[:].tolist() == [[5], [7]]


def test_a_commit_that_was_interrupted_can_be_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr("jostle.io.growing.COMMIT_INTERVAL", np.inf)
    whole, broken = tmp_path / "whole.vtkhdf", tmp_path / "broken.vtkhdf"
    plain, calls = Writer._append, []

    def interrupted(self, name, blocks):
        calls.append(name)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return plain(self, name, blocks)

    for path in (whole, broken):
        with Writer(path, shape=(4, 2), contacts=True, about={}) as file:
            for k in range(6):
                q = np.full((4, 2), float(k))
                file.frame(k, q, q, 1.0 + k // 2, [[0, 1], [1, -1]], [1.0, k], [[1.0, 0.0]] * 2)
                if path == broken and k == 3:
                    monkeypatch.setattr(Writer, "_append", interrupted)
                    with pytest.raises(KeyboardInterrupt):
                        file.commit()
                    monkeypatch.setattr(Writer, "_append", plain)
    assert_identical(whole, broken)


def test_records_of_steps_with_missing_fields_are_refused_by_their_names(tmp_path):
    with Writer(tmp_path / "a.vtkhdf", shape=(1, 2), about={}) as file:
        with pytest.raises(jo.InvalidValue, match=r"records must have the fields t, h, .* wall_work"):
            file.steps([(0.1, 0.1, 1)])
        file.frame(0.0, np.zeros((1, 2)), np.zeros((1, 2)))
