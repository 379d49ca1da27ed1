"""The answers of an evacuation: exits, times, densities, jams, forces, and who blocks whom."""

from dataclasses import replace

import numpy as np
import pytest

import jostle as jo
from jostle.cli.show import lines
from jostle.crowds.measure.crowding import FRUIN
from jostle.crowds.measure.pressing import THRESHOLDS, CrowdForces
from jostle.crowds.model.crowd import STANDSTILL
from jostle.crowds.model.facts import crowd_facts
from jostle.viz.crowd_report import _answers
from jostle.viz.floor_plans import Shot
from plain import crowd

pytest.importorskip("shapely")
CORRIDOR = [(0, 0), (10, 0), (10, 2), (0, 2)]
EXITS = {"west": ((0, 0), (0, 2)), "east": ((10, 0), (10, 2))}


def solved(q0, *, exits=EXITS, area=CORRIDOR, t=20.0, h=0.05, until=True, **more):
    plan = jo.crowds.Plan(area, exits=exits)
    people = crowd(len(q0), radius=0.2, room=plan, q0=q0, **more)
    ending = {"until": plan.empty} if until else {}
    return jo.solve(people, jo.Venel(), t=t, h=h, **ending)


@pytest.fixture(scope="module")
def crossing():
    """Three walk freely, two to the west and one to the east."""
    return solved([[2.0, 0.5], [3.0, 1.5], [7.0, 1.0]], speed=[1.0, 2.0, 1.5])


@pytest.fixture(scope="module")
def arch():
    """Forty people before a narrow door, in the plain model: an arch holds them."""
    plan = jo.crowds.Plan([(0, 0), (6, 0), (6, 5), (0, 5)], exits={"gate": ((6, 2.25), (6, 2.75))})
    start = [(2.5, 1), (6, 1), (6, 4), (2.5, 4)]
    people = crowd(40, radius=0.2, room=plan, speed=1.34, seed=4, start=start)
    return jo.solve(people, jo.Venel(), t=20.0, h=0.1, every=0.5, until=jo.stopping.Never())


@pytest.fixture(scope="module")
def stored(arch, tmp_path_factory):
    """The same run, written and read again; and as if it had been written without contacts."""
    found = jo.io.read(jo.io.write(arch, tmp_path_factory.mktemp("answers") / "run.vtkhdf"))
    return found, replace(found, contacts_saved=False)


def test_everyone_is_counted_at_the_exit_by_which_they_left(crossing):
    uses = jo.crowds.exit_use(crossing)
    assert {name: use.person.tolist() for name, use in uses.items()} == {"west": [1, 0], "east": [2]}
    assert uses["west"].t == pytest.approx([1.5, 2.0])
    assert uses["west"].flow == pytest.approx(2.0)
    assert uses["west"].specific == pytest.approx(1.0)
    assert np.isnan(uses["east"].flow)
    assert uses["west"].passed(np.array([0.0, 1.7, 3.0])).tolist() == [0, 1, 2]


def test_who_goes_round_the_post_of_a_door_between_two_frames_is_counted_there():
    """The straight way from where they were to where they are taken out crosses the wall beside the door."""
    plan = jo.crowds.Plan(
        [(0, 0), (4, 0), (4, 4), (0, 4)], exits={"east": ((4, 1.7), (4, 2.3)), "west": ((0, 1), (0, 2))}
    )
    people = crowd(1, radius=0.1, room=plan, q0=[[3.8, 0.6]], speed=1.0)
    sol = jo.solve(people, jo.Venel(), t=4.0, h=0.05, every=2.0)
    uses = jo.crowds.exit_use(sol)
    assert {name: use.person.tolist() for name, use in uses.items()} == {"east": [0], "west": []}
    assert jo.crowds.crowd_summary(sol).left_elsewhere == 0


def test_free_walkers_lose_no_time_and_the_last_one_is_the_evacuation_time(crossing):
    found = jo.crowds.crowd_summary(crossing)
    assert (found.people, found.inside, found.left_elsewhere, found.jams) == (3, 0, 0, [])
    assert found.evacuation_time == found.evacuation_time_95 == pytest.approx(2.0)
    assert found.travel.way == pytest.approx([2.0, 3.0, 3.0], abs=1e-6)
    assert found.travel.loss == pytest.approx(0.0, abs=1e-6)
    assert found.travel.delay.tolist() == [0.0, 0.0, 0.0]
    assert not found.blocked
    assert found.blockade is None


