"""Kernels: each is declared once, with a signature that all its implementations share, and computed for each device.

`kernels.reference` declares the kernels of contacts and bodies, and `kernels.py` of their packages those of plans,
crowds and densities; the tests define all of them in plain NumPy. `kernels.cpu` computes kernels in compiled loops, for
arrays of NumPy; `kernels.cuda` computes those that a step of many bodies needs, for arrays of CuPy. Implementations
register themselves with `Kernel.on`; `PACKAGES` and `COMPILED` say where they are. Kernels use no classes or errors of
jostle.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import numpy as np
from numpy import ndarray

P = ParamSpec("P")
R = TypeVar("R")

MANY = 20_000
"""Number of rows or bodies from which on compiled loops replace expressions of NumPy."""
PACKAGES = {"cupy": "jostle.kernels.cuda"}
"""The packages that implement kernels for the arrays of other modules than NumPy, imported when first needed."""
COMPILED = ("jostle.kernels.cpu", "jostle.plans.compiled", "jostle.crowds.model.compiled", "jostle.macro.compiled")
"""The modules that implement kernels for arrays of NumPy, by numba. Kernels outside `kernels` are declared in
`kernels.py` beside the module."""
KERNELS: dict[str, Kernel[..., Any]] = {}
"""All kernels, by name."""


class Kernel(Generic[P, R]):
    """A kernel: calling it calls the implementation for the array that its first argument is, or begins with.

    >>> def doubled(x, by): return 2.0 * x + by
    >>> kernel = Kernel(doubled)
    >>> @kernel.on("numpy")
    ... def doubled_in_place(x, by):
    ...     x *= 2.0
    ...     return x + by
    >>> kernel(np.ones(2), 1.0).tolist()
    [3.0, 3.0]
    >>> del KERNELS["doubled"]
    """

    def __init__(self, definition: Callable[P, R], compiled: str = "jostle.kernels.cpu"):
        self.definition, self.name, self.__doc__ = definition, definition.__name__, definition.__doc__
        self.implementations: dict[str, Callable[P, R]] = {}
        self.compiled = compiled
        self.on_numpy: Callable[P, R] | None = None  # until its module is imported: another thread may be doing that
        KERNELS[self.name] = self

    def on(self, module: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """A decorator: the function is the implementation for the arrays of a module."""

        def register(function: Callable[P, R]) -> Callable[P, R]:
            self.implementations[module] = function
            return function

        return register

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **options: P.kwargs) -> R: ...

    else:

        def __call__(self, first, *rest):  # without the dictionary of options, which takes time
            array = first if type(first) is ndarray else first[0] if isinstance(first, tuple) else first
            if type(array) is ndarray and self.on_numpy is not None:
                return self.on_numpy(first, *rest)
            return self.serving("numpy" if isinstance(array, ndarray) else _module(array))(first, *rest)

    def serving(self, module: str) -> Callable[P, R]:
        """The implementation for the arrays of a module, whose package is imported first."""
        import_module(self.compiled if module == "numpy" else _package(module))
        if module not in self.implementations:
            raise TypeError(f"there is no kernel {self.name} for arrays of {module}")
        if module == "numpy":
            self.on_numpy = self.implementations[module]
        return self.implementations[module]


def _module(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def _package(module: str) -> str:
    if module not in PACKAGES:
        raise TypeError(f"there are no kernels for arrays of {module}")
    return PACKAGES[module]


def kernel(compiled: str) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """A decorator of the signature of a kernel outside this package: a module of `COMPILED` implements it."""
    return partial(Kernel, compiled=compiled)


def sources_of_kernels() -> list[Any]:
    """The files and folders that kernels are compiled from: all are compiled again when one of them changes."""
    found = [files("jostle.kernels") / name for name in ("cpu", "reference")]
    for name in COMPILED[1:]:
        package = files("jostle").joinpath(*name.split(".")[1:-1])  # without importing it
        found += [package / "kernels.py", package / "compiled.py"]
    return found


def offers(array: Any, names: frozenset[str]) -> bool:
    """Whether all kernels of these names exist for an array. Nothing is imported to say so for arrays of NumPy.

    >>> offers(np.zeros(3), frozenset(KERNELS))
    True
    """
    if isinstance(array, np.ndarray):
        return True
    module = _module(array)
    import_module(_package(module))
    return all(module in KERNELS[name].implementations for name in names)
