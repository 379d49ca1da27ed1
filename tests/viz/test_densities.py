"""Pictures and films of moving densities have the numbers of the run, whether it is in memory or in a file."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.contour import ContourSet
from matplotlib.quiver import Quiver
from test_movie import pictures

import jostle as jo
from jostle import viz
from rows import whole


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("source", ["memory", "file"])
def test_a_frame_is_to_scale_with_its_walls_and_exits(density_run, source):
    place, sol = density_run
    ax = viz.density(sol if source == "memory" else place, 2)
    cells, walls, exits = (image.get_array() for image in ax.images)
    assert np.asarray(cells) == pytest.approx(sol.density[2].T)
    assert (np.asarray(walls)[..., 3].T > 0).tolist() == sol.domain.walls.tolist()
    assert (np.asarray(exits)[..., 3].T > 0).tolist() == sol.domain.exits.tolist()
    assert ax.images[0].get_extent() == [0.0, 4.0, 0.0, 2.0]
    assert ax.images[0].get_clim() == (0.0, 1.0)
    assert ax.get_aspect() == 1.0
    assert ax.get_title() == f"t = {sol.t[2]:.4g} s"
    dashed = [line.is_dashed() for line in ax.lines]
    assert dashed == [False, True, False, False]  # the right side is open


def test_pressure_and_velocity_are_drawn_over_it(density_run):
    _, sol = density_run
    ax = viz.density(sol, -1, contours=True, arrows=True)
    lines = next(each for each in ax.collections if isinstance(each, ContourSet))
    assert 0.0 < lines.levels[-1] < sol.pressure[-1].max()
    arrow = next(each for each in ax.collections if isinstance(each, Quiver))
    assert arrow.U.size == (sol.density[-1] > 1e-3).sum()
    plain = viz.density(sol, -1)
    assert not plain.collections


def test_cells_can_show_the_pressure_and_the_speed(density_run):
    _, sol = density_run
    shown = np.asarray(viz.density(sol, -1, colour="pressure").images[0].get_array())
    assert shown == pytest.approx(sol.pressure[-1].T)
    speed = viz.density(sol, 0, colour="speed").images[0].get_array()
    assert speed.compressed() == pytest.approx(np.linalg.norm(sol.cells[0], axis=-1).T[sol.density[0].T > 0])
    with pytest.raises(jo.InvalidValue, match="one of density, pressure, speed, not 'force'"):
        viz.density(sol, colour="force")
    with pytest.raises(jo.InvalidValue, match="one of the 6 frames"):
        viz.density(sol, 6)


def test_moments_share_a_scale_and_curves_have_the_totals(density_run):
    place, sol = density_run
    figure = viz.densities(place, [0.0, 0.6], colour="speed")
    first, second = (ax.images[0].get_clim() for ax in figure.axes[:2])
    assert first == second
    assert figure.axes[2].get_ylabel() == "speed $|u|$ (m/s)"
    curve = viz.mass_inside({"one": sol, "two": place})
    assert [line.get_ydata().tolist() for line in curve.lines] == [sol.mass.tolist()] * 2
    assert viz.energies(place).lines[0].get_ydata().tolist() == sol.energy.tolist()


@pytest.mark.parametrize("suffix", [whole(".mp4"), ".gif"])
def test_a_film_of_a_density_moves(density_run, tmp_path, suffix):
    place, sol = density_run
    shown, _ = pictures(viz.animate(place if suffix == ".mp4" else sol, tmp_path / f"blocks{suffix}", speed=5.0))
    assert len(shown) == 6
    assert np.abs(shown[0].astype(int) - shown[-1]).max() > 100
    with pytest.raises(jo.InvalidValue, match="the name of a field"):
        viz.animate(sol, tmp_path / "wrong.gif", colour=[1.0])


def test_the_commands_draw_and_film_the_file(density_run, tmp_path, jostle):
    place, _ = density_run
    assert jostle("plot", place, "-o", tmp_path / "a.png", "--colour", "pressure")[0] == 0
    assert jostle("movie", place, "-o", tmp_path / "a.gif", "--speed", "50")[0] == 0
    code, _, err = jostle("plot", place, "-o", tmp_path / "b.png", "--colour", "group")
    assert (code, "density, pressure, speed" in err) == (2, True)
    assert (tmp_path / "a.png").stat().st_size > 0
    assert (tmp_path / "a.gif").stat().st_size > 0
