"""The impacts of a run are in its file, whatever its bodies: the same table as in memory, also after a resume."""

import signal

import h5py
import numpy as np
import pytest

import jostle as jo
from jostle.errors import BrokenFile
from jostle.io.trajectory import Writer
from jostle.result.impacts import Impacts, impact_type
from jostle.result.recording import ImpactLog
from plain import crowd
from rows import few

G = [0.0, -9.81]
DUMBBELL = [[-0.3, 0.0], [0.3, 0.0]], 0.3
TABLE = jo.HalfSpace([0, 1], offset=lambda t: 0.1 * np.sin(20.0 * t))


def balls(q0, within, radii=0.4, **more):
    return jo.Motion(q0=q0, force=G, within=jo.Balls(np.full(len(q0), radii)) & within, **more)


def clumps(law):
    within = jo.Clumps([DUMBBELL] * 3) & jo.HalfSpace([0.0, 1.0])
    return jo.Motion(q0=[[0.0, 1.0], [0.2, 2.0], [0.4, 3.0]], force=G, within=within, law=law)


def heap():
    q0 = [[0.5 + 0.9 * (k % 3), 0.5 + 0.95 * (k // 3)] for k in range(12)]
    return balls(q0, jo.Box([0, 0], [3, np.inf]), v0=[[0.3 * (-1) ** k, -1.0] for k in range(12)], law=jo.Coulomb(0.5))


def growing():
    radii = lambda t: np.array([0.3, 0.4, 0.3]) + 0.2 * t  # noqa: E731
    q0, v0 = [[0.0, 0.0], [2.0, 0.1], [1.0, 1.5]], [[1.0, 0], [-1, 0], [0, -1]]
    return jo.Motion(q0=q0, v0=v0, within=jo.Balls(radii))


def own():
    low = jo.constraints(lambda t, q: np.array([q[0, 1] - 0.1 * np.sin(7.0 * t), q[0, 0]]))
    return jo.Motion(q0=[[0.5, 1.0], [0.6, 0.2]], v0=[[-1.0, 0.0], [0.0, 0.0]], force=G, within=low)


RUNS = {
    "point": (
        lambda: jo.Motion(
            q0=[0.0, 1.0], v0=[1.0, 0.0], force=G, within=jo.HalfSpace([0, 1]), law=jo.Restitution(0.8)
        ),
        jo.Paoli(),
    ),
    "line": (
        lambda: jo.Motion(
            q0=[0.0, 1.105, 2.11], v0=[1.0, 0.0, 0.0], within=jo.Line([0.5] * 3), law=jo.Restitution(1.0)
        ),
        jo.MoreauJean(),
    ),
    "balls": (lambda: balls([[0.5, 1.0], [1.7, 1.4], [0.9, 2.6]], jo.Box([0, 0], [3, np.inf])), jo.Maury()),
    "bouncing table": (lambda: balls([[0.0, 1.0], [2.0, 1.2]], TABLE, law=jo.Restitution(0.6)), jo.MoreauJean()),
    "moving table": (lambda: balls([[0.0, 1.0], [2.0, 1.2]], TABLE), jo.Maury()),
    "turning wall": (
        lambda: balls([[0.0, 0.6]], jo.HalfSpace(lambda t: [-np.sin(t / 2), np.cos(t / 2)])),
        jo.MoreauJean(),
    ),
    "growing balls": (growing, jo.Maury()),
    "heap with friction": (heap, jo.Maury()),
    "own constraints": (own, jo.Maury()),
    "rods": (
        lambda: jo.Motion(
            q0=[[0.0, 1.0], [1.0, 1.0]], v0=[[0.0, 0.0], [0.0, 1.0]], force=G,
            within=jo.Rods([(0, 1)], 1.0) & jo.HalfSpace([0.0, 1.0]),
        ),
        jo.Maury(),
    ),
    "clumps": (lambda: clumps(jo.Coulomb(0.4)), jo.Maury()),
    "bouncing clumps": (lambda: clumps(jo.Coulomb(0.4)), jo.MoreauJean()),
}  # fmt: skip
T, H = 1.2, 0.02


def run(name, path=None, **more):
    make, scheme = RUNS[name]
    output = None
    if path is not None:
        output = jo.io.Output(path, checkpoint=f"{path}.checkpoint", dtype=float, **more.pop("options", {}))
    return jo.solve(make(), scheme, t=T, h=H, output=output, **more)


def columns(table):
    return table.records.dtype, table.records.tobytes(), str(table)


@pytest.mark.parametrize("name", few(RUNS))
def test_a_file_has_the_table_of_impacts_that_memory_has(tmp_path, monkeypatch, name):
    monkeypatch.setattr("jostle.io.saving.MAX_IMPACTS", 3)
    taken, take = [], ImpactLog.take
    monkeypatch.setattr(ImpactLog, "take", lambda log: taken.append(len(found := take(log))) or found)
    kept, saved = run(name), run(name, tmp_path / "run.vtkhdf")
    assert len(kept.impacts()) > 0
    assert columns(saved.impacts()) == columns(kept.impacts())
    assert columns(jo.io.read(tmp_path / "run.vtkhdf").impacts(speed=0.5)) == columns(kept.impacts(speed=0.5))
    assert max(taken) < 3 + max(np.unique(kept.recorded.t, return_counts=True)[1])  # no more wait in memory
    with np.load(jo.io.export(saved, tmp_path / "run.npz")) as arrays:
        assert arrays["impacts"].tobytes() == kept.recorded.records.tobytes()
    copy = jo.io.write(jo.io.read(tmp_path / "run.vtkhdf"), tmp_path / "copy.vtkhdf")
    assert columns(jo.io.read(copy).impacts()) == columns(kept.impacts())


@pytest.mark.parametrize("name", few(RUNS))
def test_a_run_that_is_resumed_between_the_two_steps_of_an_impact_has_the_same_table(tmp_path, name):
    whole = run(name)
    steps = np.unique(np.rint(whole.recorded.t / H).astype(int))
    for at in {int(steps[0]), int(steps[0]) + 1, int(steps[-1])}:

        def stop(progress, at=at):
            if progress.step == at:
                signal.raise_signal(signal.SIGINT)

        path = tmp_path / f"{at}.vtkhdf"
        with pytest.raises(jo.errors.Interrupted) as half:
            run(name, path, progress=stop)
        assert half.value.solution.recorded.faster_than(-np.inf).t.max() <= whole.t[at]
        resumed = run(name, path, options={"resume": True})
        assert columns(resumed.recorded.faster_than(-np.inf)) == columns(whole.recorded)


def test_a_resumed_run_in_memory_has_the_impacts_that_were_not_over(tmp_path):
    whole = run("point").impacts()
    first = jo.io.Output(checkpoint=tmp_path / "c")
    make, scheme = RUNS["point"]
    end = float(whole.t[0])
    half = jo.solve(make(), scheme, t=end, h=H, output=first)
    rest = jo.solve(make(), scheme, t=T, h=H, output=jo.io.Output(checkpoint=tmp_path / "c", resume=True))
    assert half.recorded.t.tolist() == [end]
    assert columns(rest.impacts()) == columns(whole)


def test_a_first_order_problem_has_no_impacts_in_its_file_either(tmp_path):
    walk = jo.Sweeping(q0=[[0.0, 1.0]], velocity=[[0.0, -1.0]], within=jo.HalfSpace([0, 1]))
    sol = jo.solve(walk, jo.Venel(), t=2.0, h=0.1, output=tmp_path / "run.vtkhdf")
    with pytest.raises(jo.InvalidValue, match="a first-order problem has no impacts"):
        sol.impacts()


def test_a_file_that_was_written_without_impacts_says_so(tmp_path):
    with Writer(tmp_path / "run.vtkhdf", shape=(1, 2), about={}) as file:
        file.frame(0.0, np.zeros((1, 2)), np.zeros((1, 2)))
        with pytest.raises(jo.InvalidValue, match="was created without impacts"):
            file.impacts(np.zeros(1, dtype=impact_type()))
    with pytest.raises(jo.InvalidValue, match=r"contains no impacts: .*Writer\(\.\.\., impacts=True\)"):
        jo.io.read(tmp_path / "run.vtkhdf").impacts()


def test_a_damaged_impact_is_refused(tmp_path):
    sol = run("point", tmp_path / "run.vtkhdf")
    with h5py.File(tmp_path / "run.vtkhdf", "r+") as file:
        one = file["jostle/impacts"][0]
        one["after"] += 1e-9
        file["jostle/impacts"][0] = one
    with pytest.raises(BrokenFile, match="the record of impact 1 does not match its checksum"):
        sol.impacts()


def test_a_checkpoint_whose_impacts_do_not_fit_is_refused(tmp_path):
    from jostle.io.checkpoint import read_whole, write_whole

    path = tmp_path / "c"
    make, scheme = RUNS["clumps"]
    end = float(run("clumps").recorded.t[0])
    jo.solve(make(), scheme, t=end, h=H, output=jo.io.Output(checkpoint=path))
    kept = read_whole(path)
    assert len(kept["closing.open"]) > 0
    opened = kept["closing.open"].copy()
    opened[0, 1] = 99
    for name, wrong in {
        "open": opened, "column": kept["closing.column"] + 10**6, "row": kept["closing.row"] + 10, "h": np.float64(-1),
        "touching": kept["closing.touching"] + 100, "q": np.zeros((2, 2)), "drift": np.zeros(7), "value": np.zeros(1),
    }.items():  # fmt: skip
        write_whole(path, kept | {f"closing.{name}": wrong})
        with pytest.raises(BrokenFile, match="is damaged"):
            jo.solve(make(), scheme, t=T, h=H, output=jo.io.Output(checkpoint=path, resume=True))


def test_records_and_tables_of_impacts_are_the_same():
    table = run("clumps").recorded
    again = Impacts.of(table.records, table.bodies)
    assert columns(again) == columns(table)
    assert again.tangential.shape == (len(table), 2)


def test_a_file_calls_bodies_what_the_run_calls_them(tmp_path):
    room = jo.crowds.Room([(0, 0), (6, 0), (6, 5), (0, 5)], doors=[((6, 2), (6, 3.2))])
    people = crowd(3, radius=0.2, room=room)
    for name, problem, scheme, called in (
        ("balls", RUNS["balls"][0](), jo.Maury(), "ball 2"),
        ("clumps", RUNS["clumps"][0](), jo.Maury(), "clump 1, ball 0"),
        ("people", people, jo.Venel(), "person 2"),
        ("point", RUNS["point"][0](), jo.Paoli(), "body 2"),
    ):
        jo.solve(problem, scheme, t=0.1, h=0.05, output=tmp_path / f"{name}.vtkhdf")
        read = jo.io.read(tmp_path / f"{name}.vtkhdf")
        assert problem.bodies.name(2) == read.facts.bodies.name(2) == called