def test_somebody_behind_a_slower_person_loses_time():
    """The fast one, 2 m/s, catches up within 0.4 s and walks on at 0.5 m/s in a corridor too narrow to pass."""
    sol = solved([[1.0, 0.3], [2.0, 0.3]], area=[(0, 0), (4, 0), (4, 0.6), (0, 0.6)],
                 exits={"east": ((4, 0), (4, 0.6))}, speed=[2.0, 0.5], t=9.0,
                 behaviour=jo.crowds.Inhibition)  # fmt: skip
    found = jo.crowds.travel(sol)
    free = 3.0 / 2.0
    assert found.loss[0] == pytest.approx(found.time[0] - free, abs=0.1)
    assert found.loss[0] > 2.0
    assert found.loss[1] == pytest.approx(0.0, abs=0.01)


def test_waiting_before_the_first_step_is_a_delay_and_no_loss():
    def late(t, q):
        return np.where(t < 3.0, 0.0, 1.0) * np.tile([1.0, 0.0], (len(q), 1))

    sol = solved([[8.0, 1.0]], wish=late)
    found = jo.crowds.travel(sol)
    assert found.delay[0] == pytest.approx(3.0, abs=0.06)
    assert found.loss[0] == pytest.approx(0.0, abs=0.06)
    assert not found.speeds_known


def test_an_arch_is_named_with_its_door_from_wall_to_wall(arch):
    found = jo.crowds.blockade(arch)
    assert found is not None
    assert found.certain
    assert found.opening == "exit 'gate'"
    assert len(found.arch) >= 2
    q, chain = arch.q[-1], found.arch
    apart = np.linalg.norm(np.diff(q[list(chain)], axis=0), axis=1)
    assert apart == pytest.approx(0.4, abs=0.002)
    assert found.pairs[0] == (chain[0], -1)
    assert found.pairs[-1] == (chain[-1], -1)
    sides = np.sign(q[[chain[0], chain[-1]], 1] - 2.5)
    assert sorted(sides) == [-1.0, 1.0]
    summary = jo.crowds.crowd_summary(arch)
    assert summary.blocked
    assert summary.inside == len(found.people)
    assert np.isnan(summary.evacuation_time)
    assert summary.rows()["evacuation_time"] is None
    assert summary.jams[0].opening == "exit 'gate'"


def test_files_tell_the_same_answers_and_say_if_they_do_not_know_whether_people_push(arch, stored):
    expected = jo.crowds.crowd_summary(arch).rows()
    with_contacts, bare = (jo.crowds.crowd_summary(sol) for sol in stored)
    for name in ("people", "inside_at_end", "blocked", "blockade"):
        assert with_contacts.rows()[name] == expected[name]
    assert with_contacts.rows()["mean_time_loss"] == pytest.approx(expected["mean_time_loss"], abs=1e-3)
    assert not bare.blocked
    assert "waiting on purpose" in bare.rows()["standstill"]
    assert bare.blockade.arch == jo.crowds.blockade(arch).arch


def test_people_who_wait_on_purpose_are_not_blocked():
    sol = solved([[2.0, 1.0], [3.0, 1.0]], wish=lambda t, q: 0.0 * q, t=STANDSTILL + 2.0)
    found = jo.crowds.blockade(sol)
    assert found is not None
    assert not found.certain
    assert not jo.crowds.crowd_summary(sol).blocked


def test_the_first_and_the_last_frame_show_a_standstill():
    plan = jo.crowds.Plan([(0, 0), (5, 0), (5, 4), (0, 4)], exits={"east": ((5, 1), (5, 3))})
    two = crowd(2, radius=0.2, room=plan, q0=[[2.0, 1.0], [3.0, 1.0]], wish=lambda t, q: 0.0 * q)
    sol = jo.solve(two, jo.Venel(), t=STANDSTILL + 2.0, h=0.1, every=1000)
    assert len(sol.t) == 2
    assert jo.crowds.blockade(sol) is not None


def test_a_short_stop_is_no_blockade(arch):
    short = solved([[2.0, 1.0], [3.0, 1.0]], wish=lambda t, q: 0.0 * q, t=STANDSTILL - 1.0)
    assert jo.crowds.blockade(short) is None


def test_two_who_keep_away_from_each_other_are_named():
    plan = jo.crowds.Plan([(0, 0), (6, 0), (6, 0.7), (0, 0.7)],
                          exits={"west": ((0, 0), (0, 0.7)), "east": ((6, 0), (6, 0.7))})  # fmt: skip
    people = crowd(2, radius=0.2, room=plan, q0=[[2, 0.35], [4, 0.35]], goal=["east", "west"],
                             speed=1.3, behaviour=jo.crowds.Inhibition)  # fmt: skip
    found = jo.crowds.blockade(jo.solve(people, jo.Venel(), t=20.0, h=0.1))
    assert found.certain
    assert found.pairs == ((0, 1),)
    assert found.arch == ()


