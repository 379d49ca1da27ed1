"""How much mean evacuation curves change with each run.

The method is that of Ronchi, Reneke, Peacock, Fire Technology 50, 2014, 1545-1571, which ISO 20414:2020
describes for the number of runs. Let m_i be the vector of the n leaving times of run i in increasing order, and
M_j = (m_1 + ... + m_j) / j the mean curve of j runs. Two consecutive mean curves, E = M_j and m = M_{j-1}, are
compared by

    ERD = |E - m| / |m|                                Euclidean relative difference, 0 if they are equal
    EPC = E . m / m . m                                Euclidean projection coefficient, 1 if they have the same size
    SC  = dE . dm / (|dE| |dm|),  dE_k = E_k - E_{k-s}     secant cosine, 1 if they have the same shape

where s smooths the differences. The mean T_j and the standard deviation S_j of the evacuation times, the last entries
of m_1 ... m_j, are compared by |T_j - T_{j-1}| / T_j and |S_j - S_{j-1}| / S_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.errors import InvalidValue

SMOOTHING = 0.05
"""Distance s of the differences in the secant cosine, as a fraction of the number of people."""


class CurveChanges(NamedTuple):
    """Changes of the mean evacuation curve with each run; see `curve_changes`."""

    erd: Array
    epc: Array
    sc: Array
    mean: Array
    std: Array


@check_arguments
def curve_changes(leaving_times: Sequence[ArrayLike]) -> CurveChanges:
    """Measure how much each further run changes the mean evacuation curve.

    With the mean curves M_j of j runs, E = M_j and m = M_{j-1}, the changes are

        ERD = |E - m| / |m|,   |1 - EPC| with EPC = E . m / m . m,   |1 - SC| with the secant cosine SC,

    and the relative changes of the mean and of the standard deviation of the evacuation time (Ronchi, Reneke, Peacock
    2014).

    Parameters
    ----------
    leaving_times : sequence of array_like, each of shape (n,)
        Leaving times of each run; at least two runs with the same number n of people.

    Returns
    -------
    CurveChanges
        Arrays erd, epc, sc, mean and std, with one entry per run from the second on. A change is infinite if it is
        unknown, because somebody did not leave or the standard deviation became zero.

    Raises
    ------
    InvalidValue
        If there are fewer than two runs, or runs with different numbers of people.

    Examples
    --------
    >>> changes = curve_changes([[1.0, 2.0], [1.0, 4.0], [1.0, 3.0]])
    >>> changes.erd.round(4).tolist(), changes.mean.round(4).tolist()
    ([0.4472, 0.0], [0.3333, 0.0])
    """
    if len(leaving_times) < 2:
        raise InvalidValue(f"leaving_times must have at least two runs, not {len(leaving_times)}")
    runs = [np.sort(np.asarray(run, dtype=float)) for run in leaving_times]
    if len({run.shape for run in runs}) > 1 or runs[0].ndim != 1 or not len(runs[0]):
        counts = sorted({run.size for run in runs})
        raise InvalidValue(
            f"leaving_times must have the same number of people, at least one, in all runs, not {counts}"
        )
    times = np.array(runs)
    j = np.arange(1, len(times) + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        M = np.cumsum(times, axis=0) / j[:, None]
        E, m = M[1:], M[:-1]
        last = times[:, -1]
        S = np.array([last[:k].std(ddof=1) if k > 1 else np.nan for k in j])
        size = np.linalg.norm(m, axis=1)
        s = max(round(SMOOTHING * times.shape[1]), 1)
        dE, dm = (curve[:, s:] - curve[:, :-s] for curve in (E, m))
        changes = CurveChanges(
            np.linalg.norm(E - m, axis=1) / size,
            np.abs(1.0 - (E * m).sum(axis=1) / size**2),
            np.abs(1.0 - (dE * dm).sum(axis=1) / (np.linalg.norm(dE, axis=1) * np.linalg.norm(dm, axis=1))),
            np.abs(np.diff(M[:, -1])) / M[1:, -1],
            np.where(S[1:] == S[:-1], 0.0, np.abs(np.diff(S)) / S[1:]),
        )
    if times.shape[1] <= s:  # one person: a curve of one point has no shape
        changes = changes._replace(sc=np.zeros(len(E)))
    return CurveChanges(*(np.where(np.isnan(values), np.inf, values) for values in changes))
