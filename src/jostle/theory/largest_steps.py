"""The largest time step h for which each scheme is well defined at a place.

    Maury       h K_L < c          Bernicot & Lefebvre-Lepot 2010, Prop. 2.1: q^n stays where the gradients exist
    Venel       h K_L < c          Venel 2009, Prop. 3.1
    CatchingUp  h (|U| + K_L) < eta     the point to be projected has one nearest point (Venel 2009, Def. 2.3)
    Paoli       h |u| + h^2 |F| < eta   the same for W^n; no limit if K is convex
    Paoli(implicit=True)  h < 2 / L     Paoli 2005, below (1.6): the fixed point contracts
    MoreauJean  every h: it projects on a cone

K_L is the Lipschitz constant of t -> Q(t), 0 for a set at rest; c is that of (A0); eta the prox-regularity constant at
the place; L the Lipschitz constant of F in the velocity. All are those of one place: estimates, not bounds.
"""

from __future__ import annotations

import numpy as np

from jostle.arrays import Array
from jostle.errors import SchemeRefuses
from jostle.problems import Motion
from jostle.schemes.base import Scheme
from jostle.schemes.catching_up import CatchingUp
from jostle.schemes.maury import Maury
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli
from jostle.schemes.venel import Venel
from jostle.theory.assumptions import Numbers
from jostle.theory.fields import Slopes
from jostle.theory.report import FAILS, HOLDS, UNKNOWN, Line, Section

TITLE = "Largest h for which the schemes are well defined (estimates at this place)"
SECOND_ORDER: tuple[tuple[str, Scheme], ...] = (
    ("Maury", Maury()), ("Paoli", Paoli()), ("Paoli, implicit", Paoli(implicit=True)), ("MoreauJean", MoreauJean()),
)  # fmt: skip
FIRST_ORDER: tuple[tuple[str, Scheme], ...] = (("Venel", Venel()), ("CatchingUp", CatchingUp()))


def largest_steps(numbers: Numbers, field: Slopes, u: Array | None) -> Section:
    """One line for each scheme."""
    second = isinstance(numbers.place.problem, Motion)
    lines = [_line(name, scheme, numbers, field, u) for name, scheme in (SECOND_ORDER if second else FIRST_ORDER)]
    return Section(TITLE, "", tuple(lines))


def _line(name: str, scheme: Scheme, numbers: Numbers, field: Slopes, u: Array | None) -> Line:
    says = SAYS[name]
    try:
        scheme.check(numbers.place.problem)
    except SchemeRefuses as refusal:
        return Line(name, says, FAILS, str(refusal), needed=False)
    h = _largest(name, numbers, field, u)
    if np.isnan(h):
        return Line(
            name, says, UNKNOWN, numbers.of_gaps.why or "a constant of (A0) or a slope is not known", needed=False
        )
    return Line(name, says, HOLDS if h > 0.0 else FAILS, "", {"h": h}, needed=False, badness=-h)


SAYS = {
    "Maury": "h K_L < c",
    "Venel": "h K_L < c",
    "CatchingUp": "h (|U| + K_L) < eta",
    "Paoli": "h |u| + h^2 |F| < eta",
    "Paoli, implicit": "h < 2 / L",
    "MoreauJean": "every h",
}


def _largest(name: str, numbers: Numbers, field: Slopes, u: Array | None) -> float:
    place = numbers.place
    if name == "MoreauJean":
        return np.inf
    if name in ("Maury", "Venel"):
        speed = numbers.speed_of_set
        c = float(numbers.of_gaps.margin.min(initial=np.inf))
        return np.inf if speed == 0.0 else c / speed
    if name == "Paoli, implicit":
        return np.inf if field.in_u == 0.0 else 2.0 / field.in_u
    if place.within.flat:
        return np.inf
    eta = np.nan if numbers.of_gaps.why else numbers.prox_regularity
    if name == "CatchingUp":
        speed = field.size + numbers.speed_of_set
        return eta / speed if speed > 0.0 else np.inf
    v = getattr(place.problem, "v0", np.zeros(1)) if u is None else u
    return _root(float(np.linalg.norm(v)), field.size, eta)


def _root(v: float, F: float, eta: float) -> float:
    """The h with h v + h^2 F = eta."""
    if v == 0.0 and F == 0.0:
        return np.inf
    return 2.0 * eta / (v + float(np.sqrt(v * v + 4.0 * F * eta))) if eta < np.inf else np.inf
