"""Solutions to look at, and a real browser to look with."""

import os
import shutil
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from browsing import PATIENCE, wait_until
from playwright.sync_api import sync_playwright

import jostle as jo
from jostle import viz

matplotlib.use("Agg")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-color-profile=srgb",
    "--disable-gpu-rasterization",
]  # fmt: skip
"""WebGL by software. The rest of the page is drawn without it, which takes half the time."""


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
    return jo.solve(fall, jo.Maury(), t=1.0, h=0.05, changes=jo.Outlet(lambda q: q[:, 2] < 0.0))


@pytest.fixture(scope="session")
def density_run(tmp_path_factory):
    """Two blocks of a density fly against each other beside a wall; the file of the run, and the run."""
    grid = jo.macro.Grid([0, 0], [4, 2], h=1 / 4, closed=((True, False), (True, True)))
    left, right = grid.block([0.5, 0.5], [1.5, 1.5]), grid.block([2, 0.5], [3, 1.5])
    flow = jo.macro.Flow(
        grid=grid,
        density=0.8 * (left | right),
        velocity=grid.velocity(left - right, 0),
        walls=grid.block([1.5, 1.75], [2.0, 2.0]),
        exits=grid.block([3.75, 0.0], [4.0, 0.5]),
    )
    output = jo.io.Output(tmp_path_factory.mktemp("run") / "blocks.vtkhdf", units=jo.io.SI)
    return Path(output.path), jo.macro.solve(flow, jo.macro.Splitting(), t=1.0, h=0.05, every=4, output=output)


@pytest.fixture
def as_read():
    """A solution as it comes from a file: without its problem, perhaps with radii."""

    def read(sol, radii=None):
        return replace(sol, problem=None, scheme=None, radii=radii)

    return read


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, NAMES)), playwright.chromium.executable_path)
        if not Path(found).exists():
            missing = f"no Chromium: none of {', '.join(NAMES)} is installed (Debian: apt-get install chromium)"
            if os.environ.get("CI") or os.environ.get("JOSTLE_REQUIRE_BROWSER"):
                pytest.fail(missing)
            pytest.skip(missing)
        chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def idle_tabs(browser):
    """Tabs that no test uses at the moment, by their options: a new tab takes longer than a new page in an old tab."""
    return defaultdict(list)


def _tab(browser, before, options):
    """A new tab; scripts in `before` run before those of each page."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000.0 * PATIENCE)
    tab = context.new_page()
    if before:
        tab.add_init_script(before)
    return tab


@pytest.fixture
def tab_of(browser, idle_tabs):
    """tab_of(address) is a tab there; at the end nothing may have gone wrong, and nobody else been asked."""
    wrong, used = [], []

    def new_tab(address, *, below="", before="", size=(600, 520), color_scheme="light", **options):
        idle = idle_tabs[before, *sorted(options.items())]
        tab = idle.pop() if idle else _tab(browser, before, options)
        tab.set_viewport_size({"width": size[0], "height": size[1]})
        tab.emulate_media(color_scheme=color_scheme)
        mine = (lambda url: url.startswith(below)) if below else (lambda url: url == address)
        listeners = {
            "console": lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None,
            "pageerror": lambda error: wrong.append(str(error)),
            "request": lambda request: None if mine(request.url) else wrong.append(request.url),
        }
        for event, listener in listeners.items():
            tab.on(event, listener)
        used.append((idle, tab, listeners))
        tab.goto(address)
        return tab

    def close():
        while used:
            idle, tab, listeners = used.pop()
            if not tab.evaluate("location.protocol === 'file:' && window.viewer?.playing === false"):
                tab.goto("about:blank")  # what a file shows at rest gives way to the next file, which is quicker
            tab.mouse.move(0, 0)
            for event, listener in listeners.items():
                tab.remove_listener(event, listener)
            idle.append(tab)

    new_tab.wrong, new_tab.close = wrong, close
    yield new_tab
    close()
    assert wrong == []


@pytest.fixture
def opened(tab_of, tmp_path):
    """opened(sol) is the page that plays it, in a browser without network."""
    pages = iter(range(100))

    def open_page(sol, *, page=None, **options):
        path = tmp_path / f"{next(pages)}.html"
        viz.page(sol, path, **(page or {}))
        tab = tab_of(path.as_uri(), offline=True, **options)
        wait_until(tab, "() => window.viewer && viewer.shown === 0")
        return tab

    return open_page


IMPATIENT = """{
    const [later, ask] = [window.setTimeout, window.fetch];
    window.setTimeout = (what, after, ...rest) => later(what, after / 10, ...rest);
    window.framesAsked = 0;
    window.fetch = (what, ...rest) => {
        window.framesAsked += String(what).startsWith("frame/");
        return ask(what, ...rest);
    };
}"""
"""A page that looks ten times as often for what is new, and counts the frames that it asks for."""


@pytest.fixture
def served(tab_of):
    """served(sol) is the page of a server that shows it."""
    servers = []

    def open_page(sol, *, serve=None, before="", **options):
        servers.append(viz.serve(sol, **(serve or {})))
        tab = tab_of(servers[-1].address, below=servers[-1].address, before=IMPATIENT + before, **options)
        wait_until(tab, "() => window.viewer && viewer.shown === 0")
        return tab

    open_page.servers = servers
    yield open_page
    tab_of.close()  # before there is nobody to ask
    for server in servers:
        server.close()
