"""Runs on a device, pretended by arrays as strict as CuPy's: the same results as on the CPU, and refusals by name."""

import functools
from dataclasses import replace

import numpy as np
import pytest

import jostle as jo
import pretended_device
import pretended_kernels
from device_scenes import SCENES, SOLVER, crowd, pile, scheme_of, thrown
from jostle.schemes import friction
from jostle.solvers import base
from pretended_kernels import CONTACT_KERNELS


@pytest.fixture(autouse=True)
def device(monkeypatch):
    """device="cuda" is the pretended one; and the CPU sweeps contacts even in small problems, as a device does."""
    monkeypatch.setattr(base, "MAX_DENSE_ENTRIES", 0)
    monkeypatch.setattr(friction, "MAX_FEW_BLOCKS", 0)
    return pretended_device.install(monkeypatch)


def run_both(problem, scheme, **how):
    return jo.solve(problem, scheme, **how), jo.solve(problem, scheme, device="cuda", **how)


def assert_same(cpu, there):
    """The same bits, in arrays of NumPy."""
    assert there.status == cpu.status
    np.testing.assert_array_equal(there.t, cpu.t)
    for name in ("q", "u"):
        assert type(getattr(there, name)) is np.ndarray
        np.testing.assert_array_equal(getattr(there, name), getattr(cpu, name))
    turns = cpu.problem.bodies.turn
    for name in ("spin", "orientation") if turns else ():
        np.testing.assert_array_equal(getattr(there, name), getattr(cpu, name))
    for name in ("multipliers", "pairs", "normals", *(["tangential"] if turns else [])):
        for one, other in zip(getattr(there, name), getattr(cpu, name), strict=True):
            assert type(one) is np.ndarray
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(there.stats, cpu.stats)


@functools.cache
def run_there(name):
    """The run of a scene on the device, and the kernels that it called."""
    problem = SCENES[name]()
    pretended_kernels.CALLED.clear()
    sol = jo.solve(problem, scheme_of(problem), t=0.6, h=0.02, device="cuda")
    return sol, set(pretended_kernels.CALLED)


@pytest.mark.parametrize("name", SCENES)
def test_a_run_on_a_device_is_the_run_on_the_cpu(name):
    problem, (there, _) = SCENES[name](), run_there(name)
    cpu = jo.solve(problem, scheme_of(problem), t=0.6, h=0.02)
    assert_same(cpu, there)
    assert len(cpu.t) == 31
    assert type(there.problem.q0) is np.ndarray
    if isinstance(problem, jo.Motion):
        assert there.impacts() is not None
        for name in ("t", "pairs", "before", "after", "impulse"):
            np.testing.assert_array_equal(getattr(there.impacts(), name), getattr(cpu.impacts(), name))


def test_scenes_are_worth_the_name():
    """Bodies do touch in them, warm starts are used, and every kernel of a device is called."""
    touching, called = {}, set()
    for name in SCENES:
        sol, kernels = run_there(name)
        touching[name] = int(sol.stats["active"].max()), int(sol.stats["rows"].max())
        called |= kernels
    assert called == CONTACT_KERNELS - {"norms"}  # which are needed for the proof that a set is empty
    assert min(active for name, (active, _) in touching.items() if name not in ("free", "one ball")) >= 2, touching
    assert max(rows for _, rows in touching.values()) > 100


@pytest.mark.parametrize(
    "solver", [jo.Automatic(tol=1e-6), jo.GaussSeidel(max_iterations=60, budget=True, overlap=1e-3), SOLVER]
)
def test_each_solver_that_has_kernels_runs(solver):
    cpu, there = run_both(pile(2), jo.Maury(solver=solver), t=0.6, h=0.02, strict=False)
    assert set(there.stats["solver"]) <= {"GaussSeidel", "Automatic"}
    assert there.status in ("finished", "budget")
    assert np.abs(there.q[-1] - cpu.q[-1]).max() < 1e-3


@pytest.mark.parametrize(
    "solver", [jo.GaussSeidel(tol=1e-6, max_iterations=2), jo.Automatic(tol=1e-6, max_iterations=2)]
)
def test_friction_that_does_not_converge_on_a_device_is_an_error(solver):
    with pytest.raises(jo.NotConverged, match="step"):
        jo.solve(SCENES["friction in the plane"](), jo.Maury(solver=solver), t=1.0, h=0.02, device="cuda")


