"""Problems, schemes, solutions and scenarios can be pickled, and then run bit for bit as before; or the error names the
part that cannot be."""

import copy
import inspect
import multiprocessing
import pickle
import re
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import jostle as jo
from jostle.crowds.model.gates import ClosedGates
from jostle.crowds.model.stairs import ClosedLifts
from jostle.io.identity import describe
from jostle.scenarios import ScenarioError
from jostle.schemes import SCHEMES
from jostle.sets.base import BodySet, ConstraintSet, Intersection
from jostle.sets.joints import Joints
from jostle.sets.user import UserSet
from jostle.sets.walls import Walls
from jostle.solvers import SOLVERS
from rows import few

PLACES = np.array([[0.2, 2.0], [1.5, 2.2]])
SPHERES = np.array([[0.2, 0.0, 2.0], [0.0, 0.9, 2.2]])
SQUARE = [(-3.0, -1.0), (4.0, -1.0), (4.0, 0.5), (-3.0, 0.5)]


def again(thing):
    return pickle.loads(pickle.dumps(thing))


def weight(t, q, u):
    return np.array([0.1 * np.sin(t), -9.81, 0.2][-q.shape[-1] :]) - 0.1 * u


def rising(t):
    return 0.5 + 0.1 * t


def height(q):
    return 9.81 * q[:, -1].sum()


def above_a_hill(t, q):
    return [q[0, 1] - np.cos(q[0, 0]), q[1, 1] - np.cos(q[1, 0])]


@jo.constraints
def above_waves(t, q):
    return [q[0, 1] - np.cos(q[0, 0] - t)]


@jo.constraints(equal=True)
def on_a_circle(t, q):
    return [np.linalg.norm(q[0]) - np.linalg.norm(PLACES[0])]


JOINED = jo.Clumps([([[-0.2, 0.0], [0.2, 0.0]], 0.1)] * 2)
SETS = {
    "Free": (jo.Free(), PLACES),
    "HalfSpace": (jo.HalfSpace([0.0, 1.0], rising, radii=0.1), PLACES),
    "Box": (jo.Box([0.0, 0.5], [3.0, 3.0], radii=0.1), PLACES),
    "Outside": (jo.Outside([0.0, 0.0], rising, radii=0.1), PLACES),
    "Inside": (jo.Inside([0.0, 0.0], 4.0, radii=0.1), PLACES),
    "Segments": (jo.Segments([[[-3.0, 0.0], [3.0, 1.0]]], radii=0.1), PLACES),
    "Polygons": (jo.Polygons(SQUARE, radii=0.1), PLACES),
    "Vessel": (jo.Vessel([(0.2, 0.0), (2.0, 1.0), (2.0, 4.0)], radii=0.1), SPHERES),
    "Balls": (jo.Balls([0.2, 0.3], period=[9.0, 9.0]), PLACES),
    "Clumps": (jo.Clumps([([[0.0, 0.0]], 0.2), ([[-0.2, 0.0], [0.2, 0.0]], 0.1)]), PLACES),
    "Line": (jo.Line([0.2, 0.3], lower=0.0), np.array([1.0, 2.0])),
    "Shapes": (jo.Shapes([jo.shapes.Box([0.4, 0.2]), jo.shapes.Capsule(0.3, 0.1)]), PLACES),
    "Hinges": (JOINED & jo.Hinges([(0, -1)], [[0.2, 2.0]]), PLACES),
    "Motors": (JOINED & jo.Motors([(0, 1)], 2.0, max_torque=1.0), PLACES),
    "Rods": (jo.Rods([(0, 1)], float(np.linalg.norm(PLACES[1] - PLACES[0]))), PLACES),
    "Intersection": (jo.Balls([0.2, 0.3]) & jo.HalfSpace([0.0, 1.0], rising), PLACES),
    "UserSet": (jo.constraints(above_a_hill), PLACES),
    "decorated constraints": (above_waves, PLACES),
    "decorated equalities": (on_a_circle, PLACES),
}


@pytest.mark.parametrize(("within", "q0"), SETS.values(), ids=SETS)
def test_a_problem_in_every_set_runs_bit_for_bit_after_pickling(within, q0):
    problem = jo.Motion(q0=q0, v0=0.0 * q0 - 1.0, force=weight if q0.ndim == 2 else [1.0, -9.81], within=within)
    scheme = jo.MoreauJean()
    before = jo.solve(problem, scheme, t=0.5, h=0.02)
    for restored in (again(problem), again(before).problem):  # with and without what the sets keep of a run
        after = jo.solve(restored, again(scheme), t=0.5, h=0.02)
        np.testing.assert_array_equal(after.q, before.q)
        np.testing.assert_array_equal(after.u, before.u)


