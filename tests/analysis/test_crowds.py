"""Passages, densities, loads and their ranges: exact answers of files, lattices, jams and hyperstatic clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import null_space
from scipy.optimize import linprog
from scipy.spatial import cKDTree

import jostle as jo
from jostle.analysis.ranges import load_range, multiplier_range
from jostle.crowds.measure.crowding import densities, density_map, speed_map
from jostle.crowds.measure.crowding import voronoi as density
from jostle.crowds.measure.leaving import crossings, evacuation_time, flow, leaving_times
from jostle.crowds.measure.pressing import crowd_pressure, pressed, time_in_contact
from jostle.errors import InvalidValue, MissingPackage
from jostle.io.exports import write
from jostle.io.reading import read
from jostle.result.recording import STATISTICS
from plain import crowd
from rows import examples, whole

SOME = settings(max_examples=examples(40), derandomize=True, deadline=None)
ROOM = jo.crowds.Room([(0, 0), (6, 0), (6, 5), (0, 5)], doors=[((6, 1.7), (6, 3.3))])
DOOR = ((6.0, 1.7), (6.0, 3.3))
LINE = ((0.0, -1.0), (0.0, 1.0))
ARMS = [(0, 0), (5, 0), (5, 4), (4, 4), (4, 1), (1, 1), (1, 4), (0, 4)]
"""A U: two arms of width 1, up to height 4, on a bottom of height 1."""


def made(q, dt=1.0, u=None) -> jo.Solution:
    """A solution with these positions (k, n, 2), without contacts."""
    q = np.asarray(q, dtype=float)
    u = np.zeros_like(q) if u is None else np.broadcast_to(np.asarray(u, dtype=float), q.shape)
    none = tuple(np.zeros(0) for _ in q)
    pairs, normals = tuple(np.zeros((0, 2), dtype=np.int64) for _ in q), tuple(np.zeros((0, 2)) for _ in q)
    return jo.Solution(
        None, None, dt * np.arange(len(q)), q, u, none, pairs, normals, np.zeros(0, dtype=STATISTICS), "finished"
    )


def at_rest(places, speeds=0.0) -> jo.Solution:
    """One frame with people at these places, who walk at these speeds to the right."""
    places = np.asarray(places, dtype=float)
    return made(places[None], u=np.stack(np.broadcast_arrays(speeds, 0.0, *places.T)[:2], axis=-1)[None])


def single_file(n, speed, spacing, *, every=1, outlet=None, t=20.0) -> jo.Solution:
    q0 = np.stack([-1.0 - spacing * np.arange(n), np.zeros(n)], axis=1)
    problem = jo.Sweeping(q0=q0, velocity=[speed, 0.0], within=jo.Balls(np.full(n, 0.2)))
    change = None if outlet is None else jo.Outlet(lambda q: q[:, 0] > outlet)
    return jo.solve(problem, jo.Venel(), t=t, h=0.05, every=every, changes=change)


@pytest.fixture(scope="module")
def evacuation():
    """Forty people leave a room: those who have left walk on."""
    people = crowd(40, radius=0.25, room=ROOM, speed=1.4)
    return jo.solve(people, jo.Venel(), t=60.0, h=0.05, until=ROOM.empty)


# Passages


@pytest.mark.parametrize(("speed", "spacing"), [whole((1.0, 0.5)), (1.3, 0.7), (0.4, 0.41)])
def test_the_flow_of_a_single_file_is_its_speed_over_its_spacing(speed, spacing):
    n = 8
    sol = single_file(n, speed, spacing)
    found = flow(sol, LINE)
    np.testing.assert_allclose(found.passed, (1.0 + spacing * np.arange(n)) / speed, rtol=1e-12)
    np.testing.assert_allclose([found.mean, found.slope, found.specific], speed / spacing * np.array([1, 1, 0.5]))
    np.testing.assert_array_equal(found.count, (found.passed <= sol.t[:, None]).sum(axis=1))
    assert found.count[0] == 0
    assert found.count[-1] == n


@pytest.mark.each_value
@pytest.mark.parametrize("behind", [0.0, 0.01, 0.5])
@pytest.mark.parametrize("every", [1, 7, 20])
def test_who_leaves_right_behind_the_line_is_counted(every, behind):
    crossed = crossings(single_file(8, 1.3, 0.7, every=every, outlet=behind), LINE)
    assert crossed.person.tolist() == list(range(8))
    assert (crossed.direction == 1).all()
    np.testing.assert_allclose(crossed.t, (1.0 + 0.7 * np.arange(8)) / 1.3, rtol=1e-12)


def test_who_leaves_before_the_first_saved_frame_is_counted():
    """The velocity of the start is zero in the record: the wish is taken instead."""
    crossed = crossings(single_file(2, 1.0, 0.7, every=30, outlet=0.0, t=3.0), LINE)
    np.testing.assert_allclose(crossed.t, [1.0, 1.7], rtol=1e-12)


@pytest.mark.parametrize("before", [0.5, whole(0.2)])
def test_who_leaves_long_before_the_line_is_not_counted(before):
    """Two frames are 0.1 m."""
    assert len(crossings(single_file(3, 1.0, 0.7, outlet=-before), LINE)) == 0


def test_who_stops_or_turns_on_the_line_has_not_crossed_it():
    x = np.array([
        [-2.0, -1.0, 0.0, 0.0, 0.0],  # stops
        [-2.0, -1.0, 0.0, -1.0, -2.0],  # turns
        [-2.0, -1.0, 0.0, 0.0, 1.0],  # stops and goes on
        [0.0, 1.0, 2.0, 3.0, 4.0],  # starts on it
        [0.0, -1.0, 0.5, -1.5, 0.5],  # to and fro
    ])  # fmt: skip
    found = crossings(made(np.stack([x.T, 0.1 * np.ones_like(x.T)], axis=-1)), LINE)
    assert found.person.tolist() == [4, 4, 2, 4]
    assert found.direction.tolist() == [1, -1, 1, 1]
    np.testing.assert_allclose(found.t, [1 + 2 / 3, 2.25, 3.0, 3.75])
    np.testing.assert_allclose(found.place, np.tile([0.0, 0.1], (4, 1)))


def test_directions_turn_with_the_line_and_ends_count():
    q = np.array([[[-1.0, y] for y in (-1.5, -1.0, 0.5, 1.0, 1.01)], [[1.0, y] for y in (-1.5, -1.0, 0.5, 1.0, 1.01)]])
    there, back = crossings(made(q), LINE), crossings(made(q), LINE[::-1])
    assert there.person.tolist() == back.person.tolist() == [1, 2, 3]
    assert there.direction.tolist() == [1, 1, 1]
    assert back.direction.tolist() == [-1, -1, -1]
    assert flow(made(q), LINE, direction=1).count.tolist() == [0, 3]
    assert flow(made(q), LINE, direction=-1).count.tolist() == [0, 0]


def test_a_person_is_counted_once_and_too_few_have_no_flow():
    q = np.array([[[-1.0, 0.0]], [[1.0, 0.0]], [[-1.0, 0.0]], [[1.0, 0.0]]])
    found = flow(made(q), LINE)
    assert found.count.tolist() == [0, 1, 1, 1]
    assert np.isnan(found.mean)
    assert np.isnan(found.slope)


def test_who_comes_in_beyond_the_line_has_not_crossed_it():
    """Absent, before it, absent, beyond it, on the way back."""
    nan = np.nan
    found = crossings(made([[[x, 0.0]] for x in (nan, -1.0, nan, 3.0, -1.0)]), LINE)
    assert found.direction.tolist() == [-1]
    assert found.t.tolist() == [3.75]


def test_everyone_leaves_the_room_through_its_door(evacuation):
    crossed, left = crossings(evacuation, DOOR), leaving_times(evacuation, ROOM)
    assert sorted(crossed.person.tolist()) == list(range(40))
    np.testing.assert_allclose(left[crossed.person], crossed.t, rtol=0, atol=1e-12)
    assert evacuation_time(evacuation, ROOM) == crossed.t[-1]
    assert evacuation.t[-2] < crossed.t[-1] <= evacuation.t[-1]


def test_an_outlet_at_the_door_changes_no_times_by_more_than_a_frame(evacuation):
    """What the outlet takes away are those behind the door, who push nobody back."""
    out = jo.Outlet(lambda q: q[:, 0] > 6.0)
    people = crowd(40, radius=0.25, room=ROOM, speed=1.4)
    sol = jo.solve(people, jo.Venel(), t=60.0, h=0.05, until=ROOM.empty, changes=out)
    found = flow(sol, DOOR)
    assert found.count[-1] == 40
    np.testing.assert_allclose(found.passed[:6], flow(evacuation, DOOR).passed[:6], rtol=0, atol=0.05)
    np.testing.assert_allclose(leaving_times(sol, ROOM)[crossings(sol, DOOR).person], crossings(sol, DOOR).t, atol=1e-9)
    np.testing.assert_array_equal(leaving_times(sol), leaving_times(sol, ROOM))
    without = replace(sol, problem=None)
    taken_out = leaving_times(without)
    assert np.isin(taken_out, sol.t).all()
    assert (taken_out >= leaving_times(sol, ROOM)).all()
    assert evacuation_time(without) == sol.t[-1]


def test_who_comes_back_or_stays_has_not_left_and_who_never_came_is_nan():
    nan = np.nan
    x = np.array([[0.5, 1.5, 0.5, 1.5], [0.5, 1.5, 0.5, 0.5], [nan] * 4, [9.0] * 4, [nan, 0.5, 2.5, 2.5]])
    sol = made(np.stack([x.T, 0.5 + 0.0 * x.T], axis=-1))
    left = leaving_times(sol, [(0, 0), (1, 0), (1, 1), (0, 1)])
    np.testing.assert_array_equal(left, [2.5, np.inf, nan, nan, 1.25])
    assert evacuation_time(sol, [(0, 0), (1, 0), (1, 1), (0, 1)]) == np.inf
    np.testing.assert_array_equal(leaving_times(sol), [np.inf, np.inf, nan, np.inf, np.inf])


def test_who_goes_out_and_in_and_out_between_two_frames_left_the_last_time():
    left = leaving_times(made([[[0.5, 3.0]], [[10.5, 3.0]]]), ARMS)
    assert left == pytest.approx([0.45])


def test_a_solution_in_a_file_gives_the_same(evacuation, tmp_path):
    stored = read(write(evacuation, tmp_path / "run.vtkhdf", dtype=np.float64))
    for there, here in zip(vars(flow(stored, DOOR)).values(), vars(flow(evacuation, DOOR)).values(), strict=True):
        np.testing.assert_array_equal(there, here)
    one, other = densities(stored, ROOM, cutoff=0.8), densities(evacuation, ROOM, cutoff=0.8)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(time_in_contact(stored), time_in_contact(evacuation))
    there, here = crowd_pressure(stored, 40), crowd_pressure(evacuation, 40)
    np.testing.assert_array_equal(there.load, here.load)
    np.testing.assert_array_equal(there.pressure[here.load > 0], here.pressure[here.load > 0])
    assert here.load.max() > 1.0


# Densities


def lattice(columns, rows, *, hexagonal=False):
    height = np.sqrt(3.0) / 2.0 if hexagonal else 1.0
    x, y = np.meshgrid(np.arange(columns), np.arange(rows))
    shift = 0.5 * (y % 2) if hexagonal else 0.0
    return np.stack([x + shift, height * y], axis=-1).reshape(-1, 2)


@pytest.mark.parametrize("a", [0.5, 0.37])
def test_in_a_square_lattice_the_density_is_one_over_the_cell(a):
    """Walls half a spacing away cut the cells of those beside them to the same size."""
    found = density(at_rest(a * (lattice(7, 5) + 0.5)), 0, [(0, 0), (7 * a, 0), (7 * a, 5 * a), (0, 5 * a)])
    np.testing.assert_allclose(found.density, np.full(35, 1 / a**2), rtol=1e-9)
    np.testing.assert_allclose(found.over([(a, a), (3.3 * a, a), (2 * a, 4 * a)])[0], 1 / a**2, rtol=1e-9)


@pytest.mark.parametrize("a", [0.5, 0.37])
def test_in_a_hexagonal_lattice_the_density_is_that_of_hexagons(a):
    places = a * lattice(9, 9, hexagonal=True)
    found = density(at_rest(places), 0, [(-a, -a), (10 * a, -a), (10 * a, 9 * a), (-a, 9 * a)])
    x, y = (places / a).T
    inner = (x > 0.8) & (x < 7.7) & (y > 0.8) & (y < 6.1)
    assert inner.sum() == 49
    np.testing.assert_allclose(found.density[inner], 2.0 / (np.sqrt(3.0) * a**2), rtol=1e-9)


def test_one_person_has_the_whole_room_or_what_the_cut_off_leaves():
    room = [(0, 0), (6, 0), (6, 5), (0, 5)]
    assert density(at_rest([[2.0, 2.0]]), 0, room).density.tolist() == [pytest.approx(1 / 30)]
    cut = density(at_rest([[2.0, 2.0]]), 0, room, cutoff=1.5).density
    np.testing.assert_allclose(cut, [1.0 / (3.0 * 1.5**2)])  # a polygon of twelve sides: 3 R^2


def test_people_pressed_into_a_hexagonal_lattice_have_cells():
    """Round-off folds a cell that shapely computes for these six people in contact."""
    x = [9.453589838486225, 9.453589838486225, 9.8, 9.453589838486225, 8.414359353944898, 8.067949192431122]
    y = [4.055886137083328, 4.455886137083328, 4.255886137083328]
    y += [3.655886137083328, 3.4558861370833283, 3.655886137083328]
    found = density(made(np.stack([x, y], axis=1)[None]), 0, [(0, 0), (10, 0), (10, 6), (0, 6)])
    assert (1.0 / found.density).sum() == pytest.approx(60.0, abs=1e-9)


def test_two_collinear_or_no_people_have_cells_too():
    room = [(0, 0), (6, 0), (6, 2), (0, 2)]
    found = density(at_rest([[1.0, 1.0], [3.0, 1.0]], [1.0, 3.0]), 0, room)
    np.testing.assert_allclose(found.density, [1 / 4, 1 / 8])
    np.testing.assert_allclose(found.over(room), (2 / 12, (1.0 * 4 + 3.0 * 8) / 12))
    np.testing.assert_allclose(found.classic([(0, 0), (2, 0), (2, 2), (0, 2)]), (1 / 4, 1.0))
    nobody = densities(at_rest([[9.0, 9.0], [np.nan, np.nan]]), room)
    assert [nobody.classic[0], nobody.voronoi[0], nobody.voronoi_speed[0]] == [0.0, 0.0, 0.0]
    assert np.isnan(nobody.classic_speed[0])


def test_people_outside_do_not_count_and_cells_do_not_go_round_corners():
    """An L: the cell of the person in one arm leaves out what is nearer in the other arm but behind the corner."""
    L = [(0, 0), (4, 0), (4, 1), (1, 1), (1, 4), (0, 4)]
    found = density(at_rest([[3.5, 0.5], [0.5, 3.5], [3.0, 3.0]]), 0, L)
    assert found.person.tolist() == [0, 1]
    np.testing.assert_allclose(found.density, [1 / 3.5, 1 / 3.5])
    above, below = density(at_rest([[0.5, 3.5], [0.5, 0.5]]), 0, ARMS).cells
    assert above.equals(shapely.box(0, 2, 1, 4))  # not the other arm, which is as far up
    assert below.area == pytest.approx(7.0)
    pillar = shapely.box(0, 0, 6, 2).difference(shapely.box(2, 0.5, 3, 1.5))
    assert density(at_rest([[1.0, 1.0]]), 0, pillar).density == pytest.approx(1 / 11)


@st.composite
def gatherings(draw):
    """A convex room with corners on an ellipse, people at random in it, and their speeds."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    corners, n = draw(st.integers(3, 9)), draw(st.integers(1, 30))
    angles = 2 * np.pi * (np.arange(corners) + random.uniform(0.0, 0.6, corners)) / corners
    room = np.stack([4.0 * np.cos(angles), 3.0 * np.sin(angles)], axis=1) + random.uniform(-50, 50, 2)
    weights = random.dirichlet(np.full(corners, 0.5), n)
    return room, weights @ room, random.uniform(0.0, 2.0, n)


