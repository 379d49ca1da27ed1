"""What the command line answers about crowds, while they run and from their files."""

import json
from datetime import date
from hashlib import sha256

import pytest

import jostle as jo
from jostle.crowds.model.facts import crowd_facts
from jostle.plans.stored import plan_of
from plain import crowd

pytest.importorskip("shapely")
TWO_EXITS = """
title = "Three people"
[problem]
kind = "crowd"
behaviour = { kind = "plain" }
rooms = [{ corners = [[0, 0], [10, 0], [10, 2], [0, 2]] }]
exits = [{ name = "west", ends = [[0, 0], [0, 2]] }, { name = "east", ends = [[10, 0], [10, 2]] }]
groups = [{ name = "walkers", places = [[2, 0.5], [2, 1.5], [7, 1]], speed = 1.0 }]
[run]
t = 10.0
h = 0.1
[output]
contacts = true
"""
HEAD_ON = """
[problem]
kind = "crowd"
behaviour = { kind = "inhibition" }
rooms = [{ corners = [[0, 0], [6, 0], [6, 0.7], [0, 0.7]] }]
exits = [{ name = "west", ends = [[0, 0], [0, 0.7]] }, { name = "east", ends = [[6, 0], [6, 0.7]] }]
groups = [{ places = [[2, 0.35]], goal = "east" }, { places = [[4, 0.35]], goal = "west" }]
[run]
t = 16.0
h = 0.1
"""


def test_run_and_info_tell_who_left_where_and_when(here, jostle):
    (here / "a.toml").write_text(TWO_EXITS)
    code, out, _ = jostle("run", "a.toml")
    words = " ".join(out.split())
    assert code == 0
    for text in (
        "people 3, all have left",
        "evacuation time 95 % after 3.0 s, the last after 3.0 s",
        "exit west 2 people, from 2.0 to 2.0 s",
        "exit east 1 person, at 3.0 s (2 m wide)",
        "time loss 0.0 s on average",
        "jams none",
    ):
        assert text in words, out
    found = json.loads(jostle("info", "a.vtkhdf", "--json")[1])
    assert found["crowd"]["exits"]["east"]["people"] == 1
    assert found["crowd"]["inside_at_end"] == 0
    assert found["crowd"]["evacuation_time"] == pytest.approx(3.0, abs=0.01)
    assert found["crowd"]["blocked"] is False


def test_a_blockade_is_named_and_ends_the_command_with_code_4(here, jostle):
    (here / "a.toml").write_text(HEAD_ON)
    code, out, _ = jostle("run", "a.toml", "--json")
    found = json.loads(out)
    assert (code, found["status"], found["crowd"]["blocked"]) == (4, "blocked", True)
    assert "0 and 1" in found["crowd"]["blockade"]
    assert "blocked nobody has moved on since" in " ".join(jostle("info", "a.vtkhdf")[1].split())


def test_a_run_that_goes_on_although_people_are_blocked_ends_with_code_4(here, jostle):
    """Contacts that carry forces tell that they want to walk."""
    text = HEAD_ON.replace('kind = "inhibition"', 'kind = "plain"')
    (here / "a.toml").write_text(text.replace("h = 0.1", 'h = 0.1\nuntil = { kind = "never" }'))
    code, out, _ = jostle("run", "a.toml", "--json", "--set", "output.contacts=true")
    found = json.loads(out)
    assert (code, found["status"], found["crowd"]["blocked"]) == (4, "finished", True)


def test_grains_have_no_answers_about_people(here, jostle):
    found = json.loads(jostle("run", "cradle_apart", "--set", "run.t=0.1", "--json")[1])
    assert "crowd" not in found
    assert "note" not in found


def test_doors_and_desired_speeds_are_in_the_file(here):
    rooms = [[(0, 0), (4, 0), (4, 3), (0, 3)], [(4, 0), (8, 0), (8, 3), (4, 3)]]
    plan = jo.crowds.Plan(rooms, exits={"east": ((8, 1), (8, 2))}, doors=[((4, 1), (4, 2))])
    people = crowd(2, radius=0.2, room=plan, speed=[1.0, 1.5])
    sol = jo.solve(people, jo.Venel(), t=0.2, h=0.1)
    found = jo.io.read(jo.io.write(sol, here / "a.vtkhdf"))
    assert plan_of(found).doors.tolist() == [[[4.0, 1.0], [4.0, 2.0]]]
    assert crowd_facts(found).speeds.tolist() == [1.0, 1.5]
    free = crowd(2, radius=0.2, room=plan, wish=lambda t, q: 0.0 * q)
    assert crowd_facts(jo.solve(free, jo.Venel(), t=0.2, h=0.1)).speeds is None


