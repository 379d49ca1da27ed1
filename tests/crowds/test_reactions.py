"""Reaction times, speeds and radii that are drawn: by the seed, within their limits, and refused if impossible."""

import numpy as np
import pytest

import jostle as jo
from jostle.crowds import Group, LogNormal, Normal, Plan, Uniform, walking_speed
from jostle.scenarios import ScenarioError, parse
from plain import crowd

PLAN = Plan([(0, 0), (14, 0), (14, 4), (0, 4)], exits={"east": ((14, 0.1), (14, 3.9))})
MANY = 20_000


@pytest.mark.parametrize(
    ("distribution", "mean", "deviation"),
    [(Normal(1.34, 0.26), 1.34, 0.26), (LogNormal(60.0, 30.0), 60.0, 30.0), (Uniform(1.0, 4.0), 2.5, 3.0 / 12**0.5)],
)
def test_a_distribution_has_its_mean_and_standard_deviation(distribution, mean, deviation):
    found = distribution.draw(MANY, np.random.default_rng(1))
    assert found.mean() == pytest.approx(mean, abs=5 * deviation / MANY**0.5)
    assert found.std() == pytest.approx(deviation, rel=0.05)


def test_values_beyond_the_cut_offs_are_drawn_again_and_not_moved_to_them():
    found = Normal(1.0, 0.5, low=0.8, high=1.5).draw(MANY, np.random.default_rng(0))
    assert found.min() > 0.8
    assert found.max() < 1.5
    assert len(np.unique(found)) == MANY
    free = Normal(1.0, 0.5).draw(MANY, np.random.default_rng(2))
    inside = free[(free > 0.8) & (free < 1.5)]
    np.testing.assert_allclose(np.quantile(found, [0.1, 0.5, 0.9]), np.quantile(inside, [0.1, 0.5, 0.9]), atol=0.02)


def test_cut_offs_that_leave_nothing_are_refused():
    with pytest.raises(jo.InvalidValue, match="still beyond the limits; choose low and high"):
        Normal(1.0, 0.01, low=5.0).draw(3, np.random.default_rng(0))
    with pytest.raises(jo.InvalidValue, match="high must be above low = 2, not 1"):
        Normal(1.0, 0.01, low=2.0, high=1.0)


def people(seed=0, **more):
    said = {"radius": Uniform(0.18, 0.22), "speed": walking_speed("weidmann"), "reaction": LogNormal(4.0, 2.0), **more}
    return crowd([Group("all", 12, **said)], room=PLAN, seed=seed)


def test_the_seed_gives_everyone_their_size_speed_and_reaction():
    one, same, other = people(1), people(1), people(2)
    for read in (
        lambda p: p.within.bodies.radii_at(0.0),
        lambda p: p.wish.speeds(12),
        lambda p: p.reaction,
        lambda p: p.q0,
    ):
        np.testing.assert_array_equal(read(one), read(same))
        assert (read(one) != read(other)).all()
        assert len(np.unique(read(one))) >= 12


def test_groups_without_distributions_stand_where_they_stood():
    """Numbers are drawn only where something is drawn."""
    plain = crowd([Group("all", 12, radius=0.2, reaction=3.0)], room=PLAN, seed=3)
    np.testing.assert_array_equal(plain.q0, crowd(12, radius=0.2, room=PLAN, seed=3).q0)


def test_nobody_walks_before_their_reaction_time():
    alone = crowd(2, radius=0.2, room=PLAN, q0=[[2.0, 1.0], [2.0, 3.0]], speed=1.0, reaction=[0.0, 5.0])
    sol = jo.solve(alone, jo.Venel(), t=10.0, h=0.1)
    np.testing.assert_array_equal(sol.q[:, 1][sol.t <= 5.0], [[2.0, 3.0]] * 51)
    np.testing.assert_allclose(sol.q[-1][:, 0], [12.0, 7.0], atol=0.11)


