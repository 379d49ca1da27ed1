"""Pictures: to scale, complete, and the near before the far."""

import io
import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import EllipseCollection, PolyCollection
from PIL import Image

import jostle as jo
from jostle.viz import animate, draw, strip


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def pixels(figure, dpi=100):
    """(height, width, 3) what one sees."""
    file = io.BytesIO()
    figure.savefig(file, dpi=dpi)
    return np.asarray(Image.open(file).convert("RGB")).astype(int)


def discs(ax):
    return next(c for c in ax.collections if isinstance(c, EllipseCollection))


def test_discs_are_to_scale(pile):
    ax = draw(pile, 0)
    found = discs(ax)
    assert ax.get_aspect() == 1.0
    assert np.asarray(found.get_offsets()) == pytest.approx(pile.q[0])
    assert found.get_widths() == pytest.approx(2.0 * pile.problem.within.sets[0].radii)


def test_a_disc_is_as_large_in_the_picture_as_it_is():
    alone = jo.Motion(q0=[[0.0, 0.0], [3.0, 0.0]], v0=[[0.0, 0.0], [1.0, 0.0]], within=jo.Balls([1.0, 0.5]))
    sol = jo.solve(alone, jo.Maury(), t=0.1, h=0.1)
    ax = draw(sol)
    image = pixels(ax.figure)
    scale = ax.transData.transform([[0.0, 0.0], [1.0, 0.0]])
    blue = (image[:, :, 2] - image[:, :, 0] > 60) & (image[:, :, 0] < 60)
    inside = blue[:, : int(scale[1, 0] + 3 * (scale[1, 0] - scale[0, 0]))]
    area = np.pi * (0.5 * (scale[1, 0] - scale[0, 0])) ** 2
    assert inside.sum() == pytest.approx(area, rel=0.1)


def test_outlines_of_small_discs_do_not_hide_their_colours():
    two = jo.Motion(q0=[[0.0, 0.0], [200.0, 0.0]], v0=[[0.0, 0.0], [1.0, 0.0]], within=jo.Balls([0.5, 0.5]))
    ax = draw(jo.solve(two, jo.Maury(), t=0.1, h=0.1))
    ax.figure.canvas.draw()
    across = np.ptp(ax.transData.transform([[0.0, 0.0], [1.0, 0.0]])[:, 0]) * 72.0 / ax.figure.dpi
    assert 0.05 * across < discs(ax).get_linewidth()[0] < 0.15 * across


def test_forces_are_bars_and_can_be_left_out(pile):
    with_forces, without = draw(pile), draw(pile, contacts=False)
    carrying = int((pile.multipliers[-1] > 1e-6 * pile.multipliers[-1].max()).sum())

    def bars(ax):
        return [len(c.get_paths()) for c in ax.collections if isinstance(c, PolyCollection) and c.get_zorder() == 3]

    assert bars(with_forces) == [carrying]
    assert bars(without) == []


def test_the_stronger_bar_is_the_wider():
    ax = draw(jo.solve(jo.models.chain(3, gravity=1.0), jo.Maury(), t=0.1, h=0.1))
    bars = next(c for c in ax.collections if isinstance(c, PolyCollection) and c.get_zorder() == 3)
    width = [np.ptp(path.vertices[:, 1]) for path in bars.get_paths()]
    assert np.array(width) == pytest.approx(width[0] * np.sqrt([1.0, 2 / 3, 1 / 3]))


@pytest.mark.parametrize(("azimuth", "right", "in_front"), [(-90.0, 0.25, "white"), (90.0, -0.25, "dark")])
def test_near_balls_hide_far_ones(two_balls, azimuth, right, in_front):
    """Ball 0, at y = -2, is white; ball 1, at y = 2, is dark. They are seen along y, from either side."""
    ax = draw(two_balls, view=(azimuth, 0.0), colour=[0.0, 1.0])
    image = pixels(ax.figure)
    column, row = ax.transData.transform([right, 0.0])
    seen = image[image.shape[0] - int(row), int(column)].mean()
    assert (seen < 150) == (in_front == "dark")


def test_those_who_left_are_not_drawn(leaving):
    assert len(discs(draw(leaving, 0)).get_offsets()) == 3 * len(discs(draw(leaving, -1)).get_offsets())


