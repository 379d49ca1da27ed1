"""What a scenario file does not say: the defaults are the documented numbers, and they reach the problem."""

import numpy as np
import pytest

import jostle as jo
from jostle.models.balls import HOLES
from jostle.scenarios import parse
from jostle.scenarios.grains import Size, Spread, drawn
from jostle.schemes.state import State
from jostle.sets.presence import Presence

RUN = "[run]\nt = 1.0\nh = 0.01\n"
GRAIN = (
    """
[problem]
kind = "grains"
dimension = {d}
radii = 0.5
[problem.start]
kind = "points"
points = [{point}]
"""
    + RUN
)
GROUP = (
    """
[problem]
kind = "crowd"
[[problem.rooms]]
corners = [[0, 0], [9, 0], [9, 4], [0, 4]]
[[problem.exits]]
name = "east"
ends = [[9, 1], [9, 3]]
[[problem.groups]]
places = [[4.0, 2.0]]
"""
    + RUN
)


def built(text, *settings):
    return parse(text, settings=settings).build()


@pytest.mark.parametrize(
    ("d", "point", "volume"), [(2, [0.0, 0.0], np.pi * 0.25), (3, [0.0, 0.0, 0.0], 4 / 3 * np.pi * 0.125)]
)
def test_grains_weigh_a_thousand_kilograms_a_unit_of_volume_and_fall_without_rebound(d, point, volume):
    problem = built(GRAIN.format(d=d, point=point)).problem
    np.testing.assert_allclose(problem.metric(problem.q0).mass.ravel(), np.full(d, 1000.0 * volume), rtol=1e-14)
    expected = np.append(np.zeros(d - 1), -9.81 * 1000.0 * volume)
    np.testing.assert_allclose(problem.constant_force[0], expected, rtol=1e-14)
    assert problem.law == jo.Restitution(0.0)
    assert not problem.v0.any()
    assert problem.presence is None


def test_a_file_that_says_nothing_of_saving_has_two_hundred_frames_and_is_strict():
    run = built(GRAIN.format(d=2, point=[0.0, 0.0]))
    assert (run.t, run.h, run.every) == (1.0, 0.01, 1.0 / 200)
    assert run.strict is True
    assert isinstance(run.until, jo.stopping.Never)
    assert run.problem.changes() == ()
    assert parse(GRAIN.format(d=2, point=[0.0, 0.0])).seed == 0


def test_people_of_a_crowd_have_their_size_and_speed_and_leave_four_radii_behind_the_exit():
    run = built(GROUP)
    assert run.problem.within.bodies.radii_at(0.0) == 0.2
    np.testing.assert_allclose(run.problem.velocity(0.0, run.problem.q0), [[1.34, 0.0]], atol=1e-9)
    more = {"t": 10.0, "h": 0.05, "every": 0.05, "until": jo.stopping.Never()}
    sol = jo.solve(**run._replace(**more)._asdict())
    assert 9.8 - 1.34 * 0.05 < np.nanmax(sol.q[..., 0]) <= 9.8 + 1e-9
    sol = jo.solve(**built(GROUP, "problem.outlet=0.5")._replace(**more)._asdict())
    assert 9.5 - 1.34 * 0.05 < np.nanmax(sol.q[..., 0]) <= 9.5 + 1e-9
    assert run.problem.groups == ("group 0",)


def test_the_cradle_of_a_file_is_the_one_it_describes():
    plain = built('[problem]\nkind = "cradle"\n' + RUN).problem
    assert plain.q0.shape == (5,)
    assert plain.v0.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(np.diff(plain.q0[1:]), 1.0, rtol=1e-14)
    assert plain.law == jo.Restitution(1.0)
    settings = ["problem.n=3", "problem.striking=2", "problem.speed=2.5", "problem.gap=0.25", "problem.radius=0.1"]
    made = built('[problem]\nkind = "cradle"\n' + RUN, *settings, "problem.mass=[1, 2, 3]", "problem.e=0.5").problem
    assert made.v0.tolist() == [2.5, 2.5, 0.0]
    assert made.metric(made.q0).mass.tolist() == [1.0, 2.0, 3.0]
    assert made.law == jo.Restitution(0.5)
    assert made.within.gap(0.0, made.q0) >= 0.0
    many = built('[problem]\nkind = "cradle"\n' + RUN, "problem.n=4", "problem.gap=0.25", "problem.radius=0.1").problem
    np.testing.assert_allclose(np.diff(many.q0[1:]), 0.45, rtol=1e-12)


def test_a_tilt_holds_from_its_own_time_on():
    tilts = "problem.tilts=[{ t = 0.0, velocity = [1.0, 0.0] }, { t = 2.0, velocity = [0.0, 3.0] }]"
    problem = built('[problem]\nkind = "labyrinth"\n' + RUN, tilts).problem
    found = [problem.velocity(t, problem.q0).tolist() for t in (0.0, 1.999, 2.0, 5.0)]
    assert found == [[1.0, 0.0], [1.0, 0.0], [0.0, 3.0], [0.0, 3.0]]
    assert problem.q0.tolist() == [0.5, 0.6]


