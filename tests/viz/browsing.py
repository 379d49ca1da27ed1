"""Looking at a page that plays a solution: what it shows, and what it says."""

import io
import time
from math import ceil, floor

import numpy as np
from PIL import Image

PATIENCE = 120.0
"""Seconds that the browser has for anything."""
HIDE = """visibility => {
    for (const part of document.querySelectorAll("header, aside, #ruler, .exit")) part.style.visibility = visibility;
}"""


def wait_until(tab, condition, argument=None):
    """Ask the page until it is true. (Playwright's own waiting needs eval, which the page forbids.)"""
    end = time.monotonic() + PATIENCE
    while not tab.evaluate(condition, argument):
        assert time.monotonic() < end, f"{condition} is not true after {PATIENCE:g} s"
        time.sleep(0.02)


def wait_until_drawn(tab):
    """Wait until the page shows what was changed last."""
    tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def image(tab):
    """(height, width, 3) of the canvas alone, without what is written over it."""
    tab.evaluate(HIDE, "hidden")
    wait_until_drawn(tab)
    box = tab.locator("#view").bounding_box()
    left, top = floor(box["x"] + 1e-3), floor(box["y"] + 1e-3)
    right, bottom = ceil(box["x"] + box["width"] - 1e-3), ceil(box["y"] + box["height"] - 1e-3)
    clip = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    shot = tab.screenshot(clip=clip, caret="initial")  # that of a locator waits until the page stands still
    tab.evaluate(HIDE, "")
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)


def play_faster(tab):
    """Choose the highest speed.

    At the speed that is chosen at first a run takes ten seconds, so that a busy machine can look while it plays.
    """
    tab.locator("#speed").select_option(index=6)


def scrub(tab, k):
    """Go to a frame by the slider."""
    tab.locator("#frame").fill(str(k))
    wait_until(tab, "k => viewer.shown === k", k)


def place(tab, number):
    """Where a body is, in pixels of the page."""
    return tab.evaluate("number => viewer.place(number)", number)


def picked(tab):
    """The number of the body that was picked."""
    return tab.evaluate("() => viewer.picked")


def facts(tab):
    """What the page says about it."""
    names, values = tab.locator("#picked dt").all_inner_texts(), tab.locator("#picked dd").all_inner_texts()
    return dict(zip(names, values, strict=True))
