"""Restitution by who touches whom: a number, or a function of the speed, for pairs of bodies, walls and groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import accepts, check_arguments, number
from jostle.arrays import Array, Booleans, numbers
from jostle.errors import InvalidValue
from jostle.laws import ImpactLaw, Restitution
from jostle.sets.base import ConstraintSet
from jostle.sets.contacts import Contacts
from jostle.shapes import walls_of

Sides = tuple[Booleans, Booleans]
"""Which bodies and walls, (n + walls,) each, stand on the two sides of an entry."""


@check_arguments
@dataclass(frozen=True, eq=False, repr=False)
class RestitutionTable(ImpactLaw):
    """Restitution coefficients by who touches whom.

    A side is the number of a body, the name of one of the `groups`, or a wall: "wall 0" as ``sol.impacts()`` prints it,
    or its name in ``sol.facts.wall_names``. A coefficient is a number in [0, 1] or a function e(v) of the speeds at
    which gaps close.

    Parameters
    ----------
    between : mapping
        Coefficient for each pair of sides, ``{(side, side): e}``, or for all contacts of one side, ``{side: e}``. Of
        several entries for one contact the last one holds.
    groups : mapping of str to array_like of int, optional
        Numbers of the bodies of each group.
    otherwise : float or callable (v) -> array_like, default 0.0
        Coefficient of contacts without an entry.

    Attributes
    ----------
    found : tuple or None
        The entries by numbers of bodies and walls, once the problem is known.
    bodies : int
        Number of bodies of the problem, once it is known.

    Raises
    ------
    InvalidValue
        If a coefficient is not allowed; when the table is given to a `Motion`, if a side is not known there.

    Examples
    --------
    >>> import jostle as jo
    >>> law = jo.RestitutionTable({("steel", "wall 0"): 0.5, ("rubber", "wall 0"): 0.25},
    ...                           groups={"steel": [0], "rubber": [1]}, otherwise=1.0)
    >>> balls = jo.Motion(q0=[[0.0, 1.5], [3.0, 1.5]], v0=[0.0, -1.0], law=law,
    ...                   within=jo.Balls([0.5, 0.5]) & jo.HalfSpace([0.0, 1.0]))
    >>> jo.solve(balls, jo.MoreauJean(), t=2.0, h=0.1).u[-1].tolist()
    [[0.0, 0.5], [0.0, 0.25]]
    """

    between: Mapping[Any, Any]
    groups: Mapping[str, ArrayLike] = field(default_factory=dict)
    otherwise: float | Callable[[Array], ArrayLike] = 0.0
    found: tuple[tuple[Sides, Restitution], ...] | None = field(default=None, init=False)
    bodies: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        for name, value in [*self.between.items(), ("otherwise", self.otherwise)]:
            if not _restitution(value):
                raise InvalidValue(
                    f"the restitution of {name!r} must lie in [0, 1] or be a function of the speeds v, not {value!r}"
                )
        object.__setattr__(self, "between", dict(self.between))
        object.__setattr__(self, "groups", deepcopy(dict(self.groups)))

    def __repr__(self) -> str:
        return f"RestitutionTable({dict(self.between)!r}, otherwise={self.otherwise!r})"

    def bound_to(self, Q: ConstraintSet, q0: Array) -> RestitutionTable:
        """The table with the names of bodies, groups and walls looked up in a problem.

        Parameters
        ----------
        Q : ConstraintSet
            Admissible set of the problem.
        q0 : array
            Positions at the start.

        Returns
        -------
        RestitutionTable
            The table that the problem uses.

        Raises
        ------
        InvalidValue
            If a side is not a body, wall or group of the problem.
        """
        n, (walls, names) = Q.linearise(0.0, q0, 0.0).bodies, walls_of(Q, 0.0, q0)
        n = max(n, len(q0) if q0.ndim > 1 else 1)
        sides = _Sides(n, walls, names, self.groups)
        found = tuple((sides.of_key(key), Restitution(value)) for key, value in self.between.items())
        known = copy(self)
        object.__setattr__(known, "found", found)
        object.__setattr__(known, "bodies", n)
        return known

    def coefficients(self, contacts: Contacts, speed: Array) -> Array:
        """The restitution coefficient of each contact.

        Parameters
        ----------
        contacts : Contacts
            The m contacts that are closed.
        speed : array, shape (m,)
            Rate at which each gap closes; 0 if it opens.

        Returns
        -------
        array, shape (m,)
            The coefficients e, in [0, 1].

        Raises
        ------
        InvalidValue
            If the table was not given to a `Motion`.
        """
        if self.found is None:
            raise InvalidValue("a table of restitutions needs the names of a problem: give it to jo.Motion(law=...)")
        first, second = contacts.pairs.T
        wall = self.bodies + np.where(first < 0, second, -1 - second)
        one, other = np.where(first < 0, wall, first), np.where((first < 0) | (second < 0), wall, second)
        e = np.array(np.broadcast_to(Restitution(self.otherwise).coefficients(contacts, speed), (len(speed),)))
        for (left, right), law in self.found:
            rows = np.flatnonzero((left[one] & right[other]) | (left[other] & right[one]))
            e[rows] = law.coefficients(contacts.only(rows), speed[rows])
        return e


def _restitution(value: Any) -> bool:
    """Whether a value is a number from 0 to 1, or a function of the speeds."""
    return accepts(value, 1) if callable(value) else (number(value) and bool(0.0 <= value <= 1.0))


class _Sides:
    """The names of the bodies and walls of a problem."""

    def __init__(self, n: int, walls: int, names: tuple[str, ...], groups: Mapping[str, ArrayLike]):
        self.n, self.count = n, n + walls
        self.named: dict[str, list[int]] = {}
        for w in range(walls):
            for name in {f"wall {w}", names[w] if names else ""} - {""}:
                self.named.setdefault(name, []).append(n + w)
        for name, bodies in groups.items():
            members = numbers(bodies, f"the group {name!r}")
            if np.asarray(bodies).dtype == bool:
                raise InvalidValue(f"the group {name!r} must be numbers of bodies: np.flatnonzero finds those of True")
            if name in self.named or members.ndim != 1 or not np.isin(members, np.arange(n)).all():
                raise InvalidValue(
                    f"the group {name!r} must be numbers of bodies from 0 to {n - 1} under a name that no wall has, "
                    f"not {bodies!r}"
                )
            self.named[name] = members.astype(int).tolist()

    def of_key(self, key: Any) -> Sides:
        """The two sides of an entry; a single side stands for all contacts that it takes part in."""
        if not isinstance(key, tuple):
            return self._of_side(key), np.ones(self.count, dtype=bool)
        if len(key) != 2:
            raise InvalidValue(f"a restitution is between two sides, such as (0, 'wall 0'), not {key!r}")
        return self._of_side(key[0]), self._of_side(key[1])

    def _of_side(self, side: Any) -> Booleans:
        chosen = np.zeros(self.count, dtype=bool)
        if isinstance(side, int | np.integer) and not isinstance(side, bool) and 0 <= side < self.n:
            chosen[side] = True
        elif isinstance(side, str) and side in self.named:
            chosen[self.named[side]] = True
        else:
            known = ", ".join(repr(name) for name in self.named) or "none"
            raise InvalidValue(
                f"unknown body, wall or group {side!r} in a table of restitutions: bodies are 0 to {self.n - 1}, "
                f"walls and groups are {known}"
            )
        return chosen
