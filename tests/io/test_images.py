"""Files of fields on a grid: what was written is read, and what is damaged or strange is refused by name."""

import json
import shutil
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

import jostle as jo
from jostle.errors import BrokenFile, FileInUse, FileIsThere
from jostle.macro import Flow, Grid, Splitting


@pytest.fixture(scope="module")
def room():
    """A block flies past a wall and out of an exit."""
    grid = Grid([-1, 0], [3, 1], h=1 / 4, closed=((True, False), (True, True)))
    block, wall, out = grid.block([-1, 0], [0, 0.5]), grid.block([1, 0.5], [1.5, 1]), grid.block([2.5, 0], [3, 0.5])
    return Flow(grid=grid, density=0.5 * block, velocity=grid.velocity(1.0, 0), walls=wall, exits=out)


@pytest.fixture(scope="module")
def finished(room, tmp_path_factory):
    place = tmp_path_factory.mktemp("room") / "room.vtkhdf"
    output = jo.io.Output(place, about={"title": "A room"})
    return place, jo.macro.solve(room, Splitting(), t=3.0, h=0.1, every=4, output=output)


@pytest.fixture
def run(finished, tmp_path):
    """A copy of the file, which a test may damage, and the solution."""
    place, sol = finished
    return Path(shutil.copy(place, tmp_path)), sol


def test_a_file_of_fields_is_read_as_it_was_written(run):
    place, sol = run
    found = jo.io.read_images(place)
    assert (found.t == sol.t).all()
    assert found.lower.tolist() == [-1, 0]
    assert found.upper.tolist() == [3, 1]
    assert found.h == 0.25
    assert found.closed == ((True, False), (True, True))
    assert (found.walls == sol.domain.walls).all()
    assert (found.exits == sol.domain.exits).all()
    for name, values in {"density": sol.density, "velocity": sol.cells, "pressure": sol.pressure}.items():
        field, values = found.fields[name], np.asarray(values)
        assert field.shape == values.shape
        assert (np.asarray(field) == values).all()
        assert (field[-1] == values[-1]).all()
        assert (field[1:3] == values[1:3]).all()
        assert (field[2, 3] == values[2, 3]).all()
        assert (np.stack(list(field)) == values).all()
    assert {name: total.tolist() for name, total in found.totals.items()} == {
        "mass": sol.mass.tolist(), "gone": sol.gone.tolist(), "energy": sol.energy.tolist(),
    }  # fmt: skip
    assert (found.steps == sol.stats).all()
    assert found.status == "finished"
    assert found.about["problem"] == "Flow"
    assert found.about["scheme"] == repr(Splitting())
    assert found.about["version of jostle"]
    assert jo.io.about(place)["title"] == "A room"


def test_info_says_what_a_file_of_fields_is(run, jostle):
    place, sol = run
    code, out, _ = jostle("info", place, "--json")
    assert code == 0
    assert "mass at end" in jostle("info", place)[1]
    found = json.loads(out)
    assert found["cells"] == [16, 4]
    assert found["frames"] == len(sol.t)
    assert found["mass_at_start"] == pytest.approx(0.25)
    assert found["mass_at_end"] == sol.mass[-1]
    assert found["gone_at_end"] > 0.0
    assert (found["walls_cells"], found["exits_cells"]) == (4, 4)
    assert found["title"] == "A room"
    assert found["message"] == "reached the end time"


def test_bodies_and_fields_are_told_apart(run, tmp_path):
    place, _ = run
    with pytest.raises(BrokenFile, match=r"contains fields on a grid, not bodies: read it with jo\.io\.read_images"):
        jo.io.read(place)
    bodies = tmp_path / "bodies.vtkhdf"
    jo.solve(jo.models.rack(2), jo.Maury(), t=0.1, h=0.1, output=bodies)
    with pytest.raises(BrokenFile, match=r"read a trajectory of bodies with jo\.io\.read"):
        jo.io.read_images(bodies)
    assert jo.io.are_images(place)
    assert not jo.io.are_images(bodies)


