"""The forces and pressures of a pile on its walls, F_w = sum of f_c n_c over the contacts c on wall w."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jostle.analysis.grains import forces
from jostle.arguments import check_arguments
from jostle.arrays import Array, finite
from jostle.errors import InvalidValue
from jostle.shapes import walls_of
from jostle.solution import Solution


@check_arguments
def wall_force(sol: Solution, k: int = -1) -> Array:
    """The total force on each wall, F_w = sum f n over its contacts.

    Without friction the floor carries the whole weight of a pile at rest, however tall and narrow it is: there is no
    Janssen effect.

    Parameters
    ----------
    sol : Solution
        A run with contacts.
    k : int, default -1
        Number of the saved frame.

    Returns
    -------
    ndarray, shape (walls, d)
        The forces, in the order of the sets; `wall_labels` says which wall each row is. A `Box` has first its lower
        sides, axis by axis, then its upper sides; sides at infinity are left out.

    Raises
    ------
    InvalidValue
        If the contacts of the run were not saved, or if the file does not contain the number of walls.

    Examples
    --------
    >>> import jostle as jo
    >>> pile = jo.models.spheres([0.5, 0.4, 0.5], box=([0, 0], [1.1, np.inf]))
    >>> sol = jo.solve(pile, jo.Maury(), t=5.0, h=0.01)
    >>> left, floor, right = wall_force(sol)
    >>> floor.round(6).tolist(), pile.constant_force.sum(axis=0).round(6).tolist()
    ([0.0, -20.340556], [0.0, -20.340556])
    """
    found = forces(sol, k)
    on_wall = ~found.between
    walls = -1 - found.pairs[on_wall, 1]
    total = np.zeros((_walls(sol, k), found.normals.shape[1]))
    np.add.at(total, walls, (found.magnitude[:, None] * found.normals)[on_wall])
    return total


@check_arguments
def wall_labels(sol: Solution) -> tuple[str, ...]:
    """A label for each row of `wall_force` and `wall_pressure`: the number of the wall and what it is.

    Parameters
    ----------
    sol : Solution
        A run, from memory or from a file.

    Returns
    -------
    tuple of str
        One label for each wall, all different: the number of the wall, as in `sol.impulses()`, and its name in
        ``sol.facts.wall_names``. Constraints of a user have no names.

    Raises
    ------
    InvalidValue
        If the file does not contain the number of walls.

    Examples
    --------
    >>> import jostle as jo
    >>> pile = jo.models.spheres([0.5, 0.4, 0.5], box=([0, 0], [1.1, np.inf]))
    >>> sol = jo.solve(pile, jo.Maury(), t=5.0, h=0.01)
    >>> for label, force in zip(wall_labels(sol), wall_force(sol).round(2) + 0.0):
    ...     print(label, force)
    wall 0 (wall q[0] >= lower) [-4.64  0.  ]
    wall 1 (wall q[1] >= lower) [  0.   -20.34]
    wall 2 (wall q[0] <= upper) [4.64 0.  ]
    """
    names = sol.facts.wall_names or ("",) * _walls(sol, 0)
    return tuple(f"wall {number} ({name})" if name else f"wall {number}" for number, name in enumerate(names))


def _walls(sol: Solution, k: int) -> int:
    """Number of walls, touched or not."""
    if sol.problem is not None:
        return walls_of(sol.problem.within, float(sol.t[k]), np.asarray(sol.q[k]))[0]
    if sol.walls is None:
        raise InvalidValue(
            "this file does not contain the number of walls. Give the problem of the run: jo.io.read(path, problem)"
        )
    return sol.walls


@check_arguments
def wall_pressure(sol: Solution, k: int = -1, *, area: ArrayLike) -> Array:
    """The mean pressure on each wall, |F_w| / area.

    Parameters
    ----------
    sol : Solution
        A run with contacts.
    k : int, default -1
        Number of the saved frame.
    area : float or array_like, shape (walls,)
        Area of all walls or of each wall, positive; a length in the plane.

    Returns
    -------
    ndarray, shape (walls,)
        The pressures, in the order of `wall_force`.

    Raises
    ------
    InvalidValue
        If an area is not positive, or if the contacts of the run were not saved.

    Examples
    --------
    >>> import jostle as jo
    >>> pile = jo.models.spheres([0.5, 0.4, 0.5], box=([0, 0], [1.1, np.inf]))
    >>> sol = jo.solve(pile, jo.Maury(), t=5.0, h=0.01)
    >>> left, floor, right = wall_pressure(sol, area=[3.0, 1.1, 3.0])
    >>> round(float(floor), 6), bool(np.isclose(left, right))
    (18.491414, True)
    """
    total = wall_force(sol, k)
    size = finite(area, "area")
    if size.shape not in ((), (len(total),)) or not (size > 0.0).all():
        raise InvalidValue(f"area must be positive, one number or one for each of {len(total)} walls, not {area!r}")
    return np.asarray(np.linalg.norm(total, axis=1) / size)
