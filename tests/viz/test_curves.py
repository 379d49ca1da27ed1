"""Curves show what the solution holds, and nothing in between."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import jostle as jo
from jostle import viz
from jostle._tools.colours import PALETTE


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def ball():
    problem = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    return jo.solve(problem, jo.Paoli(), t=1.5, h=0.01)


def test_curves_of_event_driven_motions_have_their_impacts_and_positions(tmp_path):
    problem = jo.Motion(
        q0=[[0.5, 0.5], [1.5, 0.6]], v0=[[1.0, 0.3], [-0.4, 0.9]], law=jo.Restitution(1.0),
        within=jo.Balls([0.3, 0.3]) & jo.Box([0.0, 0.0], [2.0, 2.0]),
    )  # fmt: skip
    sol = jo.solve_by_events(problem, t=(1.0, 3.0))
    line = viz.history(sol).lines[1]
    np.testing.assert_array_equal(line.get_ydata(), sol.q(line.get_xdata())[:, 0, 1])
    assert viz.impacts(sol).lines[0].get_xdata().tolist() == sol.impacts().t.tolist()
    total = viz.energies(sol).lines[0].get_ydata()
    np.testing.assert_allclose(total, total[0], rtol=1e-13)
    for show in (viz.paths, viz.phase, viz.draw, viz.balance):
        show(sol)
    assert viz.page(sol, tmp_path / "motion.html").stat().st_size > 1000
    with pytest.raises(jo.InvalidValue, match="needs contacts"):
        viz.draw(sol, colour="pressure")


def test_a_history_has_one_line_for_each_coordinate(pile):
    ax = viz.history(pile)
    assert len(ax.lines) == 48
    assert ax.lines[3].get_ydata() == pytest.approx(pile.q[:, 1, 1])
    assert ax.lines[3].get_label() == "$q_{2,y}$"
    assert ax.get_legend() is None  # so many names are no help


def test_a_single_coordinate_has_no_number(ball):
    ax = viz.history(ball)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$t$", "$q$")
    assert ax.lines[0].get_ydata() == pytest.approx(ball.q[:, 0])


def test_ways_are_in_exact_proportion_and_begin_with_a_dot(pile):
    ax = viz.paths(pile)
    ways, dots = ax.lines[0::2], ax.lines[1::2]
    assert ax.get_aspect() == 1.0
    assert ways[5].get_xydata() == pytest.approx(pile.q[:, 5])
    assert dots[5].get_xydata() == pytest.approx(pile.q[:1, 5])
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert left < pile.q[..., 0].min() < pile.q[..., 0].max() < right
    assert bottom < pile.q[..., 1].min() < pile.q[..., 1].max() < top


def test_a_way_through_the_end_of_a_periodic_cell_is_broken():
    turning = jo.Motion(q0=[[0.5, 0.0]], v0=[[1.0, 0.0]], within=jo.Balls([0.1], period=[2.0, np.inf]))
    way = viz.paths(jo.solve(turning, jo.Maury(), t=3.0, h=0.1)).lines[0].get_xdata()
    assert np.isnan(way).sum() == 1
    assert np.nanmax(np.abs(np.diff(way))) == pytest.approx(0.1)


def test_ways_in_space_are_seen_from_the_side(two_balls):
    ax = viz.paths(two_balls, view=(-90.0, 0.0))  # along y: x to the right, z upwards
    assert ax.lines[2].get_xydata() == pytest.approx(two_balls.q[:, 1, [0, 2]])


def test_the_flow_of_a_phase_portrait_does_not_jump_and_its_jumps_do(ball):
    ax = viz.phase(ball)
    flow, jumps = (line.get_ydata() for line in ax.lines)
    assert np.nanmax(np.abs(np.diff(flow))) < 0.2  # ten times a step of gravity is 0.1
    hits = len(ball.impacts())
    assert hits >= 3
    assert np.isnan(jumps).sum() == 2 * hits  # each takes two steps
    assert np.nanmax(np.abs(np.diff(jumps[:3]))) > 4.0


def test_a_phase_portrait_of_a_coordinate_that_is_not_there_is_refused(ball):
    with pytest.raises(jo.InvalidValue, match="coordinate must be a number from 0 to 0, not 1"):
        viz.phase(ball, 1)


def test_impacts_are_bars_as_high_as_their_impulse(ball):
    ax = viz.impacts(ball)
    found = ball.impacts()
    assert ax.lines[0].get_xydata() == pytest.approx(np.stack([found.t, found.impulse], axis=1))
    bars = ax.collections[0].get_segments()
    assert np.array([bar[1, 1] - bar[0, 1] for bar in bars]) == pytest.approx(found.impulse)
    assert ax.get_ylim()[0] == 0.0


def test_the_total_energy_that_is_drawn_never_grows(ball):
    lines = {line.get_label(): line for line in viz.energies(ball).lines}
    kinetic, potential, total = lines.values()
    assert total.get_ydata() == pytest.approx(kinetic.get_ydata() + potential.get_ydata())
    assert np.diff(total.get_ydata()).max() < 0.02
    assert len(total.get_xdata()) == len(ball.t) - len(ball.impacts())  # those between the two steps are left out


def test_without_a_constant_force_only_the_kinetic_energy_is_known():
    sol = jo.solve(jo.models.impact_oscillator(), jo.Paoli(), t=1.0, h=0.01)
    ax = viz.energies(sol)
    assert len(ax.lines) == 1
    assert ax.lines[0].get_ydata() == pytest.approx(0.5 * sol.u[:, 0] ** 2)


def test_a_first_order_problem_has_no_energy_and_no_impacts():
    sol = jo.solve(jo.models.labyrinth(), jo.Venel(), t=0.1, h=0.01)
    with pytest.raises(jo.InvalidValue, match="first-order"):
        viz.energies(sol)
    with pytest.raises(jo.InvalidValue, match="first-order"):
        viz.impacts(sol)


@pytest.mark.parametrize("draw", [viz.history, viz.paths, viz.phase, viz.impacts, viz.energies])
def test_what_is_given_is_drawn_on_and_returned(draw):
    fall = jo.Motion(q0=[0.0, 1.0], force=[0.0, -10.0], within=jo.HalfSpace([0.0, 1.0]))
    figure, ax = plt.subplots()
    assert draw(jo.solve(fall, jo.Maury(), t=1.0, h=0.1), ax=ax) is ax
    assert len(figure.axes) == 1
    assert ax.lines


def lightness(colour):
    """L* of CIELAB, from 0 to 100."""
    r, g, b = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (r, g, b)]
    y = np.dot([0.2126, 0.7152, 0.0722], linear)
    return 116 * (y ** (1 / 3) if y > 0.008856 else 7.787 * y + 16 / 116) - 16


def seen_without_red_cones(colour):
    """A protanope's picture of a colour (Viénot, Brettel and Mollon 1999), as linear RGB."""
    linear = np.array([(int(colour[k : k + 2], 16) / 255) ** 2.2 for k in (1, 3, 5)])
    return np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]) @ linear


