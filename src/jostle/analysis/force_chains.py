"""Strong and weak contacts of a packing: the distribution of forces, and force chains.

Contacts above the mean force are called strong (Radjai, Jean, Moreau & Roux 1996). The fabric of m contacts with the
normals n_c is <n (x) n> = 1/m sum_c n_c (x) n_c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jostle.analysis.grains import forces
from jostle.arguments import check_arguments
from jostle.arrays import Array, Integers, shaped
from jostle.errors import InvalidValue
from jostle.solution import Solution


@dataclass(frozen=True, eq=False)
class ForceDistribution:
    """The distribution of contact forces; see `force_distribution`."""

    edges: Array
    """(b + 1,) edges of the bins of f / <f>."""
    density: Array
    """(b,) probability density; its integral over the bins is the fraction of contacts inside them."""
    share: float
    """Fraction of the contacts whose force is above the mean."""
    load: float
    """Fraction of the sum of all forces that the contacts above the mean carry."""


@check_arguments
def force_distribution(sol: Solution, k: int = -1, *, bins: int | ArrayLike = 20) -> ForceDistribution:
    """The probability density of f / <f> over the contacts of one frame, and the load above the mean.

    Forces that are solver noise (``forces(sol).noise``) do not count.

    Parameters
    ----------
    sol : Solution
        A run with contacts.
    k : int, default -1
        Number of the saved frame.
    bins : int or array_like, default 20
        Number of bins between 0 and the largest force, or the edges of the bins.

    Returns
    -------
    ForceDistribution
        The fields are the `edges` (b + 1,) of the bins, the `density` (b,), the `share` of contacts whose force is
        above the mean, and the `load`, the share of the sum of all forces that they carry.

    Raises
    ------
    InvalidValue
        If no contact carries a force, or if `bins` is less than 1.

    Examples
    --------
    >>> import jostle as jo
    >>> tower = jo.Motion(q0=[[0.0, 1.0], [0.0, 3.0], [0.0, 5.0], [0.0, 7.0]], force=[0.0, -10.0],
    ...                   within=jo.Balls(np.ones(4)) & jo.HalfSpace([0, 1], radii=1.0))
    >>> found = force_distribution(jo.solve(tower, jo.Maury(), t=0.1, h=0.01), bins=[0, 0.5, 1, 1.5, 2])
    >>> found.density.tolist(), found.share, round(found.load, 9)           # 10, 20, 30 and 40
    ([0.5, 0.5, 0.5, 0.5], 0.5, 0.7)
    """
    found = forces(sol, k)
    if found.noise.all():
        raise InvalidValue(f"no contact carries a force at t = {sol.t[k]:g}, so there is no distribution")
    relative = found.magnitude[~found.noise] / found.mean
    ends = (min(0.0, float(relative.min())), float(relative.max()))
    if isinstance(bins, int) and bins < 1:
        raise InvalidValue(f"bins must be at least 1, not {bins}")
    counts, edges = np.histogram(relative, bins=bins if isinstance(bins, int) else shaped(bins, "bins", -1), range=ends)
    strong = found.strong[~found.noise]
    load = float(np.abs(relative[strong]).sum() / np.abs(relative).sum())
    return ForceDistribution(edges, counts / (len(relative) * np.diff(edges)), float(strong.mean()), load)


@dataclass(frozen=True, eq=False)
class ForceChains:
    """The strong network, made of the contacts with f > <f>; see `force_chains`."""

    pairs: Integers
    """(s, 2) strong contacts."""
    cluster: Integers
    """(n,) cluster of each body: 0 is the largest, -1 means no strong contact."""
    sizes: Integers
    """(c,) number of bodies in each cluster, the largest first."""
    fraction: float
    """Fraction of the bodies that are in the network."""
    fabric: Array
    """(d, d) <n (x) n> of all contacts with a force that is not solver noise, trace 1; zero if there are none."""
    strong_fabric: Array
    """(d, d) <n (x) n> of the strong contacts."""


@check_arguments
def force_chains(sol: Solution, k: int = -1) -> ForceChains:
    """The strong network of one frame: the contacts above the mean force, their clusters and their fabric.

    Bodies with a strong contact between them belong to one cluster. Walls do not connect clusters, but a body with a
    strong contact at a wall belongs to the network.

    Parameters
    ----------
    sol : Solution
        A run with contacts.
    k : int, default -1
        Number of the saved frame.

    Returns
    -------
    ForceChains
        The fields are the strong contacts `pairs` (s, 2), the `cluster` (n,) of each body (0 is the largest, -1 none),
        the `sizes` of the clusters, the `fraction` of bodies in the network, and the fabric <n (x) n> of all contacts,
        `fabric`, and of the strong ones, `strong_fabric` (d, d).

    Raises
    ------
    InvalidValue
        If the contacts of the run were not saved.

    Examples
    --------
    >>> import jostle as jo
    >>> tower = jo.Motion(q0=[[0.0, 1.0], [0.0, 3.0], [0.0, 5.0], [0.0, 7.0]], force=[0.0, -10.0],
    ...                   within=jo.Balls(np.ones(4)) & jo.HalfSpace([0, 1], radii=1.0))
    >>> chains = force_chains(jo.solve(tower, jo.Maury(), t=0.1, h=0.01))
    >>> chains.pairs.tolist(), chains.cluster.tolist(), chains.sizes.tolist(), chains.fraction
    ([[0, 1], [0, -1]], [0, 0, -1, -1], [2], 0.5)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    found = forces(sol, k)
    strong, n = found.strong, len(found.present)
    pairs = found.pairs[strong]
    i, j = found.pairs[strong & found.between].T
    _, label = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)
    inside = np.zeros(n, dtype=bool)
    inside[pairs[pairs >= 0]] = True
    _, number, sizes = np.unique(label[inside], return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    cluster = np.full(n, -1, dtype=np.int64)
    cluster[inside] = np.argsort(order)[number]
    fraction = float(inside.sum() / max(int(found.present.sum()), 1))
    fabrics = _fabric(found.normals[~found.noise]), _fabric(found.normals[strong])
    return ForceChains(pairs, cluster, sizes[order], fraction, *fabrics)


def _fabric(normals: Array) -> Array:
    return np.asarray(normals.T @ normals / max(len(normals), 1))
