"""What is there to be seen: bodies, radii, forces, in any shape of q."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection

import jostle as jo
from jostle.viz.encoding import Encoder
from jostle.viz.scene import Scene


def test_forces_on_a_column_are_the_weights_above():
    scene = Scene(jo.solve(jo.models.chain(3, gravity=2.0), jo.Maury(), t=0.1, h=0.1))
    frame = scene.frame(-1)
    assert frame.x.round(9).tolist() == [[0.5, 0.0], [1.5, 0.0], [2.5, 0.0]]
    assert frame.force.round(9).tolist() == [10.0, 6.0, 2.0]
    assert sorted(frame.bars.force.round(9).tolist()) == [2.0, 4.0, 6.0]
    assert [line.points[:, 0].tolist() for line in scene.walls(0.0, scene.view(frame))] == [[0.0, 0.0]]


def test_a_bar_ends_at_the_other_centre_or_at_the_wall(pile):
    frame = Scene(pile).frame(-1)
    i, j = frame.bars.rows.T
    length = np.linalg.norm(frame.bars.end - frame.bars.start, axis=1)
    expected = frame.radii[i] + np.where(j >= 0, frame.radii[j], 0.0)
    assert len(length) > 10
    assert length == pytest.approx(expected, rel=1e-3)
    assert (frame.bars.end[j < 0].min(axis=1) > -1e-3).all()


def test_a_force_on_a_body_that_has_just_left_is_not_shown():
    within = jo.Balls([1.0, 1.0]) & jo.HalfSpace([0.0, 1.0])
    tower = jo.Motion(q0=[[0.0, 1.0], [0.0, 3.0]], force=[0.0, -1.0], within=within)
    frame = Scene(jo.solve(tower, jo.Maury(), t=0.1, h=0.1, changes=jo.Outlet(lambda q: q[:, 1] > 2.0))).frame(-1)
    assert frame.bars.rows.tolist() == [[0, -1]]
    assert frame.force.round(9).tolist() == frame.bars.force.round(9).tolist() == [2.0]


def test_a_run_that_goes_on_is_shown_with_the_same_origin_and_the_quantities_of_the_user():
    first, longer = (Scene(jo.solve(jo.models.rack(2), jo.Maury(), t=t, h=0.1)) for t in (0.2, 0.9))
    encoder = Encoder.of(first, quantities={"age": lambda k: np.full(4, k)})
    later = encoder.continued(longer)
    assert [one.label for one in later.given] == ["age"]
    assert later.encoded(longer.frame(1)) == encoder.encoded(first.frame(1))


def test_those_who_are_not_there_are_not_shown(leaving):
    scene = Scene(leaving)
    assert [len(scene.frame(k).number) for k in (0, len(leaving.t) - 1)] == [3, 1]
    assert scene.frame(-1).number.tolist() == [2]
    assert np.isfinite(scene.frame(-1).x).all()


@pytest.mark.parametrize(
    ("problem", "scheme", "dimension", "count"),
    [
        (jo.models.cradle(4), jo.Paoli(), 1, 4),
        (jo.models.labyrinth(), jo.Venel(), 2, 1),
        (jo.models.impact_oscillator(), jo.Paoli(), 1, 1),
        (jo.models.rack(2), jo.Maury(), 2, 4),
        (jo.Motion(q0=[0.0, 0, 0, 3, 0, 0], within=jo.Balls([1.0, 1.0])), jo.Maury(), 3, 2),
        (jo.Motion(q0=np.arange(5.0)), jo.Maury(), 1, 5),
        (jo.Motion(q0=[1.0, 2.0, 3.0], within=jo.HalfSpace([0, 0, 1])), jo.Maury(), 3, 1),
    ],
)
def test_the_space_of_the_bodies_is_found(problem, scheme, dimension, count):
    scene = Scene(jo.solve(problem, scheme, t=0.02, h=0.01))
    assert (scene.dimension, scene.count) == (dimension, count)
    frame = scene.frame(0)
    assert frame.x.shape == (count, max(dimension, 2))
    assert (frame.radii > 0).all()


def test_bodies_in_four_dimensions_are_refused():
    sol = jo.solve(jo.Motion(q0=np.zeros((2, 4))), jo.Maury(), t=0.1, h=0.1)
    with pytest.raises(jo.InvalidValue, match="on a line, in the plane or in space"):
        Scene(sol)


def test_there_is_no_frame_beyond_the_last(pile):
    with pytest.raises(jo.InvalidValue, match="no frame 99"):
        Scene(pile).frame(99)


def test_radii_that_grow_are_those_of_the_time():
    swell = jo.Motion(q0=[[0.0, 0.0], [9.0, 0.0]], within=jo.Balls(lambda t: np.array([1.0, 2.0]) + t))
    scene = Scene(jo.solve(swell, jo.Maury(), t=1.0, h=0.5))
    assert [scene.frame(k).radii.tolist() for k in (0, 2)] == [[1.0, 2.0], [2.0, 3.0]]


def test_walls_know_the_radii_of_bodies_that_may_overlap():
    fog = jo.Motion(q0=[[1.0, 1.0], [1.0, 1.5]], within=jo.Box([0, 0], [3, 3], radii=[0.5, 0.25]))
    assert Scene(jo.solve(fog, jo.Maury(), t=0.1, h=0.1)).frame(0).radii.tolist() == [0.5, 0.25]


def test_a_solution_without_its_problem_brings_its_radii(as_read):
    sol = jo.solve(jo.models.rack(2), jo.Maury(), t=0.2, h=0.1)
    assert Scene(as_read(sol, np.full((3, 4), 0.5))).frame(1).radii.tolist() == [0.5] * 4


def test_or_its_bodies_are_small_points(as_read):
    scene = Scene(as_read(jo.solve(jo.models.cradle(5), jo.Paoli(), t=1.5, h=0.01)))
    frame = scene.frame(-1)
    assert (scene.dimension, scene.count, scene.force_name) == (1, 5, "force")
    assert 0.0 < frame.radii.max() < 0.2


def test_a_periodic_space_is_shown_once():
    q0 = [[0.1, 0.5], [2.9, 0.5]]
    far = jo.Motion(q0=q0, v0=[[-1.0, 0.0], [-0.5, 0.0]], within=jo.Balls([0.1, 0.1], period=[3.0, np.inf]))
    scene = Scene(jo.solve(far, jo.Maury(), t=1.0, h=0.1))
    frame = scene.frame(-1)
    assert (frame.x[:, 0] >= 0.0).all()
    assert (frame.x[:, 0] <= 3.0).all()
    assert len(frame.bars.force) == 1
    assert np.linalg.norm(frame.bars.end - frame.bars.start, axis=1) == pytest.approx(0.2)
    assert [line.kind for line in scene.walls(0.0, scene.view(frame))] == ["cell", "cell"]
    assert scene.view(frame).upper[0] == 3.0


def test_bodies_that_extend_beyond_an_end_of_a_periodic_cell_are_also_shown_at_the_other():
    q0, within = [[0.05, 0.5], [1.5, 0.5], [2.95, 2.5]], jo.Balls([0.1] * 3, period=[3.0, np.inf])
    scene = Scene(jo.solve(jo.Motion(q0=q0, within=within), jo.Maury(), t=0.1, h=0.1))
    rows, images = scene.images(scene.frame(0))
    assert rows.tolist() == [0, 2]
    np.testing.assert_allclose(images, [[3.05, 0.5], [-0.05, 2.5]])


def test_a_cell_around_zero_stays_there():
    cloud = jo.Motion(q0=[[-1.4, 0.0], [1.4, 0.0]], within=jo.Balls([0.05, 0.05], period=[3.0, np.inf]))
    assert Scene(jo.solve(cloud, jo.Maury(), t=0.1, h=0.1)).frame(0).x[:, 0].tolist() == pytest.approx([-1.4, 1.4])


def test_rods_are_shown_from_a_file_too_unless_their_points_move(tmp_path):
    def rods_in(points):
        hung = jo.Rods([(0, -1), (0, 1)], lengths=[1.0, 0.5], points=points)
        double = jo.Motion(q0=[[3.0, -1.0], [3.0, -1.5]], force=[0.0, -1.0], within=hung)
        output = jo.io.Output(tmp_path / "double.vtkhdf", overwrite=True)
        jo.solve(double, jo.Maury(), t=0.1, h=0.1, output=output)
        scene = Scene(jo.io.read(output.path))
        return scene.rods(scene.frame(0)).tolist()

    at_rest = [[3.0, 0.0]]
    assert rods_in(at_rest) == [[[3.0, -1.0], [3.0, 0.0]], [[3.0, -1.0], [3.0, -1.5]]]
    assert rods_in(lambda t: at_rest) == []


def test_rods_are_shown_from_body_to_body_and_to_their_points():
    rods = jo.Rods([(0, -1), (0, 1)], lengths=[1.0, 0.5], points=[[3.0, 0.0]])
    double = jo.Motion(q0=[[3.0, -1.0], [3.0, -1.5]], force=[0.0, -1.0], within=rods)
    scene = Scene(jo.solve(double, jo.Maury(), t=0.1, h=0.1))
    frame = scene.frame(-1)
    ends = [[[3.0, -1.0], [3.0, 0.0]], [[3.0, -1.0], [3.0, -1.5]]]
    np.testing.assert_allclose(scene.rods(frame), ends, atol=1e-9)
    assert scene.view(frame).upper[1] >= 0.0, "the point from which it hangs is in the picture"
    encoder = Encoder.of(scene)
    walls = np.frombuffer(encoder.encoded(frame), "<f4")[-8:].reshape(2, 2, 2) + encoder.origin
    np.testing.assert_allclose(walls, ends, atol=1e-6)
    ax = jo.viz.draw(scene.sol)
    drawn = [line for each in ax.collections if isinstance(each, LineCollection) for line in each.get_segments()]
    np.testing.assert_allclose(drawn[:2], ends, atol=1e-9)
