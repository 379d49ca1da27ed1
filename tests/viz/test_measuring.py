"""What the page measures and keeps: colour ranges, standard views, distances, one body over time, films."""

import numpy as np
import pytest
from browsing import facts, image, place, play_faster, scrub, wait_until

import jostle as jo


def choose(tab, name, value):
    """Open the further controls, and fill or select one of them."""
    tab.locator("#more").evaluate("more => { more.open = true; }")
    control = tab.locator(f"#{name}")
    if control.evaluate("one => one.tagName") == "SELECT":
        control.select_option(value)
    else:
        control.fill(value)
        control.blur()


def test_the_colours_have_the_range_that_is_chosen(opened, pile):
    tab = opened(pile, size=(900, 820))
    scrub(tab, 12)
    tab.locator("#colour").select_option("number")
    tab.locator("#more").evaluate("more => { more.open = true; }")
    before = image(tab)
    assert tab.locator("#high").input_value() == "23"
    choose(tab, "low", "10")
    choose(tab, "high", "12")
    assert (tab.locator("#scale-low").inner_text(), tab.locator("#scale-high").inner_text()) == ("10", "≥ 12")
    ranged = image(tab)
    assert (ranged != before).any()
    choose(tab, "low", "")
    choose(tab, "high", "")
    assert (image(tab) != before).any(axis=2).sum() < 0.1 * (ranged != before).any(axis=2).sum()
    choose(tab, "high", "-5")
    assert tab.locator("#scale-high").inner_text() == "23", "a range must not be empty"


def test_a_second_body_shows_its_distance(opened, pile):
    tab = opened(pile, size=(900, 820))
    scrub(tab, 20)
    tab.locator("#forces").click()
    one, two = (int(k) for k in np.argsort(pile.q[20, :, 1])[:2])  # below the panel
    tab.mouse.click(*place(tab, one))
    tab.keyboard.down("Shift")
    tab.mouse.click(*place(tab, two))
    tab.keyboard.up("Shift")
    said = facts(tab)
    apart = np.linalg.norm(pile.q[20, two] - pile.q[20, one])
    radii = pile.problem.within.sets[0].radii
    assert float(said[f"distance to ball {two}"]) == pytest.approx(apart, rel=1e-3)
    assert float(said[f"gap to ball {two}"]) == pytest.approx(apart - radii[one] - radii[two], abs=2e-3)
    tab.mouse.click(*place(tab, two))
    assert not [name for name in facts(tab) if name.startswith("distance")]


def test_the_curve_of_the_selected_body_follows_the_selection_and_the_colour(opened, pile):
    tab = opened(pile, size=(900, 820))
    scrub(tab, 7)
    tab.locator("#colour").select_option("y")
    tab.locator("#body").fill("5")
    choose(tab, "curve", "selection")
    said = "() => document.getElementById('plot').ariaLabel"
    for body in (5, 11):
        tab.locator("#body").fill(str(body))
        wait_until(tab, f"body => ({said})().includes(`of ball ${{body}} from`)", body)
        high = float(pile.q[:, body, 1].max())
        wait_until(tab, f"high => Math.abs(Number(({said})().match(/to ([-\\d.]+),/)[1]) - high) < 2e-3", high)
        assert float(tab.evaluate(said).rpartition("now ")[2]) == pytest.approx(pile.q[7, body, 1], abs=2e-3)


def test_standard_views_look_along_the_axes(opened):
    balls = jo.Motion(q0=[[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]], within=jo.Balls([0.5, 0.5]))
    tab = opened(jo.solve(balls, jo.Maury(), t=0.2, h=0.1))
    way = [1.0, 2.0, 3.0]
    for key, right, up in (("1", 1, 2), ("2", 0, 2), ("3", 0, 1)):
        tab.keyboard.press(key)
        (x, y), (a, b) = place(tab, 0), place(tab, 1)
        scale = tab.evaluate("viewer.stage.camera.scale")
        assert [(a - x) / scale, (y - b) / scale] == pytest.approx([way[right], way[up]], abs=0.05)
        assert tab.evaluate("document.getElementById('side').selectedIndex") == int(key)


def test_a_film_is_saved_when_the_run_has_ended(opened, pile):
    tab = opened(pile)
    play_faster(tab)
    tab.locator("#more").evaluate("more => { more.open = true; }")
    with tab.expect_download() as saved:
        tab.locator("#film").click()
    path = saved.value.path()
    assert saved.value.suggested_filename.endswith((".webm", ".mp4"))
    assert path.stat().st_size > 1000
    assert path.read_bytes()[:4] == b"\x1aE\xdf\xa3" or b"ftyp" in path.read_bytes()[:16]