def test_the_first_colours_can_be_told_apart_without_red_cones_and_on_white_paper():
    seen = [seen_without_red_cones(colour) for colour in PALETTE]
    apart = [np.abs(a - b).max() for k, a in enumerate(seen) for b in seen[:k]]
    assert min(apart) > 0.08
    assert max(lightness(colour) for colour in PALETTE) < 75


@pytest.fixture(scope="module")
def read_ball(ball, tmp_path_factory):
    """The same, from its file."""
    return jo.io.read(jo.io.write(ball, tmp_path_factory.mktemp("files") / "ball.vtkhdf", dtype=float), ball.problem)


@pytest.mark.parametrize("draw", [viz.history, viz.paths, viz.phase, viz.energies, viz.impacts])
def test_a_solution_that_was_read_has_the_same_curves(ball, read_ball, draw):
    here, there = draw(ball).lines, draw(read_ball).lines
    for ours, theirs in zip(here, there, strict=True):
        np.testing.assert_allclose(theirs.get_xydata(), ours.get_xydata(), atol=1e-12)


def test_without_the_problem_curves_of_places_are_drawn_and_others_say_what_is_missing(read_ball):
    path = read_ball.q.source.path
    for draw in (viz.history, viz.paths, viz.phase, viz.energies, viz.impacts):
        for shown in (path, jo.io.read(path)):
            assert draw(shown).lines
    open_figures = plt.get_fignums()
    with pytest.raises(jo.InvalidValue, match=r"give the problem, jo\.io\.read\(path, problem\)"):
        jo.io.read(path).gaps()
    assert plt.get_fignums() == open_figures


def test_a_backend_that_is_interactive_from_its_first_figure_on_stays_so(monkeypatch):
    """As that of notebooks, which would show no second figure otherwise."""
    new = plt.figure

    def first(*arguments, **named):
        plt.ion()
        return new(*arguments, **named)

    monkeypatch.setattr(plt, "figure", first)
    with plt.rc_context({"interactive": False}):
        jo.viz.history(jo.solve(jo.models.cradle(2), jo.Paoli(), t=0.1, h=0.1))
        assert plt.isinteractive()