@SOME
@given(gathering=gatherings(), cutoff=st.sampled_from([None, 0.5, 2.0]), size=st.sampled_from([0.6, 1.5, 20.0]))
def test_the_density_integrates_to_the_number_of_people(gathering, cutoff, size):
    room, places, speeds = gathering
    sol, W = at_rest(places, speeds), shapely.Polygon(room).buffer(1e-9)
    found = density(sol, 0, W, cutoff=cutoff)
    assert len(found.person) == len(places)
    covered = shapely.area(found.cells)
    if cutoff is None:
        assert covered.sum() == pytest.approx(W.area, rel=1e-9)
    assert found.over(W)[0] * W.area == pytest.approx(len(places), rel=1e-9)
    for one, weights in ((density_map, None), (speed_map, speeds)):
        grid = one(sol, 0, W, size=size, cutoff=cutoff)
        assert grid.area.sum() == pytest.approx(W.area, rel=1e-9)
        total = np.nansum(grid.voronoi * grid.area)
        expected = len(places) if weights is None else weights @ covered
        assert total == pytest.approx(expected, rel=1e-7)
    grid = density_map(sol, 0, W, size=size, cutoff=cutoff)
    assert np.nansum(grid.classic * grid.area) == pytest.approx(len(places), rel=1e-9)


