"""Prove that what `make dist` has built can be released: ``python tests/release_check.py path/to/uv``.

The version stands in one place. The wheel and the sdist, which compiles its kernels while it is installed, pass
`tests/smoke.py` in empty environments, on the oldest and the newest supported Python that uv finds or fetches, and the
wheel also with the oldest versions of all packages. The commands of the README run from the wheel. `make release-check`
runs this script.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""Versions of Python that numba supports, from the oldest that jostle supports."""
OLDEST = ("--resolution", "lowest-direct", "--only-binary", ":all:")
"""Options of uv for the oldest versions of packages that pyproject.toml admits."""
ELSEWHERE = ("pyproject.toml", "CITATION.cff", ".zenodo.json")
"""Files that could contain the version and must not."""
PYENV = map(str, Path.home().glob(".pyenv/versions/*/bin"))
"""Pythons that pyenv has installed, which uv finds only on the path."""
SURROUNDINGS = {name: value for name, value in os.environ.items() if name not in ("HATCH_BUILD_NO_HOOKS", "PYTHONPATH")}
SURROUNDINGS["PATH"] = os.pathsep.join([os.environ["PATH"], *PYENV])
"""Environment variables as users have them, without those of the Makefile."""


def main(uv: str) -> None:
    """Run all checks; the first one that fails ends the script."""
    version = the_version()
    wheel, sdist = (only(ROOT / "dist", f"jostle-{version}{ending}") for ending in ("-py3-none-any.whl", ".tar.gz"))
    with tempfile.TemporaryDirectory() as folder:
        oldest, newest = found(uv, PYTHONS), found(uv, PYTHONS[::-1])
        env = Path(folder) / "oldest"
        installed(uv, env, oldest[1], *OLDEST, *PROJECT["dependencies"], f"jostle @ {wheel.as_uri()}")
        smoke(env, f"the wheel on Python {oldest[0]} with the oldest versions of all packages")
        for python, program in sorted({oldest, newest}):
            for kind, file in (("sdist", sdist), ("wheel", wheel)):
                env = Path(folder) / f"{python}{kind}"
                installed(uv, env, program, f"jostle @ {file.as_uri()}")
                compiled = len(list(env.rglob("*.nbc")))
                assert (compiled > 0) == (kind == "sdist"), f"the {kind} has installed {compiled} compiled kernels"
                smoke(env, f"the {kind} on Python {python}, with {compiled} compiled kernels")
        installed(uv, env, "", "jostle[plot,movie,crowd]")
        for line in commands():
            timed(line, ["sh", "-c", line], cwd=folder, PATH=f"{env}/bin:{SURROUNDINGS['PATH']}")
    print(f"jostle {version} can be released. What is left to a maintainer:")
    for task in maintainers_tasks():
        print(f"  {task}")


def the_version() -> str:
    """The version in src/jostle/__init__.py, which the changelog begins with and no other file repeats."""
    version = re.findall(r'^__version__ = "(.+)"$', (ROOT / "src/jostle/__init__.py").read_text("utf-8"), re.M)[0]
    first = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)[0]
    assert first == version, f"CHANGELOG.md begins with {first}, and the version is {version}"
    repeated = [name for name in ELSEWHERE if version in (ROOT / name).read_text("utf-8")]
    assert not repeated, f"the version stands in src/jostle/__init__.py; remove it from {repeated}"
    return version


def only(folder: Path, name: str) -> Path:
    """A file that must be there."""
    assert (folder / name).is_file(), f"{name} is not in {folder}, which has {os.listdir(folder)}"
    return folder / name


def found(uv: str, versions: tuple[str, ...]) -> tuple[str, str]:
    """The first of these versions of Python that uv finds or fetches, and its program; the others are named."""
    for version in versions:
        for action in ("find", "install", "find"):
            done = subprocess.run([uv, "python", action, version], env=SURROUNDINGS, capture_output=True, text=True)
            if done.returncode == 0 and action == "find":
                return version, done.stdout.strip()
        print(f"Python {version} is not on this machine and cannot be fetched: not tried", flush=True)
    raise SystemExit("no supported Python was found")


def installed(uv: str, env: Path, program: str, *what: str) -> None:
    """Install something into an environment, which is created empty if a Python is given."""
    if program:
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", program, env], check=True)
    timed(f"uv pip install {what[-1]}", [uv, "pip", "install", "--quiet", "--python", str(env / "bin/python"), *what])


def smoke(env: Path, name: str) -> None:
    """Try the jostle of an environment."""
    timed(name, [str(env / "bin/python"), str(ROOT / "tests/smoke.py")])


def commands() -> list[str]:
    """The commands of the README that run jostle. A page is saved instead of served, which would not end."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shells = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M))
    lines = [line.partition("#")[0].strip() for line in re.findall(r"^jostle .*$", shells, re.M)]
    lines += re.findall(r"\| `(jostle [^`]+)` \|", text)
    assert len(lines) >= 7, lines
    return [line for line in lines if not re.fullmatch(r"jostle view \S+", line)]


def timed(name: str, command: list[str], cwd: str | None = None, **variables: str) -> None:
    """Run a command and print how long it took; if it fails, print what it said and end."""
    begin = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**SURROUNDINGS, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stdout}")
    print(f"{time.perf_counter() - begin:7.1f} s  {name}", flush=True)


def maintainers_tasks() -> list[str]:
    """What no check can do."""
    tasks = ["date the version in CHANGELOG.md, and push the tag"]
    if not PROJECT.get("urls"):
        tasks.insert(0, "fill in [project.urls] of pyproject.toml: Repository, Issues, Documentation")
    return tasks


if __name__ == "__main__":
    main(sys.argv[1])
