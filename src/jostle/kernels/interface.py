"""What a set of kernels offers, and which set serves which arrays.

Kernels take arrays and return arrays; they use no classes, errors or thread settings of jostle. `reference` says
what each of them computes, in plain NumPy; `cpu` computes it in compiled loops. `cuda` computes what a step of many
bodies needs on arrays of CuPy: the kernels of `ContactKernels`. A set for another device is one more package with these
names, and one more entry of `PACKAGES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from jostle._tools.arrays import Array, Booleans, Integers, Shorts

if TYPE_CHECKING:
    import jostle.kernels.cpu
    import jostle.kernels.reference


class ContactKernels(Protocol):
    """The loops over contacts of bodies: all that a step of many bodies needs, on every device."""

    def rates(self, i: Integers, j: Integers, normal: Array, v: Array, chunks: int) -> Array: ...

    def magnitude(self, i: Integers, j: Integers, normal: Array, v: Array, chunks: int) -> Array: ...

    def adjoint(self, i: Integers, j: Integers, normal: Array, p: Array, bodies: int, chunks: int) -> Array: ...

    def norms(self, i: Integers, j: Integers, normal: Array, inverse: Array, chunks: int) -> Array: ...

    def whitened(
        self,
        i: Integers,
        j: Integers,
        normal: Array,
        inverse: Array,
        w: Array,
        c: Array,
        c_noise: Array,
        slack: Array,
        noise_level: float,
        chunks: int,
    ) -> tuple[Array, Array, Array]: ...

    def residual_pairs(
        self,
        i: Integers,
        j: Integers,
        normal: Array,
        c: Array,
        w: Array,
        mass: Array,
        u: Array,
        p: Array,
        length: Array,
        noise_level: float,
        c_noise: Array,
        chunks: int,
    ) -> tuple[float, float, float]: ...

    def by_pair(self, pairs: Integers, values: Array, wanted: Integers, otherwise: float, chunks: int) -> Array: ...

    def gauss_seidel(
        self,
        i: Integers,
        j: Integers,
        normal: Array,
        unit: Array,
        inverse: Array,
        s0: Array,
        start: Array,
        violation: Array,
        tol: float,
        max_iterations: int,
        every: int,
        chunks: int,
        places: Array | None,
    ) -> tuple[Array, int]: ...

    def all_pairs(
        self, q: Array, radii: Array, reach: Array, period: Array
    ) -> tuple[Integers, Integers, Array, Array]: ...

    def pair_list(self, q: Array, radii: Array, period: Array, chunks: int) -> tuple[Shorts, Shorts]: ...

    def near(
        self, i: Shorts, j: Shorts, q: Array, radii: Array, reach: Array, period: Array, chunks: int
    ) -> tuple[Integers, Integers, Array, Array]: ...

    def speeds(self, u: Array, v: Array, chunks: int) -> tuple[Array, float, float, float]: ...

    def outran(self, u: Array, h: float, reach: Array, chunks: int) -> bool: ...

    def stayed(self, q: Array, before: Array, radii: Array, reach: Array, room: Array, chunks: int) -> bool: ...

    def near_sides(
        self, x: Array, radii: Array, reach: Array, axis: Integers, sign: Array, ends: Array, chunks: int
    ) -> tuple[Integers, Array]: ...

    def near_segments(
        self, x: Array, limit: Array, start: Array, along: Array, dual: Array
    ) -> tuple[Integers, Array]: ...


class Kernels(ContactKernels, Protocol):
    """One function for each loop of jostle; `jostle.kernels.reference` defines them."""

    def pairs_to_dense(self, i: Integers, j: Integers, normal: Array, bodies: int) -> Array: ...

    def exact(
        self, A: Array, s0: Array, noise: Array, allowed: Array, max_iterations: int
    ) -> tuple[Array, Array, int, int]: ...

    def project_dense(
        self,
        G: Array,
        c: Array,
        w: Array,
        root: Array,
        noise_level: float,
        c_noise: Array,
        allowed: Array,
        max_iterations: int,
    ) -> tuple[Array, Array, int, int]: ...

    def residual_dense(
        self,
        G: Array,
        c: Array,
        w: Array,
        mass: Array,
        u: Array,
        p: Array,
        length: Array,
        noise_level: float,
        c_noise: Array,
    ) -> tuple[float, float, float]: ...

    def sweep_rows(
        self,
        data: Array,
        indices: Shorts,
        indptr: Shorts,
        n: int,
        s0: Array,
        start: Array,
        violation: Array,
        tol: float,
        max_iterations: int,
        every: int,
    ) -> tuple[Array, Array, int]: ...

    def interior_point(
        self,
        i: Integers,
        j: Integers,
        e: Array,
        mass: Array,
        s0: Array,
        places: Array,
        violation: Array,
        tol: float,
        max_iterations: int,
        most_numbers: int,
        chunks: int,
    ) -> tuple[Array, int, float, int]: ...

    def obstacle(
        self,
        east: Array,
        north: Array,
        extra: Array,
        b: Array,
        start: Array,
        jammed: Booleans,
        held: Booleans,
        precision: float,
        tol: float,
        zero: float,
        most: int,
        cycles: int,
    ) -> tuple[Array, int, int]: ...

    def isotonic(
        self, y: Array, mass: Array, order: Integers, starts: Integers, low: Booleans, high: Booleans
    ) -> Array: ...

    def pressures(
        self, lost: Array, mass: Array, order: Integers, starts: Integers, low: Booleans, high: Booleans
    ) -> Array: ...

    def envelopes(self, p: Array) -> Array: ...

    def collisions(
        self,
        y: Array,
        v: Array,
        a: Array,
        mass: Array,
        walls: Array,
        e: float,
        until: float,
        scale: float,
        most: int,
    ) -> tuple[Array, Integers, Array, Integers, Array, int]: ...

    def marched(
        self,
        free: Booleans,
        start: Array,
        step: float,
        cost: Array | None = None,
        wanted: Booleans | None = None,
        slack: float = 0.0,
    ) -> Array: ...

    def descent(self, d: Array, step: float, free: Booleans | None = None, otherwise: Array | None = None) -> Array: ...

    def headings(
        self,
        q: Array,
        field: Integers,
        fields: Sequence[tuple[tuple[int, int], Array]],
        lower: Array,
        step: float,
        shape: tuple[int, int],
        exits: Array,
        outward: Array,
        chunks: int,
    ) -> Array: ...

    def turned(
        self, q: Array, radii: Array, direction: Array, strength: float, decay: float, sight: float, chunks: int
    ) -> Array: ...

    def gaps_ahead(self, q: Array, radii: Array, direction: Array, sight: float, chunks: int) -> Array: ...

    def spread(self, amount: Array, east: Booleans, north: Booleans, part: float, passes: int) -> Array: ...

    def march(
        self,
        force: Callable[..., None],
        rows: Callable[..., None],
        scheme: int,
        flat: bool,
        moving: bool,
        length: Array,
        numbers: Array,
        parameters: Array,
        root: Array,
        states: Array,
        counts: Integers,
        touched: Array,
        hits: Array,
        steps: int,
        sections: int,
        skipped: int,
        kept: int,
    ) -> tuple[Array, ...]: ...

    def fly(
        self,
        force: Callable[..., None],
        rows: Callable[..., None],
        numbers: Array,
        parameters: Array,
        root: Array,
        states: Array,
        counts: Integers,
        touched: Array,
        hits: Array,
        tangents: Array,
        steps: int,
        sections: int,
        skipped: int,
        kept: int,
    ) -> tuple[Array, ...]: ...


MANY = 20_000
"""Number of rows or bodies from which on compiled loops replace expressions of NumPy."""
PACKAGES = {"cupy": "jostle.kernels.cuda"}
"""The kernels for arrays of other modules than numpy."""
CONTACT_KERNELS = frozenset(name for name in vars(ContactKernels) if not name.startswith("_"))
"""The names of the kernels that every device has."""
ALL_KERNELS = CONTACT_KERNELS | {name for name in vars(Kernels) if not name.startswith("_")}
"""The names of all kernels."""


def kernels_for(array: Any) -> Kernels:
    """The kernels that run where an array lives: those of `cpu` for arrays of NumPy, those of `cuda` for CuPy's.

    Only the `ContactKernels` exist for arrays of CuPy; `offers` says which kernels there are.

    >>> kernels_for(np.zeros(3)).outran(np.ones((2, 1)), 0.1, np.full(2, 0.2), 1)
    False
    """
    if isinstance(array, np.ndarray):
        return _cpu()
    package = PACKAGES.get(type(array).__module__.partition(".")[0])
    if package is None:
        raise TypeError(f"there are no kernels for arrays of type {type(array).__name__}")
    return cast(Kernels, import_module(package))


def offers(array: Any, names: frozenset[str]) -> bool:
    """Whether all kernels of these names exist for an array. Nothing is imported to say so for arrays of NumPy.

    >>> offers(np.zeros(3), ALL_KERNELS)
    True
    """
    return isinstance(array, np.ndarray) or all(hasattr(kernels_for(array), name) for name in names)


def offers_for_many(array: Any, name: str) -> bool:
    """Whether a kernel exists for an array, and the array has so many entries that the threads should share it.

    For fewer entries, expressions of NumPy are as fast, and compile nothing. On other devices, one kernel is always
    faster than several expressions.

    >>> offers_for_many(np.zeros((3, 2)), "speeds"), offers_for_many(np.zeros((30_000, 2)), "speeds")
    (False, True)
    """
    return (len(array) >= MANY or not isinstance(array, np.ndarray)) and offers(array, frozenset({name}))


@cache
def _cpu() -> Kernels:
    """The kernels in numba, imported when they are first needed: numba takes a second."""
    return cast(Kernels, import_module("jostle.kernels.cpu"))


def _checked_by_mypy() -> tuple[Kernels, Kernels]:
    """Each of these sets offers all kernels, with these types."""
    return jostle.kernels.reference, jostle.kernels.cpu
