"""The progress bar: its words are complete in a terminal of 80 columns, and say what overlaps are compared with."""

from __future__ import annotations

import io
import re

import numpy as np
from rich.console import Console

import jostle as jo
from jostle import terminal
from jostle.kernels.compile_news import Compiling, tell
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
    for words in ("100%", "elapsed, ", "t = 0.4, ", "steps/s"):
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


class Every:
    """A clock that goes on by five seconds each time it is read."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        self.now += 5.0
        return self.now


def test_without_a_terminal_a_line_is_printed_every_ten_seconds(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "time", Every())
    ball = jo.Motion(q0=[[0.3]], force=[-10.0], within=jo.HalfSpace([1.0]))
    sol = jo.solve(ball, jo.Maury(), t=0.2, h=0.01, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(sol.t) == 21
    assert re.fullmatch(r"5% after 0:00:20, t = 0.01, 0.2 steps/s; worst overlap none, .*", lines[0])
    assert re.match(r"\d+% after 0:0\d:\d\d, about 0:\d\d:\d\d left, t = ", lines[1])
    assert lines[-1].startswith("100% after ")


def test_the_first_compilation_is_announced_without_a_terminal(capsys):
    with progress_bar():
        for seconds in (0.5, 3.0, 4.0):
            tell(Compiling("cells._search", compiled=3, known=70, seconds=seconds))
    assert capsys.readouterr().err == "compiling kernels, once after an installation: usually 10 to 30 s, 3 s so far\n"


def test_the_time_left_knows_of_early_ends(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "time", Every())
    heights = [[float(k), 0.1 * k] for k in range(20)]
    drops = jo.Motion(q0=heights, force=[0.0, -1.0], within=jo.Balls(np.full(20, 0.01)))
    for until in (jo.stopping.Below(0.0), jo.stopping.AtRest(1e-9, after=1.0)):
        jo.solve(drops, jo.Maury(), t=9.0, h=0.1, until=until, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert any("at most" in line for line in lines)
    assert any(re.search(r"about 0:\d\d:\d\d left", line) for line in lines)


def test_a_notebook_gets_a_bar(monkeypatch):
    shown = []

    class Handle:
        def update(self, data, raw):
            shown.append(data)

    import IPython.display

    monkeypatch.setattr(IPython.display, "display", lambda *_, **__: Handle())
    with progress_bar(Console(file=io.StringIO(), force_jupyter=True)) as bar:
        jo.solve(collision(0.0), jo.Maury(), t=0.4, h=0.1, progress=bar)
    assert shown[-1]["text/html"].startswith('<progress value="1.000"')
    assert "worst overlap none" in shown[-1]["text/html"]