@SOME
@given(gathering=gatherings(), seed=st.integers(0, 1000))
def test_a_cell_is_what_is_nearest_to_its_person(gathering, seed):
    room, places, _ = gathering
    W = shapely.Polygon(room).buffer(1e-9)
    found = density(at_rest(places), 0, W)
    low, high = np.reshape(W.bounds, (2, 2))
    x = np.random.default_rng(seed).uniform(low, high, (60, 2))
    x = x[shapely.contains_xy(W, x)]
    distance, nearest = cKDTree(places).query(x, k=min(2, len(places)))
    if len(places) > 1:
        clear = distance[:, 1] - distance[:, 0] > 1e-6
        x, nearest = x[clear], nearest[clear, 0]
    else:
        nearest = np.zeros(len(x), dtype=int)
    inside = shapely.contains_xy(found.cells[:, None], x[None, :, 0], x[None, :, 1])
    np.testing.assert_array_equal(inside, np.arange(len(places))[:, None] == nearest)


def test_maps_are_the_measurement_areas_of_their_squares(evacuation):
    """Against `over` and `classic` of each square, cut by the room; means over frames; squares that stick out."""
    frames = [20, 35]
    thick, fast = (one(evacuation, frames, ROOM, size=1.3) for one in (density_map, speed_map))
    assert thick.voronoi.shape == fast.classic.shape == (4, 5)
    assert thick.area[0, 0] == pytest.approx(1.69)
    assert thick.area[-1, -1] == pytest.approx((6 - 4 * 1.3) * (5 - 3 * 1.3))
    some = 0
    for row in range(4):
        for column in range(5):
            M = shapely.box(thick.x[column], thick.y[row], min(thick.x[column + 1], 6), min(thick.y[row + 1], 5))
            found = [density(evacuation, k, ROOM) for k in frames]
            over, classic = np.mean([one.over(M) for one in found], axis=0), np.array([one.classic(M) for one in found])
            assert thick.voronoi[row, column] == pytest.approx(over[0])
            assert fast.voronoi[row, column] == pytest.approx(over[1])
            assert thick.classic[row, column] == pytest.approx(classic[:, 0].mean())
            known = classic[np.isfinite(classic[:, 1]), 1]
            some += len(known) == 1
            expected = known.mean() if len(known) else np.nan
            assert fast.classic[row, column] == pytest.approx(expected, nan_ok=True)
    assert some > 0  # the mean is over the frames with somebody
    np.testing.assert_array_equal(density_map(evacuation, slice(20, 36, 15), ROOM, size=1.3).voronoi, thick.voronoi)