def test_people_are_exported_for_jupedsim_and_pedpy(here, jostle):
    """The run ends between two saved times: frames are those of the usual spacing."""
    pedpy = pytest.importorskip("pedpy")
    (here / "a.toml").write_text(TWO_EXITS.replace("t = 10.0", "t = 1.25").replace("h = 0.1", "h = 0.05\nevery = 0.1"))
    assert jostle("run", "a.toml", "-q")[0] == 0
    for name in ("a.sqlite", "a.txt"):
        assert jostle("export", "a.vtkhdf", "-o", name)[:2] == (0, f"{name}\n")
    walkable = pedpy.load_walkable_area_from_jupedsim_sqlite(trajectory_file=here / "a.sqlite")
    assert walkable.polygon.area == pytest.approx(20.0)
    read = (
        pedpy.load_trajectory_from_jupedsim_sqlite(trajectory_file=here / "a.sqlite"),
        pedpy.load_trajectory(trajectory_file=here / "a.txt"),
    )
    for data in read:
        assert data.frame_rate == pytest.approx(10.0)
        assert data.data.frame.max() == 12
        last = data.data[(data.data.id == 2) & (data.data.frame == 12)]
        assert last.x.item() == pytest.approx(8.2, abs=1e-3)


def test_grains_are_not_exported_as_people(here, jostle):
    jostle("run", "cradle_apart", "--set", "run.t=0.1", "-q")
    code, _, err = jostle("export", "cradle_apart.vtkhdf", "-o", "a.sqlite")
    assert code == 2
    assert "needs the floor plan, which is unknown" in err or "people walk in the plane" in err


def test_a_crowd_is_drawn_on_its_plan_and_as_a_map(here, jostle):
    (here / "a.toml").write_text(TWO_EXITS)
    jostle("run", "a.toml", "-q")
    assert jostle("plot", "a.vtkhdf") == (0, "a.png\n", "")
    assert jostle("plot", "a.vtkhdf", "--layer", "worst density") == (0, "a-worst-density.png\n", "")
    assert jostle("plot", "a.vtkhdf", "--layer", "level of service", "-o", "b.png")[0] == 0
    assert (here / "b.png").read_bytes()[:4] == b"\x89PNG"
    code, _, err = jostle("plot", "a.vtkhdf", "--layer", "speed", "--colour", "speed", "-o", "c.png")
    assert code == 2
    assert "use one of them" in err


def test_a_report_is_replaced_only_if_one_says_so_and_may_be_without_a_film(here, jostle, only_words):
    (here / "a.toml").write_text(TWO_EXITS)
    jostle("run", "a.toml", "-q")
    (here / "a.html").write_text("old")
    assert jostle("report", "a.vtkhdf")[0] == 1
    assert (here / "a.html").read_text() == "old"
    assert jostle("report", "a.vtkhdf", "--overwrite", "--no-film", "--author", "A. N. <Other>")[0] == 0
    html = (here / "a.html").read_text(encoding="utf-8")
    today = date.today()
    assert f"Report of {today.day} {today:%B %Y}, by A. N. &lt;Other&gt;." in html
    text = jo.io.about("a.vtkhdf")["scenario"]
    assert f"SHA-256 {sha256(text.encode()).hexdigest()[:16]}." in html
    assert "3 people, all have left" in html
    assert "<iframe" not in html


def test_the_plan_of_a_scenario_is_drawn_before_its_run(here, jostle):
    (here / "a.toml").write_text(TWO_EXITS)
    assert jostle("plot", "a.toml") == (0, "a-plan.png\n", "")
    assert jostle("plot", "classroom", "-o", "room.svg")[:2] == (0, "room.svg\n")
    assert sorted(path.name for path in here.iterdir()) == ["a-plan.png", "a.toml", "room.svg"]
    code, _, err = jostle("plot", "a.toml", "--layer", "density", "--overwrite")
    assert (code, err) == (2, "error: a.toml is a scenario: --layer, --colour and --at are for its run\n")
    code, _, err = jostle("plot", "cradle_apart")
    assert (code, err.startswith("error: cradle_apart has no floor plan: run it with `jostle run")) == (2, True)
