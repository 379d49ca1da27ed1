"""How kernels are compiled: what jostle needs of numba, all of it.

`jit` compiles a kernel for the types that its arguments declare, when it is first called, and stores it on disk under a
digest of all kernels. It uses numba beyond its public interface, as `cpu.meeting` and `cpu.records` do, for four things
that numba does not offer: a kernel is compiled once, whatever arrays it is called with; importing it compiles and loads
nothing; it is compiled again when a constant or a function of another file has changed, while numba's own cache looks
at the file of the kernel alone; and compiled kernels can be part of an installation. So pyproject.toml admits only
versions of numba that were tried, and `tests/kernels/test_numba.py` says what to do about a newer one.
"""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import config, types
from numba.core import event
from numba.core.caching import CompileResultCacheImpl
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numpy.typing import NDArray

from jostle.kernels.compile_news import Compiling, tell
from jostle.kernels.interface import sources_of_kernels

Function = TypeVar("Function", bound=Callable[..., Any])

# ---------------------------------------------------------------------------------------------------------------------
# Types: annotations of the arguments of kernels, read by mypy and by numba
# ---------------------------------------------------------------------------------------------------------------------

# An array that a kernel only reads is declared as read-only, and numba accepts writable ones in its place. So each
# kernel is compiled once, whatever arrays it is called with. Arrays are C-contiguous.
Floats = NDArray[np.float64]
Floats2 = NDArray[np.float64]
Floats3 = NDArray[np.float64]
Singles3 = NDArray[np.float32]
OutFloats = NDArray[np.float64]
OutFloats2 = NDArray[np.float64]
OutFloats3 = NDArray[np.float64]
Ints = NDArray[np.int64]
Ints2 = NDArray[np.int64]
OutInts = NDArray[np.int64]
OutInts2 = NDArray[np.int64]
Shorts = NDArray[np.int32]
Shorts2 = NDArray[np.int32]
OutShorts = NDArray[np.int32]
OutShorts2 = NDArray[np.int32]
Indices = NDArray[np.uint32]
Indices2 = NDArray[np.uint32]
OutIndices = NDArray[np.uint32]
OutIndices2 = NDArray[np.uint32]
Bools = NDArray[np.bool_]
Bools2 = NDArray[np.bool_]
OutBools = NDArray[np.bool_]
OutBits = NDArray[np.uint64]
Force = Callable[..., None]
Rows = Callable[..., None]
Glide = Callable[..., int]

READ, WRITTEN = types.Array(types.float64, 1, "C", readonly=True), types.Array(types.float64, 1, "C")
FORCE = types.void(types.float64, READ, READ, READ, WRITTEN)
"""force(t, q, u, parameters, out): a compiled function of the user."""
ROWS = types.void(types.float64, READ, READ, WRITTEN, types.Array(types.float64, 2, "C"))
"""rows(t, q, parameters, gap, G): the gaps (m,) and their gradients (m, d), of a function of the user."""
GLIDE = types.int64(
    types.float64, types.int64, types.int64, types.float64, types.int64, types.Array(types.float64, 2, "C"), READ, READ,
    READ, types.Array(types.float64, 2, "C"), types.Array(types.float64, 2, "C"),
)  # fmt: skip
"""glide(t0, done, left, h, held, state, parameters, root, shift, G, vectors): see `functions.glide_of`."""
SCALARS = {
    "int": types.int64, "float": types.float64, "bool": types.boolean, "Nothing": types.none, "Any": None,
    "Force": types.FunctionType(FORCE), "Rows": types.FunctionType(ROWS),
    "Glide": types.FunctionType(GLIDE),
}  # fmt: skip
ENTRIES = {
    "Floats": types.float64,
    "Singles": types.float32,
    "Ints": types.int64,
    "Shorts": types.int32,
    "Indices": types.uint32,
    "Bits": types.uint64,
    "Bools": types.boolean,
}
ARRAYS = tuple(
    types.Array(entry, dimension, "C", readonly=readonly)
    for entry in ENTRIES.values()
    for dimension in (1, 2, 3)
    for readonly in (False, True)
)
"""The types of all arrays that kernels take, held from the start. Numba numbers a type when it meets one that nobody
holds, and this takes two steps: threads that met a type at the same time gave it several numbers, and numba found no
kernel for all but one of them ("No matching definition for argument type(s)")."""


