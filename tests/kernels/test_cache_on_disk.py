"""Compiled kernels on disk: when they are used, and when they are compiled again."""

import importlib.util
import shutil
import sys
from pathlib import Path

import numba
import pytest
from numba.core import caching

from jostle.kernels import cpu
from jostle.kernels.cpu import cache_on_disk, warm_up
from jostle.kernels.cpu.jit import KERNELS

SOURCES = Path(cpu.__file__).parent.parent


def test_the_digest_changes_with_every_source_of_the_kernels(tmp_path):
    copy = tmp_path / "kernels"
    shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__"))

    def digest():
        return cache_on_disk.digest_of(copy / "cpu", copy / "reference")

    assert digest() == cache_on_disk.digest_of_kernels()
    reference = copy / "reference" / "sweeps.py"
    source = reference.read_text()
    reference.write_text(source.replace("FAR = 3.0", "FAR = 4.0"))
    changed = digest()
    reference.write_text(source)
    (copy / "cpu" / "new.py").write_text("")
    assert len({cache_on_disk.digest_of_kernels(), changed, digest()}) == 3
    assert digest() != cache_on_disk.digest_of(copy / "reference", copy / "cpu")


@pytest.fixture
def scaled(tmp_path, monkeypatch):
    """A function that compiles a kernel of a file that imports a constant of another one, and calls it."""

    def call(margin, digest, folder=tmp_path):
        monkeypatch.setattr(cache_on_disk, "digest_of_kernels", lambda: digest)
        file = folder / "kernel_of_test.py"
        file.write_text(
            "from jostle.kernels.cpu.jit import jit\n"
            "from constants_of_test import MARGIN\n"
            "@jit()\ndef scaled(x):\n    return MARGIN * x\n"
        )
        constants = type(sys)("constants_of_test")
        constants.MARGIN = margin
        monkeypatch.setitem(sys.modules, "constants_of_test", constants)
        spec = importlib.util.spec_from_file_location("kernel_of_test", file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "kernel_of_test", module)
        spec.loader.exec_module(module)
        return module.scaled(2.0), sum(module.scaled.stats.cache_hits.values())

    count = len(KERNELS)
    yield call
    del KERNELS[count:]


@pytest.fixture
def read_only(monkeypatch):
    """Make all folders read-only for numba; permissions would not do so for the root user."""

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    return lambda: monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", refuse)


def test_a_constant_that_changed_in_another_file_is_seen_and_old_kernels_are_removed(scaled, tmp_path):
    folder = tmp_path / "__pycache__"
    assert scaled(1.5, "a" * 16) == (3.0, 0)
    assert scaled(1.5, "a" * 16) == (3.0, 1)
    assert scaled(2.5, "b" * 16) == (5.0, 0)
    assert scaled(2.5, "b" * 16) == (5.0, 1)
    assert [file.name.split(".jostle-")[1][:16] for file in folder.glob("*.nbc")] == ["b" * 16]
    assert len(list(folder.glob("*.nbi"))) == 1


def test_the_user_says_where_the_cache_is(scaled, tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "mine"))
    assert scaled(1.5, "a" * 16) == (3.0, 0)
    assert scaled(1.5, "a" * 16) == (3.0, 1)
    assert len(list((tmp_path / "mine").rglob("*.nbc"))) == 1
    assert not (tmp_path / "__pycache__").exists() or not list((tmp_path / "__pycache__").glob("*.nb?"))


def test_kernels_that_come_with_an_installation_are_not_compiled(scaled, tmp_path):
    source, installed = tmp_path / "source", tmp_path / "installed"
    for folder in (source, installed):
        folder.mkdir()
    assert scaled(1.5, "a" * 16, source) == (3.0, 0)
    shutil.copytree(source / "__pycache__", installed / "__pycache__")
    assert scaled(1.5, "a" * 16, installed) == (3.0, 1)


def test_a_read_only_installation_uses_its_kernels_and_others_are_stored_elsewhere(
    scaled, tmp_path, monkeypatch, read_only
):
    assert scaled(1.5, "a" * 16) == (3.0, 0)
    installed = sorted((tmp_path / "__pycache__").glob("*.nb?"))
    with monkeypatch.context() as patch:
        patch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "mine"))
        assert scaled(1.5, "a" * 16) == (3.0, 1)
        assert sorted(KERNELS[-1]._cache.files) == installed
        assert list((tmp_path / "mine").rglob("*.nb?")) == []
        assert scaled(2.5, "b" * 16) == (5.0, 0)
        assert scaled(2.5, "b" * 16) == (5.0, 1)
        assert len(list((tmp_path / "mine").rglob("*.nb?"))) == 2
    read_only()
    assert scaled(1.5, "a" * 16) == (3.0, 1), "without a warning"
    assert sorted((tmp_path / "__pycache__").glob("*.nb?")) == installed


def test_without_a_folder_to_write_to_kernels_work_and_one_warning_says_what_to_do(scaled, read_only):
    read_only()
    with pytest.warns(UserWarning, match=r"\(no folder can be written to\).*set NUMBA_CACHE_DIR") as warned:
        values = [scaled(margin, "a" * 16) for margin in (1.5, 2.5)]
    assert values == [(3.0, 0), (5.0, 0)]
    assert len(warned) == 1


def test_the_files_of_the_kernels_are_those_of_these_sources_this_python_and_this_numba(scaled, tmp_path, monkeypatch):
    """What `compile_kernels.py` puts into a wheel."""
    assert scaled(1.5, "a" * 16) == (3.0, 0)
    monkeypatch.setattr(warm_up, "KERNELS", KERNELS[-1:])
    folder = tmp_path / "__pycache__"
    index, data = sorted(folder.glob("*.nb?"), reverse=True)
    shutil.copy(data, folder / data.name.replace("a" * 16, "b" * 16))
    shutil.copy(index, folder / index.name.replace("cpython-", "cpython-1"))
    assert warm_up.compiled_files() == [data, index]
    files = KERNELS[-1]._cache._cache_file
    for attribute in ("_version", "_source_stamp"):
        with monkeypatch.context() as patch:
            patch.setattr(files, attribute, "another one")
            assert warm_up.compiled_files() == []
    data.unlink()
    assert warm_up.compiled_files() == [index], "no file that is missing"


def test_without_room_for_them_kernels_work_and_a_warning_says_what_to_do(scaled, full_disk):
    with full_disk(1000), pytest.warns(UserWarning, match="could not be kept.*make room, or set NUMBA_CACHE_DIR"):
        assert scaled(1.5, "a" * 16) == (3.0, 0)
    assert scaled(1.5, "a" * 16) == (3.0, 0), "nothing half-written was left"
    assert scaled(1.5, "a" * 16) == (3.0, 1)


def test_two_processes_that_save_at_the_same_time_do_not_mix_up_what_they_saved(tmp_path):
    """Each has read the index before the other wrote it: what is lost is compiled again, nothing is taken for it."""
    one, two = (cache_on_disk.KernelFiles(str(tmp_path), "kernel", "a" * 16) for _ in range(2))
    seen = two._load_index()
    one.save("int32", "compiled for int32")
    two._load_index = lambda: seen
    two.save("int64", "compiled for int64")
    assert one.load("int64") == "compiled for int64"
    assert one.load("int32") in (None, "compiled for int32")
