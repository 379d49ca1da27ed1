"""What is measured of people in rooms, on plans and on stairs: exact answers of one person who walks a known way."""

import functools
import sqlite3
from contextlib import closing
from dataclasses import replace
from math import ceil

import numpy as np
import pytest

import jostle as jo
from jostle import viz
from jostle.crowds import (
    Link,
    Plan,
    Room,
    crossings,
    densities,
    density_map,
    evacuation_time,
    flow,
    leaving_times,
    speed_map,
)
from jostle.crowds.measure.crowding import voronoi as density
from jostle.crowds.measure.moves import jumps, moves
from jostle.crowds.measure.pedestrians import frames, to_pedpy, walkable, write_jupedsim
from plain import crowd
from rows import whole

shapely = pytest.importorskip("shapely")

R, H, SPEED = 0.25, 0.05, 1.0
BOX = [(0, 0), (6, 0), (6, 4), (0, 4)]
DOOR = ((6, 1), (6, 3))
LENGTH = 3.0


def stairs():
    """Two floors side by side; the stairs from the right one end on the left one, and both run along y = 2."""
    upper = [(20, 0), (26, 0), (26, 4), (20, 4)]
    link = Link("stairs", ((26, 1), (26, 3)), ((0, 1), (0, 3)), length=LENGTH)
    return Plan([upper, BOX], exits={"street": DOOR}, links=[link])


PLANS = {
    "room": lambda: Room(BOX, doors=[DOOR]),
    "plan": lambda: Plan(BOX, exits={"street": DOOR}),
    "stairs": stairs,
}


@functools.cache
def walked(name, *, every=1, outlet=True):
    """One person at 1 m/s, from x = 1 to the door at x = 6, or from x = 22 over the stairs to it; the exact time."""
    plan = PLANS[name]()
    q0, far = [[22.0 if name == "stairs" else 1.0, 2.0]], None if outlet or name == "stairs" else 100.0
    one = crowd(1, radius=R, room=plan, q0=q0, speed=SPEED, outlet=far)
    sol = jo.solve(
        one, jo.Venel(), t=20.0, h=H, every=every, until=plan.empty,
    )  # fmt: skip
    if name != "stairs":
        return plan, sol, 5.0
    # the last step on the stairs is the first one within 5 % of the radius of their end
    on_stairs = H * ceil((4.0 + LENGTH - 1.05 * R) / H)
    return plan, sol, on_stairs + 6.0 - R


@pytest.fixture(scope="module")
def upstairs():
    return walked("stairs", every=5)


@pytest.mark.each_value
@pytest.mark.parametrize("outlet", [True, False])
@pytest.mark.parametrize("name", PLANS)
def test_the_evacuation_time_is_the_way_over_the_speed(name, outlet):
    """With the plan, with its area, and without both, since a crowd knows its plan."""
    plan, sol, exact = walked(name, outlet=outlet)
    assert sol.status == "stopped"
    for given in ((), (plan,), (plan.area,)):
        assert evacuation_time(sol, *given) == pytest.approx(exact, abs=1e-6)
        assert leaving_times(sol, *given) == pytest.approx([exact], abs=1e-6)


@pytest.mark.each_value
@pytest.mark.parametrize("every", [3, 40, 150])
@pytest.mark.parametrize("name", PLANS)
def test_few_saved_frames_change_the_evacuation_time_little(name, every):
    _, sol, exact = walked(name, every=every, outlet=False)
    assert evacuation_time(sol) == pytest.approx(exact, abs=0.06)


@pytest.mark.parametrize("name", PLANS)
def test_the_evacuation_curve_steps_down_when_the_person_leaves(name):
    import matplotlib.pyplot as plt

    plan, sol, exact = walked(name)
    for given in ((), (plan,)):
        line = viz.evacuation(sol, *given).lines[0]
        assert line.get_ydata().tolist() == [1, 0, 0]
        assert line.get_xdata()[1] == pytest.approx(exact, abs=1e-6)
    plt.close("all")


@pytest.mark.parametrize("name", PLANS)
def test_density_and_speed_of_one_person_are_those_of_their_floor(name):
    """One person a floor: 24 square metres, and the stairs of 6 belong to the upper floor."""
    plan, sol, _ = walked(name)
    own = 30.0 if name == "stairs" else 24.0
    total = 54.0 if name == "stairs" else 24.0
    assert walkable(plan).area == pytest.approx(total)
    found = density(sol, 10, plan)
    assert found.density == pytest.approx([1.0 / own])
    thick, fast = density_map(sol, 10, plan, size=1.0), speed_map(sol, 10, plan, size=1.0)
    assert np.nansum(thick.voronoi * thick.area) == pytest.approx(1.0)
    assert np.nanmax(thick.voronoi) == pytest.approx(1.0 / own)
    assert np.nansum(fast.voronoi * fast.area) == pytest.approx(own * SPEED)
    over = densities(sol, plan)
    assert over.classic[:10] == pytest.approx(1.0 / total)
    assert over.voronoi[-1] == over.classic[-1] == 0.0
    assert over.classic_speed[1:100] == pytest.approx(SPEED, abs=1e-9)  # a jump is no speed


