"""How kernels are compiled: without Python's lock, and cached on disk under the contents of all kernels.

Numba's own cache compares a compiled function with the file that defines it, and so keeps using a function after a
constant or a function of another file that it was compiled with has changed. Here the stamp of every cached function is
a digest of all sources of `jostle.kernels`: after any change there, all kernels are compiled again. Where the files lie
stays numba's choice: NUMBA_CACHE_DIR, or __pycache__, or the user's cache folder if the installation is read-only.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile


def jit(**options: Any) -> Callable[[Any], Any]:
    """A decorator that compiles a kernel with numba and caches it on disk.

    Serial kernels run without Python's global lock, so that other threads go on meanwhile. Parallel ones keep it: one
    of numba's threading layers ends the process when two threads enter it at the same time.
    """

    def compiled(function: Any) -> Any:
        kernel = njit(nogil=not options.get("parallel", False), **options)(function)
        if hasattr(kernel, "enable_caching") and _can_cache():  # NUMBA_DISABLE_JIT leaves plain functions
            kernel._cache = _KernelCache(function)
        return kernel

    return compiled


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
    """The digest of `jostle.kernels`."""
    return digest_of(files("jostle.kernels"))


def digest_of(folder: Any) -> str:
    """A digest of the names and contents of all Python files in a folder and the folders within."""
    digest = sha256()
    for name, content in sorted(_sources(folder)):
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]


def _sources(folder: Any) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from ((f"{entry.name}/{name}", content) for name, content in _sources(entry))
        elif entry.name.endswith(".py"):
            yield entry.name, entry.read_bytes()


class _KernelCache(FunctionCache):
    """Numba's cache of one function, with the digest of all kernels as its stamp."""

    def __init__(self, function: Any):
        super().__init__(function)
        module = function.__module__.rpartition(".")[2]
        python = sys.implementation.cache_tag + getattr(sys, "abiflags", "")
        self._cache_file = _KernelFiles(
            cache_path=self._cache_path,
            filename_base=f"{module}.{function.__qualname__}.{python}",
            source_stamp=digest_of_kernels(),
        )


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