def test_behaviours_do_not_wrap_a_wish_without_the_reactions():
    walk = jo.crowds.walk(PLAN, radius=0.22)
    with pytest.raises(jo.InvalidValue, match="AvoidJams wraps a wish without the reaction times"):
        crowd(12, radius=0.2, room=PLAN, wish=jo.crowds.AvoidJams(walk), reaction=1.0)
    with pytest.raises(jo.InvalidValue, match="give crowd\\(\\) the behaviour as behaviour="):
        crowd(12, radius=0.2, room=PLAN, wish=jo.crowds.AvoidJams(walk), reaction=1.0)


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("behaviour", "avoid_jams", "seed"),
    [
        ("pedestrians", False, 1), ("pedestrians", True, 2), ("pedestrians", False, 3), ("inhibition", True, 2),
        ("inhibition", False, 1), ("plain", False, 2), ("plain", True, 3),
    ],
)  # fmt: skip
def test_a_crowd_walks_alike_whether_a_file_or_python_made_it(behaviour, avoid_jams, seed):
    """On stairs, with reaction times: the people of a file and of `crowd`, to the bit."""
    text = """
seed = %d
[problem]
kind = "crowd"
rooms = [{ corners = [[0, 0], [6, 0], [6, 3], [0, 3]] }, { corners = [[20, 0], [26, 0], [26, 3], [20, 3]] }]
exits = [{ name = "out", ends = [[26, 0.5], [26, 2.5]] }, { name = "back", ends = [[23, 3], [24, 3]] }]
stairs = [{ name = "steps", start = [[6, 0.5], [6, 2.5]], end = [[20, 0.5], [20, 2.5]], length = 3.0, pace = 0.5 }]
avoid_jams = %s
behaviour = { kind = "%s" }
[[problem.groups]]
name = "all"
n = 12
start = [[2, 0.2], [5.8, 0.2], [5.8, 2.8], [2, 2.8]]
radius = 0.2
speed = 1.34
reaction = { kind = "uniform", low = 0.0, high = 6.0 }
[run]
t = 60.0
h = 0.05
"""
    run = parse(text % (seed, str(avoid_jams).lower(), behaviour), "stairs.toml").build()
    theirs, plan, own = run.problem, run.problem.plan, {"radius": 0.2, "speed": 1.34, "reaction": Uniform(0.0, 6.0)}

    def behave(wish, plan, radii):
        wish = jo.crowds.AvoidJams(wish) if avoid_jams else wish
        kinds = {"pedestrians": jo.crowds.Pedestrians(), "plain": lambda wish, plan, radii: wish}
        kinds["inhibition"] = lambda wish, plan, radii: jo.crowds.Inhibition(wish, radii)
        return kinds[behaviour](wish, plan, radii)

    group = Group("all", 12, start=[[2, 0.2], [5.8, 0.2], [5.8, 2.8], [2, 2.8]], **own)
    mine = crowd(group, room=plan, seed=seed, behaviour=behave)
    on_stairs = mine.q0.copy()
    on_stairs[::2, 0] += 2.5
    for t, q in ((0.0, mine.q0), (2.0, mine.q0), (4.0, on_stairs)):
        expected = theirs.velocity(t, q)
        np.testing.assert_array_equal(mine.velocity(t, q), expected)
    runs = [jo.solve(one, jo.Venel(), t=3.0, h=0.05) for one in (mine, theirs)]
    np.testing.assert_array_equal(*(run.q for run in runs))
    np.testing.assert_array_equal(*(run.u for run in runs))


def test_others_walk_around_people_who_still_stand():
    """Somebody who has not reacted yet weighs in the quickest way like anybody who stands, not like one who walks."""
    q0 = [[9.5, 1.9], [9.5, 1.45], [9.5, 2.35], [8.0, 2.0]]
    behaviour = jo.crowds.Pedestrians(strength=0.0)

    def heading(speed, reaction):
        made = crowd(4, radius=0.2, room=PLAN, q0=q0, speed=speed, reaction=reaction, behaviour=behaviour)
        return made.velocity(0.0, made.q0)[3]

    late = heading(1.0, [5.0, 5.0, 5.0, 0.0])
    with pytest.warns(jo.errors.Implausible, match="person 0 hardly moves"):
        np.testing.assert_array_equal(late, heading([0.0, 0.0, 0.0, 1.0], 0.0))
    assert np.linalg.norm(late - heading(1.0, 0.0)) > 0.01


