"""Events whose times a run rounds to its steps: the derivative of the run is not that of the motion there."""

import numpy as np
import pytest

import jostle as jo
from jostle.errors import RoundedEvents
from rows import whole

TABLE = [(-3.0, -1.0), (0.0, -1.0), (0.0, 0.0), (-3.0, 0.0)]
HILL = jo.Outside([0.0, 0.0], 2.0)


def slope(make, scheme, t, h, width):
    """The derivative of the final positions by differences over many steps, which is that of the motion."""
    ends = [jo.solve(make(theta), scheme, t=t, h=h, every=t).q[-1] for theta in (-width, width)]
    return (ends[1] - ends[0]) / (2.0 * width)


def slide(x):
    """A ball slides over the edge of a table, 0.1 wide, at speed 2."""
    within = jo.Polygons([TABLE], radii=0.1)
    return jo.Motion(q0=[[x - 0.5003, 0.1]], v0=[[2.0, 0.0]], force=[0.0, -9.81], within=within)


def stop(theta):
    """A lift goes up at speed 1 and stops at t = 0.5003 + theta."""
    lift = jo.HalfSpace([1.0], lambda t: min(t, 0.5003 + float(theta)))
    return jo.Motion(q0=[0.0], v0=[1.0], force=[-9.81], within=lift)


def stream(x):
    """A point in a stream past the edge of a table."""
    return jo.Sweeping(q0=[[x - 0.50031, 0.0]], velocity=[[1.0, -1.0]], within=jo.Polygons([TABLE]))


def ceiling(x):
    """A ball hits a ceiling and falls down again, t* = (3 - sqrt(9 - 2 g (0.3 - x))) / g."""
    return jo.Motion(q0=[x], v0=[3.0], force=[-9.81], within=jo.HalfSpace([-1.0], -0.3))


def oblique(x):
    """A ball hits another one, not in the middle."""
    return jo.Motion(q0=[[x, 0.0], [1.0, 0.13]], v0=[[1.0, 0.0], [0.0, 0.0]], within=jo.Balls([0.2, 0.2]))


@pytest.mark.parametrize(
    ("make", "scheme", "t", "why", "entry", "run_has", "motion_has"),
    [
        (slide, jo.Maury(), 0.6, "lost while it pressed", (0, 1), 0.0, -9.81 * (0.6 - 0.5003 / 2) / 2),
        (stop, jo.Maury(), 0.6, "lost while it pressed", 0, 0.0, 9.81 * (0.6 - 0.5003)),
        (stream, jo.Venel(), 0.8, "lost while it pressed", (0, 1), 0.0, -1.0),
        whole((stream, jo.CatchingUp(), 0.8, "lost while it pressed", (0, 1), 0.0, -1.0)),
        (ceiling, jo.Maury(), 0.3, "lost right after its impact", 0, 0.0, -9.81 * (0.3 - 0.13132) / 1.7117),
    ],
)
def test_events_that_are_rounded_are_reported_and_the_motion_has_another_derivative(
    make, scheme, t, why, entry, run_has, motion_has
):
    h = 2e-3 if isinstance(scheme, jo.Maury) else 4e-3
    with pytest.warns(RoundedEvents, match=rf"{why}\. The run rounds .* use jo.sensitivity_by_events"):
        run = jo.sensitivity(lambda theta: make(theta[0]), scheme, t=t, h=h, theta=[0.0])
    assert [event.why for event in run.rounded] == [why]
    assert run.forward(theta=[1.0])[0][entry] == pytest.approx(run_has, abs=1e-6)
    assert slope(make, scheme, t, h, 0.03)[entry] == pytest.approx(motion_has, rel=0.05)


def test_balls_that_collide_obliquely_are_reported_with_the_step_the_time_and_the_pair():
    with pytest.warns(RoundedEvents, match=r"balls 0 and 1, step 127, t = 0.635: lost right after its impact"):
        run = jo.sensitivity(oblique(0.0), jo.Maury(), t=1.0, h=5e-3)
    assert run.rounded == (jo.gradients.RoundedEvent(127, run.rounded[0].t, "balls 0 and 1", run.rounded[0].why),)
    way = [[1.0, 0.0], [0.0, 0.0]]
    exact = jo.sensitivity_by_events(oblique(0.0), t=1.0).forward(q0=way)[0]
    assert np.abs(run.forward(q0=way)[0] - exact).max() > 0.04
    wide = slope(oblique, jo.Maury(), 1.0, 5e-3, 0.05)
    np.testing.assert_allclose(wide, exact, atol=0.02)


def test_contacts_that_last_or_whose_force_dies_are_not_reported():
    """A fall on a hill and a slide from it, a floor, a slow slide around an edge, a stream around a hill."""
    falls = [jo.Motion(q0=[x, 3.0], force=[0.0, -10.0], within=HILL) for x in (0.3, 0.32, 0.34, 0.36)]
    floor = jo.Motion(q0=[[0.0, 1.0]], v0=[[1.0, 0.0]], force=[0.0, -9.81], within=jo.HalfSpace([0.0, 1.0], radii=0.1))
    round_corner = jo.Motion(
        q0=[[-0.0503, 0.1]], v0=[[0.3, 0.0]], force=[0.0, -9.81], within=jo.Polygons([TABLE], radii=0.1)
    )
    for problem, t in (*((fall, 1.4) for fall in falls), (floor, 0.7), (round_corner, 0.6)):
        assert jo.sensitivity(problem, jo.Maury(), t=t, h=0.01).rounded == ()
    around = jo.Sweeping(q0=[-2.5, 1.0], velocity=[1.0, 0.0], within=HILL)
    for scheme in (jo.Venel(), jo.CatchingUp()):
        run = jo.sensitivity(around, scheme, t=5.0, h=0.02)
        assert run.rounded == ()
        assert run.q[0] > 1.0  # it left the hill


def test_a_contact_that_another_one_takes_over_is_not_reported():
    """A ball slides from one board to the next: the first one is lost while it presses, and nothing changes."""
    boards = jo.Segments([[[-2.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [2.0, 0.0]]], radii=0.1)
    ball = jo.Motion(q0=[[-0.1003, 0.1]], v0=[[1.0, 0.0]], force=[0.0, -9.81], within=boards)
    run = jo.sensitivity(ball, jo.Maury(), t=0.2, h=2e-3)
    assert run.rounded == ()
    assert run.forward(v0=[[1.0, 0.0]])[0][0] == pytest.approx([0.2, 0.0], abs=0.02)


def test_an_impact_on_a_chain_is_reported():
    """Its rods turn while the impact is divided between two steps; theta moves the wall."""

    def make(theta):
        wall = jo.HalfSpace([1.0, 0.0], 0.3 + theta[0], radii=[0.1, 0.0])
        within = jo.Rods([(0, -1), (0, 1)], [1.0, 1.0], points=[[0.0, 0.0]]) & wall
        v0 = [[-0.8, -0.6], [-0.8, -0.6]]
        return jo.Motion(q0=[[0.6, -0.8], [1.4, -1.4]], v0=v0, force=[0.0, -9.81], within=within)

    with pytest.warns(RoundedEvents, match="impact on bodies that curved contacts hold"):
        run = jo.sensitivity(make, jo.Maury(), t=0.25, h=5e-3, theta=[0.0])
    assert {event.contact[:16] for event in run.rounded} == {"body 0 and plane"}
