"""What a run says about itself in words: overlaps with their units, and iterations that a newcomer understands."""

from __future__ import annotations

import json

import numpy as np
import pytest

import jostle as jo
from jostle.result.status import iterations_in_words, overlap_in_words

H, SPEED, RADIUS = 0.004, 3.0, 0.5


@pytest.fixture(scope="module")
def collision():
    """Two balls that collide head-on: one at rest, one with the speed 3."""
    problem = jo.Motion(q0=[0.0, 1.501], v0=[SPEED, 0.0], within=jo.Line([RADIUS, RADIUS]), law=jo.Restitution(1.0))
    return jo.solve(problem, jo.Paoli(), t=0.4, h=H)


def test_the_overlap_has_the_unit_of_length_that_the_file_knows(collision, tmp_path):
    depth = -collision.gaps().min()
    assert 0.0 < depth <= H * SPEED
    jo.io.write(collision, tmp_path / "a.vtkhdf")
    read = jo.io.read(tmp_path / "a.vtkhdf")
    assert overlap_in_words(collision) == overlap_in_words(read)
    assert "steps of Paoli, t = 0" in repr(collision)
    assert "steps, t = 0" in repr(read), "the file does not contain the scheme"
    share = f"{100 * depth / RADIUS:.2g} % of the smallest radius"
    assert overlap_in_words(collision) == f"{depth:.2g} in the unit of q, {share}"
    out = jo.io.Output(tmp_path / "b.vtkhdf", units=jo.io.SI)
    sol = jo.solve(collision.problem, jo.Paoli(), t=0.4, h=H, output=out)
    assert overlap_in_words(sol) == f"{depth:.2g} m, {share}"
    assert "t = 0 to 0.4 s, " in repr(sol)
    assert overlap_in_words(sol) in repr(sol)


def test_the_overlap_of_growing_balls_is_a_fraction_of_the_smallest_radius():
    growing = jo.Balls(lambda t: np.full(2, 0.5 + 0.1 * t))
    problem = jo.Motion(q0=[[0.0, 0.0], [1.1, 0.0]], v0=[[2.0, 0.0], [0.0, 0.0]], within=growing)
    sol = jo.solve(problem, jo.MoreauJean(), t=0.3, h=0.1)
    assert sol.overlap > 1e-3
    assert overlap_in_words(sol) == f"{100 * sol.overlap:.2g} % of the smallest radius"


def test_the_overlap_of_a_point_is_a_depth():
    ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    sol = jo.solve(ball, jo.Paoli(), t=1.0, h=0.01)
    assert overlap_in_words(sol) == f"{-sol.gaps().min():.2g} in the unit of q"


def test_the_overlap_of_constraints_without_a_length_is_not_called_a_fraction_of_a_radius():
    """The deepest overlap is 0.025, a quarter of the radius; it was shown as 2.5 % of it."""
    heights = jo.constraints(lambda t, q: q[:, 1])
    balls = jo.Motion(q0=[[0.0, 1.0], [2.0, 1.0]], force=[0.0, -9.81], within=jo.Balls([0.1, 0.1]) & heights)
    sol = jo.solve(balls, jo.MoreauJean(), t=1.0, h=0.01)
    assert sol.overlap == pytest.approx(-sol.gaps().min(), rel=1e-9)
    found = overlap_in_words(sol)
    assert found.startswith(f"{sol.overlap:.2g}, ")
    assert "in the unit of a gap without a length" in found
    assert "%" not in found


def test_the_overlap_of_a_point_beside_a_wall_with_a_size_is_a_fraction_of_it():
    ball = jo.Motion(q0=[3.9, 0.0], v0=[0.0, 4.0], within=jo.Inside([0.0, 0.0], 4.0))
    sol = jo.solve(ball, jo.Maury(), t=0.5, h=0.1)
    depth = -sol.gaps().min()
    assert overlap_in_words(sol) == f"{100 * depth / 4.0:.2g} % of the size of a wall or constraint"


def test_iterations_are_those_of_the_steps_that_needed_some():
    counts = np.zeros(1500, dtype=[("iterations", int)])
    assert iterations_in_words(counts) == "none needed"
    counts["iterations"][:4] = 1
    assert iterations_in_words(counts) == "4 in all, in 4 of 1,500 steps, at most 1 per step"


def test_the_table_of_a_run_has_units_and_one_line_about_overlaps(here, jostle):
    _, out, _ = jostle("run", "cradle_apart", "--set", "run.t=0.3")
    rows = dict(line.split(maxsplit=1) for line in out.replace("worst overlap", "overlap").splitlines() if line.strip())
    assert rows["overlap"].strip() == "0.002 m, 0.4 % of the smallest radius"
    assert rows["end"].split() == ["time", "0.3", "s"]
    assert "4 in all, in 4 of 150 steps" in rows["iterations"]
    assert "overshoot" not in out
    shown = jostle("info", "cradle_apart.vtkhdf")[1]
    assert "0.002 m, 0.4 % of the smallest radius" in shown
    assert "overshoot" not in shown
    found = json.loads(jostle("info", "cradle_apart.vtkhdf", "--json")[1])
    assert found["units"] == {"length": "m", "time": "s", "mass": "kg"}
    np.testing.assert_allclose(found["worst_overlap"] * found["smallest_radius"], 0.002)
    assert "0.002 s" in jostle("info", "cradle_apart")[1]


def test_a_ball_in_the_plane_is_one_body(here, jostle):
    jostle("run", "labyrinth", "--set", "run.t=0.1", "--quiet")
    assert json.loads(jostle("info", "labyrinth.vtkhdf", "--json")[1])["bodies"] == 1
