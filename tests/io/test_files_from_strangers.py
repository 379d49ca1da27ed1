"""Trajectories and checkpoints that somebody else made, or that were damaged: refused by name, never read as data."""

import json
import os
import random
import re
import zipfile

import h5py
import numpy as np
import pytest

import jostle as jo
from jostle.errors import BrokenFile, JostleError
from jostle.io import layout
from jostle.io.growing import STEPS
from jostle.io.reading import about, read
from jostle.io.repairing import repair
from jostle.io.trajectory import Writer
from jostle.result.facts import Facts
from jostle.result.recording import STATISTICS
from rows import examples, whole

RECORD = (0.5, 0.5, 7, 1, 9, 1e-9, 2e-9, 3e-9, 0.0, True, "GaussSeidel", 0.25, 0.5)


@pytest.fixture(scope="module")
def good_bytes(tmp_path_factory):
    """A trajectory of some frames, of float64 without zeros, so that each damaged byte of the data matters."""
    path, chance = tmp_path_factory.mktemp("good") / "good.vtkhdf", np.random.default_rng(0)
    with Writer(
        path, shape=(300, 2), contacts=True, dtype=float, facts=Facts(2, 2, walls=1), about={"seed": "7"}
    ) as file:
        for k in range(12):
            q, u, radii = chance.random((300, 2)), chance.random((300, 2)), 1.0 + chance.random(300)
            pairs = np.stack([np.arange(40), np.arange(1, 41)], axis=1)
            file.frame(0.1 * k, q, u, radii, pairs, chance.random(40), chance.random((40, 2)), 0.1)
            file.steps(np.array([RECORD] * 3, dtype=STATISTICS)[: 3 if len(STATISTICS) == len(RECORD) else 0])
    return path.read_bytes()


@pytest.fixture
def good(good_bytes, tmp_path):
    """The trajectory, in a file that a test may damage."""
    path = tmp_path / "good.vtkhdf"
    path.write_bytes(good_bytes)
    return path


def everything(path):
    """All that a user can get from a file."""
    sol = read(path)
    parts = [sol.t, sol.impulse_times, np.asarray(sol.q), np.asarray(sol.u), sol.stats, np.array(about(path)["seed"])]
    parts += [np.concatenate(list(part)) for part in (sol.radii, sol.pairs, sol.multipliers, sol.normals)]
    return [np.asarray(part).tobytes() for part in parts]


def refused(path, match):
    """Each verb refuses the file, and does not change it."""
    before = path.read_bytes()
    for verb in (everything, repair, lambda path: Writer.reopen(path, 1, 0).close()):
        with pytest.raises(BrokenFile, match=match) as caught:
            verb(path)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def secret(folder):
    path = folder / "secret.h5"
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file.create_dataset("Points", data=np.ones((3600, 3)), chunks=(1024, 3), maxshape=(None, 3))
        file.create_group("run").attrs["format"] = 2
    return path


LINKS = {
    "external": lambda folder: h5py.ExternalLink(str(secret(folder)), "/Points"),
    "soft": lambda folder: h5py.SoftLink("/VTKHDF/PointData/velocity"),
}


@pytest.mark.parametrize("kind", LINKS)
def test_links_to_other_places_are_refused(good, tmp_path, kind):
    link = LINKS[kind](tmp_path)
    for name in (layout.POINTS, "jostle/run", "VTKHDF", layout.TIME, STEPS):
        with h5py.File(good, "r+") as file:
            file.move(name, "aside")
            file[name] = link
        refused(good, "is a link to another place")
        with h5py.File(good, "r+") as file:
            del file[name]
            file.move("aside", name)
    assert everything(good)


def replaced(path, name, **options):
    """Another data set in the place of one, with the same values unless a shape is given."""
    with h5py.File(path, "r+") as file:
        values = file[name][:]
        del file[name]
        if "shape" not in options:
            options |= {"data": values}
        file.create_dataset(name, **options)