def test_given_places_take_no_region():
    with pytest.raises(jo.InvalidValue, match="give q0 or start, not both"):
        crowd(1, radius=0.2, room=PLAN, q0=[[1.0, 1.0]], start=[(2, 1), (3, 1), (3, 2)])


def test_people_who_react_late_can_be_resumed(tmp_path):
    def go(t, **more):
        return jo.solve(people(5), jo.Venel(), t=t, h=0.05, **more)

    go(3.0, output=jo.io.Output(checkpoint=tmp_path / "c"))
    np.testing.assert_array_equal(
        go(6.0, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True)).q[-1], go(6.0).q[-1]
    )


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"speed": Normal(0.1, 1.0)}, r"group 'all': the speed -.* was drawn for person \d+.*above 0.*limit low"),
        ({"reaction": Normal(0.1, 1.0)}, r"the reaction -.* was drawn .*must be 0 or more"),
        ({"speed": Normal(30.0, 1.0)}, "is faster than people run"),
        ({"reaction": -1.0}, "reaction must not be negative"),
        ({"reaction": [1.0, 2.0]}, r"reaction has shape \(2,\), but there are 12 people"),
    ],
)
def test_values_that_nobody_can_have_are_refused(said, message):
    with pytest.raises(jo.InvalidValue, match=message):
        people(**said)


FILE = """
seed = 4
[problem]
kind = "crowd"
rooms = [{{ corners = [[0, 0], [14, 0], [14, 4], [0, 4]] }}]
exits = [{{ name = "east", ends = [[14, 0.1], [14, 3.9]] }}]
[[problem.groups]]
n = 5
{said}
[run]
t = 60.0
h = 0.05
"""


def from_file(said):
    return parse(FILE.format(said=said), "people.toml")


def test_a_file_says_all_that_a_group_can():
    said = """radius = { kind = "uniform", low = 0.18, high = 0.22 }
speed = { kind = "normal", mean = 1.2, deviation = 0.2, low = 0.8, high = 1.6 }
reaction = { kind = "log-normal", mean = 30.0, deviation = 10.0, high = 50.0 }"""
    made = from_file(said).build().problem
    group = Group(
        "group 0", 5, radius=Uniform(0.18, 0.22), speed=Normal(1.2, 0.2, low=0.8, high=1.6),
        reaction=LogNormal(30.0, 10.0, high=50.0),
    )  # fmt: skip
    python = crowd([group], room=made.plan, seed=4)
    np.testing.assert_array_equal(made.q0, python.q0)
    np.testing.assert_array_equal(made.reaction, python.reaction)
    np.testing.assert_array_equal(made.wish.speeds(5), python.wish.speeds(5))
    assert from_file('speed = "imo men over 50"').build().problem.wish.speeds(5).max() <= 1.4
    np.testing.assert_array_equal(from_file("speed = [1, 1.1, 1.2, 1.3, 1.4]").build().problem.wish.speeds(5)[1], 1.1)


def test_a_crowd_that_has_not_reacted_yet_is_not_blocked():
    """Nobody moves for 40 s."""
    sol = jo.solve(**from_file("reaction = 40.0").build()._replace(h=0.07)._asdict())
    assert sol.status == "stopped"
    assert sol.t[-1] > 40.0


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ('speed = "weidman"', 'speed = "weidman": must be one of "weidmann", "weidmann under 30"'),
        ('speed = { kind = "normal", mean = 1.2 }', "deviation"),
        ('reaction = { kind = "normal", mean = 9, deviation = 1, low = 3, high = 2 }', "must be above low = 3"),
        ("reaction = -1", "a number that is 0 or more; or a list of them, or a distribution such as"),
        ("radius = [0.2]", "must have 5 numbers, one for each person, not 1"),
        ('radius = "weidmann"', "must be a positive number"),
    ],
)
def test_mistakes_in_a_file_are_named(said, message):
    with pytest.raises(ScenarioError) as error:
        from_file(said)
    assert message in str(error.value)
