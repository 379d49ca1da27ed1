"""jostle: dynamics with hard unilateral constraints. Things that move, may touch, and never overlap.

problem = Motion(...) or Sweeping(...)         what is to be solved
solve(problem, scheme, t=..., h=...)           with the scheme of a paper
solve_by_events(problem, t=...)                without time steps, for few bodies
project, impact                                the one projection in the middle, and Moreau's law
nearest                                        the nearest admissible configuration
"""

import importlib as _importlib
import types as _types
import typing as _typing

from jostle import convex, errors, gradients, laws, schemes, sets, solvers
from jostle._tools import displays as _displays
from jostle._tools.citations import cite
from jostle.errors import InfeasibleStart, InvalidValue, JostleError, JostleWarning, LeftTheSet, NotConverged
from jostle.events.solve import solve_by_events
from jostle.gradients.events import sensitivity_by_events
from jostle.gradients.runs import sensitivity
from jostle.laws import Coulomb, Restitution, impact
from jostle.problems import Motion, StiffForce, Sweeping
from jostle.result.solution import Solution
from jostle.run.exchange import Outlet, Source
from jostle.run.loop import Progress
from jostle.run.solve import solve
from jostle.schemes.base import Scheme
from jostle.schemes.catching_up import CatchingUp
from jostle.schemes.gluey import Gluey
from jostle.schemes.maury import Maury
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli
from jostle.schemes.venel import Venel
from jostle.sets.balls import Balls, Line
from jostle.sets.base import ConstraintSet, Free
from jostle.sets.clumps import Clumps
from jostle.sets.joints import Hinges, Motors
from jostle.sets.nearest import nearest
from jostle.sets.polygons import Polygons
from jostle.sets.rigid_shapes import Shapes
from jostle.sets.rods import Rods
from jostle.sets.user import constraints
from jostle.sets.vessels import Vessel
from jostle.sets.walls import Box, HalfSpace, Inside, Outside, Segments
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver
from jostle.solvers.dual_active_set import ActiveSet
from jostle.solvers.gauss_seidel import GaussSeidel
from jostle.solvers.interior_point import InteriorPoint
from jostle.solvers.project import project

if _typing.TYPE_CHECKING:
    from jostle import (
        analysis,
        crowds,
        impacts,
        io,
        macro,
        models,
        scenarios,
        shapes,
        stopping,
        study,
        terminal,
        theory,
        vibro,
        viz,
    )

__version__ = "0.1.0"

__all__ = [
    "ActiveSet",
    "Automatic",
    "Balls",
    "Box",
    "CatchingUp",
    "Clumps",
    "ConstraintSet",
    "Coulomb",
    "Free",
    "GaussSeidel",
    "Gluey",
    "HalfSpace",
    "Hinges",
    "InfeasibleStart",
    "Inside",
    "InteriorPoint",
    "InvalidValue",
    "JostleError",
    "JostleWarning",
    "LeftTheSet",
    "Line",
    "Maury",
    "MoreauJean",
    "Motion",
    "Motors",
    "NotConverged",
    "Outlet",
    "Outside",
    "Paoli",
    "Polygons",
    "Progress",
    "Restitution",
    "Rods",
    "Scheme",
    "Segments",
    "Shapes",
    "Solution",
    "Solver",
    "Source",
    "StiffForce",
    "Sweeping",
    "Venel",
    "Vessel",
    "analysis",
    "cite",
    "constraints",
    "convex",
    "crowds",
    "errors",
    "gradients",
    "impact",
    "impacts",
    "io",
    "laws",
    "macro",
    "models",
    "nearest",
    "project",
    "scenarios",
    "schemes",
    "sensitivity",
    "sensitivity_by_events",
    "sets",
    "shapes",
    "solve",
    "solve_by_events",
    "solvers",
    "stopping",
    "study",
    "terminal",
    "theory",
    "vibro",
    "viz",
]

_LAZY = (
    "analysis", "crowds", "impacts", "io", "macro", "models", "scenarios", "shapes", "stopping", "study", "terminal",
    "theory", "vibro", "viz",
)  # fmt: skip
"""Modules that are imported when they are first used."""


if not _typing.TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> _types.ModuleType:
        """The modules in `_LAZY`."""
        if name in _LAZY:
            return _importlib.import_module(f"jostle.{name}")
        if name.startswith("_"):
            raise AttributeError(f"module 'jostle' has no attribute {name!r}")
        from jostle._tools.suggestions import suggestion

        hint = suggestion(name, __all__, "help(jostle) and the page API reference list what it has")
        raise AttributeError(f"module 'jostle' has no attribute {name!r}: {hint}")


def _card(shown: object) -> str:
    """The display of a result in a notebook; pictures are imported for the first one."""
    from jostle.viz.cards import card

    return card(shown)


def _bar() -> _typing.Any:
    """The bar of ``progress=True``, which is imported with the terminal when it is first asked for."""
    from jostle.terminal import progress_bar

    return progress_bar()


_displays.use(_card, _bar)


def __dir__() -> list[str]:
    """The public names, of modules too, and those that Python gives every module."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