def test_densities_and_jams_are_where_the_people_are(arch):
    maps = jo.crowds.crowd_maps(arch)
    density, _, place = maps.peak
    assert 5.0 < density < 7.3, "discs of radius 0.2 m fill the plane at 7.2 per square metre"
    assert np.linalg.norm(np.subtract(place, (6.0, 2.5))) < 2.5
    inside = np.isfinite(maps.mean)
    assert (maps.mean[inside] <= maps.worst[inside] + 1e-12).all()
    jammed = float(np.nansum(maps.jammed))  # the squares are square metres
    assert jammed == pytest.approx(jo.crowds.travel(arch).jammed.sum(), rel=1e-6)


def test_the_mean_density_counts_people(crossing):
    plan = crossing.problem.plan
    maps = jo.crowds.crowd_maps(crossing, size=2.0, frames=1)
    first = jo.crowds.density_map(crossing, 0, plan, size=2.0)
    assert maps.mean == pytest.approx(first.voronoi)
    assert np.nansum(maps.mean * 4.0) == pytest.approx(3.0)


def test_counted_densities_are_those_of_the_classic_map(arch):
    plan, k = arch.problem.plan, len(arch.t) - 1
    maps = jo.crowds.crowd_maps(arch, size=1.0, counted=True)
    last = jo.crowds.density_map(arch, k, plan, size=1.0)
    assert (maps.worst >= last.classic - 1e-9).all()
    assert maps.worst.max() == round(maps.worst.max()), "the squares are whole square metres"


def test_levels_of_service_are_those_of_fruin():
    assert FRUIN["walkways"] == pytest.approx([0.308, 0.431, 0.718, 1.076, 2.153], abs=1e-3)
    densities = [0.3, 0.4, 0.7, 1.0, 2.0, 2.2, np.nan]
    assert jo.crowds.level_of_service(densities).tolist() == ["A", "B", "C", "D", "E", "F", ""]
    assert jo.crowds.level_of_service(2.2, use="queues").item() == "D"
    limits = [1.0 / (feet * 0.3048**2) for feet in (35, 25, 15, 10, 5)]
    assert "".join(jo.crowds.level_of_service(limits)) == "ABCDE"
    assert jo.crowds.level_of_service(2.2, use="stairs").item() == "E"


def test_forces_are_mass_times_velocity_over_the_relaxation_time(arch, stored):
    found = jo.crowds.crowd_forces(arch)
    loads = jo.crowds.crowd_pressure(arch).load
    assert found.load[-1] == pytest.approx(160.0 * loads)
    assert jo.crowds.crowd_forces(arch, mass=40.0, relaxation_time=1.0).load == pytest.approx(found.load / 4.0)
    assert found.per_metre[-1] == pytest.approx(found.load[-1] / (2.0 * np.pi * 0.2))
    tolerable = THRESHOLDS[0]
    assert found.exceeded(tolerable) == (found.load[1:] > tolerable.force).any(axis=0).sum() > 0
    deadly = THRESHOLDS[2]
    longest = found.above(deadly)
    assert found.exceeded(deadly) == (longest >= deadly.duration).sum()
    with pytest.raises(jo.InvalidValue, match="contacts = true"):
        jo.crowds.crowd_forces(stored[1])


def test_a_force_that_lasts_exactly_as_long_as_a_threshold_exceeds_it():
    t, load = np.array([0.0, 10.0, 15.0, 20.0]), np.array([[0.0, 0.0], [7e3, 7e3], [7e3, 0.0], [0.0, 7e3]])
    pressed = CrowdForces(t, load, np.full_like(load, np.nan), 80.0, 0.5)
    assert pressed.above(THRESHOLDS[2]).tolist() == [15.0, 10.0]
    assert [pressed.exceeded(one) for one in THRESHOLDS] == [2, 0, 1, 0]


def test_the_fundamental_diagram_of_free_walkers_has_their_speed(crossing):
    found = jo.crowds.fundamental_diagram(crossing, [(7, 0), (10, 0), (10, 2), (7, 2)])
    assert found.t[0] > 0.0
    assert found.flow == pytest.approx(found.density * found.speed)
    assert found.speed.min() >= 1.0 - 1e-9
    assert jo.crowds.weidmann(1.0) == pytest.approx(1.058, abs=1e-3)
    assert jo.crowds.weidmann(6.0) == 0.0


