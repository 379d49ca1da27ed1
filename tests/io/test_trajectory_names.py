"""A run is saved under a name that says what the file is: a table is not HDF5 with the suffix of a table."""

import os

import pytest

import jostle as jo
from rows import few

OF_OTHER_FILES = ["out.csv", "out.gsd", "out.npz", "out.pvd", "out.sqlite", "out.txt", "out.mp4", "out.png", "out.html",
                  "out.toml", "out.checkpoint", "out.dat", "out.vtkhdf.bak", "out", ".vtkhdf"]  # fmt: skip


def fall(**options):
    ball = jo.Motion(q0=[[1.0]], force=[[-10.0]], within=jo.HalfSpace([1.0]))
    return jo.solve(ball, jo.Maury(), t=0.2, h=0.1, **options)


@pytest.mark.parametrize("name", OF_OTHER_FILES)
def test_a_run_is_not_saved_under_the_name_of_another_kind_of_file(name, tmp_path):
    path = tmp_path / name
    with pytest.raises(jo.InvalidValue, match=r"must end in \.vtkhdf.*jostle export"):
        fall(output=path)
    with pytest.raises(jo.InvalidValue, match=r"must end in \.vtkhdf"):
        jo.io.Output(path, checkpoint=tmp_path / "a.checkpoint")
    with pytest.raises(jo.InvalidValue, match=r"must end in \.vtkhdf"):
        jo.io.write(fall(), path)
    with pytest.raises(jo.InvalidValue, match=r"must end in \.vtkhdf"):
        jo.io.repair(jo.io.write(fall(), tmp_path / "run.vtkhdf"), path)
    assert os.listdir(tmp_path) == ["run.vtkhdf"]


@pytest.mark.parametrize("name", ["run.vtkhdf", "RUN.VTKHDF", "run.h5", "a.csv.hdf5", "run.hdf"])
def test_names_of_hdf5_files_are_names_of_trajectories(name, tmp_path):
    assert fall(output=tmp_path / name).q.shape == (3, 1, 1)
    assert len(jo.io.read(tmp_path / name).t) == 3


@pytest.mark.parametrize("scenario", ["cradle_apart", "blocks"])
@pytest.mark.parametrize("name", few(["out.csv", "out.txt", "out.json", "out"]))
def test_the_command_line_refuses_it_and_names_export(here, jostle, scenario, name):
    for more in ([], ["--overwrite"]):
        code, out, err = jostle("run", scenario, "--set", "run.t=0.1", "--output", name, *more)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert "save it as out.vtkhdf" in err
        assert "jostle export" in err
    assert os.listdir(here) == []


def test_a_table_that_is_there_is_not_replaced(here, jostle):
    (here / "out.csv").write_text("x,y\n")
    assert jostle("run", "cradle_apart", "--output", "out.csv", "--overwrite")[0] == 2
    assert (here / "out.csv").read_text() == "x,y\n"


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.vtkhdf"])
def test_a_study_makes_no_folder_with_the_name_of_a_file(tmp_path, name):
    study = jo.study.Study(lambda seed: fall(), repeat=2)
    with pytest.raises(jo.InvalidValue, match=r"a study writes a folder.*'out'.*table\.csv"):
        jo.study.sweep(study, folder=tmp_path / name)
    assert os.listdir(tmp_path) == []