def test_friction_in_a_set_without_points_is_an_error_on_a_device():
    press = jo.HalfSpace([0.0, -1.0], offset=lambda t: t - 1.0)
    within = jo.Balls([0.4, 0.4]) & jo.HalfSpace([0.0, 1.0]) & press
    balls = jo.Motion(
        q0=[[0.0, 0.5], [1.0, 0.5]], within=within, law=jo.Coulomb(0.3, surface_velocity={"wall 1": [0.0, 0.0]})
    )
    with pytest.raises(jo.errors.EmptySet):
        jo.solve(balls, jo.Maury(solver=SOLVER), t=1.0, h=0.02, device="cuda")


def test_people_leave_and_come_on_a_device():
    room, people = crowd()
    n = len(people.q0)
    here = np.arange(n) < n - 10
    waiting = jo.Sweeping(q0=people.q0, velocity=people.velocity, within=people.within, present=here)
    source = jo.Source(([0.5, 0.5], [9.5, 7.5]), rate=5.0, within=people.within)
    changes = [jo.Outlet(lambda q: q[:, 0] > 10.0), source]
    seen = []

    def until(state):
        seen.append(type(state.q))
        assert state.presence is None or type(state.presence.codes) is np.ndarray
        return bool(room.empty(state))

    cpu, there = run_both(waiting, jo.Venel(solver=SOLVER), t=3.0, h=0.05, changes=changes, until=until)
    assert_same(cpu, there)
    assert set(seen) == {np.ndarray}
    assert 0 < np.isnan(there.q[-1]).any(axis=1).sum() < n


def test_rain_falls_on_a_device():
    within = jo.Balls(np.full(20, 0.4)) & jo.Box([0, 0], [4, np.inf])
    rain = jo.Motion(q0=np.zeros((20, 2)), force=[0.0, -1.0], within=within, present=np.zeros(20, dtype=bool))
    source = jo.Source(([0.5, 6], [3.5, 9]), rate=5.0, within=within)
    assert_same(*run_both(rain, jo.Maury(solver=SOLVER), t=3.0, h=0.02, changes=source))


def test_states_are_moved_once_and_only_if_someone_looks(monkeypatch):
    moves = []
    get = pretended_device.ndarray.get
    monkeypatch.setattr(pretended_device.ndarray, "get", lambda array: moves.append(array.shape) or get(array))
    problem = jo.Motion(q0=np.zeros((3, 2)), v0=np.ones((3, 2)))
    how = {"t": 1.0, "h": 0.1, "every": 10, "device": "cuda"}
    jo.solve(problem, jo.Maury(), **how)
    of_frames = moves.count((3, 2))
    assert 0 < of_frames <= 4
    moves.clear()
    jo.solve(problem, jo.Maury(), **how, until=lambda state: False, progress=lambda progress: None)
    assert 10 * (of_frames - 1) <= moves.count((3, 2)) <= 10 * of_frames


def test_who_looks_at_a_run_sees_arrays_of_numpy():
    problem, seen = pile(2), []

    def push(state):
        assert type(state.q) is np.ndarray
        assert not state.q.flags.writeable
        assert not state.u.flags.writeable
        return state.replace(u=state.u + 0.01)

    def tell(progress):
        state = progress.state
        seen.append(type(state.contacts.gap))
        assert type(state.contacts.G.normal) is type(state.projection.point) is type(state.multipliers) is np.ndarray
        if len(state.contacts.gap):
            assert state.contacts.describe(0).split()[0] in ("balls", "body")

    cpu, there = run_both(problem, jo.Maury(solver=SOLVER), t=0.6, h=0.02, changes=push, progress=tell)
    assert_same(cpu, there)
    assert set(seen) == {np.ndarray}


# --- files, checkpoints, errors ---