def test_squares_beyond_the_cutoff_of_everybody_have_no_speed():
    """The mean over frames is over those in which the square has one."""
    one = jo.Sweeping(q0=[[0.5, 0.5]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    sol = jo.solve(one, jo.Venel(), t=2.0, h=1.0)
    first, both = (
        speed_map(sol, frames, [(0, 0), (4, 0), (4, 1), (0, 1)], size=1.0, cutoff=0.4).voronoi[0]
        for frames in (1, [1, 2])
    )
    assert np.isfinite(first).tolist() == [False, True, False, False]
    assert np.isfinite(both).tolist() == [False, True, True, False]
    assert both[1:3] == pytest.approx(first[1])
    assert first[1] > 0.0


def test_squares_outside_of_the_area_have_no_density():
    grid = density_map(at_rest([[0.5, 0.5]]), None, [(0, 0), (4, 0), (4, 1), (1, 1), (1, 4), (0, 4)], size=1.0)
    assert np.isfinite(grid.classic).sum() == np.isfinite(grid.voronoi).sum() == 7
    assert np.isnan(grid.voronoi[1:, 1:]).all()


def test_squares_that_fit_leave_no_rest():
    assert 2.1 / 0.3 > 7.0
    grid = density_map(at_rest([[0.5, 0.5]]), 0, [(0, 0), (2.1, 0), (2.1, 1.2), (0, 1.2)], size=0.3)
    assert grid.area.shape == (4, 7)
    np.testing.assert_allclose(grid.area, 0.09)


@pytest.mark.parametrize("area", [[(0, 0), (1, 1)], [(0, 0), (1, 1), (1, 0), (0, 1)], shapely.Point(0, 0), [1, 2, 3]])
def test_areas_that_are_none_are_refused(area):
    with pytest.raises(InvalidValue, match="area"):
        density(at_rest([[0.1, 0.1]]), 0, area)


def test_other_nonsense_is_refused():
    sol, room = at_rest([[0.5, 0.5]]), [(0, 0), (1, 0), (1, 1), (0, 1)]
    with pytest.raises(InvalidValue, match="cutoff must be a positive number"):
        density(sol, 0, room, cutoff=0.0)
    with pytest.raises(InvalidValue, match="size"):
        density_map(sol, 0, room, size=-1.0)
    with pytest.raises(InvalidValue, match="two different points"):
        crossings(sol, ((1, 1), (1, 1)))
    with pytest.raises(InvalidValue, match="direction"):
        flow(sol, LINE, direction=2)
    with pytest.raises(InvalidValue, match="plane"):
        flow(made(np.zeros((2, 1, 3))), LINE)


def test_without_shapely_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "shapely", None)
    with pytest.raises(MissingPackage, match=r"jostle\[crowd\]"):
        density(at_rest([[0.5, 0.5]]), 0, [(0, 0), (1, 0), (1, 1)])


# Loads


def corridor(offset):
    """P54: four persons one behind the other, in a corridor of width 1.6 with its end at x = 5."""
    k = np.arange(4)
    q0 = np.stack([4.3 - 1.15 * k, offset * (-1.0) ** k], axis=1)
    within = jo.Balls([0.5] * 4) & jo.Box([-np.inf, -0.8], [5.0, 0.8], radii=0.5)
    return jo.solve(jo.Sweeping(q0=q0, velocity=[1.0, 0.0], within=within), jo.Venel(), t=14.0, h=0.02)


def test_a_zigzag_jam_presses_as_it_should():
    """P54: contact forces (3.75, 2.5, 1.25), 4 on the end, (2.25, 3.75, 2.25, 0.75) on the sides; all unique."""
    sol = corridor(1e-3)
    found = crowd_pressure(sol)
    np.testing.assert_allclose(found.load, [10.0, 10.0, 6.0, 2.0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.pressure, np.array([10.0, 10.0, 6.0, 2.0]) / np.pi, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.walls, [4.5, 4.0, 4.5], rtol=0, atol=1e-5)
    known = multiplier_range(sol)
    assert known.unique.all()
    between = known.pairs[:, 1] >= 0
    np.testing.assert_allclose(known.value[between], [3.75, 2.5, 1.25], rtol=0, atol=1e-6)


def test_in_a_single_file_each_touches_from_the_time_he_arrives():
    sol = corridor(0.0)
    np.testing.assert_allclose(time_in_contact(sol), 14.0 - np.array([0.2, 0.35, 0.5, 0.65]), rtol=0, atol=0.0201)
    np.testing.assert_allclose(crowd_pressure(sol).load, [7.0, 5.0, 3.0, 1.0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(time_in_contact(sol, threshold=4.0), 14.0 - np.array([0.5, 0.65, 14, 14]), atol=0.0201)
    found = pressed(sol, 4.0)
    assert found.people.tolist() == [0, 1]
    assert found.t[0] == pytest.approx(0.5, abs=0.0201)
    assert len(found) == (found.person == 0).sum() + (found.person == 1).sum()
    np.testing.assert_allclose(found.place[found.person == 0], np.tile([4.5, 0.0], ((found.person == 0).sum(), 1)))
    np.testing.assert_array_equal(found.t, sol.t[found.frame])
    assert len(pressed(sol, 7.1)) == 0


def test_who_left_in_the_step_is_pressed_where_he_was_before():
    within = jo.Balls([0.5, 0.5])
    two = jo.Sweeping(q0=[[0.0, 0.0], [1.0, 0.0]], velocity=[[3.0, 0.0], [1.0, 0.0]], within=within)
    sol = jo.solve(two, jo.Venel(), t=0.2, h=0.1, changes=jo.Outlet(lambda q: q[:, 0] > 1.1))
    found = pressed(sol, 0.5)
    assert found.person.tolist() == [0, 1]
    np.testing.assert_allclose(found.load, [1.0, 1.0])
    np.testing.assert_allclose(found.place, [[0.2, 0.0], [1.0, 0.0]])


def test_who_left_in_a_later_step_is_pressed_where_they_were_in_the_frame_before():
    """Both walk 0.2 a step; who is in front leaves in the third step, from 1.4."""
    two = jo.Sweeping(q0=[[0.0, 0.0], [1.0, 0.0]], velocity=[[3.0, 0.0], [1.0, 0.0]], within=jo.Balls([0.5, 0.5]))
    sol = jo.solve(two, jo.Venel(), t=0.3, h=0.1, changes=jo.Outlet(lambda q: q[:, 0] > 1.5))
    found = pressed(sol, 0.5)
    np.testing.assert_array_equal(found.frame, [1, 1, 2, 2, 3, 3])
    np.testing.assert_allclose(found.place[:, 0], [0.2, 1.2, 0.4, 1.4, 0.6, 1.4])


def test_the_time_in_contact_is_that_of_the_saved_intervals_however_uneven():
    """Pressed against a wall from t = 0.5 on, saved every 0.3 s and at the end: 0.6 to 1.0 s count."""
    walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.HalfSpace([-1, 0], -0.5))
    sol = jo.solve(walker, jo.Venel(), t=1.0, h=0.1, every=3)
    assert sol.t == pytest.approx([0.0, 0.3, 0.6, 0.9, 1.0])
    assert time_in_contact(sol) == pytest.approx([0.7])


# Ranges

HEXAGON = np.stack([np.cos(np.pi / 3 * np.arange(6)), np.sin(np.pi / 3 * np.arange(6))], axis=1)


def flower(push=1.0, gap=0.0, t=0.02):
    """P39: six discs pushed onto a seventh."""
    q0 = np.concatenate([[[0.0, 0.0]], (1.0 + gap) * HEXAGON])
    wish = np.concatenate([[[0.0, 0.0]], -push * HEXAGON])
    return jo.solve(jo.Sweeping(q0=q0, velocity=wish, within=jo.Balls([0.5] * 7)), jo.Venel(), t=t, h=0.01)


@pytest.mark.parametrize("push", [1.0, 1e-3, whole(1e6)])
def test_in_a_flower_spokes_and_rim_carry_anything_between_nothing_and_all(push):
    """P39: p_spoke = a, p_rim = 1 - a with 0 <= a <= 1; so the centre has 6 a, and a petal a + 2 (1 - a)."""
    sol = flower(push)
    found = multiplier_range(sol)
    assert len(found.pairs) == 12
    np.testing.assert_allclose(found.lower, np.zeros(12), atol=1e-9 * push)
    np.testing.assert_allclose(found.upper, np.full(12, push), rtol=1e-9)
    assert not found.unique.any()
    loads = load_range(sol)
    np.testing.assert_allclose(loads.lower, push * np.array([0.0, 1, 1, 1, 1, 1, 1]), rtol=1e-9, atol=1e-9 * push)
    np.testing.assert_allclose(loads.upper, push * np.array([6.0, 2, 2, 2, 2, 2, 2]), rtol=1e-9)
    np.testing.assert_allclose(loads.value, crowd_pressure(sol).load)


def test_contacts_that_close_in_the_step_count():
    """Half a step closes all gaps at once; the other half of the wish is what spokes and rim share."""
    found = multiplier_range(flower(gap=0.005, t=0.01))
    assert len(found.pairs) == 12
    np.testing.assert_allclose(found.lower, np.zeros(12), atol=1e-9)
    np.testing.assert_allclose(found.upper, np.full(12, 0.5), rtol=1e-9)


def test_a_rack_of_four_rows_is_known_but_for_the_flower_in_it():
    """P38: 19 contacts of rank 18; the kernel is +1 on the spokes of ball 5 of the rack and -1 on its rim."""
    rows = jo.models.rack(rows=4)
    wish = -rows.q0 + rows.q0.mean(axis=0)
    sol = jo.solve(jo.Sweeping(q0=rows.q0, velocity=wish, within=rows.within), jo.Venel(), t=0.01, h=0.01)
    found = multiplier_range(sol)
    assert len(found.pairs) == 19
    centre = int(np.argmin(np.linalg.norm(rows.q0 - rows.q0[1:].mean(axis=0), axis=1)))
    around = np.flatnonzero(np.abs(np.linalg.norm(rows.q0 - rows.q0[centre], axis=1) - 1.0) < 1e-9)
    spoke = (found.pairs == centre).any(axis=1)
    rim = np.isin(found.pairs, around).all(axis=1)
    assert spoke.sum() == rim.sum() == 6
    up, down = found.value[rim].min(), found.value[spoke].min()
    assert up + down > 0.1
    np.testing.assert_allclose(found.upper - found.value, np.where(spoke, up, np.where(rim, down, 0)), atol=1e-9)
    np.testing.assert_allclose(found.value - found.lower, np.where(spoke, down, np.where(rim, up, 0)), atol=1e-9)


def test_three_rows_and_a_crowd_that_moves_are_unique(evacuation):
    rows = jo.models.rack(rows=3)
    sol = jo.solve(rows, jo.Maury(), t=0.02, h=0.01)
    assert multiplier_range(sol, 1).unique.all()
    found = multiplier_range(evacuation, 40)
    assert len(found.pairs) > 20
    assert found.unique.all()
    np.testing.assert_array_equal(found.lower, found.value)


def test_who_is_wedged_in_can_be_pressed_without_limit():
    """Between the sides of a corridor of his own width, and only by what he wants against its end."""
    within = jo.Balls([0.5, 0.5]) & jo.Box([-np.inf, -0.5], [5.0, 0.5], radii=0.5)
    two = jo.Sweeping(q0=[[4.5, 0.0], [3.5, 0.0]], velocity=[1.0, 0.0], within=within)
    found = multiplier_range(jo.solve(two, jo.Venel(), t=0.02, h=0.01))
    end, sides = (found.pairs[:, 1] == -2), np.isin(found.pairs[:, 1], [-1, -3])
    assert sides.sum() == 4
    assert (found.upper[sides] == np.inf).all()
    assert (found.lower[sides] == 0.0).all()
    np.testing.assert_allclose([found.lower[end], found.upper[end]], 2.0)
    np.testing.assert_allclose(found.upper[found.pairs[:, 1] == 1], 1.0)


def test_ranges_agree_with_programmes_in_the_kernel():
    """A hexagonal heap of nineteen, pushed together: p = value + Z a >= 0, with Z a basis of the kernel of G^T."""
    places = np.array([x for x in lattice(5, 5, hexagonal=True) - [2.0, np.sqrt(3.0)] if np.linalg.norm(x) < 2.1])
    n = len(places)
    wish = -places + 0.3 * np.random.default_rng(3).normal(size=places.shape)
    sol = jo.solve(jo.Sweeping(q0=places, velocity=wish, within=jo.Balls([0.5] * n)), jo.Venel(), t=1e-3, h=1e-3)
    found = multiplier_range(sol)
    i, j = found.pairs.T
    normal = sol.q[0, j] - sol.q[0, i]
    G = np.zeros((len(i), n, 2))
    G[np.arange(len(i)), i], G[np.arange(len(i)), j] = -normal, normal
    G = G.reshape(len(i), -1)
    Z = null_space(G.T, rcond=1e-9)
    assert Z.shape[1] > 2
    for row in range(0, len(i), 3):
        c = np.eye(len(i))[row]
        ends = [
            found.value[row] + sign * linprog(sign * c @ Z, A_ub=-Z, b_ub=found.value, bounds=(None, None)).fun
            for sign in (1, -1)
        ]
        np.testing.assert_allclose([found.lower[row], found.upper[row]], ends, rtol=0, atol=1e-6)
    assert (~found.unique).sum() > 10


def test_a_range_needs_the_problem_since_files_have_no_idle_contacts(tmp_path):
    stored = read(write(flower(), tmp_path / "run.vtkhdf", dtype=np.float64))
    with pytest.raises(InvalidValue, match="problem"):
        multiplier_range(stored)
