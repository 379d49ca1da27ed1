"""A floor plan as cells: the same area and doors, nothing leaks, everybody leaves, refusals say what to do."""

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import Plan, Room, densest_packing, density
from jostle.crowds.model.continuum import _led_out
from plain import crowd as plain_crowd
from rows import few, whole

BOX = [(0, 0), (5, 0), (5, 4), (0, 4)]
TURN = np.array([[np.cos(0.4), np.sin(0.4)], [-np.sin(0.4), np.cos(0.4)]])
BENT = [(0, 0), (6, 0), (6, 2), (2, 2), (2, 5), (0, 5)]
TWO_ROOMS = {
    "area": [[(0, 0), (4, 0), (4, 3), (0, 3)], [(4, 0), (8, 0), (8, 3), (4, 3)]],
    "exits": {"east": ((8, 1), (8, 2))},
    "doors": [((4, 1), (4, 1.6))],
}
PLANS = {
    "room": Room(BOX, doors=[((5, 1.5), (5, 2.5))]),
    "bent": Plan(BENT, exits={"north": ((0.4, 5), (1.6, 5))}),
    "slanted": Plan((BENT @ TURN).tolist(), exits={"north": (np.array([(0.4, 5), (1.6, 5)]) @ TURN).tolist()}),
    "two rooms": Plan(**TWO_ROOMS, walls=[((2, 0.6), (2, 3))], columns=[(6, 1.5, 0.4)]),
    "thin corner": Plan([(0, 0), (9, 0), (9, 1.5)], exits={"east": ((9, 0.3), (9, 1.2))}),
}


def leaving(people, t, h=0.1, every=1.0):
    return jo.macro.solve(people, jo.macro.Splitting(), t=t, h=h, every=every)


@pytest.mark.parametrize("name", few(PLANS))
def test_everybody_leaves_and_nobody_is_lost(name):
    plan = PLANS[name]
    people = density(20, room=plan, radius=0.25, speed=1.4, h=0.2)
    assert people.mass * densest_packing(0.25) == pytest.approx(20)
    assert people.domain.zone.sum() * 0.2**2 == pytest.approx(plan.area.area, abs=0.05)
    sol = leaving(people, 12.0, h=0.2)
    assert sol.mass + sol.gone == pytest.approx(people.mass, rel=1e-12)
    assert sol.mass[-1] < 2e-3 * people.mass


@pytest.mark.parametrize("name", few(PLANS))
def test_the_only_way_out_is_an_exit(name):
    """From each cell next to an exit cell, the line between the centres crosses an exit and no wall."""
    shapely = pytest.importorskip("shapely")
    plan = PLANS[name]
    people = density(5, room=plan, radius=0.25, h=0.1)
    x, y = people.grid.centres
    exits = shapely.union_all([shapely.LineString(ends) for ends in plan.exits.values()])
    walls = shapely.MultiLineString(plan.walls.tolist())
    ways_out = 0
    for axis, through in enumerate(people.domain.open):
        for i, j in np.argwhere(through):
            a, b = ((i - 1, j) if axis == 0 else (i, j - 1)), (i, j)
            line = shapely.LineString([(x[a], y[a]), (x[b], y[b])])
            assert not line.intersects(walls)
            if people.domain.exits[a] or people.domain.exits[b]:
                assert line.intersects(exits)
                ways_out += 1
    assert ways_out >= 9


def test_an_exit_is_as_wide_as_on_the_plan_where_cells_fit():
    people = density(20, room=PLANS["room"], radius=0.25, h=0.125)
    assert people.exits.sum() == 8
    assert people.grid.centres[0][people.exits] == pytest.approx(5 + 0.0625)


def test_the_wish_is_that_of_the_plan():
    room = PLANS["room"]
    wish = jo.crowds.walk(room, radius=0.1, speed=1.3)
    people = density(20, room=room, radius=0.25, h=0.2, wish=wish)
    inner = people.grid.block([1, 1], [4, 3])
    x, y = people.grid.centres
    wished = wish(0.0, np.stack([x[inner], y[inner]], axis=-1))
    assert people.velocity.cells[inner] == pytest.approx(wished, abs=0.05)


