"""What is there is kept: only trajectories are replaced, and only by one that exists; no file is left half made."""

import json
import os
import shutil
import subprocess
import sys

import pytest

import jostle as jo
import rows
from jostle.cli import main
from jostle.cli.runs import checkpoint_of
from jostle.cli.show import summary
from jostle.errors import FileIsThere, WriteFailed
from jostle.io.new_files import beside, whole
from numbers_of_files import contents

TWO = jo.Motion(q0=[[0.0, 0.0], [1.0, 0.0]], v0=[[1.0, 0.0], [0.0, 0.0]], within=jo.Balls([0.3, 0.3]))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The bytes of a trajectory and its checkpoint, which a run wrote."""
    path = tmp_path_factory.mktemp("old") / "old.vtkhdf"
    with pytest.raises(SystemExit) as ended:
        main(["run", "cradle_apart", "-q", "-o", str(path), "--set", "run.t=0.1"])
    assert not ended.value.code
    return path.read_bytes(), path.with_suffix(".checkpoint").read_bytes()


@pytest.fixture
def old(here, written):
    """The bytes of old.vtkhdf and old.checkpoint, which are here."""
    for name, content in zip(("old.vtkhdf", "old.checkpoint"), written, strict=True):
        (here / name).write_bytes(content)
    return written


@pytest.mark.parametrize(
    "wrong",
    [
        ["--device", "cuda"],
        ["--checkpoint", "-1"],
        ["--threads", "100000"],
        ["--set", "run.h=0"],
        ["--set", "problem.n=0"],
        ["--nonsense"],
    ],
)
def test_a_wrong_option_costs_no_trajectory(here, jostle, old, wrong):
    code, _, err = jostle("run", "cradle_apart", "--overwrite", "-o", "old.vtkhdf", *wrong)
    assert code in (1, 2)
    assert err
    assert ((here / "old.vtkhdf").read_bytes(), (here / "old.checkpoint").read_bytes()) == old
    assert sorted(os.listdir(here)) == ["old.checkpoint", "old.vtkhdf"]


def test_overwrite_replaces_a_trajectory_and_its_checkpoint(here, jostle, old):
    again = ["run", "cradle_apart", "-q", "--overwrite", "-o", "old.vtkhdf", "--set", "run.t=0.1"]
    assert jostle(*again, "--set", "problem.n=3")[0] == 0
    assert jo.io.read(here / "old.vtkhdf").q.shape[1] == 3
    assert jostle("resume", "old.vtkhdf", "-q", "--set", "run.t=0.12")[0] == 0
    assert jo.io.read(here / "old.vtkhdf").t[-1] == 0.12
    assert sorted(os.listdir(here)) == ["old.checkpoint", "old.vtkhdf"]


def test_a_trajectory_stays_until_the_new_one_has_a_frame(here, old, monkeypatch):
    from jostle.io.saving import TrajectorySaver

    def fails(self, state):
        raise ZeroDivisionError

    monkeypatch.setattr(TrajectorySaver, "save", fails)
    with pytest.raises(ZeroDivisionError):
        jo.solve(TWO, jo.Maury(), t=0.1, h=0.01, output=jo.io.Output("old.vtkhdf", overwrite=True))
    assert (here / "old.vtkhdf").read_bytes() == old[0]
    assert sorted(os.listdir(here)) == ["old.checkpoint", "old.vtkhdf"]


@pytest.mark.parametrize("kind", ["text", "pipe", "folder", "image", "device"])
def test_only_trajectories_are_replaced(here, jostle, kind):
    target = here / "a.vtkhdf"
    if kind == "text":
        target.write_text("my thesis")
    elif kind == "pipe":
        os.mkfifo(target)
    elif kind == "folder":
        target.mkdir()
    elif kind == "image":
        target.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    else:
        target.symlink_to("/dev/null")
    before = target.lstat()
    code, out, err = jostle("run", "cradle_apart", "--overwrite", "-o", "a.vtkhdf")
    assert (code, out) == (1, "")
    assert "replaced" in err
    after = target.lstat()
    assert (before.st_mode, before.st_ino, before.st_size) == (after.st_mode, after.st_ino, after.st_size)
    assert os.listdir(here) == ["a.vtkhdf"]
    assert os.path.exists("/dev/null")


def test_a_link_to_a_trajectory_still_points_to_the_new_one(here, jostle, old):
    (here / "link.vtkhdf").symlink_to("old.vtkhdf")
    few = ["--set", "problem.n=3", "--set", "run.t=0.1"]
    assert jostle("run", "cradle_apart", "-q", "--overwrite", "-o", "link.vtkhdf", *few)[0] == 0
    assert (here / "link.vtkhdf").is_symlink()
    assert jo.io.read(here / "old.vtkhdf").q.shape[1] == 3


def test_each_trajectory_has_a_checkpoint_of_its_own(here, jostle):
    names = ["x.vtkhdf", "x.h5", "x.hdf", "x.h5.vtkhdf", "x.checkpoint.vtkhdf"]
    found = [checkpoint_of(here / name) for name in names]
    assert found[0].name == "x.checkpoint"
    assert len(set(found)) == len(names) - 1  # x.h5 and x.h5.vtkhdf share one: the second run is refused
    for name in ("x.h5", "x.hdf"):
        assert jostle("run", "cradle_apart", "-q", "-o", name, "--set", "run.t=0.1")[0] == 0
    assert {"x.h5.checkpoint", "x.hdf.checkpoint"} <= set(os.listdir(here))


def test_a_checkpoint_of_another_run_is_kept_by_the_command_line(here, jostle, old):
    (here / "old.vtkhdf").unlink()
    code, _, err = jostle("run", "cradle_touching", "-o", "old.vtkhdf")
    assert code == 1
    assert "old.checkpoint is the checkpoint of another run" in err
    assert "replace it with --overwrite" in err
    assert (here / "old.checkpoint").read_bytes() == old[1]
    assert os.listdir(here) == ["old.checkpoint"]


@pytest.mark.parametrize("suffix", ["csv", "npz", "pvd", "vtp"])
def test_an_export_replaces_nothing_unless_one_says_so(here, jostle, old, suffix):
    target = here / ("a.pvd" if suffix == "vtp" else f"a.{suffix}")
    target.write_text("mine")
    code, out, err = jostle("export", "old.vtkhdf", "-o", f"a.{suffix}")
    assert (code, out) == (1, "")
    assert "replace it with --overwrite" in err
    assert target.read_text() == "mine"
    assert jostle("export", "old.vtkhdf", "-o", f"a.{suffix}", "--overwrite")[0] == 0
    assert target.stat().st_size > 100


SHOWN = {"view": ["-o", "a.html"], "plot": ["-o", "a.png"], "movie": ["-o", "a.gif"], "plot without a name": []}


@pytest.mark.parametrize("command", [rows.whole(one) if one in ("plot", "movie") else one for one in SHOWN])
def test_a_page_a_picture_or_a_film_replaces_nothing_unless_one_says_so(here, jostle, old, command):
    arguments, command = SHOWN[command], command.split()[0]
    target = here / (arguments[-1] if arguments else "old.png")
    target.write_text("mine")
    code, out, err = jostle(command, "old.vtkhdf", *arguments)
    assert (code, out) == (1, "")
    assert err == f"error: {target.name} exists already: replace it with --overwrite, or choose another name\n"
    assert target.read_text() == "mine"
    assert jostle(command, "old.vtkhdf", *arguments, "--overwrite") == (0, f"{target.name}\n", "")
    assert target.stat().st_size > 100


@pytest.mark.parametrize("command", SHOWN)
def test_a_trajectory_under_the_name_of_a_picture_is_never_replaced(here, jostle, old, command):
    arguments, command = SHOWN[command], command.split()[0]
    target = here / (arguments[-1] if arguments else "old.png")
    shutil.copy("old.vtkhdf", target)
    code, out, err = jostle(command, "old.vtkhdf", *arguments, "--overwrite")
    assert (code, out) == (1, "")
    assert err == f"error: {target.name} is a trajectory, which is never replaced: choose another name\n"
    assert target.read_bytes() == old[0]


def test_an_export_replaces_no_trajectory_of_any_name(here, jostle, old):
    shutil.copy("old.vtkhdf", "run.csv")
    code, _, err = jostle("export", "old.vtkhdf", "-o", "run.csv", "--overwrite")
    assert (code, "run.csv is a trajectory, which is never replaced" in err) == (1, True)
    assert (here / "run.csv").read_bytes() == old[0]


def test_an_export_does_not_replace_trajectories(here, jostle, old):
    jostle("export", "old.vtkhdf", "-o", "copy.vtkhdf")
    before = (here / "copy.vtkhdf").read_bytes()
    for target in ("copy.vtkhdf", "old.vtkhdf"):
        assert jostle("export", "old.vtkhdf", "-o", target, "--overwrite")[0] in (1, 2)
    assert (here / "copy.vtkhdf").read_bytes() == before
    assert (here / "old.vtkhdf").read_bytes() == old[0]


def test_names_of_files_that_are_being_made_cannot_be_guessed_and_links_are_not_followed(here, monkeypatch):
    target, victim = here / "a.txt", here / "victim"
    assert beside(target) != beside(target)
    victim.write_text("mine")
    trap = beside(target)
    trap.symlink_to(victim)
    monkeypatch.setattr("jostle.io.new_files.beside", lambda path: trap)
    with pytest.raises(WriteFailed, match="File exists"), whole(target) as new:
        new.write_text("yours")
    monkeypatch.setattr("jostle.io.growing.beside", lambda path: trap)
    trap.unlink(missing_ok=True)
    trap.symlink_to(victim)
    with pytest.raises(WriteFailed, match="File exists"):
        jo.io.write(jo.solve(TWO, jo.Maury(), t=0.1, h=0.01), here / "a.vtkhdf")
    assert victim.read_text() == "mine"


def test_what_is_made_can_be_read_by_others_as_any_file(here):
    before = os.umask(0o022)
    try:
        with whole(here / "a.txt") as new:
            new.write_text("all")
        jo.io.write(jo.solve(TWO, jo.Maury(), t=0.1, h=0.01), here / "a.vtkhdf")
    finally:
        os.umask(before)
    assert {(here / name).stat().st_mode & 0o777 for name in ("a.txt", "a.vtkhdf")} == {0o644}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can see whether a file is being written")
def test_what_a_killed_process_left_is_removed_and_what_a_living_one_makes_is_not(here):
    target = here / "a.txt"
    made = "import os, sys, time; from jostle.io.new_files import whole; from pathlib import Path\n"
    made += "with whole(Path('a.txt')) as new:\n    print(new.name, flush=True); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", made], stdout=subprocess.PIPE, text=True)
    left = here / child.stdout.readline().strip()
    with whole(target) as new:
        assert left.exists()
        new.write_text("all")
    child.kill()
    child.communicate()
    assert left.exists()
    other = here / left.name.replace("a.txt", "b.txt")
    other.write_text("of another target")
    with whole(target) as new:
        new.write_text("again")
    assert not left.exists()
    assert other.exists()
    assert target.read_text() == "again"


def test_files_that_are_no_files_are_not_replaced_by_pictures(here):
    os.mkfifo("pipe.csv")
    with pytest.raises(WriteFailed, match="not a regular file"):
        jo.io.export(jo.solve(TWO, jo.Maury(), t=0.1, h=0.01), "pipe.csv")
    os.mkfifo("pipe.checkpoint")
    with pytest.raises(FileIsThere, match="not a regular file"):
        jo.solve(TWO, jo.Maury(), t=0.1, h=0.01, output=jo.io.Output(checkpoint="pipe.checkpoint"))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can see whether a file is being written")
def test_info_knows_a_killed_run_from_one_that_is_running_and_resume_keeps_the_later_end(here, jostle, monkeypatch):
    """A file that is copied while it is written is what a kill leaves: after a resume with a later t that was killed,
    the next resume goes to the later t."""
    assert jostle("run", "cradle_apart", "--set", "run.t=0.5", "-o", "a.vtkhdf", "-q")[0] == 0
    seen = []

    def copying(**settings):
        def progress(now):
            settings["progress"](now)
            if now.step == 260:
                for suffix in ("vtkhdf", "checkpoint"):
                    shutil.copy(f"a.{suffix}", f"killed.{suffix}")
                for name in ("a", "killed"):
                    seen.append(summary(jo.io.read(f"{name}.vtkhdf"), here / f"{name}.vtkhdf"))

        return jo.solve(**(settings | {"progress": progress}))

    monkeypatch.setattr("jostle.scenarios.scenario.solve", copying)
    assert jostle("resume", "a.vtkhdf", "--set", "run.t=0.6", "-q")[0] == 0
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert [(one["status"], one["message"]) for one in seen] == [
        ("running", "still running"),
        ("killed", "killed: the process that wrote it ended without notice"),
    ]
    found = json.loads(jostle("info", "killed.vtkhdf", "--json")[1])
    assert found["status"] == "killed"
    assert "resumed after step 250, t = 0.5: t was 0.5, now 0.6; scenario changed" in found["changes"]
    assert "t = 0.6" in jostle("info", "killed.vtkhdf", "--scenario")[1]
    code, out, _ = jostle("resume", "killed.vtkhdf", "--json")
    assert (code, json.loads(out)["status"], json.loads(out)["t"]) == (0, "finished", 0.6)
    numbers = [contents(f"{name}.vtkhdf") for name in ("a", "killed")]
    assert [one.pop("jostle/changes") != b"" for one in numbers] == [True, True]
    assert numbers[0] == numbers[1]
