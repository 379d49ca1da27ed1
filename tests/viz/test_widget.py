"""The viewer in a notebook, without a notebook: what Python hands over, and what the browser makes of it."""

import base64
import json
import sys

import numpy as np
import pytest
from browsing import scrub, wait_until

import jostle as jo
from jostle import viz
from jostle.viz.viewer import markup, style
from jostle.viz.widget import module

SHOW = """async ([esm, about, frames, height]) => {
    const module = await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })));
    const bytes = Uint8Array.from(atob(frames), (one) => one.charCodeAt(0));
    const held = new Uint8Array(bytes.length + 5);
    held.set(bytes, 5); // the comm may hand over a part of a larger buffer
    const state = { about, frames: new DataView(held.buffer, 5, bytes.length), height };
    const el = document.createElement("div");
    document.body.append(el);
    const end = module.default.render({ model: { get: (name) => state[name] }, el });
    (window.ends ??= []).push(end);
    (window.viewers ??= []).push(el.firstChild.viewer);
    window.viewer = window.viewers[0];
}"""


def show(tab, widget):
    frames = base64.b64encode(widget.frames).decode()
    tab.evaluate(SHOW, [widget._esm, widget.about, frames, widget.height])


@pytest.fixture
def tab(tab_of):
    return tab_of("about:blank", below="blob:", size=(700, 900))


def test_python_hands_over_the_script_and_the_frames(pile):
    shown = viz.widget(pile, title="A pile", height=300)
    state = shown.get_state()
    assert {"about", "frames", "height", "_esm"} <= set(state)
    assert shown._esm == module()
    assert json.dumps(markup()) in shown._esm
    assert json.dumps(style()) in shown._esm
    assert (shown.about["title"], shown.about["times"], shown.height) == ("A pile", pile.t.tolist(), 300)
    assert sum(shown.about["lengths"]) == len(shown.frames)
    start = shown.about["lengths"][0]
    q = np.frombuffer(shown.frames, "<f4", 48, start + 72).reshape(24, 2) + shown.about["origin"][:2]
    assert q == pytest.approx(pile.q[1], abs=1e-5)
    for forbidden in ("fetch(", "http:", "https:", "XMLHttp"):
        assert forbidden not in shown._esm


def test_a_file_will_do(pile, tmp_path):
    path = jo.io.write(pile, tmp_path / "pile.vtkhdf")
    assert viz.widget(path).about["times"] == pytest.approx(pile.t.tolist())


def test_a_large_run_is_cut_and_it_is_said(pile):
    whole = viz.widget(pile)
    shown = viz.widget(pile, most_bytes=len(whole.frames) // 4)
    assert len(shown.frames) <= len(whole.frames) // 4
    assert "of the 21 saved frames" in shown.about["note"]


def test_without_anywidget_it_is_said_how_to_get_it(pile, monkeypatch):
    from jostle.viz import widget

    made = sys.modules["jostle.viz.widget"]._kind
    made.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(jo.errors.MissingPackage, match="pip install 'jostle\\[notebook\\]'"):
        widget(pile)
    made.cache_clear()


def test_it_draws_and_plays_in_a_browser(tab, pile):
    show(tab, viz.widget(pile, title="A pile", height=420))
    wait_until(tab, "() => viewer.shown === 0")
    box = tab.locator("#viewer").bounding_box()
    assert box["height"] == pytest.approx(418, abs=4)
    assert tab.locator("h1").inner_text() == "A pile"
    before = tab.locator("#view").screenshot(caret="initial")
    assert len(set(before)) > 50
    scrub(tab, 16)
    tab.locator("#speed").select_option(index=6)
    tab.locator("#play").focus()
    tab.keyboard.press("Space")
    wait_until(tab, "() => viewer.shown === 20 && !viewer.playing")
    assert tab.locator("#view").screenshot(caret="initial") != before
    tab.mouse.click(*tab.evaluate("() => viewer.place(7)"))
    assert tab.locator("#picked-name").inner_text() == "Ball 7"


def test_two_of_them_do_not_disturb_each_other(tab, pile, two_balls):
    show(tab, viz.widget(pile, height=420))
    show(tab, viz.widget(two_balls, height=420))
    wait_until(tab, "() => viewers.every((one) => one.shown === 0)")
    tab.locator("#view").nth(1).focus()
    for key in ("ArrowRight", "ArrowRight", "n"):
        tab.keyboard.press(key)
    wait_until(tab, "() => viewers[1].shown === 2")
    assert tab.evaluate("viewers.map((one) => [one.shown, one.picked])") == [[0, None], [2, 0]]


def test_its_keys_do_not_reach_the_notebook(tab, pile):
    show(tab, viz.widget(pile))
    wait_until(tab, "() => viewer.shown === 0")
    tab.evaluate("() => { window.heard = []; document.addEventListener('keydown', (event) => heard.push(event.key)); }")
    tab.locator("#view").focus()
    for key in ("f", "c", "0", "ArrowRight", "q"):
        tab.keyboard.press(key)
    assert tab.evaluate("heard") == ["q"], "what the viewer does not know is not its own"
    assert tab.evaluate("() => document.querySelector('[data-lm-suppress-shortcuts=true]') !== null")


def test_what_is_taken_away_stops(tab, pile):
    show(tab, viz.widget(pile))
    wait_until(tab, "() => viewer.shown === 0")
    tab.locator("#play").click()
    tab.evaluate("() => { ends[0](); }")
    assert not tab.evaluate("viewer.playing")
    tab.locator("#view").focus()
    tab.keyboard.press("End")
    assert tab.evaluate("viewer.shown") < 20