def test_people_on_different_floors_do_not_cut_each_others_cells():
    plan = stairs()
    q = np.array([[1.0, 2.0], [5.9, 2.0], [20.1, 2.0]])
    people = crowd(3, radius=0.05, room=plan, q0=q, wish=lambda t, q: 0.0 * q)
    cells = density(jo.solve(people, jo.Venel(), t=0.01, h=0.01), 0, plan)
    np.testing.assert_allclose(1.0 / cells.density, [4 * 3.45, 4 * 2.55, 30.0])


@pytest.mark.parametrize("name", PLANS)
def test_jupedsims_file_has_the_area_and_the_way_of_the_person(name, tmp_path):
    plan, sol, exact = walked(name)
    with closing(sqlite3.connect(write_jupedsim(sol, tmp_path / "run.sqlite", plan))) as file:
        ((wkt,),) = file.execute("SELECT wkt FROM geometry").fetchall()
        rows = file.execute("SELECT frame, pos_x FROM trajectory_data ORDER BY frame").fetchall()
    assert shapely.from_wkt(wkt).equals(plan.area)
    np.testing.assert_array_equal([x for _, x in rows], sol.q[: len(rows), 0, 0])
    data = to_pedpy(sol, inside=plan).data
    assert len(data) == ceil(exact / H - 1e-9) + (name != "stairs")


def test_a_jump_on_stairs_is_no_walk_across_what_lies_between(upstairs, tmp_path):
    """A line between the floors, one across each of them, and one around the landing."""
    plan, sol, exact = upstairs
    jump = H * ceil((4.0 + LENGTH - 1.05 * R) / H)
    without = jo.io.read(jo.io.write(sol, tmp_path / "run.vtkhdf", dtype=float))
    for run, given in ((sol, None), (without, plan), (without, None)):
        assert len(crossings(run, ((10, -50), (10, 50)), plan=given)) == 0
        assert flow(run, ((10, -50), (10, 50)), plan=given).count[-1] == 0
        up, down = (crossings(run, ((x, 3.9), (x, 0.1)), plan=given) for x in (23.0, 3.0))
        assert up.t == pytest.approx([1.0])
        assert down.t == pytest.approx([jump + 3.0 - R], abs=1e-6)
        assert up.direction.tolist() == down.direction.tolist() == [-1]
        assert crossings(run, DOOR, plan=given).t == pytest.approx([exact], abs=1e-6)
        assert len(crossings(run, ((0.1, 0.5), (0.1, 3.5)), plan=given)) == 0  # they come off the stairs beyond it
    assert jumps(sol).sum() == jumps(without).sum() == 1
    assert np.argmax(jumps(sol)[:, 0]) == round(jump / (5 * H)) - 1


@pytest.mark.parametrize("every", [whole(7), 100, whole(120)])
def test_between_frames_far_apart_people_still_walk_to_the_stairs_and_on(every, tmp_path):
    """The plan tells: within one interval the person passes a line before the stairs and one behind them."""
    plan, sol, _ = walked("stairs", every=every, outlet=False)
    stored = jo.io.read(jo.io.write(sol, tmp_path / "run.vtkhdf", dtype=float))
    for run, given in ((sol, None), (stored, plan)):
        assert len(crossings(run, ((10, -50), (10, 50)), plan=given)) == 0
        before, behind = (crossings(run, ((x, 3.9), (x, 0.1)), plan=given).t for x in (28.0, 0.6))
        assert before == pytest.approx([6.0], abs=0.06)
        assert behind == pytest.approx([7.1], abs=0.06)
    assert [len(set(np.flatnonzero(move.landed))) for move in moves(sol)].count(1) == 1


def test_people_do_not_fly_between_floors_in_films_of_another_rate(upstairs):
    plan, sol, _ = upstairs
    coarse = walked("stairs", every=30)[1]
    area = plan.area.buffer(1e-9)
    for run in (sol, coarse):
        places = np.concatenate([people.place for people in frames(run, rate=33.0) if people.number < 300])
        assert len(places) == 300
        assert shapely.contains_xy(area, places).all()
        x = np.diff(places[:, 0])
        x = x[np.abs(x) < 1.0]  # all but the jump
        assert len(x) == 298
        assert x == pytest.approx(SPEED / 33.0, abs=0.05)


def test_paths_are_broken_at_stairs(upstairs):
    import matplotlib.pyplot as plt

    way = viz.paths(upstairs[1]).lines[0].get_xdata()
    plt.close("all")
    steps = np.abs(np.diff(way))
    assert np.nanmax(steps) == pytest.approx(5 * H * SPEED, abs=1e-9)


def test_whoever_walks_fast_among_slow_people_does_not_jump():
    """One walks five times as fast as all others: their own speed is in the record."""
    speeds = np.array([[1.5, 0.0]] + [[0.3, 0.0]] * 9)
    q0 = np.stack([np.zeros(10), np.arange(10.0)], axis=1)
    sol = jo.solve(jo.Sweeping(q0=q0, velocity=speeds, within=jo.Balls([0.2] * 10)), jo.Venel(), t=4.0, h=H, every=20)
    assert not jumps(sol).any()
    assert crossings(sol, ((1.0, -9), (1.0, 19))).person.tolist() == [0, *range(1, 10)]