@pytest.mark.parametrize(("more", "at_four"), [("", 3.0), (", most = 1.5", 1.5)])
def test_grains_swell_at_their_rate_up_to_the_most(more, at_four):
    settings = [f"problem.swelling={{ rate = 0.5{more} }}", "problem.gravity=0.0"]
    within = built(GRAIN.format(d=2, point=[0.0, 0.0]), *settings).problem.within
    assert within.bodies.radii_at(0.0) == 0.5
    assert within.bodies.radii_at(0.8) == pytest.approx(0.5 * 1.4)
    assert within.bodies.radii_at(4.0) == pytest.approx(0.5 * at_four)


def state(codes, q):
    q = np.array(q, dtype=float)
    presence = Presence.of(q, np.ones(len(q), dtype=bool))
    return State.of(0.0, q, np.zeros_like(q), presence=presence.changed(np.arange(len(q)), np.array(codes)))


def test_who_waits_has_not_fallen_and_who_is_gone_has():
    """Waiting 0, present 1, gone 2: of four grains one is below, one gone, and one waits in a place below."""
    until = "run.until={ kind = 'below', height = 0.0, share = 0.5 }"
    more = ["run.until={ kind = 'below', height = 0.0, share = 0.75 }"]
    text = GRAIN.format(d=2, point=[0.0, 0.0])
    fallen, too_many = built(text, until).until, built(text, *more).until
    now = state([1, 1, 2, 0], [[0, 1], [0, -1], [0, 5], [0, -5]])
    assert fallen(now)
    assert not too_many(now)


def test_without_a_share_all_must_have_fallen_and_rest_may_come_at_once():
    text = GRAIN.format(d=2, point=[0.0, 0.0])
    fallen = built(text, "run.until={ kind = 'below', height = 0.0 }").until
    assert not fallen(state([1, 1], [[0, 1], [0, -1]]))
    assert fallen(state([1, 1], [[0, -2], [0, -1]]))
    resting = built(text, "run.until={ kind = 'at_rest', speed = 0.1 }").until
    assert resting(state([1], [[0, 1]]))
    later = built(text, "run.until={ kind = 'at_rest', speed = 0.1, after = 1.0 }").until
    assert not later(state([1], [[0, 1]]))


def test_sizes_of_a_mixture_have_equal_shares_unless_the_file_says_otherwise():
    some = drawn(Spread(mixture=(Size(radius=1.0), Size(radius=2.0, share=3.0))), 40, np.random.default_rng(0))
    assert (some == 1.0).sum() == 10


def test_newcomers_have_the_velocity_of_their_source_and_none_by_default():
    source = "lower = [0.0, 2.0], upper = [1.0, 3.0], rate = 5.0"
    text = GRAIN.format(d=2, point=[0.0, 0.0]).split("[problem.start]")[0] + "n = 4\n" + RUN
    for more, expected in (("", [0.0, 0.0]), (", velocity = [1.0, -2.0]", [1.0, -2.0])):
        change = built(text, f"problem.sources=[{{ {source}{more} }}]").problem.changes()[0]
        np.testing.assert_array_equal(np.broadcast_to(change.velocity, 2), expected)
        assert (change.rate, change.lower.tolist(), change.upper.tolist()) == (5.0, [0.0, 2.0], [1.0, 3.0])


def test_nothing_is_at_rest_while_grains_wait_to_come_in():
    resting = built(GRAIN.format(d=2, point=[0.0, 0.0]), "run.until={ kind = 'at_rest', speed = 0.1 }").until
    assert not resting(state([0, 0], [[0, 1], [2, 1]]))
    assert not resting(state([1, 0], [[0, 1], [2, 1]]))
    assert resting(state([1, 2], [[0, 1], [2, 1]]))


def test_a_lattice_is_triangular_and_its_places_are_two_hundredths_of_a_diameter_apart():
    """Each grain is off its place by at most half of what is free."""
    start = "problem.start={ kind = 'lattice', lower = [0.0, 0.0], upper = [5.1, inf] }"
    q = built(GRAIN.format(d=2, point=[0.0, 0.0]), "problem.n=9", start).problem.q0
    row = q[np.argsort(q[:, 1])][:5]
    row = row[np.argsort(row[:, 0])]
    assert np.abs(row - [[0.51 + 1.02 * k, 0.51] for k in range(5)]).max() <= 0.01
    assert np.sort(q[:, 1])[5:] == pytest.approx(np.full(4, 0.51 + 1.02 * np.sqrt(0.75)), abs=0.01)


def test_the_holes_of_the_labyrinth_have_the_radius_of_a_half():
    within = built('[problem]\nkind = "labyrinth"\n' + RUN).problem.within
    beside = HOLES[0] + np.array([0.6, 0.0])
    assert within.gaps(0.0, beside).min() == pytest.approx(0.1)
