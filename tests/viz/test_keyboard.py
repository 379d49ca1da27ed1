"""Everything with the keyboard alone, and for those who do not see the page: no mouse, nothing but keys."""

import numpy as np
import pytest
from browsing import facts, image, wait_until

from rows import whole


def press(tab, *keys):
    for key in keys:
        tab.keyboard.press(key)


def focus(tab, name):
    """Go to a control with the Tab key, wherever the focus is."""
    for _ in range(20):
        if tab.evaluate("() => document.activeElement.id || document.activeElement.tagName") == name:
            return
        press(tab, "Tab")
    raise AssertionError(f"the Tab key does not lead to {name}")


def said(tab):
    return tab.locator("#said").inner_text()


@pytest.fixture(params=["a file", pytest.param("a server", marks=pytest.mark.whole)])
def tab(request, opened, served, pile):
    return (opened if request.param == "a file" else served)(pile)


@pytest.mark.parametrize("tab", [whole("a file"), "a server"], indirect=True)
def test_a_whole_visit(tab, pile):
    """Go to the end, look at the strongest contact and its body, colour, play, stop, read."""
    focus(tab, "view")
    press(tab, "End")
    wait_until(tab, "() => document.getElementById('time').textContent === 't = 1 · frame 21 of 21'")
    press(tab, "Shift+N")
    c = int(np.argmax(pile.multipliers[-1]))
    i, j = pile.pairs[-1][c]
    other = f"wall {-1 - j}" if j < 0 else f"ball {j}"
    assert tab.locator("#picked-name").inner_text() == f"Contact of ball {i} and {other}"
    force = float(tab.locator("#picked dd").first.inner_text())
    assert force == pytest.approx(pile.multipliers[-1][c] / 0.01, rel=1e-3)
    press(tab, "Escape")
    assert tab.locator("#picked").is_hidden()
    focus(tab, "colour")
    press(tab, "ArrowDown")
    wait_until(tab, "() => document.getElementById('scale-name').textContent.startsWith('force')")
    focus(tab, "view")
    press(tab, "Home")
    wait_until(tab, "() => document.getElementById('time').textContent.startsWith('t = 0 ')")
    press(tab, " ")
    assert said(tab) == "playing"
    press(tab, "]")
    assert said(tab).startswith("speed: ")
    press(tab, "]", "]")
    wait_until(tab, "() => document.getElementById('time').textContent === 't = 1 · frame 21 of 21'")
    wait_until(tab, "() => document.getElementById('play').textContent === 'Play'")
    assert said(tab) == "paused at t = 1"


def test_controls_are_worked_by_their_own_keys(tab):
    focus(tab, "play")
    press(tab, "Enter")
    wait_until(tab, "() => document.getElementById('play').textContent === 'Pause'")
    press(tab, "Enter")
    wait_until(tab, "() => document.getElementById('play').textContent === 'Play'")
    focus(tab, "frame")
    press(tab, "Home", "ArrowRight", "ArrowRight")
    wait_until(tab, "() => document.getElementById('time').textContent === 't = 0.1 · frame 3 of 21'")
    focus(tab, "forces")
    press(tab, "Space")
    assert not tab.locator("#forces").is_checked()
    assert said(tab) == "forces hidden"
    focus(tab, "body")
    tab.keyboard.type("7")
    assert tab.locator("#picked-name").inner_text() == "Ball 7"
    press(tab, "ArrowUp")
    assert tab.locator("#picked-name").inner_text() == "Ball 8"
    focus(tab, "whole")
    press(tab, "Enter")
    focus(tab, "SUMMARY")
    press(tab, "Enter")
    assert tab.locator("#keys").is_visible()
    press(tab, "Escape")
    assert tab.locator("#keys").is_hidden()
    assert tab.locator("#picked").is_visible(), "the list is closed first"


def test_bodies_are_visited_in_order_and_one_can_go_to_what_is_picked(tab):
    focus(tab, "view")
    names = []
    for key in ("n", "n", "n", "p", "p", "p", "n"):
        press(tab, key)
        names.append(tab.locator("#picked-name").inner_text())
    assert names == [f"Ball {k}" for k in (0, 1, 2, 1, 0, 23, 0)]
    assert tab.locator("#body").input_value() == "0"
    press(tab, "+", "d", "d", "w")
    away = tab.evaluate("() => viewer.place(0)")
    press(tab, "v")
    box = tab.locator("#view").bounding_box()
    middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
    assert tab.evaluate("() => viewer.place(0)") == pytest.approx(middle, abs=1) != away


def test_the_contacts_of_a_body_are_visited_from_the_strongest(tab, pile):
    focus(tab, "view")
    press(tab, "End")
    wait_until(tab, "() => document.getElementById('time').textContent.includes('frame 21 ')")
    touched = pile.pairs[-1][pile.multipliers[-1] > 1e-6 * pile.multipliers[-1].max()]
    body = int(np.bincount(touched[touched >= 0]).argmax())
    mine = (pile.pairs[-1] == body).any(axis=1) & (pile.multipliers[-1] > 1e-6 * pile.multipliers[-1].max())
    forces = np.sort(pile.multipliers[-1][mine])[::-1] / 0.01
    focus(tab, "body")
    tab.keyboard.type(str(body))
    assert facts(tab)["contacts"] == str(len(forces))
    focus(tab, "view")
    read = []
    for _ in forces:
        press(tab, "Shift+N")
        read.append(float(tab.locator("#picked dd").first.inner_text()))
        assert f"ball {body}" in tab.locator("#picked-name").inner_text()
    assert read == pytest.approx(forces, rel=1e-3)
    press(tab, "Shift+P")
    assert float(tab.locator("#picked dd").first.inner_text()) == pytest.approx(forces[-2], rel=1e-3)
    press(tab, "Home")
    wait_until(tab, "() => document.querySelector('#picked dd').textContent === 'no force at this time'")


def test_the_eye_moves_in_space_too(opened, two_balls):
    tab = opened(two_balls)
    x, y = tab.evaluate("() => viewer.place(1)")
    focus(tab, "view")
    for key, dx, dy in (("w", 0, 40), ("a", 40, 0), ("s", 0, -40), ("d", -40, 0)):
        press(tab, key)
        x, y = x + dx, y + dy
        assert tab.evaluate("() => viewer.place(1)") == pytest.approx([x, y], abs=0.01)


def test_the_list_of_keys_opens_with_a_key_says_every_key_and_is_within_the_page(tab):
    focus(tab, "view")
    press(tab, "?")
    assert tab.locator("#keys").is_visible()
    assert tab.evaluate("() => document.activeElement.tagName") == "SUMMARY"
    listed = " ".join(tab.locator("#keys dt").all_inner_texts()).split()
    keys = {"space", "←", "→", "Home", "End", "Page", "shift", "Esc", *"[]+−0wasdnpNPvfcClegGiorxzZSm?"}
    assert keys <= set(listed)
    for width, height in ((420, 500), (1000, 700), (1600, 900), (600, 520)):
        tab.set_viewport_size({"width": width, "height": height})
        box = tab.locator("#keys").bounding_box()
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height
        assert tab.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    press(tab, "?")
    assert tab.locator("#keys").is_hidden()


def test_the_focus_of_the_picture_is_seen_and_keys_of_the_browser_are_left_alone(tab):
    plain = image(tab)
    focus(tab, "view")
    press(tab, "Control+f", "Alt+ArrowRight")
    assert tab.locator("#forces").is_checked()
    assert tab.evaluate("viewer.shown") == 0
    edge = image(tab)[1, 100:500]
    assert (edge != plain[1, 100:500]).any(axis=1).all()