@pytest.mark.parametrize("radius", [None, whole(0.05)])
def test_people_leave_corners_where_the_wish_knows_no_way(radius):
    """A spike that is narrower at its end than the discs for which the ways are made."""
    spike = [(0, 0), (4, 0), (4, 1.2), (8, 1.5), (4, 1.8), (4, 3), (0, 3)]
    plan = Plan(spike, exits={"west": ((0, 1), (0, 2))})
    wish = None if radius is None else jo.crowds.walk(plan, radius=radius)
    people = density(8, room=plan, radius=0.25, h=0.1, wish=wish)
    there = people.domain.zone & (people.density > 0)
    assert (np.linalg.norm(people.velocity.cells[there], axis=1) > 0.1).all()
    assert leaving(people, 12.0, h=0.2).mass[-1] < 5e-3 * people.mass


def test_people_start_where_they_are_told_to():
    room = PLANS["room"]
    people = density(10, room=room, radius=0.25, h=0.25, start=[(0, 0), (2, 0), (2, 4), (0, 4)])
    assert not people.density[people.grid.centres[0] > 2].any()
    assert people.density.max() == pytest.approx(10 / 8 / densest_packing(0.25))
    given = density(lambda x, y: 0.5 * x, room=room, radius=0.25, h=0.25)
    assert given.mass * densest_packing(0.25) == pytest.approx(0.5 * 2.5 * 20)


def test_a_thin_wall_separates_densities():
    plan = Plan(BOX, exits={"east": ((5, 1), (5, 2))}, walls=[((2.0, 0.5), (2.0, 4.0))])
    still = density(10, room=plan, radius=0.25, h=0.25, wish=lambda t, q: [1.0, 0.0] + 0.0 * q)
    sol = leaving(still, 3.0)
    left = still.grid.centres[0] < 2
    above = still.grid.centres[1] > 0.5
    before, after = (sol.density[k][left & above].sum() for k in (0, -1))
    assert after > 0.6 * before  # nobody went through; a few went around the lower end


def test_the_flow_through_a_door_that_is_jammed_is_that_of_its_width():
    """A corridor that ends in an exit as wide as itself: everybody walks at their own speed, w * speed leaves."""
    corridor = Plan([(0, 0), (6, 0), (6, 1), (0, 1)], exits={"end": ((6, 0), (6, 1))})
    people = density(densest_packing(0.25) * 6, room=corridor, radius=0.25, h=0.125, speed=1.2)
    sol = leaving(people, 2.0, h=0.05)
    assert sol.gone[-1] == pytest.approx(1.2 * 2.0 * 1.0, rel=0.02)


def test_refusals():
    room = PLANS["room"]
    with pytest.raises(
        jo.InvalidValue, match=r"exit 'door 0' .* 1 wide is too narrow for cells of side h = 1\.5: take"
    ):
        density(5, room=room, radius=0.25, h=1.5)
    narrow = Plan(**TWO_ROOMS)
    with pytest.raises(jo.InvalidValue, match=r"door 0 .* 0\.6 wide is too narrow .* take h = 0\.3 or less"):
        density(5, room=narrow, radius=0.25, h=0.8)
    with pytest.raises(jo.InvalidValue, match=r"500 people of radius 0\.25 do not fit into an area of 20: at most 92"):
        density(500, room=room, radius=0.25, h=0.25)
    with pytest.raises(jo.InvalidValue, match="at most 1 fits"):
        density(lambda x, y: 9.0 + 0 * x, room=room, radius=0.25, h=0.25)
    cut = Plan(BOX, exits={"east": ((5, 1), (5, 2))}, walls=[((2, 0), (2, 4))])
    with pytest.raises(jo.InvalidValue, match=r"a mass of .* cannot reach an exit, because of walls"):
        density(10, room=cut, radius=0.25, h=0.25)
    both = Plan(BOX, exits={"east": ((5, 1), (5, 2)), "west": ((0, 1), (0, 2))}, walls=[((2, 0), (2, 4))])
    with pytest.raises(jo.InvalidValue, match=r"the wish at \[0\.125, 0\.125\] is zero: no path leads"):
        density(10, room=both, radius=0.25, h=0.25, goal="east")
    with pytest.raises(jo.InvalidValue, match="AvoidJams depends on other people"):
        density(10, room=room, radius=0.25, h=0.25, wish=jo.crowds.AvoidJams(jo.crowds.walk(room, radius=0.1)))
    with pytest.raises(jo.InvalidValue, match=r"of people of radius 0\.25, .*walk\(plan, radius=0\.0625\)"):
        density(10, room=room, radius=0.25, h=0.25, wish=jo.crowds.walk(room, radius=0.25))
    with pytest.raises(jo.InvalidValue, match="takes neither speed nor goal"):
        density(10, room=room, radius=0.25, h=0.25, speed=2.0, wish=jo.crowds.walk(room, radius=0.1))
    with pytest.raises(jo.InvalidValue, match="there is no exit 'west'"):
        density(10, room=room, radius=0.25, h=0.25, goal="west")
    with pytest.raises(jo.InvalidValue, match="take a larger h"):
        density(10, room=room, radius=0.25, h=1e-4)
    with pytest.raises(jo.InvalidValue, match="radius must be a positive number"):
        densest_packing(0.0)