def test_a_run_on_a_device_writes_the_same_file(tmp_path):
    sols = [
        jo.solve(pile(2), jo.Maury(solver=SOLVER), t=0.5, h=0.02, every=0.1, device=device,
                 output=jo.io.Output(tmp_path / f"{device}.vtkhdf", contacts=True, dtype=np.float64))
        for device in ("cpu", "cuda")
    ]  # fmt: skip
    for name in ("t", "q", "u", "stats"):
        np.testing.assert_array_equal(getattr(sols[1], name)[:], getattr(sols[0], name)[:])
    for one, other in zip(sols[1].pairs, sols[0].pairs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.each_value
@pytest.mark.parametrize("first", ["cpu", "cuda"])
@pytest.mark.parametrize("then", ["cpu", "cuda"])
def test_a_run_is_resumed_on_either_device(first, then, tmp_path, recwarn):
    _, people = crowd()
    file, outlet = tmp_path / "run.checkpoint", jo.Outlet(lambda q: q[:, 0] > 10.0)
    scheme, h = jo.Venel(solver=SOLVER), 0.05
    whole = jo.solve(people, scheme, t=2.0, h=h, changes=outlet)
    jo.solve(people, scheme, t=1.0, h=h, changes=outlet, output=jo.io.Output(checkpoint=file), device=first)
    rest = jo.solve(
        people, scheme, t=2.0, h=h, changes=outlet, output=jo.io.Output(checkpoint=file, resume=True), device=then
    )
    np.testing.assert_array_equal(rest.q[-1], whole.q[-1])
    np.testing.assert_array_equal(rest.stats, whole.stats[20:])
    assert not recwarn.list


def test_impacts_of_a_resumed_run_are_those_of_the_rest(tmp_path):
    file, problem, scheme = tmp_path / "run.checkpoint", pile(2), jo.Maury(solver=SOLVER)
    jo.solve(problem, scheme, t=0.4, h=0.02, output=jo.io.Output(checkpoint=file), device="cuda")
    rest = jo.solve(problem, scheme, t=0.8, h=0.02, output=jo.io.Output(checkpoint=file, resume=True), device="cuda")
    whole = jo.solve(problem, scheme, t=0.8, h=0.02)
    later = whole.impacts().t > 0.43
    assert later.any()
    again = rest.impacts().t > 0.43
    np.testing.assert_array_equal(rest.impacts().pairs[again], whole.impacts().pairs[later])


def test_a_trajectory_says_that_the_run_went_on_elsewhere(tmp_path):
    scheme, output = jo.Maury(solver=SOLVER), jo.io.Output(tmp_path / "a.vtkhdf", checkpoint=tmp_path / "a.checkpoint")
    jo.solve(pile(2), scheme, t=0.2, h=0.02, output=output)
    jo.solve(pile(2), scheme, t=0.4, h=0.02, output=replace(output, resume=True), device="cuda")
    assert b"'cuda'" in (tmp_path / "a.vtkhdf").read_bytes()


def closing():
    box = jo.Box([0.0, 0.0], lambda t: [4.0 - t, 4.0])
    return thrown(16, 2, [0, 0], [4, 4], jo.Balls(np.full(16, 0.45)) & box)


def exploding():
    def force(t, q):
        return np.where(t > 0.05, np.nan, 0.0) * q

    return jo.Motion(q0=[[1.0, 0.0], [3.0, 0.0]], force=force, within=jo.Balls([0.5, 0.5]))


def swung():
    ends = jo.Segments(lambda t: [[[-1.0, 20.0 * t], [1.0, 20.0 * t]]])
    return jo.Motion(q0=[[0.0, 1.5], [5.0, 0.0]], within=jo.Balls([0.1, 0.1]) & ends)


def shot():
    post = jo.Outside(lambda t: [[0.0, 20.0 * t]], 0.3)
    return jo.Motion(q0=[[0.05, 1.5], [5.0, 0.0]], within=jo.Balls([0.1, 0.1]) & post)


def rammed():
    ram = jo.Polygons(lambda t: [(x, y + 20.0 * t) for x, y in [(-1, -0.2), (1, -0.2), (1, 0.2), (-1, 0.2)]])
    return jo.Motion(q0=[[0.05, 1.5], [5.0, 0.0]], within=jo.Balls([0.1, 0.1]) & ram)


def flung():
    bowl = jo.Vessel([(0.5, 0.0), (2.0, 3.0)], base=lambda t: [0.0, 0.0, 60.0 * t])
    return jo.Motion(q0=[[1.2, 0.0, 4.4], [9.0, 0.0, 0.0]], within=jo.Balls([0.1, 0.1]) & bowl)


def overflowing():
    return jo.Motion(q0=np.arange(4.0).reshape(2, 2), v0=np.ones((2, 2)), force=[1e308, 0.0])


def too_fast():
    return jo.Motion(q0=[[1.0, 0.0], [3.0, 0.0]], v0=[[1e3, 0.0], [0.0, 0.0]], within=jo.Balls([0.5, 0.5], period=9.0))


def overlapping():
    return jo.Motion(q0=[[0.0, 0.0], [0.5, 0.0]], within=jo.Balls([0.5, 0.5]))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("scene", [closing, exploding, swung, shot, rammed, flung, overflowing, too_fast, overlapping])
def test_errors_are_those_of_the_cpu_and_carry_arrays_of_numpy(scene):
    errors = []
    for device in ("cpu", "cuda"):
        with pytest.raises(jo.JostleError) as raised:
            jo.solve(scene(), jo.Maury(solver=SOLVER), t=4.0, h=0.05, device=device)
        errors.append(raised.value)
    assert type(errors[0]) is type(errors[1])
    assert str(errors[0]) == str(errors[1])
    if scene is not overlapping:
        assert_same(errors[0].solution, errors[1].solution)
    if isinstance(errors[1], jo.errors.EmptySet):
        assert type(errors[1].rows) is type(errors[1].weights) is np.ndarray


def test_a_projection_that_does_not_converge_comes_back_with_its_error():
    with pytest.raises(jo.NotConverged) as raised:
        jo.solve(pile(2), jo.Maury(solver=jo.GaussSeidel(max_iterations=2)), t=1.0, h=0.02, device="cuda")
    assert type(raised.value.projection.point) is np.ndarray
    assert type(raised.value.solution.q) is np.ndarray


# --- refusals ---


@jo.constraints
def above(t, q):
    return q[:, 1]


def grains(**more):
    return jo.Motion(q0=[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], within=jo.Balls([0.1, 0.1]), **more)


@pytest.mark.parametrize(
    ("problem", "scheme", "words"),
    [
        (pile, jo.Maury(solver=jo.InteriorPoint()),
         "InteriorPoint has no kernels for cuda; use Automatic or GaussSeidel"),
        (pile, jo.Maury(solver=jo.ActiveSet()), "ActiveSet has no kernels for cuda; use Automatic"),
        (pile, jo.Paoli(), "Paoli does not run on cuda; use Maury, or device='cpu'"),
        (pile, jo.MoreauJean(), "MoreauJean does not run on cuda; use Maury"),
        (pile, jo.Gluey(), "Gluey does not run on cuda"),
        (lambda d: crowd()[1], jo.CatchingUp(), "CatchingUp does not run on cuda; use Venel"),
        (lambda d: jo.Motion(q0=np.ones((2, 2)), within=jo.Balls([0.1, 0.1]) & above), jo.Maury(), "on cuda"),
        (lambda d: jo.Motion(q0=[0.0, 2.0], within=jo.Line([0.5, 0.5])), jo.Maury(), "Line cannot be computed on cuda"),
        (lambda d: jo.Motion(q0=np.eye(2), within=jo.Balls([0.1, 0.1]) & jo.Rods([(0, 1)], 2.0**0.5)), jo.Maury(),
         "Rods(1) cannot be computed on cuda"),
        (lambda d: jo.Motion(q0=np.ones((2, 2)), mass=np.diag([1.0, 2.0, 1.0, 2.0])), jo.Maury(), "has one mass"),
        (lambda d: jo.Motion(q0=np.ones((2, 2)), mass=[[1.0, 2.0], [1.0, 2.0]]), jo.Maury(), "has one mass"),
        (lambda d: grains(law=jo.Coulomb(0.5, rolling=0.1)), jo.Maury(), "rolling resistance is not computed on cuda"),
        (lambda d: grains(law=jo.Coulomb(0.5), inertia=[1.0, 2.0, 3.0]), jo.Maury(), "the inertia of bodies that are"),
        (lambda d: jo.Motion(q0=[[0.0, 1.0]], within=jo.Clumps([([[-0.1, 0.0], [0.1, 0.0]], 0.1)])), jo.Maury(),
         "Clumps"),
        (lambda d: jo.Sweeping(q0=np.ones((2, 2)), mass=np.eye(4) + 0.1), jo.Venel(), "for each body, as mass="),
        (lambda d: jo.Sweeping(q0=np.ones((2, 2)), mass=[[1.0, 2.0], [1.0, 2.0]]), jo.Venel(), "has one mass"),
    ],
)  # fmt: skip
def test_what_does_not_run_on_a_device_is_refused_by_name(problem, scheme, words, monkeypatch):
    monkeypatch.setattr(jo.Scheme, "start", lambda *args: pytest.fail("something was computed"))
    with pytest.raises(jo.errors.DeviceUnavailable) as raised:
        jo.solve(problem(2), scheme, t=1.0, h=0.1, device="cuda")
    assert words in str(raised.value)


def test_a_solver_of_ones_own_is_refused_unless_it_says_what_it_needs():
    class Mine(jo.GaussSeidel):
        kernels = jo.Solver.kernels

    with pytest.raises(jo.errors.DeviceUnavailable, match="Mine has no kernels for cuda"):
        jo.solve(pile(2), jo.Maury(solver=Mine()), t=1.0, h=0.1, device="cuda")


def test_the_pretended_device_is_as_strict_as_cupy():
    a, b = pretended_device.asarray(np.ones(3)), np.ones(3)
    for wrong in (
        lambda: np.asarray(a), lambda: a + b, lambda: b + a, lambda: np.concatenate([a, b]), lambda: np.add.reduce(a),
        lambda: np.min(a, initial=0.0), lambda: a.max(initial=0.0), lambda: a[np.array([0])], lambda: f"{a[0]:g}",
        lambda: np.histogram(a), lambda: np.minimum(a, 0.0, out=b),
        lambda: np.zeros(3, like=a),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(AttributeError):
        a.setflags(write=False)
    assert float(a.sum() * np.float64(2.0)) == 6.0
    assert type(np.zeros_like(a)) is pretended_device.ndarray


def test_without_cupy_the_error_says_what_to_install(monkeypatch):
    from jostle.kernels import devices

    monkeypatch.setitem(devices.ARRAYS, "cuda", "a_module_that_is_not_there")
    said = r"(?s)device 'cuda' needs .*driver.*CuPy, which is not installed.*install .*'jostle\[gpu\]'"
    with pytest.raises(jo.errors.DeviceUnavailable, match=said):
        jo.solve(pile(2), jo.Maury(), t=1.0, h=0.1, device="cuda")


@pytest.mark.parametrize("count", [0, RuntimeError("cudaErrorInsufficientDriver")])
def test_without_a_gpu_the_error_says_what_is_needed(count, monkeypatch):
    def gpus():
        if isinstance(count, Exception):
            raise count
        return count

    monkeypatch.setattr(pretended_device.cuda.runtime, "getDeviceCount", gpus)
    with pytest.raises(jo.errors.DeviceUnavailable, match=r"device 'cuda' cannot be used.*NVIDIA GPU"):
        jo.solve(pile(2), jo.Maury(), t=1.0, h=0.1, device="cuda")


def test_an_unknown_device_is_refused_with_those_that_there_are():
    with pytest.raises(jo.errors.DeviceUnavailable, match="device 'tpu' is not supported; use 'cpu' or 'cuda'"):
        jo.solve(pile(2), jo.Maury(), t=1.0, h=0.1, device="tpu")


def test_space_of_four_dimensions_is_refused():
    problem = jo.Motion(q0=np.eye(4) * 9.0, within=jo.Balls(np.ones(4)))
    with pytest.raises(jo.errors.DeviceUnavailable, match="at most 3 dimensions, not 4"):
        jo.solve(problem, jo.Maury(), t=0.1, h=0.1, device="cuda")


class Idle(jo.GaussSeidel):
    """Leaves every velocity as it is."""

    def _solve(self, w, K, M, slack, guess):
        return w, 0.0 * slack, 1


@pytest.mark.parametrize("n", [3, 80])
@pytest.mark.parametrize("absent", [0, 1])
@pytest.mark.parametrize("period", [None, [np.inf, 900.0]])
def test_balls_that_go_through_each_other_are_noticed(n, absent, period):
    """A projection that did not converge lets them."""
    q0, v0, present = 3.0 * np.arange(2.0 * n).reshape(n, 2), np.zeros((n, 2)), np.arange(n) >= absent
    q0[1:3], v0[1:3] = [[-1.0, 0.0], [0.0, 0.06]], [[60.0, 0.0], [-60.0, 0.0]]
    within = jo.Balls(np.linspace(0.1, 0.05, n), period=period)
    balls = jo.Motion(q0=q0, v0=v0, within=within, present=present if absent else None)
    for device in ("cpu", "cuda"):
        with pytest.raises(jo.LeftTheSet, match="the centre of ball 2 went through ball 1: together they moved by 6 "):
            jo.solve(balls, jo.Maury(solver=Idle()), t=0.1, h=0.05, strict=False, device=device)


def test_what_runs_on_devices_is_not_part_of_what_a_run_is():
    """Checkpoints of versions before there were devices can be resumed."""
    assert "on_devices" not in vars(jo.Balls([1.0]) & jo.Box([0.0], [9.0]))


def test_nothing_of_the_device_stays_with_the_problem():
    """Its sets keep lists of pairs and walls: those of the device end with the run."""
    problem = pile(2)
    jo.solve(problem, scheme_of(problem), t=0.2, h=0.02, device="cuda")
    owners = [problem.within.bodies, *problem.within.sets]
    kept = [value for owner in owners for value in vars(owner).values() if isinstance(value, dict)]
    assert len(kept) == 3
    assert all(kept)
    assert "pretended" not in repr(kept)
