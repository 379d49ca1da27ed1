"""Compiled kernels on disk, stored under the contents of all kernels.

Numba's own cache compares a compiled function with the file that defines it, and so keeps using a function after a
constant or a function of another file that it was compiled with has changed. Here the stamp of every stored function is
a digest of all sources of `kernels.cpu` and `kernels.reference`: after any change there, all are compiled again.

Numba chooses the folder in which new kernels are stored: NUMBA_CACHE_DIR, or __pycache__ beside the source, or the
user's cache folder if the installation is read-only. A kernel that is not there is looked for in __pycache__ beside the
source, since the installation may contain compiled kernels (`compile_kernels.py` in the repository).
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Iterator
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.runtime import rtsys


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


def _beside(function: Any) -> str:
    """The folder __pycache__ beside the source of a function."""
    return str(Path(inspect.getfile(function)).parent / "__pycache__")


class _ReadOnly:
    """What takes the place of numba's locator if there is no folder that can be written to."""

    def __init__(self, function: Any):
        self._py_file = inspect.getfile(function)
        self.get_cache_path = partial(_beside, function)

    def ensure_cache_path(self) -> None:
        raise OSError("no folder can be written to")

    def get_source_stamp(self) -> None:
        """Nothing: the stamp of a kernel is the digest of all kernels."""


class _Storing(CompileResultCacheImpl):
    """How numba stores a compiled function, and where; without a folder to write to, it can still be loaded."""

    def __init__(self, function: Any):
        try:
            super().__init__(function)
        except RuntimeError:  # no folder can be written to
            self._locator, self._filename_base = _ReadOnly(function), function.__qualname__


class KernelCache(FunctionCache):
    """Numba's cache of one function, with the digest of all kernels as its stamp.

    A function that allocates nothing stands alone: it is loaded without what numba needs to compile, which takes half a
    second to import.
    """

    _impl_class = _Storing

    def __init__(self, function: Any, alone: bool):
        super().__init__(function)
        self._alone = alone
        module = function.__module__.rpartition(".")[2]
        python = sys.implementation.cache_tag + getattr(sys, "abiflags", "")
        name, stamp = f"{module}.{function.__qualname__}.{python}", digest_of_kernels()
        beside = _beside(function)
        elsewhere = self._cache_path != beside and Path(beside).is_dir()
        installed = KernelFiles(beside, name, stamp) if elsewhere else None
        self._cache_file = KernelFiles(self._cache_path, name, stamp, installed)

    @property
    def files(self) -> list[Path]:
        """The files of the function: an index, and one file for each compiled version; none before it is compiled."""
        return self._cache_file.paths()

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled function; if this is impossible, it works all the same."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn_once(
                f"compiled kernels could not be kept in {self._cache_path} ({error.strerror or error}): they are "
                "compiled again in each process; make room, or set NUMBA_CACHE_DIR"
            )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function of a signature; None if there is none."""
        if not self._alone:
            return super().load_overload(sig, target_context)
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


@cache
def _warn_once(text: str) -> None:
    """Warn that compiled kernels cannot be kept, once for each folder and reason."""
    warnings.warn(text, stacklevel=3)


class KernelFiles(IndexDataCacheFile):
    """The files of one kernel: an index, and one file for each signature and processor, named after both.

    Two processes that compile at the same time write different signatures to different files, and the index names no
    file before it is complete. Compiled kernels of other sources are removed when a new one is saved. What is not there
    may be among the files that were `installed` in another folder; nothing is saved to that one.
    """

    def __init__(self, folder: str, name: str, stamp: str, installed: KernelFiles | None = None):
        super().__init__(cache_path=folder, filename_base=name, source_stamp=stamp)
        self._installed = installed

    def load(self, key: Any) -> Any:
        """A compiled kernel, saved or installed; None if there is none of these sources and this version of numba."""
        found = super().load(key)
        return self._installed.load(key) if found is None and self._installed else found

    def save(self, key: Any, data: Any) -> None:
        """Save a compiled kernel, then name it in the index, then remove those of other sources."""
        mark, of_key = f".jostle-{self._source_stamp}-", sha256(repr(key).encode()).hexdigest()[:16]
        name = self._index_name.removesuffix(".nbi") + f"{mark}{of_key}.nbc"
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})
        for old in Path(self._cache_path).glob("*.jostle-*.nbc"):
            if mark not in old.name:
                old.unlink(missing_ok=True)

    def paths(self) -> list[Path]:
        """The index and all files that it names, saved or installed; none of other sources or versions of numba."""
        names = self._load_index().values()
        if names:
            paths = (Path(self._cache_path, name) for name in (self._index_name, *names))
            return [path for path in paths if path.is_file()]
        return self._installed.paths() if self._installed else []
