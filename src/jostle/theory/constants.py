"""alpha, beta, M and c of (A0)-(A5): how large gradients and second derivatives of the gaps are.

Bernicot & Lefebvre-Lepot 2010 (A0)-(A5), Venel 2009 (A0)-(A4). For contacts of bodies the constants are exact. The gap
of two balls is |x| - R with x the vector between the centres, so that

    |grad g| = |G|  everywhere,     |D^2 g| = |G|^2 / |x|,     U = {|x| > R / 2}:  M = 2 |G|^2 / R,  c = R / (2 |G|).

For equal discs of radius r this is alpha = sqrt(2), M = 2 / r and c = r / sqrt(2), as in Venel 2009, section 4.2.
A plane has M = 0 and no limit c. For constraints of the user, D^2 g is differenced at the configuration itself.
All norms are those of the metric of the problem (Bernicot & Lefebvre-Lepot 2010, remark 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jostle.arrays import Array
from jostle.convex.metric import Metric
from jostle.errors import JostleError
from jostle.sets.contacts import Contacts
from jostle.theory.places import Place

MAX_DIFFERENCED = 40
"""Second derivatives are differenced for at most this many coordinates."""
RELATIVE_STEP = float(np.cbrt(np.finfo(float).eps))
"""Difference step of second derivatives, relative to the size of q or to the length of the constraints."""
CONVEX_TOLERANCE = 1e-4
"""A gap counts as convex if no eigenvalue of D^2 g is below minus this fraction of the largest."""
HALF = 0.5
"""U_i reaches down to this fraction of the distance at which two bodies touch."""


@dataclass(frozen=True, eq=False)
class Constants:
    """Of each row of a place; NaN where they are not known."""

    size: Array
    """(m,) |grad g_i|."""
    curvature: Array
    """(m,) the largest |D^2 g_i| on U_i; for constraints of the user, that at q."""
    touching_radius: Array
    """(m,) the prox-regularity constant of Q_i: the radius of curvature of its boundary, infinite if it is convex."""
    margin: Array
    """(m,) c: how far U_i reaches beyond Q_i; NaN where it is not known."""
    lowest: Array
    """(m,) the smallest eigenvalue of D^2 g_i, relative to the largest in size: negative where g_i is not convex."""
    exact: bool
    """True if the constants hold at every q, and not only at this one."""
    why: str = ""
    """Why second derivatives are not known."""


def constants(place: Place) -> Constants:
    """The constants of all contacts of a place."""
    contacts, M = place.contacts, place.metric
    size = np.asarray(contacts.G.norms(M))
    if contacts.bend is not None and (not np.any(contacts.bend) or _one_mass_a_body(contacts, M)):
        return _of_bodies(contacts, size, not callable(getattr(place.problem, "mass", None)))
    unknown = np.full(len(size), np.nan)
    try:
        H = _second_derivatives(place)
    except _NotKnown as reason:
        return Constants(size, unknown, unknown, unknown, unknown, False, str(reason))
    values = np.linalg.eigvalsh(_whitened(H, M)) if len(H) else np.zeros((0, 1))
    curvature = np.abs(values).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.where(values.max(axis=1, initial=0.0) > 0.0, size / curvature, np.inf)
        lowest = np.where(curvature > 0.0, values.min(axis=1, initial=0.0) / curvature, 0.0)
    return Constants(size, curvature, radius, unknown, lowest, False)


def _one_mass_a_body(contacts: Contacts, M: Metric) -> bool:
    """Whether each body has the same mass along all axes."""
    return M.diagonal and not np.ptp(M.mass.reshape(contacts.bodies, -1), axis=1).any()


def _of_bodies(contacts: Contacts, size: Array, exact: bool) -> Constants:
    bend = np.asarray(contacts.bend)
    with np.errstate(divide="ignore", invalid="ignore"):
        R = np.where(bend > 0.0, 1.0 / bend - contacts.gap, np.where(bend < 0.0, -1.0 / bend, np.inf))
        curvature = np.where(bend == 0.0, 0.0, size**2 / (R * np.where(bend > 0.0, HALF, 1.0)))
        margin = np.where(bend < 0.0, np.nan, (1.0 - HALF) * R / size)
        radius = np.where(bend > 0.0, R / size, np.inf)
    return Constants(size, curvature, radius, margin, np.minimum(np.sign(bend), 0.0), exact)


class _NotKnown(Exception):
    """Why second derivatives cannot be differenced."""


def _second_derivatives(place: Place) -> Array:
    """(m, N, N) D^2 g_i at q, by central differences of the gradients."""
    q, contacts = place.q, place.contacts
    if q.size > MAX_DIFFERENCED:
        raise _NotKnown(
            f"second derivatives need differences, for at most {MAX_DIFFERENCED} coordinates; q has {q.size}"
        )
    scale = contacts.smallest_length() or float(np.abs(q).max(initial=0.0)) or 1.0
    flat, H = q.ravel(), np.empty((len(contacts.gap), q.size, q.size))
    for k in range(q.size):
        ends = [flat.copy(), flat.copy()]
        ends[0][k] += RELATIVE_STEP * scale
        ends[1][k] -= RELATIVE_STEP * scale
        try:
            ahead, behind = (place.within.linearise(place.t, end.reshape(q.shape)) for end in ends)
        except JostleError as error:
            raise _NotKnown(f"the gradients near q are not known: {error}") from None
        if not (np.array_equal(ahead.pairs, contacts.pairs) and np.array_equal(behind.pairs, contacts.pairs)):
            raise _NotKnown("the set returns different contacts near q")
        H[:, k] = (ahead.G.toarray() - behind.G.toarray()) / (ends[0][k] - ends[1][k])
    return (H + H.transpose(0, 2, 1)) / 2.0


def _whitened(H: Array, M: Metric) -> Array:
    """D^2 g in coordinates in which the metric is Euclidean."""
    half = np.stack([M.whiten(one) for one in H])
    return np.stack([M.whiten(one.T) for one in half])
