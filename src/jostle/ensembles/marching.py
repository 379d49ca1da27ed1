"""The compiled loop over many copies: schemes, steps, threads, and the errors of copies that stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array, Integers, finite
from jostle.ensembles.copies import Copies, Gaps
from jostle.errors import EmptySet, InvalidValue, NotConverged, NotFinite, SchemeRefuses
from jostle.kernels import kernels_for
from jostle.kernels.reference.copies import (
    DONE,
    MOREAU_JEAN,
    NO_POINT,
    NOT_FINITE,
    PAOLI,
    STATUS,
    TOO_MANY_IMPACTS,
)
from jostle.kernels.sharing import cut, together
from jostle.kernels.threads import threads
from jostle.schemes.moreau_jean import MoreauJean
from jostle.schemes.paoli import Paoli

STEPS_PER_CALL = 5_000_000
"""Number of steps of all copies between two checks for Ctrl-C: about one second on one core."""
DEFAULT_Z = 0.5
"""The only z of `Paoli` that the compiled loop supports."""


@dataclass(frozen=True)
class ByEvents:
    """Runge-Kutta flights of order 4 with exact impacts between them, for copies with flat constraints at rest.

    Impacts are located on the flight to round-off, so that the motion depends smoothly on its start: orbits,
    multipliers and bifurcations have an error of order h^4. A sequence of ever shorter flights (e < 1) ends in a
    contact at rest once a flight is shorter than a thousandth of the step. Where a contact at rest opens, the error is
    of order h^2. Two impacts, or a dip below zero, inside one step are detected if the gap is well approximated by a
    cubic there.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.ensembles.Copies(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), restitution=0.5)
    >>> jo.ensembles.advance(ball, jo.ensembles.ByEvents(), t=0.6, h=0.1).v0.round(9).tolist()
    [[0.708203932]]
    """


CompiledScheme = ByEvents | Paoli | MoreauJean


class March:
    """Copies in motion. `go` does some steps; results do not depend on how the steps are divided among calls.

    With `ByEvents`, some tangents are followed: orthonormal vectors (dq, du), and the logarithms of their growth.
    """

    def __init__(self, copies: Copies, scheme: CompiledScheme | None, h: Array, hits: int = 0, tangents: int = 0):
        self.copies, self.scheme = copies, ByEvents() if scheme is None else scheme
        check_scheme(copies, self.scheme)
        n, d = copies.q0.shape
        self.functions, m = copies.compiled(), copies.constraints
        self.h = np.array(np.broadcast_to(h, n))
        self.states = np.zeros((n, 3, d))
        self.states[:, 0], self.states[:, 1], self.states[:, 2] = copies.q0, copies.q0, copies.v0
        self.counts, self.touched = np.zeros((n, 3), np.int64), np.zeros((n, 2, m))
        self.touched[:, 1] = -np.inf  # no contact has closed yet
        self.hits = np.zeros((n, hits, 3))
        self.tangents = np.zeros((n, tangents, 2 * d + 1))
        self.tangents[:, :, :-1] = np.linalg.qr(np.random.default_rng(0).normal(size=(2 * d, 2 * d)))[0][:tangents]
        self.root = np.ascontiguousarray(1.0 / np.sqrt(copies.mass))

    def go(self, steps: int, sections: int, skipped: int = 0, kept: int = 0) -> Array:
        """Do `sections` times `steps` steps; return q and u (n, kept, 2 d) after the first `skipped` sections."""
        n, d = self.copies.q0.shape
        numbers = np.stack([self.copies.t0, self.h, self.copies.restitution], axis=1)
        saved = np.full((n, kept, 2 * d), np.nan)
        pieces = cut(n, min(threads(), n))
        at_once = max(1, int(STEPS_PER_CALL * len(pieces) / max(n * steps, 1)))
        kernel = self._kernel()
        written = [self.states, self.counts, self.touched, self.hits]
        if isinstance(self.scheme, ByEvents):
            written.append(self.tangents)

        def work(first: int, last: int, done: int, count: int) -> None:
            own = slice(first, last)
            begin, end = (min(max(number - done, 0), count) for number in (skipped, skipped + kept))
            try:
                *new, ends = kernel(
                    numbers[own], self.copies.parameters[own], self.root,
                    *(array[own] for array in written), steps, count, begin, end - begin,
                )  # fmt: skip
            except IndexError as error:
                raise InvalidValue(f"force or within reads {self.copies.outside}") from error
            for array, value in zip(written, new, strict=True):
                array[own] = value
            saved[own, done + begin - skipped : done + end - skipped] = ends

        for done in range(0, sections, at_once):
            together(work, [(*piece, done, min(at_once, sections - done)) for piece in pieces])
            self._check()
        return saved

    def _kernel(self) -> Callable[..., tuple[Any, ...]]:
        """The loop of the scheme for these functions."""
        kernels = kernels_for(self.states)
        if isinstance(self.scheme, ByEvents):
            return partial(kernels.fly, *self.functions)
        kind = MOREAU_JEAN if isinstance(self.scheme, MoreauJean) else PAOLI
        return partial(kernels.march, *self.functions, kind, self.copies.flat, self.copies.moving, self.copies.lengths)

    def _check(self) -> None:
        """Raise the error of the first copy that could not continue."""
        stopped = np.flatnonzero(self.counts[:, STATUS])
        if len(stopped) == 0:
            return
        copy = int(stopped[0])
        status, step = int(self.counts[copy, STATUS]), int(self.counts[copy, DONE])
        t = float(self.copies.t0[copy] + step * self.h[copy])
        where = f"copy {copy} (parameters {self.copies.parameters[copy].tolist()}) in step {step + 1}, t = {t:.6g}"
        more = f"; {len(stopped)} of {len(self.copies)} copies stopped" if len(stopped) > 1 else ""
        if status == NOT_FINITE:
            raise NotFinite(f"the force, a gap or the motion of {where} is not finite{more}; choose a shorter step h")
        if status == NO_POINT:
            raise EmptySet(f"the constraints of {where} contradict each other{more}")
        if status == TOO_MANY_IMPACTS:
            raise NotConverged(f"{where} has too many impacts in one step{more}; choose a shorter step h")
        within = self.copies.within
        differenced = not self.copies.flat and isinstance(within, Gaps) and within.gradient is None
        remedy = "give the gradient of the gaps, Gaps(function, gradient=...), or " if differenced else ""
        raise NotConverged(
            f"the nearest admissible point of {where} was not found{more}; {remedy}choose a shorter step h"
        )

    @property
    def ends(self) -> Copies:
        """The copies in their present state."""
        t = self.copies.t0 + self.counts[:, 0] * self.h
        return self.copies.with_starts(self.states[:, 0].copy(), self.states[:, 2].copy(), t)

    def impacts(self) -> tuple[Array, Integers]:
        """The last impacts (n, kept, 3) in the order of time, NaN where there were fewer, and their total numbers."""
        kept = self.hits.shape[1]
        count = self.counts[:, 2].copy()
        order = (count[:, None] + np.arange(kept)) % max(kept, 1)
        found = np.take_along_axis(self.hits, order[:, :, None], axis=1)
        found[np.arange(kept) < kept - count[:, None]] = np.nan
        return found, count


def check_scheme(copies: Copies, scheme: CompiledScheme) -> None:
    """Refuse constraints that the compiled loop of a scheme does not support."""
    if isinstance(scheme, Paoli) and (scheme.implicit or scheme.z != DEFAULT_Z):
        raise SchemeRefuses("the compiled loop supports Paoli's scheme with z = 1/2 and an explicit force only")
    if copies.moving and not isinstance(scheme, MoreauJean):
        raise SchemeRefuses(
            f"{type(scheme).__name__} does not support moving constraints; use MoreauJean(), or a moving frame"
        )
    if isinstance(scheme, ByEvents) and not copies.flat:
        raise SchemeRefuses("ByEvents needs gaps that are affine in q; use Paoli() or MoreauJean()")


def check_smooth(scheme: object, what: str) -> None:
    """Refuse a scheme whose motion does not depend smoothly on its start."""
    if not (scheme is None or isinstance(scheme, ByEvents)):
        raise SchemeRefuses(
            f"{what} need a motion that depends smoothly on its start; with {type(scheme).__name__} it does not, where "
            f"an impact moves from one step to the next. Use ByEvents()"
        )


def check_skip(skip: int, periods: int) -> None:
    """Refuse to leave out all periods."""
    if skip >= periods:
        raise InvalidValue(f"skip must be below periods = {periods}, not {skip}: no period would be left")


def step_of(period: ArrayLike, steps: int, n: int) -> Array:
    """(n,): the time step that divides a period (a number, or one per copy)."""
    T = finite(period, "period")
    if T.ndim > 1 or T.size not in (1, n) or not (T > 0.0).all():
        raise InvalidValue(f"period must be positive, a number or one for each of {n} copies, not of shape {T.shape}")
    return np.array(np.broadcast_to(T.ravel() / steps, n))
