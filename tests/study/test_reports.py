"""The report over many runs: means, the slowest run, and whether the time is enough."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import jostle as jo

pytest.importorskip("shapely")
pytest.importorskip("matplotlib")
ROOM = """
title = "Four people <and> a door"
seed = 3
[problem]
kind = "crowd"
rooms = [{ corners = [[0, 0], [6, 0], [6, 4], [0, 4]] }]
exits = [{ name = "door", ends = [[6, 1], [6, 2.2]] }]
behaviour = { kind = "plain" }
groups = [{ n = 4 }]
[run]
t = 9.0
h = 0.05
every = 0.25
"""


def page(folder, text=ROOM, runs=3, **more):
    (folder / "room.toml").write_text(text)
    with ThreadPoolExecutor(1) as threads:
        return jo.study.report_crowd(
            folder / "room.toml", folder / "room.html", runs=runs, executor=threads, **more
        ).read_text(encoding="utf-8")


def test_a_report_over_runs_says_over_how_many_and_names_the_slowest(tmp_path):
    seen = []
    found = page(tmp_path, aset=30.0, failed=["RiMEA 99 (too slow)"], progress=lambda now: seen.append(now.step))
    times = [
        jo.crowds.evacuation_time(jo.scenarios.load(tmp_path / "room.toml", seed=seed).build().solve())
        for seed in (3, 4, 5)
    ]
    slowest = max(times)
    assert f"after {sum(times) / 3:.1f} s on average over 3 runs" in found
    assert f"The slowest of 3 runs takes {slowest:.1f} s (seed {3 + times.index(slowest)})." in found
    assert f"Available time (ASET) 30 s, required time (RSET) {slowest:.1f} s (slowest of 3 runs): " in found
    assert f"the margin is {30.0 - slowest:.1f} s." in found
    assert "Four people &lt;and&gt; a door" in found
    assert "RiMEA 99 (too slow)" in found
    assert seen == [1, 2, 3]


def test_runs_that_take_too_long_or_do_not_end_are_bad_news(tmp_path):
    late = page(tmp_path, aset=1.0, runs=2)
    assert "2 of 2 runs take too long (seeds 3, 4)" in late
    inside = page(tmp_path, ROOM.replace("t = 9.0", "t = 1.0"), aset=9.0, runs=1)
    assert "Not everybody left in 1 of 1 runs (seed 3)" in inside
    assert "(ASET) 9 s: not enough in the runs in which somebody did not get out." in inside


def test_only_people_on_a_plan_have_reports(tmp_path, jostle):
    code, _, err = jostle("report", "evacuation")
    assert (code, err) == (
        2,
        "error: evacuation is a scenario: give a number of runs, such as --runs 20, or a trajectory\n",
    )
    with pytest.raises(jo.InvalidValue, match="is of kind 'cradle', and reports are about people"):
        jo.study.report_crowd("cradle_apart", tmp_path / "x.html", runs=1)