def test_files_are_replaced_only_when_asked_and_never_those_of_others(run, room, tmp_path):
    place, _ = run
    with pytest.raises(FileIsThere, match="exists already"):
        jo.macro.solve(room, Splitting(), t=0.1, h=0.1, output=place)
    jo.macro.solve(room, Splitting(), t=0.1, h=0.1, output=jo.io.Output(place, overwrite=True))
    assert jo.io.read_images(place).t[-1] == 0.1
    place.write_text("thoughts")
    with pytest.raises(FileIsThere, match="not an image file"):
        jo.macro.solve(room, Splitting(), t=0.1, h=0.1, output=jo.io.Output(place, overwrite=True))
    assert place.read_text() == "thoughts"


def test_a_run_that_is_killed_leaves_a_file_that_says_so(room, tmp_path):
    seen, place = [], tmp_path / "room.vtkhdf"
    output = jo.io.Output(place, checkpoint=tmp_path / "room.checkpoint", seconds=0.0)

    def look(state):
        found = jo.io.read_images(place)
        seen.append((len(found.t), found.status))

    jo.macro.solve(room, Splitting(), t=0.3, h=0.1, progress=look, output=output)
    assert seen == [(2, "running"), (3, "running"), (4, "running")]
    assert jo.io.read_images(place).status == "finished"


def damaged(place, change):
    with h5py.File(place, "r+") as file:
        change(file)


DAMAGES = {
    "the time or the totals of frame 1 are wrong": lambda file: file["VTKHDF/Steps/Values"].write_direct(np.zeros(9)),
    "the time or the totals of frame 0 are wrong": lambda file: file["jostle/images/totals/mass"].write_direct(
        np.ones(9)
    ),
    "density has rows of shape": lambda file: file["VTKHDF"].attrs.__setitem__(
        "WholeExtent", np.array([0, 15, 0, 4, 0, 1])
    ),
    "another version of jostle": lambda file: file["jostle/run"].attrs.__setitem__("format", 99),
    "must name three units": lambda file: file["jostle/run"].attrs.__setitem__("units", ["m", "s"]),
    "has no jostle/images": lambda file: file.__delitem__("jostle/images"),
    "walls has shape": lambda file: (
        file["jostle/images"].__delitem__("walls"),
        file["jostle/images"].create_dataset("walls", data=np.zeros((2, 2), np.uint8), chunks=(2, 2)),
    ),
    "link to another place": lambda file: (
        file["VTKHDF/CellData"].__delitem__("pressure"),
        file["VTKHDF/CellData"].__setitem__("pressure", h5py.ExternalLink("other.h5", "/numbers")),
    ),
    "chunks of .1, 1, 4, 16., not of one frame": lambda file: (
        file["VTKHDF"].attrs.__setitem__("WholeExtent", np.array([0, 1 << 40, 0, 4, 0, 1])),
        *(file["VTKHDF/CellData"].__delitem__(name) for name in ("density", "pressure", "velocity")),
        file["jostle/images"].__delitem__("faces"),
        file["VTKHDF/CellData"].create_dataset("density", (9, 1, 4, 1 << 40), dtype=float, chunks=(1, 1, 4, 16)),
        file["jostle"].__delitem__("checksums"),
        file["jostle"].create_dataset("checksums", (9, 2), dtype=np.uint32, chunks=(9, 2)),
    ),
    "compressed or filtered": lambda file: (
        file["VTKHDF/CellData"].__delitem__("pressure"),
        file["VTKHDF/CellData"].create_dataset("pressure", data=np.zeros((9, 1, 4, 16)), compression="lzf"),
    ),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_damaged_files_of_fields_are_refused(run, message):
    place, sol = run
    assert len(sol.t) == 9
    damaged(place, DAMAGES[message])
    with pytest.raises(BrokenFile, match=message):
        jo.io.read_images(place)


def contents(place):
    found = jo.io.read_images(place)
    parts = [found.t, found.lower, found.h, found.closed, found.walls, found.exits, found.steps, found.status]
    parts += [*found.totals.values(), *map(np.asarray, found.fields.values()), *found.about.values(), found.units]
    return b"".join(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode() for part in parts)


def test_a_byte_that_changed_is_refused_or_changes_nothing(run):
    place, _ = run
    good, whole = place.read_bytes(), contents(place)
    refused, random = 0, np.random.default_rng(0)
    for byte in random.integers(0, len(good), 60):
        bad = bytearray(good)
        bad[byte] ^= 1 << int(random.integers(8))
        place.write_bytes(bad)
        try:
            assert contents(place) == whole
        except BrokenFile:
            refused += 1
    assert refused > 10


def test_a_frame_that_changed_is_refused_when_it_is_read(run):
    place, sol = run
    with h5py.File(place, "r+") as file:
        file["VTKHDF/CellData/pressure"][4, 0, 0, 0] += 1.0
    found = jo.io.read_images(place).fields["pressure"]
    assert (found[3] == sol.pressure[3]).all()
    with pytest.raises(BrokenFile, match="pressure of frame 4 does not match its checksum"):
        found[2:6]


def test_a_file_that_a_run_writes_is_not_taken_by_another_run(room, tmp_path):
    place = tmp_path / "room.vtkhdf"

    def second(progress):
        if progress.status == "finished" and progress.step == 2:
            with pytest.raises(FileInUse, match="being written"):
                jo.macro.solve(room, Splitting(), t=0.1, h=0.1, output=jo.io.Output(place, overwrite=True))

    sol = jo.macro.solve(room, Splitting(), t=0.5, h=0.1, output=place, progress=second)
    assert (jo.io.read_images(place).t == sol.t).all()
    again = jo.macro.solve(room, Splitting(), t=0.2, h=0.1, output=jo.io.Output(place, overwrite=True))
    assert (jo.io.read_images(place).t == again.t).all()


def test_a_trajectory_that_took_the_name_of_a_running_run_is_kept(room, tmp_path):
    place = tmp_path / "room.vtkhdf"
    ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))

    def moved(progress):
        if progress.step == 2:
            place.unlink()
            jo.solve(ball, jo.Maury(), t=0.1, h=0.1, output=place)

    with pytest.raises(FileIsThere, match="replaced by another program"):
        jo.macro.solve(room, Splitting(), t=0.5, h=0.1, output=place, progress=moved)
    assert len(jo.io.read(place).t) == 2