def test_data_outside_the_file_are_refused(good, tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(np.ones((3600, 3)).tobytes())
    whole = (3600, 3)
    replaced(good, layout.POINTS, shape=whole, dtype=float, external=[(str(outside), 0, 3600 * 24)])
    refused(good, "not stored in chunks of this file")


def test_virtual_data_sets_are_refused(good, tmp_path):
    view = h5py.VirtualLayout(shape=(3600, 3), dtype=float)
    view[:] = h5py.VirtualSource(str(secret(tmp_path)), "Points", shape=(3600, 3))
    with h5py.File(good, "r+", libver=("v110", "v110")) as file:
        del file[layout.POINTS]
        file.create_virtual_dataset(layout.POINTS, view)
    refused(good, "not stored in chunks of this file")


def test_filters_and_other_types_are_refused(good):
    whole = good.read_bytes()
    chunks = {"chunks": (1024, 3), "maxshape": (None, 3)}
    for options, match in (
        (chunks | {"compression": "gzip"}, "is compressed"),
        (chunks | {"fletcher32": True}, "is compressed or filtered"),
        (chunks | {"dtype": np.int64}, "has rows of shape"),
    ):
        good.write_bytes(whole)
        replaced(good, layout.POINTS, **options)
        refused(good, match)


def test_more_data_than_the_file_has_bytes_are_refused_before_memory_is_taken(good):
    whole = good.read_bytes()
    for name, many in ((layout.TIME, 10**13), (STEPS, 10**12)):
        good.write_bytes(whole)
        with h5py.File(good, "r+") as file:
            file[name].resize(many, axis=0)
            if name == layout.TIME:
                file["VTKHDF/Steps"].attrs["NSteps"] = np.int64(many)
            else:
                file["jostle/run"].attrs["steps"] = np.int64(many)
        refused(good, "more than the whole file|is damaged")
    for shape in ((10**13, 3), (10**6, 2), (-1, 2), (3,) * 40, (299, 2)):
        good.write_bytes(whole)
        with h5py.File(good, "r+") as file:
            del file["jostle/run"].attrs["shape"]
            file["jostle/run"].attrs["shape"] = np.array(shape, dtype=np.int64)
        refused(good, "points, but contains fewer|declares a q of shape")


def test_a_deeply_nested_file_is_read_as_fast_as_any(good):
    with h5py.File(good, "r+") as file:
        group = file
        for _ in range(3000):
            group = group.create_group("deeper")
        group["round"] = file["/"]  # a circle of hard links
    assert everything(good)


def test_every_damaged_byte_is_found_or_does_not_matter(good):
    """Corruptions at random places of the file: an error of ours, or the same data as before."""
    whole, chance, expected, found = good.read_bytes(), random.Random(3), everything(good), 0
    for at in chance.sample(range(48, len(whole) - 16), examples(90)):
        broken = bytearray(whole)
        width = chance.choice([1, 8])
        broken[at : at + width] = bytes(byte ^ chance.randrange(1, 256) for byte in broken[at : at + width])
        good.write_bytes(broken)
        try:
            assert everything(good) == expected, f"byte {at} was read as data"
        except JostleError as error:
            assert str(good) in str(error)  # noqa: PT017
            found += 1
    assert found > examples(90) / 5


@pytest.mark.parametrize("name", [*layout.CHECKED, layout.TIME, layout.IMPULSE_TIME, layout.COUNT, STEPS])
def test_a_damaged_frame_is_named_with_its_data_set(good, name):
    sol = read(good)
    with h5py.File(good, "r+") as file:
        data = file[name]
        row = len(data) // 2 + 3
        values = data[row]
        if name == STEPS:
            values["h"] *= 2.0
        data[row] = values if name == STEPS else np.flip(values) + 1
    if name in layout.CHECKED:
        frame = {40: row // 41, 300: row // 300}[40 if name in layout.CELL_DATA else 300]
        with pytest.raises(BrokenFile, match=rf"{name} of frame {frame} does not match its checksum"):
            everything(good)
        part = sol.q if name == layout.POINTS else sol.u if name == layout.VELOCITY else None
        if part is not None:
            assert part[frame - 1].shape == (300, 2)  # other frames are still there
            with pytest.raises(BrokenFile, match=rf"{name} of frame {frame}"):
                part[frame]
    elif name == STEPS:
        with pytest.raises(BrokenFile, match=rf"the record of step {row + 1} does not match its checksum"):
            everything(good)
    else:
        with pytest.raises(BrokenFile, match=rf"the entries of frame {row} in the tables"):
            everything(good)


def crafted(path, frame):
    """One frame of two bodies, whose checksums are right."""
    with Writer(path, shape=(2, 2), contacts=True, about={}) as file:
        converter = file._pending.converter
        converter.polydata, plain = lambda *_: frame(plain), converter.polydata
        file.frame(0.0, np.zeros((2, 2)), np.zeros((2, 2)), 1.0)


def test_bodies_that_do_not_exist_are_refused(tmp_path):
    def state(plain):
        pairs, normals = [[0, 1]], [[1.0, 0.0]]
        return plain(np.zeros((2, 2)), np.zeros((2, 2)), 1.0, pairs, [1.0], normals)

    def wrong_body(plain):
        picture = state(plain)
        return picture._replace(body=np.array([0, -1], dtype=np.int32))

    def wrong_pair(plain):
        picture = state(plain)
        return picture._replace(touching=picture.touching._replace(second=np.array([7], dtype=np.int32)))

    crafted(tmp_path / "body.vtkhdf", wrong_body)
    with pytest.raises(BrokenFile, match="frame 0 has bodies that do not exist"):
        read(tmp_path / "body.vtkhdf").radii[0]
    crafted(tmp_path / "pair.vtkhdf", wrong_pair)
    with pytest.raises(BrokenFile, match="contact of frame 0 is between bodies that do not exist"):
        read(tmp_path / "pair.vtkhdf").pairs[0]


def test_a_pipe_is_no_trajectory(tmp_path):
    os.mkfifo(tmp_path / "pipe.vtkhdf")
    for verb in (read, about, repair):
        with pytest.raises(BrokenFile, match="is a pipe or a device"):
            verb(tmp_path / "pipe.vtkhdf")


# Checkpoints


def resting():
    within = jo.Balls([1.0, 1.0]) & jo.HalfSpace([0, 1], radii=1.0)
    return jo.Motion(q0=[[0.0, 1.0], [0.0, 3.0]], force=[0.0, -10.0], within=within)


def solved(path, scheme, t, resume=False):
    return jo.solve(resting(), scheme, t=t, h=0.01, output=jo.io.Output(checkpoint=path, resume=resume))


def stored(path, arrays, how=np.savez):
    with open(path, "wb") as file:
        how(file, **arrays)


@pytest.fixture(params=[whole("Maury"), "Paoli", "Gluey"])
def kept(request, tmp_path):
    """A checkpoint, its scheme, and the arrays in it."""
    path, scheme = tmp_path / "run.checkpoint", getattr(jo, request.param)()
    solved(path, scheme, t=0.05)
    with np.load(path) as file:
        return path, scheme, dict(file)


def test_a_state_inside_a_wall_or_another_body_is_refused(kept):
    path, scheme, arrays = kept
    for q in ([[0.0, 0.5], [0.0, 3.0]], [[0.0, 1.0], [0.0, 2.5]]):
        stored(path, (arrays | {"q": np.array(q)}))
        with pytest.raises(BrokenFile, match=r"q overlaps by 0.5 at t = 0.05, but the saved state by 0"):
            solved(path, scheme, t=0.1, resume=True)
    stored(path, arrays)
    assert solved(path, scheme, t=0.1, resume=True).status == "finished"


def test_an_overlap_that_the_scheme_made_is_accepted(tmp_path):
    ball = jo.Motion(q0=[[0.0, 1.004]], v0=[0.0, -3.0], within=jo.HalfSpace([0, 1], radii=1.0), law=jo.Restitution(0.5))
    file = tmp_path / "run.checkpoint"
    half = jo.solve(ball, jo.MoreauJean(), t=0.01, h=0.01, output=jo.io.Output(checkpoint=file))
    assert half.gaps()[-1] < -1e-3
    rest = jo.solve(ball, jo.MoreauJean(), t=0.05, h=0.01, output=jo.io.Output(checkpoint=file, resume=True))
    whole = jo.solve(ball, jo.MoreauJean(), t=0.05, h=0.01)
    np.testing.assert_array_equal(rest.q[-1], whole.q[-1])


WRONG = [np.array(np.nan), np.array("text"), np.zeros((3, 5)), np.full((2, 2), np.inf), np.array(-1), np.zeros(0)]
WRONG += [np.zeros((0, 7), dtype=bool), np.full((2, 2), 10**9), np.array([[1 + 2j]]), None]


def test_a_crafted_checkpoint_never_raises_an_error_of_others(kept):
    (path, scheme, arrays), chance = kept, random.Random(0)
    for name in arrays:
        for wrong in chance.sample(WRONG, 4):
            changed = {key: value for key, value in arrays.items() if key != name}
            if wrong is not None:
                changed[name] = wrong
            stored(path, changed)
            try:
                solved(path, scheme, t=0.06, resume=True)
            except JostleError as error:
                assert str(path) in str(error) or name == "impulse_time"  # noqa: PT017


def test_a_checkpoint_that_lacks_an_array_is_refused_by_its_name(kept):
    path, scheme, arrays = kept
    for name in arrays.keys() - {"format"}:
        stored(path, {key: value for key, value in arrays.items() if key != name})
        with pytest.raises(BrokenFile, match=f"is damaged: the checkpoint has no '{re.escape(name)}'"):
            solved(path, scheme, t=0.1, resume=True)


def test_a_checkpoint_from_which_all_that_is_optional_was_taken_is_not_one_without_it(tmp_path):
    """It would go on with everybody present, and without what Paoli remembers."""
    rain = jo.Motion(q0=np.eye(2), within=jo.Balls([0.1, 0.1]), present=[True, False])
    ball = jo.Motion(q0=[1.0], force=[-1.0], within=jo.HalfSpace([1.0]))
    for problem, scheme, start, words in (
        (rain, jo.Maury(), ("codes", "aside", "start", "entered"), "aside"),
        (ball, jo.Paoli(), ("memory.",), r"memory\.before"),
    ):
        path = tmp_path / type(scheme).__name__
        jo.solve(problem, scheme, t=0.1, h=0.01, output=jo.io.Output(checkpoint=path))
        with np.load(path) as file:
            arrays = {name: value for name, value in file.items() if not name.startswith(start)}
        stored(path, arrays)
        with pytest.raises(BrokenFile, match=f"the checkpoint has no '{words}'"):
            jo.solve(problem, scheme, t=0.2, h=0.01, output=jo.io.Output(checkpoint=path, resume=True))


@pytest.mark.each_value
@pytest.mark.parametrize("part", ["titles", "fixed", "free"])
@pytest.mark.parametrize("value", ["nothing", 3, [], "absent"])
def test_a_description_of_a_run_without_one_of_its_tables_is_refused(kept, part, value):
    path, scheme, arrays = kept
    tables = json.loads(str(arrays["run"])) | {part: value}
    if value == "absent":
        del tables[part]
    stored(path, arrays | {"run": np.array(json.dumps(tables))})
    with pytest.raises(BrokenFile, match="'run' must be the description of a run"):
        solved(path, scheme, t=0.1, resume=True)


@pytest.mark.parametrize("part", ["titles", "fixed"])
def test_a_description_of_a_run_without_an_entry_belongs_to_another_run_or_goes_on(kept, part):
    """Titles are words for the reader; what is fixed must be the same."""
    path, scheme, arrays = kept
    tables = json.loads(str(arrays["run"]))
    del tables[part]["problem"]
    stored(path, arrays | {"run": np.array(json.dumps(tables))})
    if part == "titles":
        assert solved(path, scheme, t=0.1, resume=True).status == "finished"
    else:
        with pytest.raises(jo.InvalidValue, match="belongs to another run: problem was"):
            solved(path, scheme, t=0.1, resume=True)


def test_checkpoints_that_take_memory_or_run_code_are_refused(kept, tmp_path):
    path, scheme, arrays = kept

    def resumed(match):
        with pytest.raises(BrokenFile, match=match):
            solved(path, scheme, t=0.1, resume=True)

    stored(path, arrays, np.savez_compressed)
    resumed("it is compressed|more bytes than it has")
    stored(path, (arrays | {"q": np.array([print], dtype=object)}))
    resumed("objects")
    stored(path, arrays)
    header = path.read_bytes()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("format.npy", b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<i8', 'fortran_order': False, 'shape': "
                         b"(1000000000000,), }".ljust(117) + b"\n")  # fmt: skip
    resumed("declares shape")
    path.write_bytes(header[: len(header) // 2])
    resumed("is not a checkpoint, or is damaged")
    broken = bytearray(header)
    broken[header.index(b"q.npy") + 140] ^= 1
    path.write_bytes(broken)
    resumed("is not a checkpoint, or is damaged")
    path.unlink()
    os.mkfifo(path)
    resumed("is not a regular file")


def with_header(path, name, header):
    """The checkpoint with another header of one array, in a zip file that is right."""
    with zipfile.ZipFile(path) as archive:
        contents = {entry: archive.read(entry) for entry in archive.namelist()}
    data = contents[f"{name}.npy"]
    start = 10 + int.from_bytes(data[8:10], "little")
    line = header.encode().ljust(start - 11) + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        for entry, content in contents.items():
            archive.writestr(entry, data[:10] + line + data[start:] if entry == f"{name}.npy" else content)


HEADERS = [
    "{'descr': '<f8', 'fortran_order': False, 'shape': (True,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (2, None), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 30 + ")" * 30 + ", }",
    "{'descr': '<f3', 'fortran_order': False, 'shape': (2, 2), }",
    "{'descr': [('x', '<f8'), ('y', '<f8')], 'fortran_order': False, 'shape': (2,), }",
    "{'descr': '<U8', 'fortran_order': False, 'shape': (), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 0), }",
    "{'descr': ('<f8', (2,)), 'shape': (2,)}",
    "[]",
]


@pytest.mark.parametrize("header", HEADERS)
def test_an_array_with_another_header_is_refused(kept, header):
    path, scheme, _ = kept
    good = path.read_bytes()
    for name in ("q", "t"):
        path.write_bytes(good)
        with_header(path, name, header)
        with pytest.raises(BrokenFile, match=re.escape(str(path))):
            solved(path, scheme, t=0.1, resume=True)


def test_letters_that_do_not_exist_are_refused(kept):
    path, scheme, arrays = kept
    stored(path, arrays | {"status": np.frombuffer("finished".encode("utf-32-le"), np.uint32) + np.uint32(2**31)})
    with zipfile.ZipFile(path) as archive:
        contents = {entry: archive.read(entry) for entry in archive.namelist()}
    contents["status.npy"] = contents["status.npy"].replace(b"'<u4'", b"'<U8'").replace(b"(8,)", b"()  ")
    with zipfile.ZipFile(path, "w") as archive:
        for entry, content in contents.items():
            archive.writestr(entry, content)
    with pytest.raises(BrokenFile, match="is not a checkpoint, or is damaged"):
        solved(path, scheme, t=0.1, resume=True)


def test_numbers_that_no_computer_has_are_no_description_of_a_run(kept):
    path, scheme, arrays = kept
    tables = json.loads(str(arrays["run"]))
    tables["values"]["now"]["force"] = [10**400]
    stored(path, arrays | {"run": np.array(json.dumps(tables))})
    with pytest.raises(BrokenFile, match="'run' must be the description of a run"):
        solved(path, scheme, t=0.1, resume=True)


@pytest.mark.parametrize("flag", [0x01, 0x20, 0x40], ids=["encrypted", "patch", "strongly encrypted"])
def test_a_checkpoint_whose_arrays_are_marked_otherwise_is_refused(kept, flag):
    path, scheme, _ = kept
    content = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        for found in list(re.finditer(re.escape(mark), bytes(content))):
            content[found.start() + at] |= flag
    path.write_bytes(content)
    with pytest.raises(BrokenFile, match="is not a checkpoint, or is damaged"):
        solved(path, scheme, t=0.1, resume=True)


def test_damaged_bytes_of_a_checkpoint_never_raise_an_error_of_others(kept):
    (path, scheme, _), chance, refused = kept, random.Random(5), 0
    good = path.read_bytes()
    places = [found.start() for found in re.finditer(rb"PK\x01\x02|PK\x03\x04|PK\x05\x06|NUMPY", good)]
    for k in range(examples(120)):
        bad = bytearray(good)
        at = chance.choice(places) + chance.randrange(46) if k % 2 else chance.randrange(len(good))
        at = min(at, len(good) - 8)
        bad[at : at + chance.choice([1, 2, 4, 8])] = chance.choice([b"\xff", b"\0", chance.randbytes(4), b"(True,)"])
        path.write_bytes(bad)
        try:
            solved(path, scheme, t=0.06, resume=True)
        except JostleError as error:
            refused += 1
            assert str(path) in str(error)  # noqa: PT017
    assert refused > examples(120) / 2
