"""Positions are stored in double precision where single precision would move people by more than a little."""

import numpy as np
import pytest

import jostle as jo
from jostle.scenarios import parse
from plain import crowd
from rows import whole

MAP = np.array([412_345.0, 5_412_345.0])
"""A place in metres, as in maps: in single precision the second coordinate is a multiple of half a metre."""


def walkers(shift):
    corners = np.array([(0, 0), (6, 0), (6, 4), (0, 4)]) + shift
    plan = jo.crowds.Plan(corners, exits={"east": np.array([(6, 1), (6, 3)]) + shift})
    return plan, crowd(2, radius=0.2, room=plan, q0=np.array([[4.0, 1.5], [4.0, 2.5]]) + shift)


@pytest.mark.parametrize(("shift", "dtype"), [(0.0, np.float32), (MAP, np.float64), whole((-MAP, np.float64))])
def test_a_plan_in_map_coordinates_is_stored_as_exactly_as_one_at_the_origin(tmp_path, shift, dtype):
    _, people = walkers(shift)
    run = {"t": 4.0, "h": 0.1}
    sol = jo.solve(people, jo.Venel(), **run)
    for stored in (
        jo.solve(people, jo.Venel(), output=tmp_path / "run.vtkhdf", **run),
        jo.io.read(jo.io.write(sol, tmp_path / "copy.vtkhdf")),
    ):
        assert stored.q.source.dtype == dtype
        np.testing.assert_allclose(stored.q[:], sol.q, rtol=0.0, atol=2e-7)
        found, exact = (jo.crowds.crowd_summary(one) for one in (stored, sol))
        assert found.evacuation_time == pytest.approx(exact.evacuation_time, abs=1e-6)


def test_a_body_that_flies_far_away_is_stored_as_exactly_as_at_the_start(tmp_path):
    ball = jo.Motion(q0=[[0.0, 0.0]], v0=[1e6, 0.0], within=jo.Balls([0.2]))
    sol = jo.solve(ball, jo.Maury(), t=3.1, h=3.1)
    stored = jo.io.read(jo.io.write(sol, tmp_path / "run.vtkhdf"))
    assert stored.q.source.dtype == np.float64
    assert stored.q[-1].tolist() == [[3.1e6, 0.0]]


def test_a_run_in_map_coordinates_is_resumed_in_its_own_precision(tmp_path):
    _, people = walkers(MAP)
    for t, resume in ((1.0, False), (2.0, True)):
        output = jo.io.Output(tmp_path / "run.vtkhdf", checkpoint=tmp_path / "c", resume=resume)
        sol = jo.solve(people, jo.Venel(), t=t, h=0.1, output=output)
    assert sol.q.source.dtype == np.float64


CROWD = """
[problem]
kind = "crowd"
rooms = [{ corners = [[0, 0], [4, 0], [4, 3], [0, 3]] }]
exits = [{ name = "east", ends = [[4, 0.5], [4, 2.5]] }]
[[problem.groups]]
places = [[1.0, 1.0]]
[run]
t = 600.0
"""


def test_frames_of_a_crowd_are_at_most_a_second_apart_unless_the_file_says_so():
    """Three seconds apart, every fourth person was counted at the wrong one of two neighbouring exits."""
    assert parse(CROWD).build().every == 1.0
    assert parse(CROWD.replace("600.0", "60.0")).build().every == 0.3
    assert parse(CROWD + "every = 3.0\n").build().every == 3.0
    assert parse(CROWD).output.precision is None


def test_a_coarse_file_of_an_earlier_version_can_be_copied(tmp_path):
    """Its positions are rounded already: a copy loses nothing."""
    with jo.io.Writer(tmp_path / "old.vtkhdf", shape=(1, 2), dtype=np.float32, about={}) as file:
        file.frame(0.0, np.array([[5e6, 0.0]]), np.zeros((1, 2)), 0.25)
    jo.io.export(tmp_path / "old.vtkhdf", tmp_path / "copy.vtkhdf")
    assert jo.io.read(tmp_path / "copy.vtkhdf").q[0].tolist() == [[5e6, 0.0]]
