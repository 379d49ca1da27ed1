"""Playback: pictures between saved frames, loops, curves under the picture, saved pictures."""

import numpy as np
import pytest
from browsing import facts, picked, place, play_faster, scrub, wait_until

import jostle as jo

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
