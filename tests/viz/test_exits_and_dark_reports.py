"""The viewer shows the exits of a plan with their names; reports are readable by day and by night."""

from __future__ import annotations

import numpy as np
import pytest
from browsing import image, scrub, wait_until, wait_until_drawn

import jostle as jo
from jostle._tools.colours import DARK, LIGHT
from jostle.viz.encoding import Encoder
from jostle.viz.scene import Scene
from plain import crowd as plain_crowd
from rows import whole

EXITS = {"east": [[6.0, 1.0], [6.0, 2.0]], "south": [[2.0, 0.0], [3.5, 0.0]]}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """Six people in a room with two exits, from its file alone."""
    plan = jo.crowds.Plan([(0, 0), (6, 0), (6, 4), (0, 4)], exits=EXITS)
    people = plain_crowd(6, radius=0.25, room=plan, seed=0)
    path = tmp_path_factory.mktemp("crowd") / "crowd.vtkhdf"
    jo.solve(people, jo.Venel(), t=2.0, h=0.1, every=1.0, output=jo.io.Output(path, units=jo.io.SI))
    return jo.io.read(path)


def rgb(colour):
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def test_the_page_knows_the_exits_of_the_plan(crowd):
    encoder = Encoder.of(Scene(crowd))
    found = {
        one["name"]: np.array(one["ends"]).reshape(2, 3)[:, :2] + encoder.origin for one in encoder.about()["exits"]
    }
    assert list(found) == ["east", "south"]
    for name, ends in EXITS.items():
        np.testing.assert_allclose(found[name], ends)
    grains = jo.solve(jo.models.rack(), jo.Maury(), t=0.1, h=0.1)
    assert Encoder.of(Scene(grains)).about()["exits"] == []


def test_the_curve_counts_the_people_inside(opened):
    """Those who have left stay in the run for a while, behind the exit."""
    plan = jo.crowds.Plan([(0, 0), (6, 0), (6, 4), (0, 4)], exits=EXITS, columns=[(1.0, 3.0, 0.2)])
    group = jo.crowds.Group("all", places=[[5.5, 1.5], [4.0, 1.5], [1.0, 1.5]], radius=0.2, speed=1.0)
    people = plain_crowd([group], room=plan)
    sol = jo.solve(people, jo.Venel(), t=1.0, h=0.05, every=0.5)
    assert np.isfinite(sol.q[-1]).all()
    assert plan.inside(sol.q[-1]).sum() == 2
    tab = opened(sol, size=(900, 820))
    scrub(tab, 2)
    wait_until(tab, "() => document.getElementById('plot').ariaLabel?.endsWith('now 2')")
    assert tab.locator("#plot").get_attribute("aria-label") == "people inside from 0 to 3, now 2"


@pytest.mark.parametrize("painter", ["webgl", whole("light")])
def test_exits_are_coloured_lines_with_their_names(crowd, opened, painter):
    tab = opened(crowd, size=(900, 620))
    wait_until(tab, "() => viewer.shown === 0")
    if painter == "light":
        tab.locator("#light").check()
    wait_until(
        tab, "() => document.querySelectorAll('.exit').length === 2 && document.querySelector('.exit').style.left"
    )
    assert sorted(tab.locator(".exit").all_inner_texts()) == ["east", "south"]
    assert tab.locator("#categories li").all_inner_texts() == ["exit"]
    picture = image(tab)
    green = np.abs(picture - rgb(LIGHT.exit)).max(axis=2) <= 12
    assert green.sum() > 300, "five pixels wide, a hundred pixels long or more"
    rows, columns = np.nonzero(green)
    east = tab.evaluate(
        "() => { const label = [...document.querySelectorAll('.exit')].find((one) => one.textContent === 'east');"
        " return [parseFloat(label.style.left), parseFloat(label.style.top)]; }"
    )
    assert np.hypot(columns - east[0], rows - east[1]).min() < 4.0, "the name is at the middle of its line"


def test_names_of_exits_are_beside_them_on_a_phone(crowd, opened):
    """Where the title and the colours have a row of their own above the picture."""
    tab = opened(crowd, size=(390, 844))
    wait_until(tab, "() => viewer.shown === 0 && document.querySelector('.exit')?.style.left")
    view = tab.locator("#view").bounding_box()
    green = np.abs(image(tab) - rgb(LIGHT.exit)).max(axis=2) <= 12
    south = tab.get_by_text("south", exact=True).bounding_box()
    bottom = view["y"] + np.nonzero(green)[0].max()
    assert 0.0 <= south["y"] - bottom < 10.0, "below the line at the bottom"


HIDDEN_CORNER = """() => {
    const { camera } = viewer.stage, legend = document.querySelector("#legend").getBoundingClientRect();
    const { left, top } = document.querySelector("#view").getBoundingClientRect(), { lower, upper } = camera.home;
    const project = camera.projection(), [right, up] = project(...upper), [low, down] = project(...lower);
    return [low >= 0, down <= camera.height, right <= legend.left - left || up >= legend.bottom - top].map((x) => !x);
}"""
"""Whether the scene leaves the page at the left or at the foot, and whether its corner is behind the legend."""


@pytest.mark.parametrize("size", [(900, 620), (700, 620), (1000, 400), (1280, 800)], ids=str)
def test_the_whole_scene_is_shown_beside_or_below_the_legend_also_after_a_change_of_size(opened, size):
    plan = jo.crowds.Plan([(0, 0), (20, 0), (20, 12), (0, 12)], exits={"east": ((20, 5), (20, 6.2))})
    people = plain_crowd(6, radius=0.25, room=plan, seed=0)
    tab = opened(jo.solve(people, jo.Venel(), t=0.1, h=0.05), size=size)
    wait_until_drawn(tab)
    assert tab.evaluate(HIDDEN_CORNER) == [False, False, False]
    tab.set_viewport_size({"width": size[0] - 60, "height": size[1] + 80})
    wait_until_drawn(tab)
    assert tab.evaluate(HIDDEN_CORNER) == [False, False, False]
    tab.evaluate("() => viewer.stage.camera.pan(40, -30)")
    tab.locator("#whole").click()
    assert tab.evaluate(HIDDEN_CORNER) == [False, False, False]


@pytest.fixture(scope="module")
def report(crowd, tmp_path_factory):
    return jo.viz.report(crowd, tmp_path_factory.mktemp("report") / "report.html", film=False)


@pytest.mark.parametrize(("scheme", "theme"), [whole(("light", LIGHT)), ("dark", DARK)])
def test_a_report_follows_the_theme_of_the_system(report, tab_of, scheme, theme):
    tab = tab_of(report.as_uri(), color_scheme=scheme, offline=True)
    of = "([what, name]) => getComputedStyle(document.querySelector(what))[name]"
    words = f"rgb({', '.join(map(str, rgb(theme.text)))})"
    assert tab.evaluate(of, ["main", "backgroundColor"]) == f"rgb({', '.join(map(str, rgb(theme.back)))})"
    assert [tab.evaluate(of, [what, "color"]) for what in ("main", "h1", "td")] == [words] * 3
    assert tab.evaluate(of, ["figure img", "backgroundColor"]) == "rgb(255, 255, 255)"
