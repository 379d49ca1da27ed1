"""What holds for every zone and every field: energy, momentum, idempotence, symmetry, certificates."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import jostle as jo
from jostle import macro
from jostle.macro.grid import walls_around
from rows import examples, whole

SHAPE = (7, 6)
GRID = macro.Grid([0, 0], [7, 6], h=1.0)
ROOM = macro.Grid([0, 0], [7, 6], h=1.0, closed=((True, False), (True, True)))
WIDE = macro.Grid([-3.5, -3], [3.5, 3], h=1.0, closed=((True, True), (False, False)))
LAWS = [macro.Isotropic, macro.Square, macro.Triangular]
zones = arrays(bool, SHAPE)
fields = arrays(float, SHAPE, elements=st.integers(-8, 8).map(lambda k: k / 4))
quick = settings(max_examples=examples(15), deadline=None)


def law_on(law, grid, zone, **options):
    return law(grid, zone, tol=1e-9, **options) if law is macro.Triangular else law(grid, zone, **options)


def collide(law, grid, zone, ux, uy, e=0.0):
    rule = law_on(law, grid, zone)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jo.errors.NotApproaching)
        return rule, rule.impact(grid.velocity(ux, uy), restitution=e)


@pytest.mark.each_value
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("grid", [GRID, ROOM])
@quick
@given(zone=zones, ux=fields, uy=fields)
def test_the_answer_is_the_projection_and_its_certificate_holds(law, grid, zone, ux, uy):
    rule, after = collide(law, grid, zone, ux, uy)
    assert after.residual.within(1e-8)
    oracle = jo.project(
        rule.sample(grid.velocity(ux, uy)), rule.cone, mass=rule.mass, solver=jo.InteriorPoint(tol=1e-11)
    )
    assert after.hit.velocity == pytest.approx(oracle.point, abs=2e-5)


@pytest.mark.each_value
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@quick
@given(zone=zones, ux=fields, uy=fields)
def test_energy_never_grows_and_is_kept_when_e_is_one(law, e, zone, ux, uy):
    rule, after = collide(law, GRID, zone, ux, uy, e)
    U = rule.sample(GRID.velocity(ux, uy))
    energy = 0.5 * float((rule.mass * (U * U).T).sum())
    assert after.lost >= -1e-6 * (1 + energy)
    taken = rule.sample(GRID.velocity(ux, uy)) - after.hit.projection.point
    stopped = 0.5 * float((rule.mass * (taken * taken).T).sum())
    if law is macro.Isotropic:
        stopped += approach(zone, ux) + approach(zone.T, uy.T)
    assert after.lost == pytest.approx((1 - e**2) * stopped, abs=1e-5 * (1 + energy))


def approach(zone, u):
    """What cells of mass one lose that approach each other along the first axis and get one velocity on their face."""
    closer = np.where(zone[1:] & zone[:-1], np.maximum(u[:-1] - u[1:], 0.0), 0.0)
    return float((closer**2).sum()) / 8


@pytest.mark.parametrize("law", LAWS)
@quick
@given(zone=zones, ux=fields, uy=fields)
def test_a_second_impact_changes_nothing(law, zone, ux, uy):
    rule, after = collide(law, GRID, zone, ux, uy)
    again = jo.project(after.hit.velocity, rule.cone, mass=rule.mass, solver=jo.InteriorPoint(tol=1e-9)).point
    assert again == pytest.approx(after.hit.velocity, abs=1e-4)


@pytest.mark.parametrize("law", [macro.Isotropic, macro.Square])
@quick
@given(zone=zones, ux=fields, uy=fields)
def test_momentum_is_kept_without_walls(law, zone, ux, uy):
    rule, after = collide(law, GRID, zone, ux, uy)
    before = rule.sample(GRID.velocity(ux, uy))
    if law is macro.Square:
        assert (after.hit.velocity - before).sum(axis=0) == pytest.approx([0, 0], abs=1e-9)
    else:
        change, first = rule.mass * (after.hit.velocity - before), rule.faces[0].count
        assert [change[:first].sum(), change[first:].sum()] == pytest.approx([0, 0], abs=1e-9)


@pytest.mark.parametrize("law", [macro.Isotropic, macro.Square])
@quick
@given(zone=zones, ux=fields, uy=fields)
def test_turned_data_give_turned_answers(law, zone, ux, uy):
    _, after = collide(law, GRID, zone, ux, uy)
    u = np.where(zone[..., None], after.u.cells, 0.0)
    turned = macro.Grid([0, 0], [6, 7], h=1.0)
    _, there = collide(law, turned, np.rot90(zone), -np.rot90(uy), np.rot90(ux))  # [i, j] axes turn the other way
    v = np.where(np.rot90(zone)[..., None], there.u.cells, 0.0)
    assert v[..., 1] == pytest.approx(np.rot90(u[..., 0]), abs=1e-7)
    assert v[..., 0] == pytest.approx(-np.rot90(u[..., 1]), abs=1e-7)


@pytest.mark.each_value
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("grid", [GRID, whole(WIDE), macro.Grid([0, 0], [7, 6], h=1.0, closed=True)])
@quick
@given(zone=zones, ux=fields, uy=fields)
def test_mirrored_data_give_mirrored_answers(law, grid, zone, ux, uy):
    _, after = collide(law, grid, zone, ux, uy)
    for mirror, sign in ((np.s_[::-1], [-1, 1]), (np.s_[:, ::-1], [1, -1])):
        _, there = collide(law, grid, zone[mirror], sign[0] * ux[mirror], sign[1] * uy[mirror])
        change = (there.u.cells - after.u.cells[mirror] * sign)[zone[mirror]]
        assert np.abs(change).max(initial=0.0) <= (1e-5 if law is macro.Triangular else 1e-7)


@pytest.mark.parametrize("closed", [False, True])
def test_the_lattice_of_a_symmetric_zone_is_symmetric(closed):
    grid = macro.Grid([-1, -1], [1, 1], h=0.1, closed=closed)
    block = grid.block([-0.3, -1], [0.3, -0.8])
    for zone, walls in ((np.ones(grid.shape), None), (~block, block), (np.ones(grid.shape), lambda x, y: 0.8 - abs(x))):
        points = macro.Triangular(grid, zone, walls=walls).lattice.points.round(9)
        assert len(points) > 100
        there = {tuple(point) for point in points.tolist()}
        assert there == {tuple(point) for point in (points * [-1, 1] + 0.0).tolist()}


def test_an_outlined_wall_is_where_the_grains_see_it():
    """On a slope along a line of the lattice the grains are those above it, whatever the centres of the cells say."""
    grid = macro.Grid([-1, -1], [1, 1], h=0.1)

    def slope(x, y):
        return 0.75**0.5 * x + 0.5 * y + 0.04

    law = macro.Triangular(grid, np.ones(grid.shape), walls=slope)
    above = macro.triangular_lattice(0.1, box=([-1, -1], [1, 1]), zone=lambda x, y: slope(x, y) >= 0)
    assert law.lattice.points == pytest.approx(above.points, abs=1e-12)
    x, y = law.lattice.points.T
    beside = (slope(x, y) < 0.05) & (abs(y) < 0.95)  # one line of the lattice, at the wall
    assert beside.sum() > 10
    after = law.impact(grid.velocity(-(0.75**0.5), -0.5)).hit.velocity
    assert (after[beside] @ [0.75**0.5, 0.5]).min() >= -1e-6


@pytest.mark.parametrize("law", LAWS)
def test_a_field_that_expands_is_left_alone(law):
    after = law(GRID, np.ones(SHAPE)).impact(GRID.velocity(lambda x, y: x + 0.1 * y, lambda x, y: 2 * y))
    assert after.lost == 0.0
    assert after.iterations == 0


@quick
@given(ux=fields, uy=fields)
def test_a_zone_shut_in_by_walls_is_incompressible(ux, uy):
    room = macro.Grid([0, 0], [7, 6], h=1.0, closed=True)
    after = macro.Isotropic(room, np.ones(SHAPE)).impact(room.velocity(ux, uy))
    div = np.diff(after.u.x, axis=0) + np.diff(after.u.y, axis=1)
    assert np.abs(div).max() <= 1e-9 * (1 + np.abs(ux).max() + np.abs(uy).max())
    assert after.pressure.min() == pytest.approx(0.0, abs=1e-12)
    still = macro.Square(room, np.ones(SHAPE)).impact(room.velocity(ux, uy))
    assert np.abs(still.u.cells).max() <= 1e-12


@pytest.mark.parametrize("law", LAWS)
def test_walls_inside_the_domain_hold_back(law):
    wall = GRID.block([3, 0], [4, 6])
    after = law(GRID, ~wall, walls=wall).impact(GRID.velocity(1.0, 0.0))
    if law is macro.Isotropic:
        assert (after.u.x[3] == 0.0).all()
        assert (after.u.x[4] == 0.0).all()
        assert (np.diff(after.u.x, axis=0) + np.diff(after.u.y, axis=1))[~wall].min() >= -1e-12
        assert after.pressure[:3].min() > 0.0
    else:
        assert after.u.cells[:3, 3, 0] == pytest.approx(0.0, abs=1e-8)
    if law is macro.Square:
        assert after.pressure[0][3] == pytest.approx(3.0)
    assert after.u.cells[5, 3, 0] == pytest.approx(1.0, abs=1e-6)


@quick
@given(zone=zones, ux=fields, uy=fields)
def test_dust_among_walls(zone, ux, uy):
    room = macro.Grid([0, 0], [7, 6], h=1.0, closed=True)
    for law in (macro.Isotropic, macro.Square):
        after = law(room, zone, walls=~zone).impact(room.velocity(ux, uy))
        assert after.residual.within(1e-8)


def test_a_large_labyrinth_of_walls_is_incompressible():
    n, rng = 90, np.random.default_rng(0)
    room = macro.Grid([0, 0], [n, n], h=1.0, closed=True)
    zone = rng.random((n, n)) < 0.65
    after = macro.Isotropic(room, zone, walls=~zone).impact(room.velocity(*rng.normal(size=(2, n, n))))
    div = np.diff(after.u.x, axis=0) + np.diff(after.u.y, axis=1)
    assert np.abs(div[zone]).max() <= 1e-8


def test_momentum_is_kept_by_the_triangular_law():
    grid = macro.Grid([-1, -1], [1, 1], h=1 / 8)
    U = grid.velocity(*np.random.default_rng(1).normal(size=(2, *grid.shape)))
    law = macro.Triangular(grid, grid.disc([0, 0], 0.9), angle=0.2)
    assert law.impact(U).hit.velocity.sum(axis=0) == pytest.approx(law.sample(U).sum(axis=0), abs=1e-9)


def test_smooth_walls_let_grains_slide_and_walls_of_the_triangular_lattice_do_not():
    channel = macro.Grid([0, 0], [2, 1], h=1 / 8, closed=((False, False), (True, True)))
    U = channel.velocity(1.0, 0.0)
    floor = channel.block([0, 0], [2, 0.5])
    for zone in (floor, np.ones(channel.shape, dtype=bool)):
        for law in (macro.Isotropic, macro.Square):
            assert law(channel, zone).impact(U).u.cells[zone] == pytest.approx(np.tile([1.0, 0.0], (zone.sum(), 1)))

    row = macro.triangular_lattice(
        1.0, box=([-3.6, -1], [3.6, 1]), zone=lambda x, y: abs(y) < 0.1, walls=lambda x, y: y < -0.1
    )
    along = np.tile([1.0, 0.0], (len(row), 1))
    climbed = jo.impact(along, row.cone, law=jo.Restitution(0.0)).velocity
    assert climbed == pytest.approx(np.tile([0.75, 0.75**0.5 / 2], (len(row), 1)), abs=1e-8)
    filled = macro.Triangular(channel, np.ones(channel.shape), tol=1e-9).impact(U)
    assert filled.hit.velocity[:, 0].mean() < 0.5


@pytest.mark.parametrize("angle", [0.0, 0.2])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.filterwarnings("ignore::jostle.errors.NotApproaching")
def test_walls_take_the_momentum_that_the_triangular_law_loses(angle, restitution):
    room = macro.Grid([0, 0], [1, 1], h=1 / 8, closed=((True, False), (True, True)))
    law = macro.Triangular(room, np.ones(room.shape), angle=angle, tol=1e-10)
    U = room.velocity(*np.random.default_rng(2).normal(size=(2, *room.shape)))
    hit, pairs = law.impact(U, restitution=restitution).hit, law.cone.G
    at_wall = pairs.j < 0
    gained = law.mass @ (hit.velocity - law.sample(U))
    assert gained == pytest.approx((hit.impulse[:, None] * -pairs.normal)[at_wall].sum(axis=0), abs=1e-8)
    assert np.abs(gained).min() > 1e-2


def test_a_law_with_restitution_warns_where_contacts_open():
    grid = macro.Grid([0, 0], [3, 1], h=1.0)
    with pytest.warns(jo.errors.NotApproaching):
        macro.Square(grid, np.ones((3, 1))).impact(grid.velocity(np.array([[1.0], [0.0], [0.25]]), 0), restitution=1.0)


def test_a_hole_decouples_the_rows_of_the_square_law():
    zone = np.ones((5, 1), dtype=bool)
    zone[2] = False
    grid = macro.Grid([0, 0], [5, 1], h=1.0)
    after = macro.Square(grid, zone).impact(grid.velocity(np.array([[1.0], [1.0], [9.0], [-1.0], [-1.0]]), 0))
    assert after.u.cells[:, 0, 0].tolist() == [1, 1, 9, -1, -1]


def test_large_zones_start_from_the_coarse_answer_and_end_at_the_same_point():
    grid = macro.Grid([-1, -1], [1, 1], h=1 / 48)
    zone = grid.disc([0, 0], 0.9) & ~grid.disc([0.3, 0.1], 0.2)
    U = grid.velocity(lambda x, y: np.sin(7 * x + 3 * y), lambda x, y: np.cos(5 * y - 2 * x * y))
    law = macro.Isotropic(grid, zone)
    after = law.impact(U)
    assert after.residual.within(1e-10)
    assert after.iterations <= 8
    oracle = jo.project(law.sample(U), law.cone, mass=law.mass, solver=jo.InteriorPoint(tol=1e-10)).point
    assert after.hit.velocity == pytest.approx(oracle, abs=1e-4)


def test_the_laws_coincide_in_a_corridor():
    grid = macro.Grid([0, 0], [3, 1 / 16], h=1 / 64, closed=((False, False), (True, True)))
    U = grid.velocity(lambda x, y: np.cos(4 * x), 0)
    one, two = (law(grid, np.ones(grid.shape)).impact(U).u.cells[:, 0, 0] for law in (macro.Isotropic, macro.Square))
    exact = macro.Interval(np.linspace(0, 3, 193)).impact(lambda x: np.cos(4 * x)).u
    assert two == pytest.approx(exact, abs=1e-3)
    assert one == pytest.approx(two, abs=0.04)


def test_units_do_not_matter():
    for scale in (1e-6, 1e6):
        small = macro.Grid([0, 0], [7 * scale, 6 * scale], h=scale)
        rng = np.random.default_rng(0)
        zone, ux, uy = rng.random(SHAPE) < 0.8, rng.normal(size=SHAPE), rng.normal(size=SHAPE)
        for law in LAWS:
            one = law_on(law, GRID, zone).impact(GRID.velocity(ux, uy))
            other = law_on(law, small, zone).impact(small.velocity(scale * ux, scale * uy))
            assert other.hit.velocity / scale == pytest.approx(one.hit.velocity, abs=1e-7)


@pytest.mark.parametrize("e", [-0.1, 1.1])
def test_restitution_outside_its_range_is_refused(e):
    with pytest.raises(jo.InvalidValue, match="restitution"):
        macro.Square(GRID, np.ones(SHAPE)).impact(GRID.velocity(0, 0), restitution=e)


def test_what_does_not_fit_is_refused():
    with pytest.raises(jo.InvalidValue, match="do not fill"):
        macro.Grid([0, 0], [1, 1], h=0.3)
    with pytest.raises(jo.InvalidValue, match="one boolean per cell"):
        macro.Isotropic(GRID, np.ones((3, 3)))
    with pytest.raises(jo.InvalidValue, match="one number per cell"):
        GRID.velocity(np.ones((2, 2)), 0)
    with pytest.raises(jo.InvalidValue, match="both saturated and walls"):
        macro.Isotropic(GRID, np.ones(SHAPE), walls=np.ones(SHAPE))
    with pytest.raises(jo.errors.NotFinite):
        macro.Isotropic(GRID, np.ones(SHAPE)).impact(GRID.velocity(lambda x, y: np.nan * x, 0))


def test_an_answer_that_is_not_reached_is_an_error_with_its_residual():
    grid = macro.Grid([-1, -1], [1, 1], h=1 / 20)
    lattice = macro.Triangular(grid, grid.disc([0, 0], 1.0)).lattice
    from jostle.macro.lattice import Isotonic

    class Impatient(Isotonic):
        def _plan(self, K):
            yield self

    U = np.random.default_rng(0).normal(size=(len(lattice), 2))
    with pytest.raises(jo.NotConverged) as caught:
        jo.project(U, lattice.cone, solver=Impatient(lattice=lattice, max_iterations=3))
    assert caught.value.projection.residual.worst > 1e-8


def test_an_empty_zone_changes_nothing():
    for law in LAWS:
        after = law(GRID, np.zeros(SHAPE)).impact(GRID.velocity(-1.0, 2.0))
        assert after.lost == 0.0
        assert (after.u.cells == [-1.0, 2.0]).all()


def test_program_five_runs_as_written():
    grid = macro.Grid([0, 0], [2, 1], h=1 / 40)
    left, right = grid.block([0.2, 0.2], [1.0, 0.8]), grid.block([1.0, 0.3], [1.8, 0.7])
    for law in LAWS:
        after = law(grid, saturated=left | right).impact(grid.velocity(left - right, 0), restitution=0.0)
        assert after.residual.within(1e-6)
        assert 0.0 < after.lost < 0.4


@pytest.mark.parametrize("angle", [0.0, 1.05 / 4, 0.4, 0.9])
def test_a_closed_box_of_a_lattice_has_closed_corners(angle):
    room = macro.Grid([0, 0], [1, 1], h=0.1, closed=True)
    law = macro.Triangular(room, np.ones(room.shape), angle=angle, tol=1e-9)
    for direction in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        assert np.abs(law.impact(room.velocity(*direction)).hit.velocity).max() <= 1e-7


def test_a_corner_is_a_wall_if_one_of_its_sides_is():
    (left, right), (bottom, top) = sides = ((True, False), (False, True))
    wall = walls_around(macro.Grid([0, 0], [2, 1], h=1.0, closed=sides))
    assert wall[[0, 0, -1, -1], [0, -1, 0, -1]].tolist() == [left or bottom, left or top, right or bottom, right or top]


@quick
@given(zone=zones, ux=fields, uy=fields)
def test_the_square_law_is_its_equation_cell_by_cell(zone, ux, uy):
    grid = macro.Grid([0, 0], [3.5, 3], h=0.5, closed=((True, False), (False, True)))
    _, after = collide(macro.Square, grid, zone, ux, uy)
    for axis, (U, p) in enumerate(zip((ux, uy), after.pressure, strict=True)):
        assert (U - after.u.cells[..., axis])[zone] == pytest.approx(np.diff(p, axis=axis)[zone] / grid.h, abs=1e-9)
        assert p.min() >= 0.0
        ends = np.pad(zone, [(1, 1) if k == axis else (0, 0) for k in (0, 1)])
        beside = ends[1:] | ends[:-1] if axis == 0 else ends[:, 1:] | ends[:, :-1]
        assert (p[~beside] == 0.0).all()


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("angle", [0.0, 0.3])
def test_each_pressure_of_the_triangular_law_belongs_to_its_direction(k, angle):
    """One line of grains along e_k, at a wall or not: p_k at a grain is the mean of its two impulses, the others 0."""
    grid, spacing = macro.Grid([-1, -1], [1, 1], h=0.1), 0.25
    turned = angle + 2 * np.pi * k / 3
    e = np.array([np.cos(turned), np.sin(turned)])
    law = macro.Triangular(
        grid,
        lambda x, y: np.maximum(abs(y * e[0] - x * e[1]) - 0.01, abs(x * e[0] + y * e[1]) - 0.8),
        angle=angle,
        spacing=spacing,
        tol=1e-12,
    )
    along = law.lattice.points @ e
    order = np.argsort(along)
    assert along[order] == pytest.approx(spacing * np.arange(-3, 4), abs=1e-12)
    speed = np.array([3.0, 1.0, 0.0, 1.0, -1.0, 0.5, -4.0])
    row = jo.impact(
        speed, jo.convex.Cone(np.diff(np.eye(7), axis=0)), mass=law.lattice.area, solver=jo.ActiveSet(tol=1e-12)
    )
    contact = np.concatenate([[0.0], row.impulse, [0.0]])
    expected = 0.5 * (contact[1:] + contact[:-1]) * spacing / law.lattice.area
    U = grid.velocity(*(lambda x, y, a=a: e[a] * np.interp(x * e[0] + y * e[1], along[order], speed) for a in (0, 1)))
    for direction, p in enumerate(law.impact(U).pressure):
        assert p[order] == pytest.approx(expected if direction == k else 0.0, abs=1e-9)


@pytest.mark.parametrize("law", LAWS)
@quick
@given(zone=zones, ux=fields, uy=fields)
def test_what_is_outside_the_zone_does_not_matter(law, zone, ux, uy):
    _, one = collide(law, GRID, zone, ux, uy)
    _, other = collide(law, GRID, zone, np.where(zone, ux, 9.0), np.where(zone, uy, -7.0))
    assert (other.hit.velocity == one.hit.velocity).all()
    assert other.lost == one.lost


def test_blocks_that_part_lose_nothing():
    grid = macro.Grid([0, 0], [2, 1], h=1 / 8)
    left, right = grid.block([0, 0], [1, 1]), grid.block([1, 0], [2, 1])
    law = macro.Isotropic(grid, left | right)
    assert law.impact(grid.velocity(right - left, 0)).lost == pytest.approx(0.0, abs=1e-12)
    assert law.impact(grid.velocity(left - right, 0), restitution=1.0).lost == pytest.approx(0.0, abs=1e-9)
