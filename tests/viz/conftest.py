"""Solutions to look at, and a real browser to look with."""

import shutil
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from browsing import wait_until
from playwright.sync_api import sync_playwright

import jostle as jo
from jostle import viz

matplotlib.use("Agg")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb",
]  # fmt: skip


@pytest.fixture(scope="session")
def pile():
    """Discs that fall into a box, with contacts at the end."""
    radii = np.random.default_rng(1).uniform(0.3, 0.5, 24)
    heap = jo.models.spheres(radii, box=([0, 0], [5, np.inf]), seed=1)
    return jo.solve(heap, jo.Maury(), t=1.0, h=0.01, every=0.05)


@pytest.fixture(scope="session")
def two_balls():
    """Two balls in space, one behind the other along y: ball 0 is at rest, ball 1 moves."""
    q0 = np.array([[0.0, -2.0, 0.0], [0.5, 2.0, 0.0]])
    pair = jo.Motion(q0=q0, v0=[[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]], within=jo.Balls([1.0, 1.0]))
    return jo.solve(pair, jo.Maury(), t=1.0, h=0.1)


@pytest.fixture(scope="session")
def leaving():
    """Three spheres fall, and are taken out one after the other."""
    q0 = np.array([[0.0, 0.0, 1.0], [2.5, 0.0, 2.0], [5.0, 0.0, 9.0]])
    fall = jo.Motion(q0=q0, force=[0.0, 0.0, -10.0], within=jo.Balls(np.ones(3)))
    return jo.solve(fall, jo.Maury(), t=1.0, h=0.05, change=jo.Outlet(lambda q: q[:, 2] < 0.0))


@pytest.fixture
def as_read():
    """A solution as it comes from a file: without its problem, perhaps with radii."""

    def read(sol, radii=None):
        unknown = replace(sol, problem=None, scheme=None)
        if radii is not None:
            object.__setattr__(unknown, "radii", radii)
        return unknown

    return read


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, NAMES)), playwright.chromium.executable_path)
        if not Path(found).exists():
            pytest.skip(f"no Chromium: none of {', '.join(NAMES)} is installed (Debian: apt-get install chromium)")
        chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser, tmp_path):
    """open(sol) is the page that plays it, in a browser without network; at the end nothing may have gone wrong."""
    wrong, contexts = [], []

    def open_page(sol, *, before="", page=None, size=(600, 520), **options):
        path = tmp_path / f"{len(contexts)}.html"
        viz.page(sol, path, **(page or {}))
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, offline=True, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("request", lambda request: wrong.append(request.url) if request.url != path.as_uri() else None)
        if before:
            tab.add_init_script(before)
        tab.goto(path.as_uri())
        wait_until(tab, "() => window.viewer && viewer.shown === 0")
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