@pytest.mark.parametrize("name", ["exit_use", "travel", "jams", "crowd_maps", "crowd_summary", "blockade"])
def test_a_run_without_a_plan_is_refused_with_what_to_do(name):
    walker = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.2]))
    sol = jo.solve(walker, jo.Venel(), t=1.0, h=0.5)
    with pytest.raises(jo.InvalidValue, match=rf"give the plan, such as {name}\(sol, plan\)"):
        getattr(jo.crowds, name)(sol)


def test_people_who_are_pushed_before_their_reaction_time_are_not_in_a_jam(tmp_path):
    """The second of a single file pushes the first one at half its speed, until the first reacts after 4 s."""
    plan = jo.crowds.Plan([(0, 0), (20, 0), (20, 0.6), (0, 0.6)], exits={"east": ((20, 0), (20, 0.6))})
    places, times = [[2.0, 0.3], [1.5, 0.3]], [4.0, 0.0]
    people = crowd(2, radius=0.2, room=plan, q0=places, speed=1.0, reaction=times)
    sol = jo.solve(people, jo.Venel(), t=6.0, h=0.05, every=0.5)
    assert sol.q[4, 0, 0] > 2.1  # pushed
    jo.io.write(sol, tmp_path / "run.vtkhdf")
    for run in (sol, jo.io.read(tmp_path / "run.vtkhdf")):
        found = jo.crowds.travel(run)
        assert found.delay[0] == pytest.approx(4.0, abs=0.51)
        assert found.loss[0] == pytest.approx(0.0, abs=0.3)
        assert crowd_facts(run).reaction.tolist() == times


def test_people_who_never_come_in_have_not_left():
    """Three of ten were inside: "3 people, all have left" was the answer, with an evacuation time."""
    plan = jo.crowds.Plan(CORRIDOR, exits=EXITS)
    groups = [jo.crowds.Group("now", 3, radius=0.2), jo.crowds.Group("later", 7, radius=0.2, enters=99.0)]
    people = crowd(groups, room=plan)
    found = jo.crowds.crowd_summary(jo.solve(people, jo.Venel(), t=12.0, h=0.1))
    assert (found.people, found.inside, found.never_inside, found.left_elsewhere) == (3, 0, 7, 0)
    assert np.isnan([found.evacuation_time, found.evacuation_time_95]).all()
    rows = found.rows()
    assert (rows["never_inside"], rows["evacuation_time"]) == (7, None)
    assert "7 people" in lines(rows)["never inside"]


def test_the_answers_tell_when_frames_are_too_far_apart(crossing):
    rows = jo.crowds.crowd_summary(crossing).rows()
    assert rows["time_between_frames"] == pytest.approx(0.05)
    assert "never_inside" not in rows
    assert "accuracy" not in lines(rows)
    assert "exits and flows are estimates" in lines(rows | {"time_between_frames": 3.0})["accuracy"]


def test_summaries_and_reports_warn_of_what_people_do_not_do():
    """In the plain model, people push through a door at twice the flow of experiments."""
    plan = jo.crowds.Plan([(0, 0), (6, 0), (6, 5), (0, 5)], exits={"door": ((6, 1.9), (6, 3.1))})
    people = crowd(40, radius=0.2, room=plan, speed=1.34)
    sol = jo.solve(people, jo.Venel(), t=30.0, h=0.1, every=0.2, until=plan.empty)
    found = jo.crowds.crowd_summary(sol)
    assert found.exits["door"].specific > 2.5
    (flow,) = found.warnings
    assert flow.endswith("(Kretz, Grünebohm & Schreckenberg 2006)")
    assert lines(found.rows())["warning"] == flow
    page = "".join(_answers(Shot.of(sol, None)))
    assert "Warning: " in page
    assert "is not realistic" in page
    maps = replace(found.maps, worst=10.0 * found.maps.worst)
    density, speed = replace(found, maps=maps, fastest=3.0).warnings[1:]
    assert "(Fruin 1993)" in density
    assert speed.endswith("(Weidmann 1993)")
    few = replace(found.exits["door"], t=found.exits["door"].t[:5])
    assert replace(found, exits={"door": few}).warnings == ()  # a few people say nothing about the flow