def declared(function: Any) -> tuple[Any, ...] | None:
    """The numba types of the arguments of a function; None if it does not annotate them.

    The type of an argument that is annotated with Any, a tuple or a NamedTuple is None here: a helper takes it from its
    caller.

    >>> def scale(x: Floats, factor: float, out: OutFloats2) -> None: ...
    >>> declared(scale)
    (Array(float64, 1, 'C', True, aligned=True), float64, Array(float64, 2, 'C', False, aligned=True))
    """
    names = [name for argument, name in function.__annotations__.items() if argument != "return"]
    return tuple(_numba_type(name, function) for name in names) if names else None


def _numba_type(name: str, function: Any) -> Any:
    if name.startswith("tuple[") or hasattr(function.__globals__.get(name), "_fields"):
        return None
    if name in SCALARS:
        return SCALARS[name]
    entries = name.removeprefix("Out")
    dimension = int(entries[-1]) if entries[-1].isdigit() else 1
    return types.Array(ENTRIES[entries.rstrip("23")], dimension, "C", readonly=entries == name)


def renamed(function: Any, name: str, **types: str) -> Callable[..., Any]:
    """The same function under another name, by which it is stored, and with other `types` of arguments."""
    copy = FunctionType(function.__code__, function.__globals__, name)
    copy.__qualname__ = name
    copy.__annotations__ = {**function.__annotations__, **types}
    return copy


# ---------------------------------------------------------------------------------------------------------------------
# Kernels
# ---------------------------------------------------------------------------------------------------------------------


def jit(
    *, helper: bool = False, allocates: bool = False, name: str = "", **options: Any
) -> Callable[[Function], Function]:
    """A decorator that compiles a kernel with numba when it is first called, and stores it on disk.

    A kernel that annotates its arguments (`Floats` and the like) is compiled once, for these types. To compile quickly,
    a kernel says if it allocates arrays, and if it is a `helper`, which is called by other kernels only. A kernel with
    variables of the function around it is stored only if it has a `name` of its own in its file.

    Kernels run without Python's global lock, so that other threads go on meanwhile and can share the work (see
    `parallel`). Division by zero gives an infinity or a NaN, as in NumPy.
    """
    options |= {"nopython": True, "nogil": True, "error_model": "numpy"}
    options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": helper, "_nrt": allocates}

    def compiled(function: Function) -> Function:
        if config.DISABLE_JIT:
            return function
        function.__qualname__ = name or function.__qualname__
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
        if py_func.__closure__ is None or "<locals>" not in py_func.__qualname__:
            self._cache = KernelCache(py_func, alone=not self.targetoptions["_nrt"])

    def compile(self, sig: Any) -> Any:
        """Compile for the declared types, whatever types are asked for; numba then converts arguments or refuses.

        A type that is not declared is the one that is asked for, except that constants count as variables.
        """
        if self.declared is None or None in self.declared:
            own = self.declared or (None,) * len(sig)
            wanted = (types.unliteral(asked) if one is None else one for one, asked in zip(own, sig, strict=True))
            return super().compile(tuple(wanted))
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


class _Helper(_Kernel):
    """A compiled function without the code that lets Python call it."""

    from_python = False

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is compiled for other kernels only: call its py_func, or no helper")


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


# ---------------------------------------------------------------------------------------------------------------------
# Kernels on disk
# ---------------------------------------------------------------------------------------------------------------------


@cache
def digest_of_kernels() -> str:
    """The digest of everything that compiled kernels depend on, but for the processor."""
    return digest_of(files("jostle.kernels") / "compiling.py", *sources_of_kernels())


