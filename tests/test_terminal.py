"""The progress bar: its words are complete in a terminal of 80 columns, and say what overlaps are compared with."""

from __future__ import annotations

import io
import re

import numpy as np
from rich.console import Console

import jostle as jo
from jostle.terminal import progress_bar


def last_lines(problem, scheme, *, h):
    """The lines that remain in a terminal of 80 columns after a run, and the solution."""
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    with progress_bar(console) as bar:
        sol = jo.solve(problem, scheme, t=0.4, h=h, progress=bar)
    text = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", console.file.getvalue().split("\r")[-1])
    return text.splitlines(), sol


def collision(e):
    """Two balls with the radius 0.5 that collide with the speed 3."""
    return jo.Motion(q0=[0.0, 1.501], v0=[3.0, 0.0], within=jo.Line([0.5, 0.5]), law=jo.Restitution(e))


def test_the_overlap_is_a_percentage_of_the_body_size():
    (bar, quality), sol = last_lines(collision(1.0), jo.Paoli(), h=0.004)
    percentage = 100.0 * -sol.gaps().min() / 0.5
    assert percentage > 0.1
    assert quality == f"worst overlap {percentage:.2g} % of the radius, worst residual {sol.residual:.1e}"
    for words in ("100%", "elapsed, ", "left t = 0.4, ", "steps/s"):
        assert words in bar
    assert "…" not in bar + quality


def test_a_run_without_overlaps_says_so():
    (_, quality), _ = last_lines(collision(0.0), jo.Maury(), h=0.004)
    assert quality.startswith("worst overlap none, ")


def test_the_overlap_of_a_point_is_not_compared_with_a_size():
    ball = jo.Motion(q0=[0.3], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    (_, quality), sol = last_lines(ball, jo.Paoli(), h=0.01)
    assert sol.overlap > 0.0
    np.testing.assert_allclose(sol.overlap, -sol.gaps().min())
    assert quality.startswith(f"worst overlap {sol.overlap:.1e}, ")


def test_the_overlap_of_constraints_without_a_length_is_not_compared_with_a_size():
    heights = jo.constraints(lambda t, q: q[:, 1])
    balls = jo.Motion(q0=[[0.0, 0.3], [2.0, 0.3]], force=[0.0, -10.0], within=jo.Balls([0.1, 0.1]) & heights)
    (_, quality), sol = last_lines(balls, jo.MoreauJean(), h=0.01)
    assert sol.overlap > 0.0
    assert quality.startswith(f"worst overlap {sol.overlap:.1e}, ")
