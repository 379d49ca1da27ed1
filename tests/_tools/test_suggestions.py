"""Words of other programs lead to the names of jostle, in Python and in scenario files."""

from __future__ import annotations

import copy
import pickle

import pytest

import jostle as jo
from jostle.scenarios import ScenarioError, load

BALL = jo.Motion(q0=[0.0, 1.0], force=[0.0, -9.81], within=jo.HalfSpace(normal=[0, 1]))
SOLVED = jo.solve(BALL, jo.Maury(), t=0.2, h=0.1)
BLOCK = jo.macro.Grid([0, 0], [2, 1], h=1 / 4)
MOVED = jo.macro.solve(
    jo.macro.Flow(grid=BLOCK, density=BLOCK.block([0, 0], [1, 1]), velocity=BLOCK.velocity(1.0, 0)),
    jo.macro.Splitting(),
    t=0.1,
    h=0.1,
)
CALLS = {
    "no argument 'T': here it is 't'; no argument 'dt': here it is 'h'": lambda: jo.solve(
        BALL, jo.Maury(), T=2, dt=0.1
    ),
    "solve needs h: solve": lambda: jo.solve(BALL, jo.Maury(), t=2.0),
    "'x0': here it is 'q0'; no argument 'gravity': here it is force=np": lambda: jo.Motion(x0=[0.0], gravity=-9.81),
    "no argument 'velocity': here it is 'v0'": lambda: jo.Motion([0.0], velocity=3.0),
    "Maury has no argument 'tol': here it is solver=jo.Automatic": lambda: jo.Maury(tol=1e-3),
    "Coulomb has no argument 'restitution': here it is 'e'": lambda: jo.Coulomb(restitution=0.5),
    "Automatic has no argument 'tolerence'": lambda: jo.Automatic(tolerence=1e-3),
    "Inside needs radius: Inside": lambda: jo.Inside(3.0),
    "a Solution has no attribute 'x': here it is 'q'": lambda: SOLVED.x,
    "'plot': use jo.viz.strip": lambda: SOLVED.plot(),
    "'jostle' has no attribute 'Spheres': here it is 'Balls'": lambda: jo.Spheres,
    "'jostle.viz' has no attribute 'plot': here it is 'strip'": lambda: jo.viz.plot,
    "jo.viz.density and jo.viz.densities draw densities": lambda: jo.viz.strip(MOVED),
    "jo.viz.draw and jo.viz.strip draw bodies": lambda: jo.viz.densities(SOLVED),
    "there is no frame at t = 100: the run is from t = 0 to 0.2": lambda: jo.viz.strip(SOLVED, [100.0]),
}
SETTINGS = {
    "t=1": "unknown key 't' in the file; did you mean run.t?",
    "dt=0.1": "did you mean run.h?",
    "run.dt=0.1": "unknown key 'dt' in [run]; here it is 'h': Time step (s).",
    "problem.friction=0.5": "here it is 'law': Friction",
    "run.t=1s": "numbers have no units here: write 1;",
    "scheme.name=Foo": 'scheme.name = "Foo": here it is scheme.kind, which must be one of "barrier"',
}


@pytest.mark.parametrize("words", CALLS)
def test_python_says_what_it_is_called_here(words):
    with pytest.raises((jo.errors.WrongCall, jo.InvalidValue, AttributeError)) as error:
        CALLS[words]()
    assert words in str(error.value)


@pytest.mark.parametrize("setting", SETTINGS)
def test_scenarios_say_what_it_is_called_here(setting):
    with pytest.raises(ScenarioError) as error:
        load("silo", settings=[setting])
    assert SETTINGS[setting] in str(error.value)


def test_a_wrong_call_is_a_type_error_as_everywhere_in_python():
    with pytest.raises(TypeError):
        jo.Maury(tol=1e-3)


def test_objects_whose_calls_are_checked_are_copied_and_pickled():
    law = jo.Coulomb(0.5)
    assert copy.deepcopy(law) == pickle.loads(pickle.dumps(law)) == law
    assert pickle.loads(pickle.dumps(SOLVED)).status == copy.copy(SOLVED).status == "finished"


def test_a_property_that_fails_says_so_itself():
    class Odd(jo.Solution):
        @property
        def odd(self):
            return self.problem.no_such_thing

    broken = Odd(**{name: getattr(SOLVED, name) for name in jo.Solution.__dataclass_fields__})
    with pytest.raises(AttributeError, match="'Motion' object has no attribute 'no_such_thing'"):
        _ = broken.odd
