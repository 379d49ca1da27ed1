"""What is not a mask, a condition, an outline or a velocity is refused, and never taken for another zone."""

import numpy as np
import pytest

import jostle as jo
from jostle import macro

GRID = macro.Grid([-1, -1], [1, 1], h=1 / 4)
REFUSED = (jo.InvalidValue, jo.errors.NotFinite)
LAWS = [macro.Isotropic, macro.Square, macro.Triangular]


def condition(x, y):
    return x**2 + y**2 < 0.5


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("place", ["saturated", "walls"])
def test_a_condition_is_no_outline(law, place):
    zone = {"saturated": np.ones(GRID.shape), place: condition}
    with pytest.raises(jo.InvalidValue, match="negative inside"):
        law(GRID, **zone)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("place", ["saturated", "walls"])
@pytest.mark.parametrize("outline", [lambda x, y: np.nan * x, lambda x, y: np.where(x > 0, np.nan, y)])
def test_an_outline_is_a_number_everywhere(law, place, outline):
    zone = {"saturated": np.ones(GRID.shape), place: outline}
    with pytest.raises(jo.errors.NotFinite, match="outline"):
        law(GRID, **zone)


@pytest.mark.parametrize("law", LAWS)
def test_an_outline_may_be_one_number(law):
    assert law(GRID, lambda x, y: -1.0).saturated.all()
    assert not law(GRID, lambda x, y: np.inf).saturated.any()
    assert law(GRID, np.ones(GRID.shape), walls=lambda x, y: 1).saturated.all()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("value", [np.nan, 0.3, -1.0, 2])
def test_numbers_are_no_mask(law, value):
    field = np.zeros(GRID.shape)
    field[2, 3] = value
    for zone in ({"saturated": field}, {"saturated": np.zeros(GRID.shape), "walls": field}):
        with pytest.raises(jo.InvalidValue, match="True or False"):
            law(GRID, **zone)


def test_numbers_are_no_mask_on_a_line():
    for saturated in ([0.3, 1.0], [np.nan, 1.0], ["a", "b"]):
        with pytest.raises(jo.InvalidValue, match="saturated must be True or False"):
            macro.Interval([0, 1, 2], saturated)
    assert macro.Interval([0, 1, 2], [0, 1.0]).saturated.tolist() == [False, True]


@pytest.mark.parametrize("lattice", [macro.square_lattice, macro.triangular_lattice])
def test_an_outline_is_no_condition(lattice):
    box = ([-1, -1], [1, 1])
    with pytest.raises(jo.InvalidValue, match=r"outline\(x, y\) < 0"):
        GRID.zone(macro.Disc([0, 0], 0.5))
    for option in ("zone", "walls"):
        with pytest.raises(jo.InvalidValue, match=r"outline\(x, y\) < 0"):
            lattice(0.1, box=box, **{option: macro.Disc([0, 0], 0.5)})
    assert GRID.zone(lambda x, y: True).all()


@pytest.mark.parametrize("radius", [-1.0, 0.0, np.nan, np.inf, [1.0, 2.0]])
def test_a_radius_is_positive(radius):
    for make in (lambda: macro.Disc([0, 0], radius), lambda: GRID.disc([0, 0], radius)):
        with pytest.raises(REFUSED, match="radius"):
            make()
    with pytest.raises(REFUSED, match="radius"):
        macro.Packing([[0.5, 0.5]], radius, box=([0, 0], [1, 1]))


@pytest.mark.parametrize("centre", [0.0, [0, 0, 0], [0, np.nan]])
def test_a_centre_is_a_place_in_the_plane(centre):
    for make in (macro.Disc, GRID.disc):
        with pytest.raises(REFUSED, match="centre"):
            make(centre, 1.0)


@pytest.mark.parametrize(("option", "value"), [("angle", np.nan), ("spacing", np.inf), ("spacing", 0.0)])
def test_a_lattice_has_an_angle_and_a_spacing(option, value):
    with pytest.raises(REFUSED, match=option):
        macro.Triangular(GRID, np.ones(GRID.shape), **{option: value})
    options = {"spacing": 0.1, "angle": 0.0, option: value}
    for lattice in (macro.square_lattice, macro.triangular_lattice):
        with pytest.raises(REFUSED, match=option):
            lattice(options["spacing"], box=([0, 0], [1, 1]), angle=options["angle"])


@pytest.mark.parametrize("law", LAWS)
def test_a_velocity_belongs_to_the_grid_of_the_law(law):
    rule = law(GRID, np.ones(GRID.shape))
    for other in (macro.Grid([-1, -1], [1, 1], h=1 / 5), macro.Grid([0, 0], [2, 2], h=1 / 4)):
        for U in (other.velocity(1.0, 0.0), other.velocity(lambda x, y: x, 0.0)):
            with pytest.raises(jo.InvalidValue, match="another grid"):
                rule.impact(U)
    with pytest.raises(jo.InvalidValue, match=r"grid\.velocity"):
        rule.impact((1, 0))
    same = macro.Grid([-1, -1], [1, 1], h=1 / 4, closed=True)
    assert rule.impact(same.velocity(1.0, 0.0)).lost == pytest.approx(0.0, abs=1e-12)


def test_an_interval_has_two_ends_and_one_velocity_a_cell():
    with pytest.raises(jo.InvalidValue, match=r"\(left, right\)"):
        macro.Interval([0, 1, 2], closed=True)
    with pytest.raises(jo.InvalidValue, match="one per cell"):
        macro.Interval([0, 1, 2]).impact([1.0, 2.0, 3.0])


def test_discs_of_a_packing_have_centres_of_their_own():
    with pytest.raises(jo.InvalidValue, match="same centre"):
        macro.Packing([[0.5, 0.5], [0.2, 0.2], [0.5, 0.5]], 0.1, box=([0, 0], [1, 1]))
    with pytest.raises(jo.InvalidValue, match="box"):
        macro.Packing([[0.5, 0.5]], 0.1, box=(0, 1))


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        (lambda: GRID.block([2.0, 0.0], [3.0, 1.0]), r"block from \[2\.0, 0\.0\] to \[3\.0, 1\.0\] contains no centre"),
        (lambda: GRID.block([0.5, 0.5], [0.0, 0.0]), r"block from \[0\.5, 0\.5\] to \[0\.0, 0\.0\]"),
        (lambda: GRID.block([0.0, 0.0], [0.1, 0.1]), r"its cells are 0\.25 wide"),
        (lambda: GRID.disc([5.0, 0.0], 1.0), r"disc with centre \[5\.0, 0\.0\] and radius 1"),
        (lambda: GRID.polygon([(2, 2), (3, 2), (3, 3)]), r"the grid reaches from \[-1\.0, -1\.0\] to \[1\.0, 1\.0\]"),
    ],
)
def test_a_zone_outside_the_grid_is_refused(zone, words):
    with pytest.raises(jo.InvalidValue, match=words):
        zone()


def test_what_lies_outside_the_grid_is_left_out():
    assert GRID.block([0.5, 0.5], [9.0, 9.0]).sum() == 4
