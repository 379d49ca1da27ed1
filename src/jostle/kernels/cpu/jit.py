"""How kernels are compiled: once each, without Python's lock, and stored on disk (see `cache_on_disk`)."""

from __future__ import annotations

import gc
import platform
import sys
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, cast

from numba import config, types
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from jostle.kernels.compiling import Compiling, tell
from jostle.kernels.cpu.cache_on_disk import KernelCache
from jostle.kernels.cpu.signatures import declared

Function = TypeVar("Function", bound=Callable[..., Any])

FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine()) if sys.platform == "linux" else None
"""The number of Linux's system call by which threads sleep until a number changes. Where it is not known, threads of
Python share pieces of kernels, instead of a `crew`."""


def jit(*, helper: bool = False, allocates: bool = False, **options: Any) -> Callable[[Function], Function]:
    """A decorator that compiles a kernel with numba when it is first called, and caches it on disk.

    A kernel that annotates its arguments (see `signatures`) is compiled once, for these types. To compile quickly,
    a kernel says if it allocates arrays, and if it is a `helper`, which is called by other kernels only.

    Kernels run without Python's global lock, so that other threads go on meanwhile and can share the work (see
    `sharing`). Division by zero gives an infinity or a NaN, as in NumPy.
    """
    options |= {"nopython": True, "nogil": True, "error_model": "numpy"}
    options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": helper, "_nrt": allocates}

    def compiled(function: Function) -> Function:
        if config.DISABLE_JIT:
            return function
        return cast(Function, (_Helper if helper else _Kernel)(function, targetoptions=options))

    return compiled


class _Kernel(CPUDispatcher):
    """A compiled function with one set of argument types, if it declares them."""

    from_python = True
    """Can Python call it?"""

    def __init__(self, py_func: Any, *args: Any, **options: Any):
        super().__init__(py_func, *args, **options)
        KERNELS.append(self)
        self.declared = declared(py_func)
        self._cache = KernelCache(py_func, alone=not self.targetoptions["_nrt"])

    def compile(self, sig: Any) -> Any:
        """Compile for the declared types, whatever types are asked for; numba then converts arguments or refuses.

        Without a declaration it compiles for what is asked for, except that constants count as variables.
        """
        if self.declared is None:
            return super().compile(tuple(types.unliteral(argument) for argument in sig))
        if None in self.declared:
            return super().compile(
                tuple(
                    types.unliteral(asked) if own is None else own
                    for asked, own in zip(sig, self.declared, strict=True)
                )
            )
        with global_compiler_lock:
            if not self.overloads:
                super().compile(self.declared)
                self.disable_compile()
        return self.overloads[self.declared].entry_point

    def _compile_for_args(self, *args: Any, **keywords: Any) -> Any:
        """What numba calls, then, with the same arguments, when no compiled function fits them."""
        if self.declared is None:
            return super()._compile_for_args(*args, **keywords)
        self.compile(self.declared)
        return self

    @cached_property
    def packed(self) -> Any:
        """The kernel, which declares its types, as a function of packed arguments, for a `crew`."""
        from jostle.kernels.cpu.packed import Packed

        self.compile(self.declared)
        return Packed(self.overloads[self.declared])

    if FUTEX is None:
        del packed


KERNELS: list[_Kernel] = []
"""All kernels, in the order in which they are defined."""


class _News(event.Listener):
    """Tells what is compiled, kernels within kernels included. Meanwhile no garbage is collected, which saves time."""

    def __init__(self) -> None:
        self.stack: list[tuple[str, bool]] = []
        self.compiled, self.seconds, self.begin = 0, 0.0, 0.0

    def on_start(self, started: Any) -> None:
        kernel = started.data["dispatcher"]
        if not isinstance(kernel, _Kernel):
            return
        if not self.stack:
            self.begin = time.monotonic()
        self.stack.append((kernel.py_func.__name__, gc.isenabled()))
        gc.disable()
        self.tell()

    def on_end(self, ended: Any) -> None:
        if not isinstance(ended.data["dispatcher"], _Kernel):
            return
        _, collected = self.stack.pop()
        self.compiled += 1
        if collected:
            gc.enable()
        if not self.stack:
            self.seconds += time.monotonic() - self.begin
        self.tell()

    def tell(self) -> None:
        if self.stack:
            seconds = self.seconds + time.monotonic() - self.begin
            tell(Compiling(self.stack[-1][0], self.compiled, len(KERNELS), seconds))
        else:
            tell(None)


event.register("numba:compile", _News())


class _Helper(_Kernel):
    """A compiled function without the code that lets Python call it."""

    from_python = False

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is compiled for other kernels only: call its py_func, or no helper")