@pytest.mark.parametrize("colour", ["speed", "pressure", np.arange(24.0)])
def test_colours_are_what_was_asked_for(pile, colour):
    ax = draw(pile, 10, colour=colour)
    shown = np.asarray(discs(ax).get_array())
    if isinstance(colour, np.ndarray):
        assert shown.tolist() == colour.tolist()
    elif colour == "speed":
        assert shown == pytest.approx(np.linalg.norm(pile.u[10], axis=1))
    else:
        assert (shown >= 0).all()
        assert shown.max() > 0
    assert [a.get_ylabel() for a in ax.figure.axes[1:]] == [colour if isinstance(colour, str) else ""]


def test_pressure_is_force_over_circumference():
    tower = jo.Motion(
        q0=[[0.0, 1.0], [0.0, 3.0]], force=[0.0, -10.0], within=jo.Balls([1.0, 1.0]) & jo.HalfSpace([0, 1], radii=1.0)
    )
    ax = draw(jo.solve(tower, jo.Maury(), t=0.1, h=0.01), colour="pressure")
    assert np.asarray(discs(ax).get_array()) * 2 * np.pi == pytest.approx([30.0, 10.0])


@pytest.mark.parametrize(
    ("colour", "message"),
    [("sped", "unknown colour 'sped'; did you mean 'speed'"), ([1.0, 2.0], r"one number per body, shape \(24,\)")],
)
def test_colours_that_are_not_known_are_refused(pile, colour, message):
    with pytest.raises(jo.InvalidValue, match=message):
        draw(pile, colour=colour)


def test_an_axis_that_is_given_is_drawn_on(pile):
    figure, (left, right) = plt.subplots(1, 2)
    assert draw(pile, 0, ax=right) is right
    assert not left.collections
    assert len(figure.axes) == 2


@pytest.mark.parametrize("function", [draw, jo.viz.paths])
def test_axes_of_space_are_refused(two_balls, function):
    with pytest.raises(jo.InvalidValue, match=r"flat Axes, such as plt.subplots\(\).*view=\(azimuth"):
        function(two_balls, ax=plt.figure().add_subplot(projection="3d"))


def test_moments_share_one_scale_and_one_colour_bar(pile):
    figure = strip(pile, [0.0, 0.35, 0.65, 1.0])
    *panels, bar = figure.axes
    assert [ax.get_title() for ax in panels] == ["t = 0", "t = 0.35", "t = 0.65", "t = 1"]
    assert len({ax.get_xlim() + ax.get_ylim() for ax in panels}) == 1
    assert bar.get_ylabel() == "speed"
    assert len({discs(ax).norm.vmax for ax in panels}) == 1


def test_no_panel_is_empty_after_the_bodies_have_left():
    discs = jo.Sweeping(q0=[[0.0, 0.0], [-1.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.1, 0.1]))
    leaving = jo.Outlet(lambda q: q[:, 0] > 1.0)
    sol = jo.solve(discs, jo.Venel(), t=9.0, h=0.25, changes=leaving)
    assert np.isnan(sol.q[-1]).all()
    shown = [len(ax.collections[0].get_offsets()) for ax in strip(sol, 3).axes[:-1]]
    assert len(shown) == 3
    assert min(shown) >= 1


def test_the_colours_of_pressures_cover_all_of_them(pile):
    panels = strip(pile, [0.65, 1.0], colour="pressure").axes[:-1]
    values = np.concatenate([np.asarray(discs(ax).get_array()) for ax in panels])
    assert discs(panels[0]).norm.vmax == values.max()
    shades = np.asarray(discs(panels[0]).norm(values[values > 0.0]))
    assert np.median(shades) > np.median(values[values > 0.0]) / values.max()  # weak ones differ from none


@pytest.mark.parametrize(
    ("moments", "words"),
    [(0, "moments must be"), ([], "moments must be"), ([0.0, 7.0], "no frame at t = 7: the run is")],
)
def test_moments_outside_the_run_are_refused(pile, moments, words):
    with pytest.raises(jo.InvalidValue, match=words):
        strip(pile, moments)


WITH_WALLS = [
    jo.HalfSpace([0.0, 1.0]), jo.Box([-5, 0], [5, 9]), jo.Outside([3.0, 3.0], 0.5), jo.Inside([0.0, 3.0], 6.0),
    jo.Segments([[[-4, 0], [4, 0]]], radii=0.3), jo.Polygons([[2, 2], [3, 2], [3, 3]], radii=0.3),
]  # fmt: skip


@pytest.mark.parametrize("wall", WITH_WALLS, ids=lambda wall: type(wall).__name__)
def test_walls_are_drawn(wall):
    ball = jo.Motion(q0=[[0.0, 2.0]], within=jo.Balls([0.3]) & wall)
    sol = jo.solve(ball, jo.Maury() if wall.convex_gaps else jo.Paoli(), t=0.1, h=0.1)
    ax = draw(sol)
    assert sum(len(c.get_paths()) for c in ax.collections if not isinstance(c, EllipseCollection)) >= 1
    (low, high), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert low < 0.0 < high
    assert bottom < 2.0 < top