def test_the_list_of_sets_is_complete():
    public = {
        name for name in dir(jo) if inspect.isclass(found := getattr(jo, name)) and issubclass(found, ConstraintSet)
    }
    assert public - {"ConstraintSet"} <= SETS.keys()
    internal = {BodySet, Joints, Walls, Intersection, UserSet, ClosedGates, ClosedLifts}
    kinds = [*ConstraintSet.__subclasses__(), *BodySet.__subclasses__()]
    assert {kind.__name__ for kind in kinds if kind.__module__.startswith("jostle")} <= (
        SETS.keys() | {kind.__name__ for kind in internal}
    )


@pytest.mark.parametrize("name", SCHEMES.names())
def test_every_scheme_gives_the_same_bits_after_pickling(name):
    scheme = SCHEMES.get(name)()
    within = jo.Balls([0.2, 0.3]) & jo.HalfSpace([0.0, 1.0])
    if name in ("venel", "catching_up"):
        problem = jo.Sweeping(q0=PLACES, velocity=sliding, within=within, mass=[1.0, 2.0])
    else:
        problem = jo.Motion(q0=PLACES, v0=[0.5, 0.0], force=weight, within=within, mass=[1.0, 2.0])
    before, after = (jo.solve(p, s, t=1.0, h=0.02) for p, s in ((problem, scheme), (again(problem), again(scheme))))
    np.testing.assert_array_equal(after.q, before.q)
    assert again(scheme) == scheme


def sliding(t, q):
    return np.array([1.0, -1.0]) - 0.1 * q


@pytest.mark.parametrize("name", SOLVERS.names())
def test_every_solver_gives_the_same_bits_after_pickling(name):
    solver = SOLVERS.get(name)()
    K = jo.convex.Cone([[1.0, 0.5], [-0.2, 1.0]])
    np.testing.assert_array_equal(again(solver).project([-1.0, -2.0], K).point, solver.project([-1.0, -2.0], K).point)
    assert again(solver) == solver


def test_every_part_of_a_problem_survives():
    within = jo.Balls([0.2, 0.3]) & jo.HalfSpace([0.0, 1.0])
    problem = jo.Motion(
        q0=PLACES, v0=[0.5, 0.0], force=weight, mass=[1.0, 2.0], within=within, law=jo.Restitution(0.5),
        potential=height, present=[True, False],
    )  # fmt: skip
    assert describe(again(problem)) == describe(problem)
    assert again(problem).potential(PLACES) == problem.potential(PLACES)
    with pytest.raises(jo.InvalidValue, match="potential"):
        again(jo.Motion(q0=PLACES, potential=sum)).potential(PLACES)
    assert describe(copy.copy(problem)) == describe(problem)


def test_values_of_a_restored_force_are_still_checked():
    ball = again(jo.Motion(q0=[1.0], force=infinite))
    with pytest.raises(jo.errors.NotFinite, match="force is inf"):
        ball.force(0.0, ball.q0, ball.v0)


def infinite(t, q):
    return [np.inf]


def inner():
    def pull(t, q):
        return -q

    return pull


REFUSED = {
    "force is a lambda": lambda: jo.Motion(q0=PLACES, force=lambda t, q: -q),
    "force is pull, defined inside of inner": lambda: jo.Motion(q0=PLACES, force=inner()),
    "velocity is a lambda": lambda: jo.Sweeping(q0=PLACES, velocity=lambda t, q: -q),
    "mass is a lambda": lambda: jo.Motion(q0=PLACES, mass=lambda q: np.eye(4)),
    "potential is a lambda": lambda: jo.Motion(q0=PLACES, potential=lambda q: 0.0),
    "within.sets[1].offset is a lambda": lambda: jo.Motion(
        q0=PLACES, within=jo.Balls([0.2, 0.3]) & jo.HalfSpace([0.0, 1.0], lambda t: 0.1 * t)
    ),
    "law.e is a lambda": lambda: jo.Motion(q0=PLACES, law=jo.Restitution(lambda v: 0.5 * np.exp(-v))),
    "within.g is a lambda": lambda: jo.Motion(q0=[1.0], within=jo.constraints(lambda t, q: [q[0]])),
    "force.bad is a builtins.generator, which pickle refuses": lambda: jo.Motion(q0=PLACES, force=Odd()),
}