def digest_of(*sources: Any) -> str:
    """A digest of the version of numba, and of the names and contents of Python files and of all in folders."""
    digest = sha256(numba.__version__.encode())
    for name, content in [found for source in sources for found in sorted(_sources(source))]:
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]


def _sources(source: Any) -> Iterator[tuple[str, bytes]]:
    for entry in [source] if source.is_file() else source.iterdir():
        if entry.is_dir():
            yield from ((f"{entry.name}/{name}", content) for name, content in _sources(entry))
        elif entry.name.endswith(".py"):
            yield entry.name, entry.read_bytes()


class KernelCache:
    """The files of one kernel: one for each set of types and each processor, named after both and after the digest.

    Numba chooses the folder in which they are stored: NUMBA_CACHE_DIR, or __pycache__ beside the source, or the user's
    cache folder if the installation is read-only. What is not there is looked for beside the source, since an
    installation may contain compiled kernels (`compile_kernels.py` in the repository).

    A kernel that allocates nothing stands alone: it is loaded without what numba needs to compile, which takes half a
    second to import.
    """

    def __init__(self, function: Any, alone: bool):
        self._alone, self._code = alone, function.__code__
        source = Path(inspect.getfile(function))
        self._folders = [source.parent / "__pycache__"]
        self.cache_path: str | None = None
        with suppress(RuntimeError):  # no folder can be written to
            self.cache_path = CompileResultCacheImpl(function).locator.get_cache_path()
            self._folders.insert(0, Path(self.cache_path))
        python = sys.implementation.cache_tag + getattr(sys, "abiflags", "")
        self._any_kernel, self._digest = f".{python}.jostle-", digest_of_kernels()
        self._kernel = f"{source.stem}.{function.__qualname__}{self._any_kernel}{self._digest}-"

    def _name(self, types_of_arguments: Any, codegen: Any) -> str:
        """The file of a compiled version."""
        key = types_of_arguments, codegen.magic_tuple(), self._code.co_code
        return f"{self._kernel}{sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for these types, saved or installed; None if there is none."""
        if self._alone:
            rtsys.initialize(target_context)
        else:
            target_context.refresh()
        name = self._name(sig, target_context.codegen())
        for folder in self._folders:
            try:
                stored = (folder / name).read_bytes()
            except OSError:
                continue
            if stored[:32] == sha256(stored[32:]).digest():  # a file that was damaged is compiled again
                return CompileResult._rebuild(target_context, *pickle.loads(stored[32:]))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled function, and remove those of other sources; if this is impossible, warn."""
        try:
            if self.cache_path is None:
                raise OSError("no folder can be written to")
            if not data.library.has_dynamic_globals:  # addresses, which another process could not use
                content = dumps(data._reduce())
                self._save(Path(self.cache_path), self._name(sig, data.codegen), sha256(content).digest() + content)
        except OSError as error:
            _warn_once(
                f"compiled kernels could not be kept in {self._folders[0]} ({error.strerror or error}): they are "
                "compiled again in each process; make room, or set NUMBA_CACHE_DIR"
            )

    def _save(self, folder: Path, name: str, content: bytes) -> None:
        """Write a file as a whole or not at all: other processes may read or write it at the same time."""
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f"{name}.{os.getpid()}"
        try:
            unfinished.write_bytes(content)
            unfinished.replace(folder / name)
        finally:
            unfinished.unlink(missing_ok=True)
        for old in folder.glob(f"*{self._any_kernel}*.nbc"):
            if f"{self._any_kernel}{self._digest}-" not in old.name:
                old.unlink(missing_ok=True)

    @property
    def files(self) -> list[Path]:
        """The files of the kernel, saved or installed; none before it is compiled."""
        found = (sorted(folder.glob(f"{self._kernel}*.nbc")) for folder in self._folders)
        return next((paths for paths in found if paths), [])


@cache
def _warn_once(text: str) -> None:
    """Warn that compiled kernels cannot be kept, once for each folder and reason."""
    warnings.warn(text, stacklevel=3)
