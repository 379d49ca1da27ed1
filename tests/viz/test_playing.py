"""Playback: pictures between saved frames, loops, curves under the picture, saved pictures."""

import io

import numpy as np
import pytest
from browsing import facts, image, picked, place, play_faster, scrub, wait_until
from PIL import Image

import jostle as jo
from jostle.viz.scene import Scene

AT = "part => viewer.show(0, part).then(() => [...viewer.stage.frame.q])"


def test_bodies_move_linearly_between_saved_frames(opened):
    """Body 1 crosses the end of the periodic cell, and appears on the other side in the middle of the time."""
    q0, v0 = [[1.0, 0.5], [2.9, 1.5], [1.0, 2.5]], [[1.0, 0.0], [0.4, 0.0], [0.0, 0.0]]
    moving = jo.Motion(q0=q0, v0=v0, within=jo.Balls([0.1] * 3, period=[3, 3]))
    tab = opened(jo.solve(moving, jo.Maury(), t=1.0, h=0.5))
    origin = tab.evaluate("viewer.source.about.origin")
    for part, x in ((0.25, [1.125, 2.95, 1.0]), (0.75, [1.375, 0.05, 1.0])):
        q = np.reshape(tab.evaluate(AT, part), (3, 3)) + origin
        assert q[:, 0] == pytest.approx(x, abs=1e-6)
        assert q[:, 1] == pytest.approx([0.5, 1.5, 2.5], abs=1e-6)
    tab.locator("#body").fill("0")
    assert facts(tab)["position"] == "1, 0.5", "the numbers are those of the saved frame"
    tab.keyboard.press("Escape")
    tab.locator("#view").focus()
    tab.keyboard.press("Space")
    wait_until(tab, "() => viewer.stage.frame !== viewer.stage.saved")
    tab.keyboard.press("i")
    wait_until(tab, "() => viewer.stage.frame === viewer.stage.saved")


def test_a_loop_starts_again_until_it_is_switched_off(opened, pile):
    tab = opened(pile)
    tab.keyboard.press("o")
    scrub(tab, 18)
    play_faster(tab)
    tab.locator("#view").focus()
    tab.keyboard.press("Space")
    wait_until(tab, "() => viewer.shown < 10")
    assert tab.evaluate("viewer.playing")
    tab.keyboard.press("o")
    wait_until(tab, "() => viewer.shown === 20 && !viewer.playing")
    assert tab.evaluate("viewer.stage.frame === viewer.stage.saved")


def test_the_curve_has_the_numbers_of_the_run_and_leads_to_any_time(opened, pile):
    tab = opened(pile, size=(900, 820))
    assert tab.locator("#plot").is_visible()
    masses = Scene(pile).facts.masses
    energies = [0.5 * float(masses @ (u**2).sum(axis=1)) for u in pile.u]
    strongest = [float(np.abs(p).max(initial=0.0)) / 0.01 for p in pile.multipliers]
    for k, name, values in ((20, "kinetic energy", energies), (12, "largest contact force", strongest)):
        scrub(tab, k)
        wait_until(tab, "most => document.getElementById('plot').ariaLabel.includes(` to ${most},`)", said(max(values)))
        label = tab.locator("#plot").get_attribute("aria-label")
        assert label == f"{name} from 0 to {said(max(values))}, now {said(values[k])}"
        tab.locator("#view").focus()
        tab.keyboard.press("g")
    box = tab.locator("#plot").bounding_box()
    tab.mouse.click(box["x"] + 64 + 0.25 * (box["width"] - 80), box["y"] + 40)
    wait_until(tab, "() => viewer.shown === 5")
    assert tab.locator("#plot").get_attribute("aria-label") == "bodies present from 0 to 24, now 24"
    tab.keyboard.press("g")
    assert (
        tab.locator("#plot").get_attribute("aria-label").startswith("speed of the selection from 0 to 0, now unknown")
    )
    tab.keyboard.press("g")
    assert tab.locator("#plot").is_hidden()


def said(x):
    """A number as the page writes it."""
    return f"{float(f'{x:.4g}'):g}"


def test_a_saved_picture_shows_what_the_page_shows(opened, density_run):
    file, _ = density_run
    tab = opened(file, size=(900, 700))
    assert tab.locator("#plot").get_attribute("aria-label").startswith("largest speed")
    seen = image(tab)
    tab.keyboard.press("x")
    ticks = (image(tab) != seen).any(axis=2)
    assert ticks[-30:].any()
    assert ticks[:, :30].any()
    with tab.expect_download() as download:
        tab.keyboard.press("Shift+S")
    assert download.value.suggested_filename == "jostle t=0.png"
    photo = np.asarray(Image.open(io.BytesIO(download.value.path().read_bytes())).convert("RGB")).astype(int)
    height, width, _ = seen.shape
    assert photo.shape == (height + 80 + 84, width, 3)
    assert (photo[40 : 40 + height] == image(tab)).all(axis=2).mean() > 0.99
    for band in (photo[:40], photo[40 + height : 80 + height], photo[-84:]):
        assert (band != 255).any()


@pytest.mark.parametrize("key", ["", "l"], ids=["webgl", "simple graphics"])
def test_a_plane_hides_the_bodies_on_one_side_and_trails_show_the_way(opened, two_balls, key):
    """Ball 0 is at y = -2 and at rest, ball 1 is at y = 2 and moves."""
    tab = opened(two_balls, size=(1000, 620))
    if key:
        tab.keyboard.press(key)
    tab.keyboard.press("m")
    tab.locator("#cut").select_option("y <")
    tab.mouse.click(*place(tab, 0))
    assert picked(tab) == 0
    one = (image(tab)[:, 320:, 2] < 250).sum()  # beside the panel of controls
    tab.locator("#cut").select_option("y >")
    assert tab.locator("#place").get_attribute("aria-valuetext").strip() == "y > 0"
    tab.mouse.click(*place(tab, 1))
    assert picked(tab) == 1
    tab.locator("#view").focus()
    tab.keyboard.press("v")
    assert all(np.isfinite(tab.evaluate("viewer.stage.camera.target")))
    tab.keyboard.press("0")
    for _ in range(10):
        tab.keyboard.press("z")
    assert tab.locator("#place").input_value() == "100"
    assert (image(tab)[:, 320:, 2] < 250).sum() < 0.5 * one, "nothing but the outline of the plane"
    tab.locator("#cut").select_option("none")
    scrub(tab, 10)
    tab.locator("#view").focus()
    tab.keyboard.press("r")
    wait_until(tab, "() => viewer.stage.trail.length === 10")
    ends = np.add(tab.evaluate("[...viewer.stage.trail.at(-1)]"), 2 * tab.evaluate("viewer.source.about.origin"))
    assert ends == pytest.approx([0.59, 2.0, 0.0, 0.6, 2.0, 0.0], abs=1e-5)