def two_floors(*, width=2.0, turn=0.0, length=3.0, exit_width=2.0):
    """An upper floor with stairs to a lower one, which has the exit; turned by an angle."""
    T = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    upper, lower, low = [(0, 0), (4, 0), (4, 3), (0, 3)], [(20, 0), (24, 0), (24, 3), (20, 3)], 1.5 - width / 2
    door, way_out = (
        np.array([(4, low), (4, low + width)]),
        np.array([(24, 1.5 - exit_width / 2), (24, 1.5 + exit_width / 2)]),
    )
    stairs = jo.crowds.Link("stairs", door @ T, (door + np.array([16, 0])) @ T, length=length)
    return Plan([upper @ T, lower @ T], exits={"east": way_out @ T}, links=[stairs]), upper @ T


@pytest.mark.parametrize(("turn", "length"), [whole((0.0, 3.0)), (0.0, 3.1), (np.pi / 2, 3.0), whole((0.4, 3.0))])
def test_everybody_comes_down_the_stairs_and_leaves(turn, length):
    plan, upper = two_floors(turn=turn, length=length)
    people = density(30, room=plan, radius=0.25, speed=1.4, h=0.25, start=upper)
    sol = leaving(people, 16.0)
    assert sol.mass + sol.gone == pytest.approx(people.mass, rel=1e-14)
    assert sol.mass[-1] < 2e-3 * people.mass
    assert 0.0 <= sol.density.min() <= sol.density.max() <= 1.0 + 1e-8


def test_on_stairs_a_density_is_as_fast_as_people():
    """One narrow row starts 1 m before the stairs: it is on them for length / speed, and then on the other floor."""
    plan, _ = two_floors(length=4.2)
    row = [(2.75, 0.5), (3.25, 0.5), (3.25, 2.5), (2.75, 2.5)]
    people = density(2, room=plan, radius=0.25, speed=1.4, h=0.125, start=row)
    sol = leaving(people, 6.5, h=0.04, every=0.25)
    x = people.grid.centres[0]
    below = (sol.density * (x > 19)).sum(axis=(1, 2)) * 0.125**2 + sol.gone
    half = np.interp(0.5, below / people.mass, sol.t)
    assert half == pytest.approx((1.0 + 4.2) / 1.4, abs=0.1)
    out = np.interp(0.5, sol.gone / people.mass, sol.t)
    assert out == pytest.approx((1.0 + 4.2 + 4.0) / 1.4, abs=0.1)


def test_stairs_carry_the_flow_of_their_width():
    """Full stairs, and a free floor behind them: w * speed arrives."""
    plan, upper = two_floors()
    people = density(densest_packing(0.25) * 12, room=plan, radius=0.25, speed=1.2, h=0.25, start=upper)
    sol = leaving(people, 5.0, h=0.05, every=0.5)
    below = (sol.density * (people.grid.centres[0] > 19)).sum(axis=(1, 2)) * 0.25**2 + sol.gone
    assert np.diff(below)[-2:] / 0.5 == pytest.approx(2.0 * 1.2, rel=0.02)


def test_who_finds_no_room_waits_on_the_stairs():
    """The exit is shut by a wish that does not lead there: the lower floor fills up, and the stairs behind it."""
    plan, upper = two_floors()
    ways = jo.crowds.walk(plan, radius=0.0625, speed=1.4, goal="stairs")

    def wish(t, q):
        return np.where(q[:, :1] < 19, ways(t, q), 0.0)

    people = density(densest_packing(0.25) * 12, room=plan, radius=0.25, h=0.25, start=upper, wish=wish)
    sol = leaving(people, 12.0, every=4.0)
    x = people.grid.centres[0]
    assert sol.density.max() <= 1.0 + 1e-8
    assert sol.mass == pytest.approx(people.mass, rel=1e-14)
    landing = people.passages[0].end
    assert sol.density[-1][tuple(landing.T)] == pytest.approx(1.0)
    assert sol.density[-1][(x > 6) & (x < 7) & people.domain.zone] == pytest.approx(1.0, abs=1e-6)
    assert sol.density[-1][x > 20.25].max() < 1e-6


