"""Orders, evacuations, bifurcations, fields: the picture has the numbers."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import jostle as jo
from jostle import macro, viz
from plain import crowd


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_the_line_of_an_order_has_its_slope():
    h = 0.1 / 2.0 ** np.arange(5)
    ax = viz.orders({"one": jo.analysis.order(h, 0.3 * h), "two": jo.analysis.order(h, 0.7 * h**2)})
    for line, slope in zip(ax.lines[1::2], (1.0, 2.0), strict=True):
        x, y = np.log(line.get_xdata()), np.log(line.get_ydata())
        assert (y[1] - y[0]) / (x[1] - x[0]) == pytest.approx(slope)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0.00625", "0.0125", "0.025", "0.05", "0.1"]
    assert [text.get_text() for text in ax.get_xticklabels(minor=True)] == []
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one: order 1.00", "two: order 2.00"]


def test_many_steps_are_labelled_by_powers_of_ten():
    h = 0.1 / 1.3 ** np.arange(14)
    ax = viz.orders(jo.analysis.order(h, 0.3 * h))
    ax.figure.canvas.draw()
    assert {text.get_text() for text in ax.get_xticklabels(minor=True)} <= {""}
    assert any("10^{-2}" in text.get_text() for text in ax.get_xticklabels())


def test_an_evacuation_goes_down_by_one_when_someone_leaves():
    q0 = [[0.5, 0.5], [-1.0, 0.5], [-9.0, 0.5]]
    walkers = jo.Sweeping(q0=q0, velocity=[1.0, 0.0], within=jo.Balls([0.2, 0.2, 0.2]))
    sol = jo.solve(walkers, jo.Venel(), t=4.0, h=0.5)
    line = viz.evacuation(sol, [(-9.5, 0), (1.5, 0), (1.5, 1), (-9.5, 1)]).lines[0]
    assert line.get_drawstyle() == "steps-post"
    assert line.get_xdata() == pytest.approx([0.0, 1.0, 2.5, 4.0])
    assert line.get_ydata().tolist() == [3, 2, 1, 1]


def test_several_evacuations_have_names():
    walker = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    sol = jo.solve(walker, jo.Venel(), t=2.0, h=0.5)
    ax = viz.evacuation({"a": sol, "b": sol}, [(0, 0), (1, 0), (1, 1), (0, 1)])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_a_bifurcation_diagram_has_all_values_above_their_parameter():
    ax = viz.bifurcation([1.0, 2.0, 3.0], [[0.1], [0.2, 0.4], []], names=(r"$\Gamma$", "$u$"))
    assert ax.lines[0].get_xydata().tolist() == [[1.0, 0.1], [2.0, 0.2], [2.0, 0.4]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == (r"$\Gamma$", "$u$")


def test_basins_have_the_colours_of_their_attractors_from_the_lowest_row_up():
    ax = viz.basins([[0, 0, 0], [1, -1, 8]], (-1.0, 1.0), (0.0, 1.0), names=("$x$", "$v$"))
    picture = ax.images[0]
    assert picture.origin == "lower"
    assert picture.get_extent() == [-1.5, 1.5, -0.5, 1.5]
    colours = picture.get_array()
    assert colours[0, 0].tolist() != colours[1, 0].tolist() != colours[1, 1].tolist()
    assert colours[1, 0].tolist() == colours[1, 2].tolist()  # colours repeat after seven
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0: 50 %", "1: 17 %", "8: 17 %", "none: 17 %"]
    with pytest.raises(jo.InvalidValue, match="label must be whole numbers"):
        viz.basins([0, 1], (0.0, 1.0), (0.0, 1.0))
    with pytest.raises(jo.InvalidValue, match="first and last values of the grid"):
        viz.basins([[0, 1]], (0.0, 0.0), (0.0, 1.0))


def test_a_bifurcation_diagram_needs_values_for_each_parameter():
    with pytest.raises(jo.InvalidValue, match="one list per parameter, 2, not 1"):
        viz.bifurcation([1.0, 2.0], [[0.1]])


GRID = macro.Grid([0, 0], [3, 2], h=1.0)


@pytest.mark.parametrize(
    ("shape", "first"), [((3, 2), (0.0, 0.0)), ((4, 2), (-0.5, 0.0)), ((3, 3), (0.0, -0.5))], ids=["cells", "x", "y"]
)
def test_the_values_of_a_field_are_where_they_belong(shape, first):
    values = np.arange(float(np.prod(shape))).reshape(shape)
    ax = viz.field(GRID, values)
    mesh = ax.collections[0]
    assert np.asarray(mesh.get_array()).reshape(shape[::-1]) == pytest.approx(values.T)
    assert mesh.get_coordinates()[0, 0].tolist() == pytest.approx(first)
    assert ax.get_aspect() == 1.0


def test_cells_outside_the_zone_are_left_out():
    zone = GRID.block([0, 0], [1, 2])
    shown = viz.field(GRID, np.ones((3, 2)), zone=zone, name="$p$").collections[0].get_array()
    assert np.ma.getmaskarray(shown).sum() == 4
    assert [ax.get_ylabel() for ax in plt.gcf().axes[1:]] == ["$p$"]


def test_a_field_of_another_shape_is_refused():
    with pytest.raises(jo.InvalidValue, match=r"shape \(3, 2\) \(cells\)"):
        viz.field(GRID, np.ones((2, 3)))


@pytest.mark.parametrize("lattice", [macro.square_lattice, macro.triangular_lattice])
def test_the_cells_of_a_lattice_have_its_area(lattice):
    found = lattice(0.25, box=([0, 0], [1, 1]), angle=0.3)
    cells = viz.field(found, np.arange(float(len(found)))).collections[0].get_paths()
    x, y = cells[0].vertices[:-1].T
    area = 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))
    assert area == pytest.approx(found.area)
    assert cells[0].vertices[:-1].mean(axis=0) == pytest.approx(found.points[0])


def test_a_map_is_drawn_by_rows():
    one = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[0.0, 0.0], within=jo.Balls([0.2]))
    sol = jo.solve(one, jo.Venel(), t=0.1, h=0.1)
    found = jo.crowds.density_map(sol, -1, [(0, 0), (2, 0), (2, 1), (0, 1)], size=1.0)
    mesh = viz.field(found, found.classic).collections[0]
    assert np.asarray(mesh.get_array()).tolist() == [[1.0, 0.0]]


def test_arrows_have_the_directions_of_the_velocity():
    ax = viz.arrows(GRID.velocity(lambda x, y: x, -1.0), zone=GRID.block([0, 0], [3, 1]))
    found = ax.collections[0]
    assert np.stack([found.X, found.Y, found.U, found.V], axis=1).tolist() == [
        [0.5, 0.5, 0.5, -1.0], [1.5, 0.5, 1.5, -1.0], [2.5, 0.5, 2.5, -1.0],
    ]  # fmt: skip


def test_many_arrows_are_thinned():
    grid = macro.Grid([0, 0], [1, 1], h=1 / 100)
    assert len(viz.arrows(grid.velocity(1.0, 0.0)).collections[0].U) == 25**2


def test_an_evacuation_is_counted_in_a_file_too(tmp_path):
    walker = jo.Sweeping(q0=[[0.0, 0.0], [0.5, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2, 0.2]))
    sol = jo.solve(walker, jo.Venel(), t=1.0, h=0.1, changes=jo.Outlet(lambda q: q[:, 0] > 0.7))
    path = jo.io.write(sol, tmp_path / "walk.vtkhdf")
    for runs in (sol, path, jo.io.read(path), {"a": sol, "b": str(path)}):
        for line in viz.evacuation(runs).lines:
            assert line.get_ydata()[[0, -1]].tolist() == [2, 0]


def test_an_evacuation_of_a_file_knows_its_plan(tmp_path):
    room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    sol = jo.solve(crowd(8, radius=0.25, room=room), jo.Venel(), t=20.0, h=0.1, until=room.empty)
    path = jo.io.write(sol, tmp_path / "room.vtkhdf")
    for shown in ((path,), (path, room)):
        assert viz.evacuation(*shown).lines[0].get_ydata()[-1] == 0
    plt.close("all")
    older = replace(jo.io.read(path), saved_facts=None)
    with pytest.raises(jo.InvalidValue, match=r"not known whether that is inside: .* evacuation\(sol, plan\)"):
        viz.evacuation(older)
    assert plt.get_fignums() == []


def test_no_fits_are_refused():
    with pytest.raises(jo.InvalidValue, match="fits is empty: give one, or several by name"):
        viz.orders({})
    assert plt.get_fignums() == []


def test_an_evacuation_counts_people_from_when_they_enter():
    room = jo.crowds.Room([(0, 0), (4, 0), (4, 3), (0, 3)], doors=[((4, 1), (4, 2))])
    late = jo.crowds.Group("late", 2, radius=0.2, speed=1.2, enters=6.0)
    now = jo.crowds.Group("now", 1, radius=0.2, speed=1.2)
    sol = jo.solve(crowd([now, late], room=room), jo.Venel(), t=20.0, h=0.1)
    t, inside = viz.evacuation(sol).lines[0].get_data()
    assert [int(inside[np.searchsorted(t, at, side="right") - 1]) for at in (0.0, 5.0, 6.2, 20.0)] == [1, 0, 2, 0]
