"""Nothing that comes from a file, a name or the system can act on the terminal, or end a command in a traceback."""

import builtins
import io
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

import jostle as jo
from jostle.cli.show import plain, show_rows

HOSTILE = r"a [/b] [red]x :smile: \u001b]0;owned\u0007\u001b[31m\u202e end"
SCENARIO = f'title = "{HOSTILE}"\nproblem = {{ kind = "cradle" }}\nrun = {{ t = 0.1, h = 0.01 }}\n'
SHOWN = r"a [/b] [red]x :smile: \x1b]0;owned\x07\x1b[31m\u202e end"


def test_titles_are_shown_as_they_are_written_and_never_obeyed(here, jostle):
    (here / "a.toml").write_text(SCENARIO)
    code, out, err = jostle("run", "a.toml", "-o", "x[b].vtkhdf")
    assert code == 0
    assert err.splitlines()[0] == SHOWN
    assert "x[b].vtkhdf" in out
    for what in ("a.toml", "x[b].vtkhdf"):
        code, out, err = jostle("info", what)
        assert (code, err) == (0, "")
        assert "\x1b" not in out
        assert "".join(SHOWN.split()) in "".join(out.split())  # a long cell is wrapped
        assert json.loads(jostle("info", what, "--json")[1])["title"] == json.loads(f'"{HOSTILE}"')


def test_a_scenario_in_a_trajectory_is_printed_without_its_escape_sequences(here, jostle):
    one = jo.solve(jo.Motion(q0=[[0.0, 0.0]], within=jo.Balls([0.5])), jo.Maury(), t=0.1, h=0.1)
    with jo.io.Writer(here / "a.vtkhdf", shape=one.q.shape[1:], about={"scenario": "\x1b[2J [/b]\r\n# two\n"}):
        pass
    assert jostle("info", "a.vtkhdf", "--scenario")[:2] == (0, "\\x1b[2J [/b]\r\n# two\n")


def test_characters_that_the_terminal_cannot_show_are_written_out(here, jostle, monkeypatch):
    (here / "a.toml").write_text(SCENARIO.replace(HOSTILE, "café"), encoding="utf-8")
    seen = io.BytesIO()
    with monkeypatch.context() as there:
        there.setattr(sys, "stderr", io.TextIOWrapper(seen, encoding="ascii", errors="strict"))
        code, _, _ = jostle("run", "a.toml")
        assert (code, seen.getvalue().decode().splitlines()[0]) == (0, r"caf\xe9")


def test_the_title_of_a_table_is_plain_text_in_the_letters_of_the_terminal(monkeypatch):
    seen = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(seen, encoding="ascii", errors="strict"))
    show_rows([("λ", 1)], title="café \x9b")
    sys.stdout.flush()
    assert seen.getvalue().split() == [rb"caf\xe9", rb"\x9b", rb"\u03bb", b"1"]


def test_plain_text_keeps_lines_tabs_and_letters():
    assert plain("a\tb\r\nc\nλ [b]") == "a\tb\r\nc\nλ [b]"
    assert plain("over\rwritten \udcff \x9b") == r"over\rwritten \udcff \x9b"


LONG = "a" * 300
NOT_UTF8 = os.fsdecode(b"x\xff")


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    one = jo.Motion(q0=[[0.0, 0.0]], v0=[[1.0, 0.0]], within=jo.Balls([0.5]))
    return jo.io.write(jo.solve(one, jo.Maury(), t=0.2, h=0.1), tmp_path_factory.mktemp("walk") / "walk.vtkhdf")


@pytest.fixture
def walk(here, walked):
    return Path(shutil.copy(walked, "walk.vtkhdf"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["new", "spheres", "-o", f"{LONG}.toml"],
        ["new", "spheres", "-o", "nowhere/x.toml"],
        ["new", "spheres", "-o", "walk.vtkhdf/x.toml"],
        ["new", "spheres", "-o", "."],
        ["run", f"{LONG}.toml"],
        ["run", f"{NOT_UTF8}.toml"],
        ["run", NOT_UTF8],
        ["run", "."],
        ["run", "cradle_apart", "-q", "-o", f"{LONG}.vtkhdf"],
        ["run", "cradle_apart", "-q", "-o", "nowhere/x.vtkhdf"],
        ["run", "cradle_apart", "-q", "-o", "."],
        ["run", "cradle_apart", "--set", f"{NOT_UTF8}=1"],
        ["info", f"{LONG}.vtkhdf"],
        ["info", f"{NOT_UTF8}.vtkhdf"],
        ["info", "/"],
        ["resume", f"{LONG}.vtkhdf"],
        ["resume", "."],
        ["export", "walk.vtkhdf", "-o", f"{LONG}.csv"],
        ["export", "walk.vtkhdf", "-o", f"{LONG}.pvd"],
        ["export", "walk.vtkhdf", "-o", f"{LONG}.gsd"],
        ["export", "walk.vtkhdf", "-o", f"{NOT_UTF8}.gsd"],
        ["export", ".", "-o", "a.csv"],
        ["plot", "."],
        ["plot", "walk.vtkhdf", "-o", f"{LONG}.png"],
        ["movie", "."],
        ["movie", "walk.vtkhdf", "-o", f"{LONG}.gif"],
        ["view", "."],
        ["view", "walk.vtkhdf", "-o", f"{LONG}.html"],
    ],
    ids=lambda arguments: " ".join(arguments).replace(LONG, "LONG").replace(NOT_UTF8, "NOT_UTF8"),
)
def test_names_that_cannot_be_files_are_one_line(here, walk, jostle, arguments):
    code, out, err = jostle(*arguments)
    assert code in (1, 2)
    assert (out, len(err.splitlines())) == ("", 1)
    assert err.startswith("error: ")
    assert os.listdir(here) == ["walk.vtkhdf"]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are Unicode there")
@pytest.mark.parametrize(
    "arguments", [["info"], ["export", "-o", "CSV"], ["export", "-o", "NPZ"], ["plot"], ["view", "-o", "a.html"]]
)
def test_files_whose_names_are_not_utf8_are_read_and_written(here, walk, jostle, arguments):
    named = walk.rename(here / f"{NOT_UTF8}.vtkhdf")
    command, *rest = (word.replace("CSV", f"{NOT_UTF8}.csv").replace("NPZ", f"{NOT_UTF8}.npz") for word in arguments)
    code, out, err = jostle(command, named.name, *rest)
    assert (code, err) == (0, "")
    assert out.encode("utf-8", "strict")


def test_a_folder_that_may_not_be_written_is_one_line(here, jostle, monkeypatch):
    """Root may write everywhere, so the refusal of the system is played."""
    system = builtins.open

    def refuses(path, mode="r", *arguments, **options):
        if "x" in mode:
            raise PermissionError(13, "Permission denied", str(path))
        return system(path, mode, *arguments, **options)

    monkeypatch.setattr(builtins, "open", refuses)
    assert jostle("new", "spheres") == (1, "", "error: spheres.toml: Permission denied\n")