class Odd:
    def __init__(self):
        self.good, self.bad = [1.0, {"a": 2.0}], (k for k in range(3))

    def __call__(self, t, q):
        return -q


@pytest.fixture
def pickle_alone(monkeypatch):
    """As if cloudpickle, which pickles lambdas too, had not been imported."""
    monkeypatch.delitem(sys.modules, "cloudpickle", raising=False)


@pytest.mark.parametrize("part", REFUSED)
def test_the_part_that_cannot_be_pickled_is_named(part, pickle_alone):
    problem = REFUSED[part]()
    with pytest.raises(jo.errors.NotPicklable, match=f"^this {type(problem).__name__} cannot .* its {re.escape(part)}"):
        pickle.dumps(problem)
    scheme = jo.Venel() if isinstance(problem, jo.Sweeping) else jo.Paoli() if "mass" in part else jo.MoreauJean()
    sol = jo.solve(problem, scheme, t=0.02, h=0.01)
    with pytest.raises(pickle.PicklingError, match=re.escape(part)):
        pickle.dumps(sol)


def test_the_remedy_is_said(pickle_alone):
    with pytest.raises(jo.errors.NotPicklable, match=r"define it by `def` at the top level of a module"):
        pickle.dumps(jo.Motion(q0=PLACES, force=lambda t, q: -q))


def test_cloudpickle_may_pickle_what_pickle_cannot():
    cloudpickle = pytest.importorskip("cloudpickle")
    ball = pickle.loads(cloudpickle.dumps(jo.Motion(q0=[1.0], force=lambda t, q: -2.0 * q)))
    assert ball.force(0.0, ball.q0, ball.v0).tolist() == [-2.0]


def test_a_problem_goes_through_a_spawned_process():
    """The module of the decorated set is imported there, and the set is found under its name."""
    problem = jo.Motion(q0=PLACES, force=weight, within=above_waves)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = pool.submit(_end_of_run, problem, jo.MoreauJean()).result()
    np.testing.assert_array_equal(there, _end_of_run(problem, jo.MoreauJean()))


def _end_of_run(problem, scheme):
    return jo.solve(problem, scheme, t=0.1, h=0.02).q


@pytest.mark.parametrize("name", few(jo.scenarios.names()))
def test_every_shipped_scenario_and_its_run_can_be_pickled(name):
    scenario = jo.scenarios.load(name, seed=3)
    restored = again(scenario)
    assert restored == scenario
    assert restored.text == scenario.text
    run = restored.build()
    assert describe(again(run)._asdict()) == describe(run._asdict())


def test_errors_in_other_processes_come_back_with_their_words():
    with pytest.raises(ScenarioError) as caught:
        jo.scenarios.parse('problem = { kind = "cradle", m = 3 }\nrun = { t = 1.0, h = 0.01 }')
    assert str(again(caught.value)) == str(caught.value)
    assert again(caught.value).problems == caught.value.problems
    assert str(again(jo.errors.EmptySet("no point", np.array([1])))) == "no point"


@pytest.mark.parametrize("make", [
    lambda: jo.models.impact_oscillator(), lambda: jo.models.double_pendulum(),
    lambda: jo.models.vibrating_table(2.0), lambda: jo.models.vibrating_table(2.0, e=0.5), lambda: jo.models.cradle(3),
])  # fmt: skip
def test_models_can_be_pickled(make):
    problem = make()
    scheme = jo.Maury() if problem.within.moving else jo.Paoli()
    restored = jo.solve(again(problem), scheme, t=0.2, h=0.01)
    np.testing.assert_array_equal(restored.q, jo.solve(problem, scheme, t=0.2, h=0.01).q)


def test_a_solution_in_a_file_reads_the_same_after_pickling(tmp_path):
    ball = jo.Motion(q0=PLACES, force=weight, within=jo.HalfSpace([0.0, 1.0]))
    sol = jo.solve(ball, jo.Maury(), t=0.1, h=0.01, output=tmp_path / "run.vtkhdf")
    np.testing.assert_array_equal(again(sol).q[:], sol.q[:])
    assert again(sol).status == sol.status
