"""How kernels are compiled: once each, without Python's lock, and cached on disk under the contents of all kernels.

Numba's own cache compares a compiled function with the file that defines it, and so keeps using a function after a
constant or a function of another file that it was compiled with has changed. Here the stamp of every cached function is
a digest of all sources of `kernels.cpu` and `kernels.reference`: after any change there, all are compiled again. Where
the files lie stays numba's choice: NUMBA_CACHE_DIR, or __pycache__, or the user's cache folder if the installation is
read-only.
"""

from __future__ import annotations

import gc
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, types
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys

from jostle.kernels.compiling import Compiling, tell
from jostle.kernels.cpu.signatures import declared

Function = TypeVar("Function", bound=Callable[..., Any])


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
        if _can_cache():
            self._cache = _KernelCache(py_func, alone=not self.targetoptions["_nrt"])

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


@cache
def _can_cache() -> bool:
    try:
        FunctionCache(_sources)
    except RuntimeError as error:  # no folder can be written to
        warnings.warn(f"kernels are compiled again in each process ({error}); set NUMBA_CACHE_DIR", stacklevel=4)
        return False
    return True


@cache
def digest_of_kernels() -> str:
    """The digest of the kernels, and of the definitions, some of which are compiled too."""
    return digest_of(*(files("jostle.kernels") / name for name in ("cpu", "reference")))


def digest_of(*folders: Any) -> str:
    """A digest of the names and contents of all Python files in folders and the folders within."""
    digest = sha256()
    for name, content in [source for folder in folders for source in sorted(_sources(folder))]:
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]


def _sources(folder: Any) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from ((f"{entry.name}/{name}", content) for name, content in _sources(entry))
        elif entry.name.endswith(".py"):
            yield entry.name, entry.read_bytes()


class _KernelCache(FunctionCache):
    """Numba's cache of one function, with the digest of all kernels as its stamp.

    A function that allocates nothing stands alone: it is loaded without what numba needs to compile, which takes half a
    second to import.
    """

    def __init__(self, function: Any, alone: bool):
        super().__init__(function)
        self._alone = alone
        module = function.__module__.rpartition(".")[2]
        python = sys.implementation.cache_tag + getattr(sys, "abiflags", "")
        self._cache_file = _KernelFiles(
            cache_path=self._cache_path,
            filename_base=f"{module}.{function.__qualname__}.{python}",
            source_stamp=digest_of_kernels(),
        )

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function; if there is no room for it, it works all the same."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            warnings.warn(
                f"a compiled kernel could not be kept ({error}): it is compiled again in each process; make room, or "
                "set NUMBA_CACHE_DIR",
                stacklevel=2,
            )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function of a signature; None if there is none."""
        if not self._alone:
            return super().load_overload(sig, target_context)
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


class _KernelFiles(IndexDataCacheFile):
    """The files of one kernel: an index, and one file for each signature and processor, named after both.

    Two processes that compile at the same time write different signatures to different files, and the index names no
    file before it is complete. Compiled kernels of other sources are removed when a new one is saved.
    """

    def save(self, key: Any, data: Any) -> None:
        """Save a compiled kernel, then name it in the index, then remove those of other sources."""
        mark, of_key = f".jostle-{self._source_stamp}-", sha256(repr(key).encode()).hexdigest()[:16]
        name = self._index_name.removesuffix(".nbi") + f"{mark}{of_key}.nbc"
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})
        for old in Path(self._cache_path).glob("*.jostle-*.nbc"):
            if mark not in old.name:
                old.unlink(missing_ok=True)
