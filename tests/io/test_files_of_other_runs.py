"""A run is resumed with its own file only, and files that cannot be told apart by their times are told apart."""

import json
import subprocess
import sys

import h5py
import pytest

import jostle as jo
from jostle.io.growing import ABOUT
from jostle.io.reading import about


def density(value, cells=8):
    grid = jo.macro.Grid([0, 0], [1, 1], h=1 / cells, closed=True)
    return jo.macro.Flow(grid=grid, density=value, velocity=grid.velocity(0.1, 0.0))


def of_a_density(value, path, t, **files):
    return jo.macro.solve(density(value), jo.macro.Splitting(), t=t, h=0.1, output=jo.io.Output(path, **files))


def of_a_ball(height, path, t, **files):
    ball = jo.Motion(q0=[0.0, height], force=[0.0, -1.0], within=jo.HalfSpace([0, 1]))
    return jo.solve(ball, jo.Maury(), t=t, h=0.1, output=jo.io.Output(path, **files))


@pytest.mark.parametrize("run", [of_a_density, of_a_ball])
def test_a_run_is_not_continued_in_the_file_of_another_one(run, tmp_path):
    path, checkpoint = tmp_path / "run.vtkhdf", tmp_path / "run.checkpoint"
    run(0.5, path, 1.0, checkpoint=checkpoint)
    run(0.8, path, 1.0, overwrite=True)
    with pytest.raises(jo.InvalidValue, match="belongs to another run: its frame 10 is not that of the checkpoint"):
        run(0.5, path, 2.0, checkpoint=checkpoint, resume=True)


def test_a_density_is_not_continued_in_the_file_of_another_grid(tmp_path):
    path, checkpoint = tmp_path / "run.vtkhdf", tmp_path / "run.checkpoint"
    of_a_density(0.5, path, 1.0, checkpoint=checkpoint)
    finer = jo.io.Output(path, overwrite=True)
    jo.macro.solve(density(0.5, cells=16), jo.macro.Splitting(), t=1.0, h=0.1, output=finer)
    with pytest.raises(jo.InvalidValue, match="belongs to another run"):
        of_a_density(0.5, path, 2.0, checkpoint=checkpoint, resume=True)
    assert jo.io.read_images(path).t[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("run", [of_a_density, of_a_ball])
def test_two_files_of_one_name_are_refused_before_the_run(run, tmp_path):
    path, link = tmp_path / "run.vtkhdf", tmp_path / "link"
    link.symlink_to(tmp_path)
    for same in (tmp_path / "." / "run.vtkhdf", link / "run.vtkhdf"):
        with pytest.raises(jo.InvalidValue, match="output and checkpoint are both"):
            run(0.5, path, 1.0, checkpoint=same)
    assert not path.exists()


@pytest.mark.parametrize("run", [of_a_density, of_a_ball])
def test_what_the_user_notes_about_a_run_takes_the_place_of_what_is_noted_by_itself(run, tmp_path):
    own = {"scheme": "mine", "problem": "a test", "machine": "ours"}
    run(0.5, tmp_path / "run.vtkhdf", 0.2, about=own)
    assert own.items() <= about(tmp_path / "run.vtkhdf").items()


READ = """
import sys
from jostle.errors import BrokenFile
from jostle.io.reading import about
try:
    print(about(sys.argv[1]))
except BrokenFile as error:
    print("refused", error)
"""


@pytest.mark.parametrize("run", [of_a_density, of_a_ball])
def test_a_wrong_bit_in_the_notes_about_a_run_is_found(run, tmp_path):
    """HDF5 read for ever where such texts were kept in its heap."""
    path = tmp_path / "run.vtkhdf"
    run(0.5, path, 0.3, about={"who": "a text that is long enough to be found"})
    with h5py.File(path) as file:
        assert not [name for name, value in file["jostle"].attrs.items() if isinstance(value, str)]
        assert json.loads(file[ABOUT][:].tobytes())["who"].startswith("a text")
    data = bytearray(path.read_bytes())
    data[data.index(b"long enough")] ^= 4
    path.write_bytes(data)
    told = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, timeout=60)
    assert "refused" in told.stdout, told.stderr
    assert "its notes about the run cannot be read" in told.stdout


@pytest.mark.parametrize("run", [of_a_density, of_a_ball])
def test_a_refused_resume_keeps_no_lock(run, tmp_path):
    path, checkpoint = tmp_path / "run.vtkhdf", tmp_path / "run.checkpoint"
    run(0.5, path, 0.5, checkpoint=checkpoint)
    run(0.8, path, 0.5, overwrite=True)
    with pytest.raises(jo.InvalidValue) as refused:
        run(0.5, path, 1.0, checkpoint=checkpoint, resume=True)
    run(0.5, path, 0.5, overwrite=True)  # while the error, and what its frames refer to, is alive
    assert refused.value is not None