def test_people_who_are_stuck_at_the_end_are_counted():
    """Two meet in a corridor that is too narrow for both, one walks away from them."""
    area, exits = [(0, 0), (20, 0), (20, 0.6), (0, 0.6)], {"west": ((0, 0), (0, 0.6)), "east": ((20, 0), (20, 0.6))}
    q0 = [[5.0, 0.3], [7.0, 0.3], [19.5, 0.3]]
    said = {"goal": ["east", "west", "west"], "speed": [1.0, 1.0, 0.3]}
    sol = solved(q0, area=area, exits=exits, t=24.0, h=0.1, **said)
    found = jo.crowds.crowd_summary(sol)
    assert (found.inside, found.standing, found.blocked) == (3, 2, False)
    assert lines(found.rows())["stuck or waiting"] == (
        "2 people were slower than 5 % of their desired speed in the last 10 s"
    )


class Counting:
    """An array of frames that counts how often each is read."""

    def __init__(self, values):
        self.values, self.shape, self.ndim = values, values.shape, values.ndim
        self.read = np.zeros(len(values), dtype=int)

    def __getitem__(self, k):
        self.read[k] += 1
        return self.values[k]


def test_a_summary_reads_each_frame_once(crossing):
    """But the first and the last one, which say what is known of a run, and who is inside at its end."""
    counted = replace(crossing, q=Counting(crossing.q), u=Counting(crossing.u))
    found = jo.crowds.crowd_summary(counted)
    assert found.people == 3
    for values in (counted.q, counted.u):
        assert (values.read[1:-1] == 1).all()


@pytest.fixture(scope="module")
def theatre():
    """Ten people before a full row of four who have not reacted; the exit is 34 m away."""
    hall = [(0, 0), (40, 0), (40, 2), (0, 2)]
    seated = jo.crowds.Group("seated", places=[[6.0, y] for y in (0.3, 0.8, 1.3, 1.8)], radius=0.2, reaction=90.0)
    behind = [[x, y] for x in (2.0, 3.0) for y in (0.2, 0.6, 1.0, 1.4, 1.8)]
    walkers = jo.crowds.Group("walkers", places=behind, radius=0.2, speed=1.3)

    def run(counts=True, name="row 4", corners=((3, 0), (6.4, 0), (6.4, 2), (3, 2))):
        areas = [jo.crowds.Area(name, corners, counts=counts)] if name else []
        plan = jo.crowds.Plan(hall, exits={"gate": ((40, 0.5), (40, 1.5))}, areas=areas)
        people = crowd([seated, walkers], room=plan, behaviour=jo.crowds.Inhibition)
        return jo.solve(people, jo.Venel(), t=12.0, h=0.05, every=0.5)

    return run


def test_jams_are_named_after_the_place_where_their_front_stands(theatre):
    assert [(jam.at, jam.opening, jam.people) for jam in jo.crowds.jams(theatre())] == [("in row 4", "", 10)]
    (jam,) = jo.crowds.jams(theatre(name=""))
    assert jam.at.startswith("near (6, ")
    assert 20.0 <= jam.waited <= 10 * jam.duration
    assert jo.crowds.jams(theatre(counts=False)) == []


def test_nobody_is_counted_before_their_reaction_or_where_nobody_counts(theatre):
    assert np.isnan(jo.crowds.crowd_maps(solved([[2.0, 1.0]], t=1.0, reaction=9.0)).peak[0])
    there, left_out = (jo.crowds.crowd_maps(theatre(counts=counts)) for counts in (True, False))
    assert np.isnan(left_out.worst[:, 3:6]).all()
    assert left_out.peak[0] < there.peak[0]


def test_people_with_a_wall_between_them_or_other_goals_are_not_in_one_jam():
    exits = {"west": ((0, 0.75), (0, 1.25)), "east": ((10, 0.75), (10, 1.25))}
    places = [[5.0 + 0.25 * side * (2 * k + 1), 1.0] for side in (-1, 1) for k in range(6)]
    stands = jo.crowds.Group("stands", places=[[0.3, 1.0], [9.7, 1.0]], radius=0.2, speed=1.3, reaction=99.0)
    goals = ["west"] * 6 + ["east"] * 6
    walkers = jo.crowds.Group("walkers", places=places, radius=0.2, speed=1.3, goal=goals)
    plan = jo.crowds.Plan([(0, 0.75), (10, 0.75), (10, 1.25), (0, 1.25)], exits=exits)
    people = crowd([stands, walkers], room=plan, behaviour=jo.crowds.Inhibition)
    sol = jo.solve(people, jo.Venel(), t=14.0, h=0.05, every=0.5)
    assert {(jam.opening, jam.people) for jam in jo.crowds.jams(sol)} == {("exit 'west'", 6), ("exit 'east'", 6)}
