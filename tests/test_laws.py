"""Restitution per pair, per wall, per group, as a function of the speed, and by a law of the user's own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jostle as jo
from jostle.scenarios import parse
from rows import examples

TWO_ON_A_FLOOR = {
    "q0": [[0.0, 1.5], [3.0, 2.5]],
    "v0": [0.0, -1.0],
    "within": jo.Balls([0.5, 0.5]) & jo.Box([-1.0, 0.0], [4.0, np.inf]),
}
"""Two balls that hit wall 1, the floor of the box."""


def after(law, t=3.0, **changed):
    return jo.solve(jo.Motion(law=law, **{**TWO_ON_A_FLOOR, **changed}), jo.MoreauJean(), t=t, h=0.1).u[-1]


TABLES = {
    "bodies": ({(0, "wall 1"): 0.5, (1, "wall 1"): 0.25}, {}),
    "the other way round": ({("wall 1", 0): 0.5, ("wall 1", 1): 0.25}, {}),
    "names of walls": ({(0, "wall q[1] >= lower"): 0.5, (1, "wall q[1] >= lower"): 0.25}, {}),
    "one side": ({0: 0.5, 1: 0.25}, {}),
    "groups": ({("steel", "wall 1"): 0.5, ("rubber", "wall 1"): 0.25}, {"steel": [0], "rubber": [1]}),
    "the last one holds": ({"wall 1": 0.9, 1: 0.25, ("steel", "wall 1"): 0.5}, {"steel": [0]}),
    "functions": ({0: lambda v: 0.5 * v, 1: lambda v: 0.25 + 0.0 * v}, {}),
}


@pytest.mark.parametrize(("between", "groups"), TABLES.values(), ids=TABLES)
def test_a_table_gives_each_contact_its_restitution(between, groups):
    law = jo.Restitution(between, groups=groups, default=1.0)
    np.testing.assert_allclose(after(law), [[0.0, 0.5], [0.0, 0.25]], atol=1e-12)


def test_contacts_without_an_entry_have_the_other_value():
    np.testing.assert_allclose(after(jo.Restitution({(0, 1): 0.1}, default=0.75))[:, 1], 0.75, atol=1e-12)
    np.testing.assert_allclose(after(jo.Restitution({"wall 0": 0.1}))[:, 1], 0.0, atol=1e-12)


def test_two_groups_collide_with_the_restitution_between_them():
    law = jo.Restitution({("a", "b"): 0.5, ("a", "a"): 1.0, ("b", "b"): 1.0}, groups={"a": [0, 1], "b": [2]})
    row = jo.Motion(q0=[0.0, 3.0, 6.0], v0=[0.0, 0.0, -1.0], within=jo.Line([0.5] * 3), law=law)
    sol = jo.solve(row, jo.MoreauJean(), t=9.0, h=0.01)
    # ball 2 hits ball 1 with e = 0.5, and ball 1 hands all it has to ball 0
    np.testing.assert_allclose(sol.u[-1], [-0.75, 0.0, -0.25], atol=1e-9)


def test_constraints_of_a_user_are_walls_of_a_table():
    floors = jo.constraints(moving=False)(lambda t, q: q - [0.0, 1.0])
    law = jo.Restitution({"wall 0": 0.5, "wall 1": 0.25})
    both = jo.Motion(q0=[1.0, 2.0], v0=[-1.0, -1.0], within=floors, law=law)
    np.testing.assert_allclose(jo.solve(both, jo.MoreauJean(), t=2.0, h=0.1).u[-1], [0.5, 0.25], atol=1e-9)


WRONG_TABLES = {
    "a body that is not there": ({(0, 2): 0.5}, {}, r"unknown body, wall or group 2.*bodies are 0 to 1"),
    "a wall that is not there": ({"wall 7": 0.5}, {}, "unknown body, wall or group 'wall 7'.*'wall 0'"),
    "no group": ({("steel", 0): 0.5}, {}, "unknown body, wall or group 'steel'"),
    "three sides": ({(0, 1, 2): 0.5}, {}, "between two sides"),
    "a member that is not there": ({"steel": 0.5}, {"steel": [0, 5]}, "the group 'steel' must be numbers of bodies"),
    "more than one": ({0: 1.5}, {}, r"the restitution of 0 must lie in \[0, 1\]"),
}


@pytest.mark.parametrize(("between", "groups", "what"), WRONG_TABLES.values(), ids=WRONG_TABLES)
def test_a_table_that_does_not_fit_is_refused_when_the_problem_is_made(between, groups, what):
    with pytest.raises(jo.InvalidValue, match=what):
        jo.Motion(law=jo.Restitution(between, groups=groups), **TWO_ON_A_FLOOR)


def test_a_function_of_the_speed_gets_the_speeds_of_approach():
    seen = []

    def e(v):
        seen.append(v)
        return 1.0 / (1.0 + v)

    np.testing.assert_allclose(after(jo.Restitution(e), v0=[[0.0, -1.0], [0.0, -3.0]])[:, 1], [0.5, 0.75], atol=1e-12)
    assert {round(float(speed), 9) for v in seen for speed in v} == {0.0, 1.0, 3.0}  # 0: a contact that opens


WRONG_VALUES = {
    "too large": (
        lambda v: 1.0 + v,
        r"step 11 \(t = 1.1\): the restitution of ball 0 and wall q\[1\] >= lower is 2 at ",
    ),
    "negative": (lambda v: -v, "is -1 at a speed of 1; it must lie in"),
    "not a number": (lambda v: np.nan * v, "is nan at a speed of 1"),
    "no numbers": (lambda v: None, "the restitution that an impact law returned must be numbers, not None"),
    "too many": (lambda v: [0.1, 0.2, 0.3], r"shape \(3,\) for 1 contacts"),
}


@pytest.mark.parametrize(("e", "what"), WRONG_VALUES.values(), ids=WRONG_VALUES)
def test_a_restitution_that_cannot_be_names_step_pair_and_value(e, what):
    with pytest.raises(jo.InvalidValue, match=what):
        after(jo.Restitution(e))


class Plastic(jo.laws.ImpactLaw):
    """No rebound above a speed, and none of ball 1."""

    def coefficients(self, contacts, speed):
        return np.where((speed > 2.0) | (contacts.pairs[:, 0] == 1), 0.0, 0.5)


def test_a_law_of_the_users_own_is_one_small_class():
    np.testing.assert_allclose(after(Plastic())[:, 1], [0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(after(Plastic(), v0=[0.0, -2.5])[:, 1], [0.0, 0.0], atol=1e-12)


def test_a_law_without_coefficients_is_refused_where_it_is_given():
    class Empty(jo.laws.ImpactLaw):
        pass

    class Short(jo.laws.ImpactLaw):
        def coefficients(self, speed):
            return 0.0 * speed

    for law, what in (
        (Empty(), "Empty defines neither coefficients"),
        (Short(), r"Short must define coefficients\(self, contacts, speed\), not coefficients\(self, speed\)"),
    ):
        with pytest.raises(jo.InvalidValue, match=what):
            jo.Motion(law=law, **TWO_ON_A_FLOOR)
        with pytest.raises(jo.InvalidValue, match=what):
            jo.impact([-1.0], jo.convex.Cone([[1.0]]), law=law)


@pytest.mark.parametrize("e", [lambda: 0.5, lambda v, w: 0.5])
def test_a_restitution_is_a_function_of_the_speeds(e):
    with pytest.raises(jo.InvalidValue, match=r"e must be a function of the speeds v, not <lambda>\("):
        jo.Restitution(e)
    with pytest.raises(jo.InvalidValue, match="the restitution of 0 must lie in"):
        jo.Restitution({0: e})


def test_a_law_with_one_number_needs_no_coefficients():
    """A moving wall asks for a coefficient of each contact: (1 + e) 2 + e 1 after a piston at speed 2."""

    class Half(jo.laws.ImpactLaw):
        uniform = 0.5

    piston = jo.HalfSpace([1.0], offset=lambda t: 2.0 * t)
    ball = jo.Motion(q0=[1.0], v0=[-1.0], within=piston, law=Half())
    assert jo.solve(ball, jo.MoreauJean(), t=1.8, h=0.03).u[-1] == pytest.approx([3.5])


def test_rows_of_a_cone_have_no_names_for_a_table():
    """A table that a problem has looked up would take row 0 for wall 0."""
    problem = jo.Motion(law=jo.Restitution({"wall 0": 0.5}), **TWO_ON_A_FLOOR)
    with pytest.raises(jo.InvalidValue, match=r"give it to jo.Motion\(law=...\)"):
        jo.impact([-1.0], jo.convex.Cone([[1.0]]), law=problem.law)


@settings(max_examples=examples(30), deadline=None)
@given(seed=st.integers(0, 10**6), e=st.floats(0.0, 1.0))
def test_a_law_that_varies_is_that_of_moreau_where_all_values_are_equal(seed, e):
    """One projection on {v : G v >= -e G u} and one on the cone are the same point if u is in -C."""
    random = np.random.default_rng(seed)
    cone, u = jo.convex.Cone(random.normal(size=(3, 5))), random.normal(size=5)
    u = -jo.project(u, cone).point
    same = jo.Restitution(lambda v: np.full(len(v), e))
    M = random.uniform(1.0, 3.0, 5)
    first, second = (jo.impact(u, cone, law=law, mass=M) for law in (jo.Restitution(e), same))
    np.testing.assert_allclose(first.velocity, second.velocity, atol=1e-7)
    np.testing.assert_allclose(first.impulse, second.impulse, atol=1e-7)


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_a_run_with_equal_values_is_that_with_one_number(e):
    rack = jo.models.rack(rows=3)
    problems = [
        jo.Motion(q0=rack.q0, v0=rack.v0, within=rack.within, law=law)
        for law in (
            jo.Restitution(e),
            jo.Restitution(lambda v: np.full(len(v), e)),
            jo.Restitution({}, default=e),
        )
    ]
    runs = [jo.solve(problem, jo.MoreauJean(), t=0.5, h=0.01) for problem in problems]
    for other in runs[1:]:
        np.testing.assert_allclose(other.q, runs[0].q, atol=1e-8)


def test_restitutions_that_contradict_each_other_are_named():
    """A ball that is as wide as its slot would have to go from one wall at 0.9 and not towards the other."""

    class Uneven(jo.laws.ImpactLaw):
        def coefficients(self, contacts, speed):
            return [0.1, 0.9]

    with pytest.raises(jo.errors.EmptySet, match=r"row 0.*row 1"):
        jo.impact([1.0], jo.convex.Cone([[1.0], [-1.0]]), law=Uneven())


def test_laws_that_vary_are_refused_where_they_cannot_be():
    ball = jo.Motion(q0=[1.0], v0=[-1.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(lambda v: 0.5 + 0.0 * v))
    with pytest.raises(jo.errors.SchemeRefuses, match="impact laws other than"):
        jo.solve_by_events(ball, t=2.0)
    with pytest.raises(jo.InvalidValue, match=r"give it to jo.Motion\(law=...\)"):
        jo.impact([-1.0], jo.convex.Cone([[1.0]]), law=jo.Restitution({}))
    with pytest.raises(jo.InvalidValue, match="law must be an impact law"):
        jo.Motion(q0=[1.0], law=0.5)


def test_a_run_with_a_table_is_resumed(tmp_path):
    def problem(e=0.5):
        return jo.Motion(law=jo.Restitution({0: e}, default=0.25), **TWO_ON_A_FLOOR)

    def run(t, law=0.5, resume=False):
        output = jo.io.Output(checkpoint=tmp_path / "c.npz", resume=resume)
        return jo.solve(problem(law), jo.MoreauJean(), t=t, h=0.1, output=output)

    run(1.0)
    resumed = run(3.0, resume=True)
    np.testing.assert_array_equal(resumed.q[-1], jo.solve(problem(), jo.MoreauJean(), t=3.0, h=0.1).q[-1])
    with pytest.raises(jo.InvalidValue, match="law"):
        run(4.0, law=0.6, resume=True)


DRUMMING = """
[problem]
kind = "grains"
dimension = 2
radii = 0.1
e = 0.5
gravity = 0.0
velocity = [0.0, -1.0]
start = { kind = "points", points = [[0.0, 0.5], [1.0, 0.5]] }
walls = [
    { kind = "box", lower = [-1.0, -inf], upper = [2.0, inf] },
    { kind = "plane", normal = [0, 1]@ },
]
[run]
t = 1.0
h = 0.01
"""


@pytest.mark.parametrize(("more", "e"), [("", 0.5), (", e = 1.0", 1.0), (", e = 0.0", 0.0)])
def test_a_wall_of_a_scenario_may_have_its_own_restitution(more, e):
    run = parse(DRUMMING.replace("@", more)).build()
    sol = jo.solve(run.problem, run.scheme, t=1.0, h=0.01)
    np.testing.assert_allclose(sol.u[-1], [[0.0, e]] * 2, atol=1e-9)


def test_a_law_that_varies_leaves_rods_alone():
    """A pendulum that swings against a wall: with e of the speed, constant, and with one number e."""

    def pendulum(law):
        within = jo.Rods([(0, -1)], [1.0], points=[[0.0, 0.0]]) & jo.HalfSpace([1.0, 0.0], -0.1)
        return jo.Motion(q0=[[0.6, -0.8]], force=[0.0, -9.81], within=within, law=law)

    laws = jo.Restitution(0.5), jo.Restitution(lambda v: np.full(len(v), 0.5)), jo.Restitution({}, default=0.5)
    runs = [jo.solve(pendulum(law), jo.MoreauJean(), t=0.8, h=0.01) for law in laws]
    assert len(runs[0].impacts(speed=0.5)) > 0
    for other in runs[1:]:
        np.testing.assert_allclose(other.q, runs[0].q, atol=1e-7)


@pytest.mark.parametrize("more", [{"groups": {"a": [0]}}, {"default": 0.5}])
def test_what_belongs_to_a_table_is_refused_beside_one_number(more):
    with pytest.raises(jo.InvalidValue, match="groups and default belong to a table"):
        jo.Restitution(0.5, **more)


def test_tables_that_say_the_same_are_equal_and_have_one_hash():
    one, same, other = (jo.Restitution({("a", 1): e}, groups={"a": np.array([0])}) for e in (0.5, 0.5, 0.25))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