def test_one_body_alone_shows_its_way():
    ball = jo.Motion(
        q0=[0.0, 1.0], v0=[1.0, 0.0], force=[0.0, -9.81], within=jo.HalfSpace([0, 1]), law=jo.Restitution(0.8)
    )
    sol = jo.solve(ball, jo.Paoli(), t=1.0, h=0.01)
    ax = draw(sol, 3)
    assert ax.lines[0].get_xydata() == pytest.approx(sol.q)
    assert ax.get_xlim()[1] > 1.0


def test_a_solution_without_its_problem_is_drawn(pile, as_read):
    assert len(discs(draw(as_read(pile))).get_offsets()) == 24


def test_a_frame_without_bodies_is_drawn():
    q0 = np.array([[0.0, 0.1]])
    gone = jo.Motion(q0=q0, v0=[[0.0, -1.0]], within=jo.Balls([0.1]))
    sol = jo.solve(gone, jo.Maury(), t=1.0, h=0.1, changes=jo.Outlet(lambda q: q[:, 1] < 0.0))
    assert len(discs(draw(sol, -1)).get_offsets()) == 0
    assert strip(sol, 3)


def test_constraints_of_a_user_are_no_contacts_of_bodies():
    """Their rows are numbered beyond the bodies, and have no place in the picture."""

    @jo.constraints
    def corner(t, q):
        return np.concatenate([q, [3.0, 2.0] - q])

    pushed = jo.Sweeping(q0=[1.0, 1.0], velocity=[2.0, 1.0], within=corner)
    ax = draw(jo.solve(pushed, jo.Venel(), t=2.0, h=0.1))
    assert np.asarray(discs(ax).get_offsets()) == pytest.approx(np.array([[3.0, 2.0]]))


def test_a_wall_has_a_higher_number_than_there_are_bodies(tmp_path):
    """One body in a corner between the last of twelve walls, drawn, in a strip and in a film."""
    posts = [jo.Outside([10.0 * k, 9.0], 1.0, radii=1.0) for k in range(11)]
    within = jo.Balls([1.0])
    for wall in (*posts, jo.HalfSpace([0.0, 1.0], radii=1.0)):
        within = within & wall
    sol = jo.solve(jo.Motion(q0=[[0.0, 1.0]], force=[0.0, -10.0], within=within), jo.Maury(), t=0.2, h=0.1)
    assert sol.pairs[-1].min() < -2
    ax = draw(sol)
    assert [len(c.get_paths()) for c in ax.collections if isinstance(c, PolyCollection)] == [11, 1]
    assert len(strip(sol).axes) == 4
    assert animate(sol, tmp_path / "corner.gif").exists()


def test_a_file_is_drawn_as_the_solution_that_it_holds(pile, tmp_path):
    path = jo.io.write(pile, tmp_path / "pile.vtkhdf")
    for shown in (path, str(path), jo.io.read(path)):
        assert np.asarray(discs(draw(shown, 7)).get_offsets()) == pytest.approx(pile.q[7], rel=1e-6)
        assert [ax.get_title() for ax in strip(shown, [0.0, 0.0, 0.05]).axes[:-1]] == ["t = 0", "t = 0", "t = 0.05"]
    with pytest.raises(jo.InvalidValue, match="the path of a trajectory file, not 3"):
        draw(3)


@pytest.mark.parametrize(("x", "y"), [(np.zeros(40), 0.2 * np.arange(40.0)), (np.array([0.0, 50.0]), np.zeros(2))])
def test_towers_and_rows_have_room_for_their_labels(x, y):
    bodies = jo.Motion(q0=np.stack([x, y + 0.1], axis=1), within=jo.Balls(np.full(len(x), 0.1)))
    figure = jo.viz.strip(jo.solve(bodies, jo.Maury(), t=0.2, h=0.1))
    figure.draw_without_rendering()
    titles = [ax.title.get_window_extent() for ax in figure.axes[:-1]]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(titles))
    heights = [label.get_window_extent() for label in figure.axes[0].get_yticklabels() if label.get_visible()]
    inside = sorted((box.y0, box.y1) for box in heights)
    assert all(below[1] < above[0] + 1.0 for below, above in itertools.pairwise(inside))
    plt.close(figure)
