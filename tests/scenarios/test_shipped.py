"""The shipped scenarios do what their titles say: in small, where the whole run would take long."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import jostle as jo
from jostle.scenarios import Run, load, names, parse, reading, schema
from jostle.sets.presence import GONE, Presence

DENSITIES = {"blocks"}
"""Scenarios about a density: test_scenario_densities."""
BODIES = [name for name in names() if name not in DENSITIES]
FEW = {"hourglass": 30, "silo": 30, "spheres": 30, "jamming": 30, "vibrated_layer": 30, "drum": 12}


def small(name, *settings):
    """The scenario with few bodies."""
    fewer = [f"problem.n={FEW[name]}"] if name in FEW else []
    fewer += ["problem.groups.0.n=20"] if name in ("evacuation", "venel_2009") else []
    return load(name, settings=[*fewer, *settings])


def solved(scenario):
    return jo.solve(**scenario.build()._asdict())


def present(sol):
    """(frames, bodies) who is there."""
    return np.isfinite(sol.q).all(axis=2)


def test_the_flagship_and_its_companions_are_shipped():
    wanted = {
        "hourglass", "silo", "cradle_touching", "cradle_apart", "spheres", "jamming", "evacuation", "labyrinth",
        "vibrated_layer", "bottleneck", "classroom", "counterflow", "platform", "stand", "venel_2009", "blocks", "drum",
    }  # fmt: skip
    assert wanted <= set(names())
    assert names() == sorted(names())


@pytest.mark.parametrize("name", names())
def test_every_shipped_scenario_explains_itself(name):
    text = (reading.SHIPPED / f"{name}.toml").read_text(encoding="utf-8")
    comment = text.split("title =")[0]
    assert comment.startswith("# ")
    assert "Worth changing" in comment
    assert "It takes" in comment
    scenario = load(name)
    assert len(scenario.title) > 10
    assert scenario.text == text
    assert all(len(line) <= 120 for line in text.splitlines())


@pytest.mark.parametrize("name", BODIES)
def test_every_shipped_scenario_starts_without_overlap_and_stays_so(name):
    run = load(name).build()
    assert isinstance(run, Run)
    assert set(run._fields) <= set(inspect.signature(jo.solve).parameters)
    assert isinstance(run.problem, jo.Motion | jo.Sweeping)
    assert isinstance(run.scheme, jo.Scheme)
    assert 0.0 < run.h <= run.every <= run.t
    presence = getattr(run.problem, "presence", None)
    here = slice(None) if presence is None else presence.here  # others enter later
    assert presence is not None or run.problem.within.gap(0.0, run.problem.q0) >= 0.0
    sol = jo.solve(**run._replace(t=5 * run.h, every=run.h)._asdict())
    assert len(sol.stats) == 5
    assert sol.stats["primal"].max() <= run.scheme.solver.tol
    assert sol.stats["converged"].all()
    assert sol.gaps().min() >= -1e-4 * (run.problem.within.bodies.largest or 1.0)
    assert np.abs(sol.q[-1] - sol.q[0])[here].max() > 0.0, "nothing moves"


def test_the_sand_runs_into_the_lower_bulb():
    scenario = small("hourglass")
    sol = solved(scenario)
    assert sol.status == "stopped"
    assert sol.q[0, :, 2].min() > 0.01
    assert sol.q[-1, :, 2].max() < -0.1
    assert sol.stats["primal"].max() <= 1e-4
    assert 0.0 < sol.stats["overshoot"].max() < 0.01
    profile = np.array(scenario.problem.walls[0].profile)
    neck = np.abs(sol.q[:, :, 2]) < 0.001
    assert neck.any()
    assert np.linalg.norm(sol.q[neck][:, :2], axis=1).max() < profile[:, 0][profile[:, 0] > 0].min() - 0.004 + 1e-4


def test_the_silo_empties():
    sol = solved(small("silo", "run.h=0.002"))
    left = present(sol).sum(axis=1)
    assert sol.status == "stopped"
    assert left[0] == 30
    assert (np.diff(left) <= 0).all()
    assert left[-1] == 0
    assert sol.stats["primal"].max() <= 1e-5
    # they went down the slope to the right, past the posts
    furthest = np.nanmax(sol.q[:-1, :, 0])
    assert furthest > 1.2


def test_in_a_cradle_that_touches_all_balls_move():
    sol = solved(load("cradle_touching"))
    np.testing.assert_allclose(sol.u[-1], [-0.6, 0.4, 0.4, 0.4, 0.4], atol=1e-9)


def test_in_a_cradle_apart_the_last_ball_leaves_with_the_speed_of_the_first():
    sol = solved(load("cradle_apart", settings=["problem.speed=2.5"]))
    np.testing.assert_allclose(sol.u[0], [2.5, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(sol.u[-1], [0.0, 0.0, 0.0, 0.0, 2.5], atol=1e-9)


def test_spheres_come_to_rest_on_the_floor():
    narrow = ["problem.start.upper=[0.3, 0.3, inf]", "problem.walls.0.upper=[0.3, 0.3, inf]"]
    sol = solved(small("spheres", *narrow))
    assert sol.status == "stopped"
    assert np.linalg.norm(sol.u[-1], axis=1).max() <= 0.001
    assert np.linalg.norm(sol.u, axis=2).max() > 1.0
    assert sol.gaps().min() >= -1e-5 * 0.06
    radii = sol.problem.within.sets[0].radii
    assert (sol.q[-1, :, 2] - radii).min() < 1e-6
    assert sol.q[-1, :, 2].max() < 0.6


def test_discs_swell_until_they_jam():
    run = small("jamming", "problem.radii.mixture=[{ radius = 0.05 }, { radius = 0.07 }]").build()
    sol = jo.solve(**run._asdict())
    assert sol.status == "stopped"
    assert sol.t[-1] < run.t
    radii = sol.problem.within.radii
    filled = np.pi * (radii(sol.t[-1]) ** 2).sum()
    assert 0.76 < filled < 0.87
    assert np.pi * (radii(0.0) ** 2).sum() < 0.4
    assert sol.stats["primal"].max() <= 1e-6
    # without the ending the very next step finds no room
    with pytest.raises(jo.errors.EmptySet) as error:
        jo.solve(**run._replace(until=jo.stopping.Never())._asdict())
    assert error.value.step == len(sol.stats) + 1


@pytest.mark.parametrize(("name", "radius", "beyond"), [("evacuation", 0.2, 0.8), ("venel_2009", 0.25, 2.0)])
def test_everyone_leaves_the_room(name, radius, beyond):
    scenario = small(name)
    sol = solved(scenario)
    assert sol.status == "stopped"
    assert sol.t[-1] < 20.0
    width, height = scenario.problem.rooms[0].corners[2]
    last = sol.q[-1][present(sol)[-1]]
    inside = (last > 0.0).all(axis=1) & (last < [width, height]).all(axis=1)
    assert not inside.any()
    before = sol.q[0]
    assert ((before > radius) & (before < np.array([width, height]) - radius)).all()
    # who is further outside is gone
    assert (last > [-beyond - 0.2, -beyond - 0.2]).all()
    assert (last < [width + beyond + 0.2, height + beyond + 0.2]).all()
    assert not present(sol)[-1].all()
    assert sol.gaps().min() >= -1e-8


def test_a_room_is_empty_wherever_those_are_kept_who_have_left():
    """Those who are gone are put aside, and that may be a place inside the room."""
    run = small("evacuation").build()
    state, until = run.scheme.start(run.problem, 0.0), run.problem.ending()
    assert not until(state)
    everyone = np.ones(len(state.q), dtype=bool)
    presence = Presence.of(state.q, everyone)
    assert not until(state.replace(presence=presence))
    assert until(state.replace(presence=presence.changed(everyone, GONE)))


def test_the_ball_comes_to_rest_at_the_rim():
    settings = ["problem.tilts=[{ t = 0, velocity = [1.0, 0.0] }]", "problem.holes=[]"]
    sol = solved(load("labyrinth", settings=[*settings, "run.until={ kind = 'at_rest', speed = 0.01 }"]))
    assert sol.status == "stopped"
    assert sol.t[-1] == pytest.approx(5.5, abs=0.05)
    np.testing.assert_allclose(sol.q[-1], [6.0, 0.6])


def test_the_ball_in_the_labyrinth_goes_the_way_of_the_model():
    run = load("labyrinth").build()
    sol = jo.solve(**run._asdict())
    model = jo.solve(jo.models.labyrinth(), jo.Venel(), t=run.t, h=run.h, every=run.every)
    assert sol.q.tobytes() == model.q.tobytes()
    assert sol.gaps().min() >= -1e-12
    assert sol.q[-1, 0] == pytest.approx(6.0)


@pytest.mark.parametrize(("amplitude", "flies"), [(0.04, True), (0.012, False)])
def test_the_layer_leaves_the_floor_only_if_it_is_shaken_harder_than_gravity_pulls(amplitude, flies):
    turn = 2.0 * np.pi * 4.0
    assert (amplitude * turn**2 > 9.81) == flies
    sol = solved(
        load(
            "vibrated_layer",
            settings=["problem.n=10", f"problem.walls.1.shaken.amplitude={amplitude}", "run.t=1.0", "run.h=0.002",
                      "problem.walls.0.upper=[0.06, inf]", "problem.start.upper=[0.06, inf]"],
        )
    )  # fmt: skip
    floor = amplitude * np.sin(turn * sol.t)
    above = (sol.q[:, :, 1] - sol.problem.within.sets[0].radii).min(axis=1) - floor
    late = sol.t > 0.25
    assert above.min() >= -1e-7
    assert (above[late].max() > 0.01) == flies
    assert flies or above[late].max() < 1e-4


@pytest.mark.whole
def test_waves_on_the_layer_come_back_after_two_shakes():
    """Where there is a peak there is a valley one shake later, and a peak again after two."""
    narrow = ["problem.n=130", "problem.start.upper=[0.2, inf]", "problem.walls.0.upper=[0.2, inf]"]
    sol = solved(load("vibrated_layer", settings=[*narrow, "run.t=2.0", "run.h=0.002", "run.every=0.25"]))
    columns = [np.histogram(q[:, 0], bins=12, range=(0.0, 0.2))[0] for q in sol.q[4:]]
    alike = np.corrcoef(columns)
    assert alike.diagonal(1).max() < -0.1
    assert alike.diagonal(2).min() > 0.3
    assert sol.stats["primal"].max() <= 1e-5


# --- the schema ---


def objects(found):
    """All tables of the schema, by name."""
    return {"Scenario": found, **found["$defs"]}


def test_every_key_of_the_schema_has_a_description():
    found = schema()
    bare = [
        f"{name}.{key}"
        for name, table in objects(found).items()
        for key, value in table["properties"].items()
        if len(value.get("description", "")) < 8
    ]
    assert bare == []
    assert all(table["additionalProperties"] is False for table in objects(found).values())
    assert len(objects(found)) > 30
    assert ">>>" not in found["description"]  # it is for editors, not a docstring


@pytest.fixture(scope="module")
def validator():
    return pytest.importorskip("jsonschema").Draft202012Validator(schema())


@pytest.mark.parametrize("name", names())
def test_every_shipped_scenario_matches_the_schema(name, validator):
    import tomllib

    data = tomllib.loads(load(name).text)
    assert list(validator.iter_errors(data)) == []
    data["problem"]["nonsense"] = 1
    assert list(validator.iter_errors(data))


def test_the_files_lie_in_the_package():
    assert Path(jo.__file__).parent / "scenarios" / "shipped" == reading.SHIPPED


def test_a_room_need_not_be_convex():
    """An L: those in its far arm are inside, though beyond the line of an edge; they walk around the corner."""
    corners = "[[0, 0], [6, 0], [6, 2], [2, 2], [2, 6], [0, 6]]"
    text = f"""
    run = {{ t = 60.0, h = 0.05, every = 1.0 }}
    [problem]
    kind = "crowd"
    rooms = [{{ corners = {corners} }}]
    exits = [{{ name = "east", ends = [[6, 0.4], [6, 1.6]] }}]
    groups = [{{ n = 8, radius = 0.25, speed = 1.4 }}]
    outlet = 0.5
    behaviour = {{ kind = "plain" }}
    """
    sol = jo.solve(**parse(text).build()._asdict())
    assert np.isfinite(sol.q[0]).all()
    assert np.isfinite(sol.q[1]).all()  # nobody is taken out for being in the arm
    assert sol.status == "stopped"
    assert sol.t[-1] > 4.0