def large_chunks(file):
    """One chunk for millions of frames, of which the file has a few."""
    values = file["VTKHDF/CellData/density"][:]
    del file["VTKHDF/CellData/density"]
    options = {"chunks": (2**17, *values.shape[1:]), "maxshape": (None, *values.shape[1:]), "compression": "gzip"}
    file.create_dataset("VTKHDF/CellData/density", data=values, **options)


def long_stream(name, start):
    """A deflated chunk whose bytes give much more than the chunk has."""

    def change(file):
        deflate, data = zlib.compressobj(), file[name]
        ends = tuple(slice(first, first + length) for first, length in zip(start, data.chunks, strict=True))
        stream = deflate.compress(data[ends].tobytes()) + deflate.compress(bytes(2**24)) + deflate.flush()
        data.id.write_direct_chunk(start, stream)

    return change


def deflated(name, **options):
    def change(file):
        values, attributes = file[name][:], dict(file[name].attrs)
        del file[name]
        file.create_dataset(name, data=values, compression="gzip", **options).attrs.update(attributes)

    return change


EXPANDING = {
    "density has chunks": large_chunks,
    "a chunk of VTKHDF/CellData/pressure inflates to more": long_stream("VTKHDF/CellData/pressure", (3, 0, 0, 0)),
    "a chunk of jostle/images/faces/x inflates to more": long_stream("jostle/images/faces/x", (2, 0, 0)),
    "a chunk of jostle/images/walls inflates to more": long_stream("jostle/images/walls", (0, 0)),
    "jostle/images/walls has chunks that are larger": deflated(
        "jostle/images/walls", chunks=(2**12, 2**12), maxshape=(None, None)
    ),
    "Steps/Values is compressed": deflated("VTKHDF/Steps/Values", chunks=(2**24,), maxshape=(None,)),
    "totals/mass is compressed": deflated("jostle/images/totals/mass", chunks=(2**24,), maxshape=(None,)),
}


@pytest.mark.parametrize("message", EXPANDING)
def test_files_of_fields_that_expand_in_memory_are_refused_before_they_do(run, message):
    place, _ = run
    damaged(place, EXPANDING[message])

    def everything():
        images = jo.io.read_images(place)
        return [np.asarray(field) for field in (*images.fields.values(), *images.faces)]

    with pytest.raises(BrokenFile, match=message):
        everything()