def test_who_stops_at_once_has_walked_there():
    """Only the start and the end are saved, and at both nobody moves: displacements themselves are the record."""
    within = jo.Balls([0.2] * 3) & jo.Box([-9, -9], [4.0, 9.0], radii=0.2)
    q0 = [[0.0, 0.0], [1.0, 2.0], [0.5, 4.0]]
    sol = jo.solve(jo.Sweeping(q0=q0, velocity=[1.0, 0.0], within=within), jo.Venel(), t=9.0, h=H, every=180)
    assert np.abs(sol.u[-1]).max() < 1e-9
    assert not jumps(sol).any()
    assert len(crossings(sol, ((2.0, -9), (2.0, 9)))) == 3


def test_without_a_plan_it_is_said_that_the_area_is_missing(tmp_path):
    plan, sol, exact = walked("plan")
    stored = jo.io.read(jo.io.write(sol, tmp_path / "run.vtkhdf", dtype=float))
    assert evacuation_time(stored) == pytest.approx(exact, abs=1e-6)  # the file holds the plan
    older = replace(stored, saved_facts=None)
    with pytest.raises(jo.InvalidValue, match=r"person 0 is present at the end.*give the plan"):
        evacuation_time(older)
    assert evacuation_time(older, plan) == pytest.approx(exact, abs=1e-6)
    with pytest.raises(jo.InvalidValue, match="nobody was in the area"):
        evacuation_time(sol, [(50, 0), (51, 0), (51, 1)])


def test_who_stays_in_the_plan_never_leaves():
    plan = Plan(BOX, exits={"street": DOOR})
    two = crowd(2, radius=R, room=plan, q0=[[1, 2], [1, 3.5]], wish=lambda t, q: np.array([[1.0, 0.0], [0.0, 0.0]]))
    sol = jo.solve(two, jo.Venel(), t=7.0, h=H)
    assert leaving_times(sol).tolist() == [pytest.approx(5.0), np.inf]
    assert evacuation_time(sol) == np.inf


@pytest.mark.parametrize("name", [whole("room"), whole("plan"), "stairs"])
def test_a_plan_is_not_empty_while_people_wait_to_come_in(name):
    plan = PLANS[name]()
    made = crowd(2, radius=R, room=plan, q0=[[1.0, 2.0], [2.0, 2.0]], speed=SPEED)
    people = jo.crowds.Crowd(q0=made.q0, wish=made.wish, within=made.within, plan=plan, present=np.zeros(2, dtype=bool))
    source = jo.Source(([1.0, 2.0], [1.0, 2.0]), rate=0.5, within=made.within)
    sol = jo.solve(people, jo.Venel(), t=30.0, h=H, until=plan.empty, changes=source)
    assert sol.status == "stopped"
    assert leaving_times(sol) == pytest.approx([2.0 + 5.0, 4.0 + 5.0])
    assert evacuation_time(sol) == pytest.approx(9.0)


def test_a_person_who_walks_slowly_on_slow_stairs_is_not_in_a_jam():
    ladder = Link("ladder", ((26, 1), (26, 3)), ((0, 1), (0, 3)), length=1.0, pace=0.15)
    upper = [(20, 0), (26, 0), (26, 4), (20, 4)]
    plan = Plan([upper, BOX], exits={"street": DOOR}, links=[ladder])
    people = crowd(1, radius=R, room=plan, q0=[[25.0, 2.0]], speed=SPEED)
    sol = jo.solve(people, jo.Venel(), t=20.0, h=H, until=plan.empty)
    found = jo.crowds.travel(sol)
    assert found.time[0] > 10.0
    assert found.jammed[0] == pytest.approx(0.0, abs=0.2)


@pytest.mark.parametrize(("start", "goal"), [([22.0, 3.0], "ground"), whole(([4.0, 3.0], "upper"))])
def test_a_person_alone_on_stairs_loses_no_time(tmp_path, start, goal):
    """The desired speed on stairs is smaller than on level ground: walking at it is no loss."""
    stairs = Link("s", ((20, 2), (20, 4)), ((8, 2), (8, 4)), length=8.0, pace="down", both=True)
    floors = [[(0, 0), (8, 0), (8, 6), (0, 6)], [(20, 0), (26, 0), (26, 6), (20, 6)]]
    exits = {"ground": ((0, 2), (0, 4)), "upper": ((26, 2), (26, 4))}
    plan = Plan(floors, exits=exits, links=[stairs])
    people = crowd(jo.crowds.Group("one", places=[start], radius=0.2, speed=1.34, goal=goal), room=plan)
    sol = jo.solve(people, jo.Venel(), t=40.0, h=0.1, until=plan.empty)
    stored = jo.io.read(jo.io.write(sol, tmp_path / "run.vtkhdf"))
    again = jo.io.read(jo.io.write(stored, tmp_path / "again.vtkhdf"))
    for one in (sol, stored, again):
        found = jo.crowds.travel(one)
        assert found.time[0] > 14.0
        assert found.loss[0] < 0.3