def test_a_floor_whose_stairs_lead_nowhere_is_refused():
    floors = [[(k, 0), (k + 4, 0), (k + 4, 3), (k, 3)] for k in (0, 20, 40)]
    down, up = (
        jo.crowds.Link(name, ((a, 1), (a, 2)), ((b, 1), (b, 2)), length=2.0)
        for name, a, b in (("down", 24, 0), ("up", 24, 40))
    )
    for link, known in ((down, False), (up, True)):
        plan = Plan(floors, exits={"east": ((44, 1), (44, 2))}, links=[link])
        if known:
            assert density(5, room=plan, radius=0.25, h=0.25, start=floors[1]).mass > 0
        else:
            with pytest.raises(jo.InvalidValue, match="cannot reach an exit"):
                density(5, room=plan, radius=0.25, h=0.25, start=floors[1])


@pytest.mark.whole
def test_people_and_density_come_down_the_same_stairs():
    plan, upper = two_floors()
    same = {"room": plan, "radius": 0.25, "speed": 1.4, "start": upper}
    crowd = plain_crowd(20, **same, seed=0)
    people = jo.solve(crowd, jo.Venel(), t=20.0, h=0.1, every=0.1, until=plan.empty)
    inside = np.array([plan.inside(q[np.isfinite(q).all(axis=1)]).sum() for q in people.q])
    sol = leaving(density(20, **same, h=0.25), 12.0, every=0.1)
    for part in (0.75, 0.5, 0.25):
        micro, macro = (s.t[np.argmax(left < part * left[0])] for s, left in ((people, inside), (sol, sol.mass)))
        assert macro == pytest.approx(micro, abs=0.6)


@pytest.mark.parametrize(("speed", "led"), [(1.0, True), (-1.0, False)])
def test_a_passage_leads_out_only_those_who_walk_into_it(speed, led):
    grid = jo.macro.Grid([0, 0], [3, 1], h=1.0, closed=True)
    stairs = jo.macro.Passage([[2, 0]], [[0, 0]], outward=[1, 0])
    people = jo.macro.Crowd(grid=grid, density=0.0, velocity=grid.velocity(speed, 0.0), passages=[stairs])
    assert _led_out(people.domain, (np.full((4, 1), speed), np.zeros((3, 2))), 1e-9).tolist() == [[led]] * 3


def test_passages_that_do_not_fit_the_grid_are_refused():
    grid = jo.macro.Grid([0, 0], [2, 1], h=0.5)

    def made(*passages):
        return jo.macro.Crowd(grid=grid, density=0.0, velocity=grid.velocity(0, 0), passages=passages)

    with pytest.raises(jo.InvalidValue, match=r"a passage ends in cell \(4, 0\), which is outside the grid"):
        made(jo.macro.Passage([[0, 0]], [[4, 0]], [1, 0]))
    with pytest.raises(jo.InvalidValue, match=r"must be a list of jo\.macro\.Passage"):
        made("stairs")
    for start, outward, why in (
        ([[0, 0], [0, 0]], [1, 0], "contains a cell twice"), ([0, 0], [1, 0], "must be the indices"),
        ([[0.5, 0]], [1, 0], "must be the indices"), ([[0, 0]], [0, 0], "must not be zero"),
    ):  # fmt: skip
        with pytest.raises(jo.InvalidValue, match=why):
            jo.macro.Passage(start, [[1, 0]], outward)


def test_barriers_of_a_wrong_shape_are_refused():
    grid = jo.macro.Grid([0, 0], [2, 1], h=0.5)
    with pytest.raises(jo.InvalidValue, match=r"barriers across y must be one boolean per face, \(4, 3\)"):
        jo.macro.Crowd(
            grid=grid, density=0.0, velocity=grid.velocity(0, 0), barriers=(np.zeros((5, 2)), np.zeros((4, 2)))
        )
