"""Runs whose memory is a list of contacts, or of the steps of differences, have the same bits when they are resumed."""

from __future__ import annotations

import numpy as np
import pytest

import jostle as jo
from jostle.errors import BrokenFile
from jostle.io.checkpoint import read_whole, write_whole

DOWN = [0.0, -9.81]
PAIR = [[-0.35, 0.0], [0.35, 0.0]], 0.3
BAR = [[-0.5, 0.1, 0.0], [0.0, -0.2, 0.0], [0.5, 0.1, 0.0]], 0.25


def wavy(t, q):
    return q[:, 1] + 1.2 + 0.1 * np.sin(2.0 * q[:, 0])


def hill(t, q):
    return q[:, 1] + 1.2 + 0.1 * q[:, 0] ** 2


def centres(t, q):
    return [4.0 - np.hypot(*q[0]), q[1, 1] - q[0, 1] + 9.0]


def falling(within, n=3, **more):
    return jo.Motion(q0=[[1.7 * (k - (n - 1) / 2), 0.05 * k] for k in range(n)], force=DOWN, within=within, **more)


def beads(d, **more):
    q0 = np.array([0.2, 1.4, 2.5, 3.9, 5.0])
    q0, v0 = (each if d == 0 else each[:, None] for each in (q0, np.array([0.7, 0.2, 0.0, -0.3, -0.6])))
    return jo.Motion(q0=q0, v0=v0, **more)


RUNS = {
    "gluey beads on a line": lambda: (beads(0, within=jo.Line([0.5] * 5)), jo.Gluey()),
    "gluey beads with a shape": lambda: (beads(1, within=jo.Balls([0.5] * 5)), jo.Gluey(weakest=-0.1)),
    "gluey beads that grow": lambda: (beads(0, within=jo.Line(lambda t: np.full(5, 0.5 + 0.1 * t))), jo.Gluey()),
    "beads on a line": lambda: (beads(0, within=jo.Line([0.5] * 5), law=jo.Restitution(0.5)), jo.MoreauJean()),
    "beads that grow": lambda: (beads(0, within=jo.Line(lambda t: np.full(5, 0.5 + 0.1 * t))), jo.MoreauJean()),
    "clumps in a drum": lambda: (falling(jo.Clumps([PAIR] * 3) & jo.Inside([0.0, 0.0], 3.0)), jo.MoreauJean()),
    "rough clumps in a drum": lambda: (
        falling(jo.Clumps([PAIR] * 3) & jo.Inside([0.0, 0.0], 3.0), law=jo.Coulomb(0.5, e=0.3)), jo.MoreauJean()
    ),
    "one clump of three balls": lambda: (
        falling(jo.Clumps([([[-0.4, 0.0], [0.0, 0.1], [0.4, -0.1]], 0.25)]) & jo.HalfSpace([0.2, 1.0], -1.0), 1),
        jo.MoreauJean(),
    ),
    "clumps on a floor of their own": lambda: (
        falling(jo.Clumps([PAIR] * 2) & jo.constraints(hill), 2), jo.Maury()
    ),
    "clumps on a floor of their own that bounce": lambda: (
        falling(jo.Clumps([PAIR] * 2) & jo.constraints(wavy) & jo.constraints(centres), 2, law=jo.Restitution(0.4)),
        jo.MoreauJean(),
    ),
    "clumps in space on a floor of their own": lambda: (
        jo.Motion(
            q0=[[0.0, 0.0, 0.0], [2.0, 0.3, 0.1]], spin0=[0.5, 0.0, 1.0], force=[0.0, -9.81, 0.0],
            within=jo.Clumps([BAR] * 2) & jo.constraints(hill),
        ),
        jo.Maury(),
    ),
    "clumps and rods": lambda: (
        falling(jo.Clumps([PAIR] * 2) & jo.Rods([(1, 2)], np.hypot(1.0, 0.05)) & jo.constraints(wavy), 2),
        jo.MoreauJean(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_a_resumed_run_has_the_bits_of_one_that_went_on(make, tmp_path):
    problem, scheme = make()
    whole = jo.solve(problem, scheme, t=0.9, h=0.02)
    assert any(p.any() for p in whole.multipliers), "bodies touch"
    for t in (0.25, 0.6, 0.9):
        again = {"checkpoint": tmp_path / "c", "dtype": float, "resume": t > 0.3}
        end = jo.solve(make()[0], scheme, t=t, h=0.02, output=jo.io.Output(tmp_path / "a.vtkhdf", **again))
    assert np.asarray(end.q[:]).tobytes() == whole.q.tobytes()
    assert np.asarray(end.u[-1]).tobytes() == whole.u[-1].tobytes()


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("name", ["pairs", "memory.pairs"])
def test_contacts_of_balls_that_do_not_exist_are_refused(name, column, tmp_path):
    problem, scheme = RUNS["clumps in a drum"]()
    path = tmp_path / "c"
    jo.solve(problem, scheme, t=0.8, h=0.01, output=jo.io.Output(checkpoint=path))
    kept = read_whole(path)
    assert len(kept[name])
    for number, fits in ((5, True), (6, False)):
        kept[name][0] = [0, 1]
        kept[name][0, column] = number
        write_whole(path, kept)
        resumed = {"t": 0.9, "h": 0.01, "output": jo.io.Output(checkpoint=path, resume=True)}
        if fits:
            jo.solve(problem, scheme, **resumed)
            write_whole(path, kept)
        else:
            with pytest.raises(BrokenFile, match="damaged"):
                jo.solve(problem, scheme, **resumed)
