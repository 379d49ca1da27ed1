"""The measures by name are those of the analysis."""

import numpy as np
import pytest

import jostle as jo
from jostle.study import CURVES, MEASURES


@pytest.fixture(scope="module")
def crowd():
    scenario = jo.scenarios.load("venel_2009", settings=["problem.groups.0.n=12", "run.h=0.1"], seed=3)
    return jo.solve(**scenario.build()._asdict())


@pytest.fixture(scope="module")
def ball():
    law = jo.Restitution(0.5)
    problem = jo.Motion(q0=[[0.0, 0.2]], force=[[0.0, -10.0]], within=jo.HalfSpace([0.0, 1.0]), law=law)
    return jo.solve(problem, jo.MoreauJean(), t=0.5, h=0.01)


def test_measures_of_a_crowd(crowd):
    found = {name: MEASURES.get(name)(crowd) for name in MEASURES.names() if "energy" not in name}
    left = np.sort(jo.crowds.leaving_times(crowd))
    assert found["evacuation_time"] == jo.crowds.evacuation_time(crowd) == left[-1]
    assert found["people_left"] == 12
    assert found["flow"] == pytest.approx(11.0 / (left[-1] - left[0]))
    assert found["end_time"] == crowd.t[-1]
    assert found["worst_overlap"] == crowd.overlap
    assert found["largest_force"] == max(p.max(initial=0.0) for p in crowd.multipliers)
    frames = range(len(crowd.t))
    shown = jo.crowds.crowd_summary(crowd).rows()["worst_density"]  # what `jostle run` prints
    assert found["worst_density"] == shown > 12 / crowd.problem.plan.area.area
    pressed = max(jo.crowds.crowd_pressure(crowd, k).pressure.max() for k in frames if k)
    assert found["worst_pressure"] == pressed > 0.0
    assert CURVES.get("leaving_times")(crowd).tolist() == left.tolist()


def test_measures_of_a_motion(ball):
    assert MEASURES.get("kinetic_energy")(ball) == ball.energy().kinetic[-1]
    assert MEASURES.get("dissipated_energy")(ball) == ball.energy_balance().dissipated[-1] > 0.5
    assert MEASURES.get("largest_force")(ball) > 10.0


def test_a_measure_of_people_is_refused_where_there_are_none(ball):
    with pytest.raises(jo.JostleError, match="plan of a crowd"):
        MEASURES.get("worst_density")(ball)
    with pytest.raises(jo.JostleError):
        MEASURES.get("flow")(ball)
