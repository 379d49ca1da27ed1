"""What the command line says: help, exit codes of wrong options, finished runs, and the bar."""

import io
import re

import pytest
from rich.console import Console

import jostle as jo
from jostle.cli.show import lines
from jostle.terminal import progress_bar

SHORT = ["cradle_apart", "--set", "run.t=0.02", "-q"]


@pytest.mark.parametrize("command", [[], ["run"], ["doctor"]])
def test_both_names_of_the_help_option_work(jostle, command):
    assert jostle(*command, "-h") == jostle(*command, "--help")
    assert jostle(*command, "-h")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plot", "a.vtkhdf", "--color", "nonsense"], "unknown colour 'nonsense'"),
        (["plot", "a.vtkhdf", "--colour", "force"], "run the scenario with --set output.contacts=true"),
        (["plot", "a.vtkhdf", "-o", "a.xyz"], "the name of a picture must end in"),
        (["plot", "a.vtkhdf", "--layer", "density"], "a.vtkhdf has no floor plan, and --layer is for people on one"),
        (["movie", "a.vtkhdf", "--speed", "-1"], "speed must be positive"),
        (["report", "a.vtkhdf"], "a.vtkhdf has no floor plan, and jostle report is for people on one"),
        (["dev", "verify", "nonsense"], "unknown guideline"),
    ],
)
def test_a_wrong_option_is_exit_code_two(here, jostle, arguments, words):
    jostle("run", *SHORT, "-o", "a.vtkhdf")
    code, out, err = jostle(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "sol, plan" not in err  # that is Python


def test_info_reads_what_plot_reads_whatever_its_name(here, jostle):
    jostle("run", *SHORT, "-o", "run.h5")
    assert jostle("plot", "run.h5")[:2] == (0, "run.png\n")
    assert "reached the end time" in jostle("info", "run.h5")[1]
    code, _, err = jostle("info", "run.png")
    assert code == 1
    assert "run.png" in err


def test_a_finished_run_that_is_resumed_says_so(here, jostle):
    jostle("run", *SHORT, "-o", "a.vtkhdf")
    code, out, err = jostle("resume", "a.vtkhdf")
    assert code == 0
    assert "note: a.vtkhdf is finished: reached the end time. Nothing was computed" in err
    assert "steps per second" not in out
    code, out, err = jostle("resume", "a.vtkhdf", "--set", "run.t=0.04")
    assert "is finished" not in err
    assert "steps per second" in out


def test_a_scenario_that_comes_with_jostle_says_how_long_it_takes(here, jostle):
    said = jostle("run", "labyrinth", "-o", "a.vtkhdf")[2]
    assert re.search(r"^It takes .* s", said, re.M)
    assert "It takes" not in jostle("run", *SHORT[:-1], "-o", "b.vtkhdf")[2]  # settings may change it


def test_the_bar_of_a_run_that_ends_early_reaches_its_end():
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    ball = jo.Motion(q0=[[0.0, 1.0]], force=[0.0, -9.81], within=jo.Balls([0.1]))
    with progress_bar(console) as bar:
        sol = jo.solve(ball, jo.Maury(), t=5.0, h=0.01, until=jo.stopping.Below(0.0), progress=bar)
    assert sol.status == "stopped"
    assert "100%" in console.file.getvalue().split("\r")[-1]


def test_one_person_is_not_several():
    use = {"people": 1, "first": 18.1, "last": 18.1, "width": 1.2, "flow": None, "specific_flow": None}
    found = lines({"people": 3, "inside_at_end": 0, "exits": {"east": use}, "jams": [], "blocked": False})
    assert found["exit east"] == "1 person, at 18.1 s (1.2 m wide)"
