"""Wrong kinds of values in any public call are errors of the library that name the parameter.

Each call starts from arguments that are right; then one parameter at a time gets something that cannot be meant.
"""

from __future__ import annotations

import inspect
import re
import shutil
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import jostle as jo
from jostle._tools.arguments import CLASSES, _rule
from rows import whole

matplotlib.use("Agg")

PARTS = {
    "": jo,
    **{
        f"{part}.": getattr(jo, part)
        for part in (
            "crowds",
            "study",
            "vibro",
            "models",
            "macro",
            "analysis",
            "impacts",
            "io",
            "viz",
            "scenarios",
            "theory",
        )
    },
}
WRONG = {
    "text": "a", "None": None, "texts": ["a", "b"], "nan": float("nan"), "-1": -1, "complex": 1j, "object": object(),
}  # fmt: skip
RESULTS = {
    "Contacts", "Free", "ConstraintSet", "Impact", "ImpactLaw", "NormalRows", "Progress", "Projection", "Residual",
    "Solution", "State", "Scheme", "Solver", "macro.Collision", "macro.ErrorTable", "macro.Homogenised",
    "macro.Lattice", "macro.LineCollision", "macro.Mask", "macro.Merger", "macro.Evolution",
    "macro.State", "macro.ObstacleStep",
    "macro.Structure", "macro.Velocity", "macro.WassersteinProjection",
    "analysis.Forces",
    "vibro.Attractor", "vibro.Basins", "vibro.Bifurcation", "vibro.Branch", "vibro.ByEvents", "vibro.CopyImpacts",
    "vibro.Curve", "vibro.Orbits", "vibro.Sections",
    "study.CURVES", "study.MEASURES", "study.Results", "study.StudyProgress",
    "io.EXPORTS", "io.Facts", "io.Images", "io.Groups", "io.SI", "io.Units",
    "viz.use_style", "viz.Frame", "viz.OUTLINES", "viz.QUANTITIES", "viz.Quantity", "viz.Shape",
    "impacts.BinaryImpacts", "impacts.Comparison", "impacts.Outcome", "impacts.Outcomes", "impacts.Sequence",
    "impacts.SpringImpact",
    "analysis.Order", "viz.Drawn", "viz.Server", "scenarios.Built", "scenarios.KINDS", "scenarios.ProblemTable",
    "scenarios.Run", "scenarios.Scenario", "scenarios.names", "scenarios.schema", "glue", "crowds.Crowd", "crowds.Wish",
    "crowds.BEHAVIOURS", "crowds.Distribution", "crowds.PLAN_FORMATS", "crowds.PlanFormat", "crowds.Outline",
    "theory.Convergence", "theory.Direction", "theory.Line", "theory.Refinement", "theory.Report", "theory.Section",
}  # fmt: skip
"""What the library itself makes and hands out, base classes, and what takes nothing."""


@cache
def things():
    """The objects that calls are made with."""
    found = {}
    found["floor"] = jo.HalfSpace([0.0, 1.0])
    found["pair"] = jo.Balls([0.5, 0.5])
    found["cone"] = jo.convex.Cone([[1.0, 0.0], [1.0, 1.0]])
    found["ball"] = jo.Motion(q0=[0.0, 1.0], within=found["floor"])
    found["fall"] = jo.Motion(q0=[0.0, 1.0], force=[0.0, -1.0], within=found["floor"])
    two = jo.Motion(q0=[[0.0, 0.4], [0.8, 0.4]], v0=[[1.0, 0.0], [0.0, 0.0]], force=[0.0, -1.0],
                    within=jo.Balls([0.4, 0.4]) & jo.HalfSpace([0.0, 1.0], radii=[0.4, 0.4]))  # fmt: skip
    found["run"] = jo.solve(two, jo.Maury(), t=0.3, h=0.1)
    slope = jo.Motion(q0=[[0.0, 0.0]], force=[1.0, -4.0], within=found["floor"], law=jo.Coulomb(0.5))
    found["rough"] = jo.solve(slope, jo.Maury(), t=0.2, h=0.1)
    found["room"] = jo.crowds.Room([(0, 0), (6, 0), (6, 4), (0, 4)], doors=[((6, 1), (6, 3))])
    found["walk"] = jo.crowds.walk(found["room"], radius=0.25)
    people = jo.crowds.crowd(2, radius=0.25, room=found["room"], behaviour=jo.crowds.Plain())
    found["walked"] = jo.solve(people, jo.Venel(), t=0.2, h=0.1)
    found["grid"] = jo.macro.Grid([0.0, 0.0], [1.0, 1.0], h=0.25)
    found["zone"] = found["grid"].block([0.0, 0.0], [0.5, 0.5])
    found["lattice"] = jo.macro.square_lattice(0.25, box=([0, 0], [1, 1]))
    found["order"] = jo.analysis.order([0.1, 0.05], [0.01, 0.005])
    return found


@cache
def files():
    """A folder with the trajectory of the run, a moving density, a finished study and a plan; and the density."""
    folder, grid = TemporaryDirectory(), things()["grid"]
    path = Path(folder.name)
    jo.io.write(things()["run"], path / "run.vtkhdf")
    jo.crowds.write_plan(things()["room"], path / "floor.wkt")
    flow = jo.macro.Flow(grid=grid, density=0.5, velocity=grid.velocity(0.0, 0.0))
    moved = jo.macro.solve(flow, jo.macro.Splitting(), t=0.1, h=0.1, output=path / "moved.vtkhdf")
    jo.study.sweep(jo.study.Study(dict), executor=ThreadPoolExecutor(1), folder=path / "run.vtkhdf.study")
    return folder, moved


@cache
def calls():
    """name -> arguments that are right; the files are in the working directory."""
    path = Path()
    at = things()
    run, room, cone, grid, zone = at["run"], at["room"], at["cone"], at["grid"], at["zone"]
    sweep = {"t": 0.2, "h": 0.1}
    _, moved = files()
    file = path / "run.vtkhdf"
    area = [(0, 0), (6, 0), (6, 4), (0, 4)]
    box2 = ([0.0, 0.0], [4.0, 4.0])
    law = {"grid": grid, "saturated": zone, "walls": zone & False, "tol": 1e-6}
    analysis = {
        "acute": {"cone": cone, "mass": 1.0},
        "orthogonal": {"cone": cone, "mass": 1.0},
        "coordination": {"sol": run, "k": -1, "threshold": 0.0, "fewest": 1},
        "coordination_by_gap": {
            "q": run.q[-1],
            "radii": [0.4, 0.4],
            "within": None,
            "period": [9.0, np.inf],
            "tol": 1e-6,
            "fewest": 1,
        },
        "eta": {"N": 3, "radius": 1.0},
        "gamma": {"N": 3, "radii": [1.0, 2.0]},
        "force_chains": {"sol": run, "k": -1},
        "force_distribution": {"sol": run, "k": -1, "bins": 5},
        "forces": {"sol": run, "k": -1},
        "impulse_range": {"cone": cone, "impulse": [1.0, 1.0]},
        "inverse_triangle": {"cone": cone, "mass": 1.0},
        "most_neighbours": {"radii": [1.0, 2.0]},
        "load_range": {"sol": run, "k": -1, "closed": 1e-6},
        "multiplier_range": {"sol": run, "k": -1, "closed": 1e-6},
        "order": {"h": [0.1, 0.05], "error": [0.01, 0.005]},
        "packing_fraction": {
            "q": run.q[-1],
            "radii": [0.4, 0.4],
            "lower": [0.0, 0.0],
            "upper": [4.0, 4.0],
            "period": None,
        },
        "band": {"curves": [[1.0, 2.0], [2.0, 2.0]], "level": 0.9, "confidence": 0.95},
        "people_inside": {"leaving_times": [[1.0, 2.0]], "t": [0.0, 1.0]},
        "summary": {"values": [1.0, 2.0], "confidence": 0.95, "levels": [0.5]},
        "pressure": {"sol": run, "k": -1, "radii": [0.4, 0.4], "volume": 1.0},
        "stress": {"sol": run, "k": -1, "radii": [0.4, 0.4], "volume": 1.0},
        "wall_force": {"sol": run, "k": -1},
        "wall_labels": {"sol": run},
        "wall_pressure": {"sol": run, "k": -1, "area": 1.0},
        "wall_torque": {"sol": run, "k": -1, "about": [0.0, 0.0]},
        "mobilised": {"sol": at["rough"], "k": -1},
    }
    hit = {"before": [-1.0, -0.5], "cone": cone, "law": jo.Restitution(1.0), "mass": 1.0}
    impacts = {
        "binary_impacts": {**hit, "max_impacts": 9, "max_states": 9},
        "compare": {**hit, "stiffness": 1.0, "max_states": 9},
        "impacts_by_times": {**hit, "gaps": [1.0, 2.0], "max_impacts": 9},
        "liu_zhao_brogliato": {**hit, "stiffness": 1.0, "exponent": 1.5},
        "outcomes": {**hit, "samples": 3, "seed": 0, "max_impacts": 9},
    }
    theory = {
        "convergence": {"problem": at["fall"], "scheme": jo.Maury(), **sweep, "halvings": 2, "phases": 1},
        "good_direction": {"cone": cone, "mass": 1.0},
        "hypotheses": {"problem": at["ball"], "q": [0.0, 0.0], "t": 0.0, "rho": 0.1},
        "promises": {"solution": run, "problem": run.problem},
    }
    solver = {"tol": 1e-8, "max_iterations": 100}
    ours = {
        "Automatic": solver,
        "ActiveSet": solver,
        "InteriorPoint": solver,
        "GaussSeidel": {**solver, "budget": True, "overlap": 0.0},
        "Balls": {"radii": [0.5, 0.5], "period": [4.0, np.inf]},
        "Box": {"lower": [0.0, 0.0], "upper": [1.0, 1.0], "radii": 0.1},
        "CatchingUp": {"solver": jo.ActiveSet()},
        "MoreauJean": {"solver": jo.ActiveSet()},
        "Venel": {"solver": jo.ActiveSet()},
        "Maury": {"solver": jo.ActiveSet(), "samples": 2, "gap_tol": 1e-3},
        "Gluey": {"solver": jo.ActiveSet(), "samples": 2, "weakest": -1.0},
        "Paoli": {"solver": jo.ActiveSet(), "z": 0.5, "implicit": False},
        "Cone": {"G": [[1.0, 0.0]], "describe": str, "equal": [False]},
        "Polyhedron": {"G": [[1.0]], "c": [0.0], "length": 1.0, "describe": str, "noise": 0.0, "equal": [True]},
        "Hinges": {"pairs": [[0, 1]], "points": [[0.5, 0.0]], "axes": None},
        "Motors": {"pairs": [[0, 1]], "speed": 1.0, "max_torque": 2.0, "axes": None},
        "Shapes": {"shapes": [jo.shapes.Box([1.0, 2.0])]},
        "Rods": {"pairs": [[0, 1]], "lengths": [1.0], "points": None},
        "HalfSpace": {"normal": [0.0, 1.0], "offset": 0.0, "radii": 0.0},
        "Inside": {"centre": [0.0, 0.0], "radius": 1.0, "radii": 0.1},
        "Outside": {"centre": [0.0, 0.0], "radius": 1.0, "radii": 0.1},
        "Line": {"radii": [0.5, 0.5], "lower": -9.0, "upper": 9.0},
        "Motion": {
            "q0": [0.0, 1.0],
            "within": at["floor"],
            "v0": 0.0,
            "force": 0.0,
            "mass": 1.0,
            "law": jo.Restitution(),
            "present": None,
            "potential": lambda q: 0.0,
            "spin0": 0.0,
            "orientation0": None,
            "inertia": None,
            "torque": None,
        },
        "Sweeping": {"q0": [[0.0, 1.0]], "within": None, "velocity": 0.0, "mass": 2.0, "present": [True]},
        "Outlet": {"leaves": lambda q: q[:, 0] > 0},
        "Clumps": {"shapes": [([[-1.0, 0.0], [1.0, 0.0]], 0.5)]},
        "Coulomb": {
            "mu": {0: 0.5},
            "e": 0.5,
            "rolling": 0.1,
            "groups": {"a": [0]},
            "default": 0.2,
            "surface_velocity": {"wall 0": [1.0, 0.0]},
        },
        "Restitution": {"e": {0: 0.5}, "groups": {"a": [0]}, "default": 0.5},
        "Polygons": {"vertices": [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], "radii": 0.1},
        "Segments": {"ends": [[[0.0, 0.0], [1.0, 0.0]]], "radii": 0.1},
        "Source": {"box": box2, "rate": 1.0, "within": at["pair"], "velocity": 0.0, "seed": 0},
        "StiffForce": {"function": lambda t, q: -q, "stiffness": 1.0, "damping": 0.5},
        "Vessel": {
            "profile": [[1.0, 0.0], [1.0, 2.0]],
            "radii": [0.1],
            "axis": [0, 0, 1],
            "base": [0, 0, 0],
            "staves": 6,
        },
        "constraints": {
            "g": lambda t, q: q,
            "equal": False,
            "gradient": lambda t, q: np.eye(2),
            "convex": True,
            "moving": False,
            "length": 1.0,
        },
        "cite": {"subject": jo.Maury, "bibtex": True},
        "decompose": {"u": [1.0, 0.0], "cone": cone, "mass": 1.0, "solver": jo.ActiveSet()},
        "impact": {"u": [1.0, 0.0], "cone": cone, "law": jo.Restitution(), "mass": 1.0, "solver": jo.ActiveSet()},
        "nearest": {
            "q": [-1.0, 0.0],
            "within": jo.HalfSpace([1.0, 0.0]),
            "mass": 1.0,
            "t": 0.0,
            "solver": jo.ActiveSet(),
        },
        "project": {"w": [1.0, 0.0], "onto": cone, "mass": 1.0, "solver": jo.ActiveSet(), "guess": [0.0, 0.0]},
        "sensitivity": {
            "problem": at["ball"],
            "scheme": jo.Maury(),
            "t": 0.1,
            "h": 0.1,
            "theta": None,
            "checkpoints": 1,
        },
        "solve_by_events": {"problem": at["ball"], "t": 1.0, "max_events": 10},
        "sensitivity_by_events": {"problem": at["ball"], "t": 1.0, "theta": None, "max_events": 10},
        "solve": {
            "problem": at["ball"],
            "scheme": jo.Maury(),
            **sweep,
            "every": 1,
            "until": None,
            "changes": None,
            "device": "cpu",
            "strict": True,
            "output": None,
            "progress": None,
            "accuracy": None,
        },
    }
    crowds = {
        "DXF": {"walls": "WALLS", "exits": "EXITS", "scale": 0.1},
        "Picture": {"scale": 0.1, "tolerance": 0.0, "wall_colour": (0, 0, 0), "exit_colour": (255, 0, 0)},
        "WKT": {"scale": 1.0, "names": ["east"], "openings": None},
        "read_plan": {"path": "floor.wkt", "form": jo.crowds.WKT()},
        "write_plan": {"plan": room, "path": "again.wkt", "form": jo.crowds.WKT()},
        "shortest_paths": {"plan": room, "radius": 0.25, "spacing": None, "closed": (), "stops": None},
        "crossings": {"sol": run, "line": [[0.5, 0.0], [0.5, 4.0]], "plan": None},
        "crowd_pressure": {"sol": run, "k": -1},
        "blockade": {"sol": run, "plan": room},
        "crowd_forces": {"sol": at["walked"], "mass": 80.0, "relaxation_time": 0.5},
        "crowd_maps": {"sol": run, "plan": room, "size": 1.0, "frames": 2, "counted": False},
        "crowd_summary": {"sol": run, "plan": room},
        "exit_use": {"sol": run, "plan": room},
        "fundamental_diagram": {"sol": run, "measure": area, "plan": room, "window": 1.0},
        "jams": {"sol": run, "plan": room},
        "level_of_service": {"density": [0.5], "use": "walkways"},
        "travel": {"sol": run, "plan": room},
        "to_pedpy": {"sol": run, "rate": 10.0, "inside": area},
        "write_jupedsim": {"sol": run, "path": path / "run.sqlite", "area": area, "rate": 10.0, "inside": area},
        "write_text": {"sol": run, "path": path / "run.txt", "rate": 10.0, "inside": area},
        "weidmann": {"density": [0.5], "speed": 1.34},
        "densities": {"sol": run, "area": area, "measure": area, "cutoff": 1.0, "window": 1.0},
        "voronoi": {"sol": run, "k": -1, "area": area, "cutoff": 1.0, "window": 1.0},
        "density_map": {"sol": run, "k": -1, "area": area, "size": 1.0, "cutoff": 1.0},
        "speed_map": {"sol": run, "k": -1, "area": area, "size": 1.0, "cutoff": 1.0, "window": 1.0},
        "evacuation_time": {"sol": run, "area": area},
        "leaving_times": {"sol": run, "area": area},
        "flow": {"sol": run, "line": [[0.5, 0.0], [0.5, 4.0]], "direction": 0, "plan": None},
        "pressed": {"sol": run, "threshold": 0.1},
        "time_in_contact": {"sol": run, "threshold": 0.0},
        "FreeWish": {"function": at["walk"], "nearer": None},
        "AvoidJams": {"wish": at["walk"], "flow": 1.3},
        "Behaviour": {"wish": at["walk"]},
        "Journey": {
            "wish": at["walk"],
            "route": list(room.exits),
            "people": 2,
            "reach": 0.5,
            "stage": [0, 0],
            "stops": None,
            "seed": 0,
        },
        "Group": {
            "name": "a",
            "n": 2,
            "radius": 0.25,
            "speed": 1.0,
            "reaction": 2.0,
            "goal": None,
            "start": None,
            "places": None,
            "route": (),
            "knows": None,
            "family": 1,
            "enters": 0.0,
        },
        "Gate": {"at": "a", "open": [(0.0, 5.0)], "most": 3},
        "timetable": {"table": [(0.0, 2), (5.0, 3)]},
        "arrivals": {"n": 2, "rate": 1.0, "start": 0.0},
        "Stop": {"place": (1.0, 1.0), "dwell": 2.0, "until": 5.0, "reach": 0.5},
        "WaitingArea": {"corners": area, "dwell": 2.0, "until": 5.0},
        "Queue": {"line": [(1, 1), (2, 1)], "service": 2.0, "spacing": 0.6, "until": 5.0},
        "KnownExits": {"wish": at["walk"], "known": np.ones((2, 1), dtype=bool)},
        "Together": {"wish": at["walk"], "family": [0, 0], "apart": 1.0},
        "Normal": {"mean": 1.0, "deviation": 0.2, "low": 0.5, "high": 2.0},
        "LogNormal": {"mean": 1.0, "deviation": 0.2, "low": 0.5, "high": 2.0},
        "Uniform": {"low": 0.5, "high": 2.0},
        "walking_speed": {"name": "weidmann"},
        "Reaction": {"wish": at["walk"], "times": 2.0},
        "Link": {
            "name": "a",
            "start": [[0, 0], [1, 0]],
            "end": [[5, 0], [6, 0]],
            "length": 1.0,
            "pace": 1.0,
            "flights": None,
            "both": False,
            "every": 30.0,
            "travel": 8.0,
            "doors": 2.0,
        },
        "Plan": {
            "area": area,
            "exits": {"a": [(6, 1), (6, 3)]},
            "doors": (),
            "walls": [[[1, 1], [1, 2]]],
            "columns": [[3, 2, 0.3]],
            "links": (),
            "labels": {"hall": (3.0, 2.0)},
            "areas": (),
        },
        "Area": {"name": "row 1", "corners": [(1, 1), (2, 1), (2, 2)], "counts": True},
        "Room": {"corners": area, "doors": [((6, 1), (6, 3))]},
        "crowd": {
            "n": 2,
            "radius": 0.25,
            "room": room,
            "speed": 1.0,
            "reaction": 0.0,
            "seed": 0,
            "goal": None,
            "behaviour": None,
            "start": None,
            "q0": None,
            "wish": None,
            "stops": None,
            "gates": (),
            "outlet": None,
        },
        "Plain": {},
        "densest_packing": {"radius": 0.25},
        "density": {
            "n": 4,
            "room": room,
            "radius": 0.25,
            "h": 0.5,
            "speed": 1.0,
            "goal": None,
            "start": None,
            "wish": None,
        },
        "Following": {"wish": at["walk"], "radii": [0.25, 0.25], "sight": 2.0},
        "Inhibition": {"wish": at["walk"], "radii": [0.25, 0.25], "T": 0.6},
        "Pedestrians": {
            "T": 0.6,
            "T_file": 1.0,
            "strip": 0.7,
            "own": 1.5,
            "others": 4.0,
            "strength": 2.0,
            "decay": 0.1,
        },
        "Quickest": {
            "wish": at["walk"],
            "plan": room,
            "radii": [0.25, 0.25],
            "own": 1.5,
            "others": 4.0,
            "width": 0.35,
            "every": 0.5,
        },
        "Repulsion": {"wish": at["walk"], "radii": [0.25, 0.25], "strength": 2.0, "decay": 0.1},
        "TimeGap": {"wish": at["walk"], "radii": [0.25, 0.25], "T": 0.6, "T_file": 1.0, "strip": 0.7},
        "walk": {"plan": room, "radius": 0.25, "speed": 1.0, "goal": None, "spacing": 0.1, "closed": (), "stops": None},
    }
    models = {
        "lattice_places": {
            "radii": [0.5, 0.5],
            "box": ([0.0, 0.0], [4.0, 4.0]),
            "lattice": jo.models.square_lattice,
            "loose": 1.1,
            "free": None,
            "seed": 0,
        },
        "Shaken": {"amplitude": 0.5, "frequency": 1.0, "direction": [0.0, 1.0], "phase": 0.0},
        "Turning": {"frequency": 1.0, "centre": [0.0, 0.0], "axis": None},
        "Movement": {"d": 2, "shaken": None, "turning": None},
        "chain": {"n": 3, "radius": 0.5, "height": 0.0, "gravity": 9.81, "e": 0.0, "mass": 1.0},
        "cradle": {"n": 3, "gap": 0.0, "radius": 0.5, "striking": 1, "e": 1.0, "mass": 1.0},
        "double_pendulum": {"angles": (0.6, 0.2), "e": 0.5, "gravity": 9.81},
        "impact_oscillator": {"omega": 2.6, "stop": 0.0, "e": 0.8, "x0": -0.5, "v0": 0.0},
        "labyrinth": {"q0": (0.5, 0.6)},
        "rack": {"rows": 2, "radius": 0.5, "gap": 0.0, "e": 0.0},
        "random_close_packing": {"radii": np.full(12, 0.1), "box": None, "period": [1.0, 1.0], "seed": 0, "tol": 1e-3},
        "random_sequential": {"radii": [0.1, 0.1], "box": box2, "period": None, "seed": 0},
        "separate": {"q": [[0.0, 0.0], [0.5, 0.0]], "within": at["pair"], "mass": 1.0, "seed": 0, "tol": 1e-4},
        "spheres": {"radii": [0.5, 0.5], "box": box2, "gravity": 9.81, "seed": 0},
        "square_lattice": {"n": 3, "spacing": 1.0, "box": box2},
        "triangular_lattice": {"n": 3, "spacing": 1.0, "box": box2},
        "vibrating_table": {"Gamma": 2.0, "e": 0.0, "height": 0.0},
    }
    density = {"grid": grid, "density": np.full(grid.shape, 0.5), "walls": None, "exits": None}
    flow = jo.macro.Flow(grid=grid, density=0.5, velocity=grid.velocity(0.0, 0.0))
    macro = {
        "Disc": {"centre": [0.0, 0.0], "radius": 1.0},
        "Polygon": {"points": [[0, 0], [1, 0], [0, 1]]},
        "Grid": {"lower": [0.0, 0.0], "upper": [1.0, 1.0], "h": 0.25, "closed": False},
        "Interval": {"edges": [0.0, 0.5, 1.0], "saturated": [True, True], "closed": (False, False)},
        "Isotropic": law,
        "Square": law,
        "Triangular": {**law, "angle": 0.0, "spacing": 0.3},
        "Packing": {"points": [[0.5, 0.5]], "radius": 0.1, "box": ([0, 0], [1, 1]), "touching": 1e-6},
        "Barrier": {"eps": 1e-3, "gamma": 2.0, "tol": 1e-8},
        "Impacts": {"structure": "square", "tol": 1e-8},
        "Splitting": {"tol": 1e-8},
        "Crowd": {**density, "velocity": grid.velocity(1.0, 0.0), "barriers": None, "passages": ()},
        "Passage": {"start": [[0, 0]], "end": [[2, 0]], "outward": [1.0, 0.0]},
        "Flow": {**density, "velocity": grid.velocity(1.0, 0.0), "force": [0.0, 1.0], "law": jo.Restitution(0.0)},
        "solve": {
            "problem": flow,
            "scheme": jo.macro.Splitting(),
            "t": 0.1,
            "h": 0.1,
            "every": 1,
            "until": None,
            "output": None,
            "progress": None,
        },
        "StickyBlocks": {
            "x": [0.0, 2.0],
            "lengths": [1.0, 1.0],
            "v": [1.0, 0.0],
            "acceleration": [0.0, -1.0],
            "restitution": 0.0,
            "walls": (-1.0, 9.0),
        },
        "homogenise": {
            "law": lambda x, y: (-x, -y),
            "lattice": lambda n: jo.macro.square_lattice(1 / n, box=([0, 0], [1, 1])),
            "U": lambda x, y: (-x, -y),
            "n": [2, 3],
            "solver": None,
        },
        "obstacle_step": {"grid": grid, "density": np.full(grid.shape, 0.5), "walls": None, "exits": None},
        "phi": {"U": lambda x, y: (-x, -y), "discs": at["lattice"], "restitution": 0.0, "solver": None},
        "square_lattice": {"spacing": 0.25, "box": ([0, 0], [1, 1]), "zone": None, "walls": None, "angle": 0.0},
        "triangular_lattice": {"spacing": 0.25, "box": ([0, 0], [1, 1]), "zone": None, "walls": None, "angle": 0.0},
        "structure": {"cone": cone, "mass": 1.0, "size": None},
        "wasserstein_projection": {
            "grid": grid,
            "density": np.full(grid.shape, 0.5),
            "tol": 0.01,
            "max_iterations": 9,
        },
    }
    io = {
        "are_images": {"path": path / "moved.vtkhdf"},
        "read_images": {"path": path / "moved.vtkhdf"},
        "Output": {
            "path": path / "o.vtkhdf",
            "contacts": False,
            "dtype": np.float32,
            "about": {},
            "overwrite": False,
            "units": None,
            "groups": None,
            "checkpoint": path / "a.checkpoint",
            "resume": False,
            "seconds": 60.0,
            "random": None,
        },
        "Writer": {
            "path": path / "w.vtkhdf",
            "shape": (2, 2),
            "impacts": False,
            "contacts": False,
            "dtype": np.float32,
            "facts": None,
            "about": {},
        },
        "about": {"path": file},
        "read": {"path": file, "problem": None, "scheme": None},
        "repair": {"path": file, "output": path / "repaired.vtkhdf"},
        "export": {"source": run, "target": path / "a.csv"},
        "write": {"sol": run, "path": path / "b.vtkhdf", "dtype": np.float32, "about": None},
    }
    view = (-62.0, 16.0)
    viz = {
        "animate": {"sol": run, "path": path / "a.gif", "speed": 4.0, "colour": "speed", "contacts": True,
                    "view": view, "progress": None},
        "arrows": {"velocity": grid.velocity(1.0, 0.0), "zone": zone, "fastest": 1.0, "ax": None},
        "basins": {"label": [[0, 1]], "x": (0.0, 1.0), "y": (0.0, 1.0), "names": ("a", "b"), "ax": None},
        "bifurcation": {"parameter": [1.0, 2.0], "values": [[1.0], [2.0]], "names": ("a", "b"), "ax": None},
        "draw": {"sol": run, "k": -1, "ax": None, "colour": "speed", "contacts": True, "view": view},
        "balance": {"sol": run, "ax": None},
        "density": {"sol": moved, "k": -1, "colour": "density", "contours": True, "arrows": True, "ax": None},
        "densities": {"sol": moved, "moments": 2, "colour": "density", "contours": True, "arrows": True},
        "mass_inside": {"runs": moved, "ax": None},
        "energies": {"sol": run, "ax": None}, "history": {"sol": run, "ax": None}, "impacts": {"sol": run, "ax": None},
        "paths": {"sol": run, "ax": None, "view": view}, "phase": {"sol": run, "coordinate": 0, "ax": None},
        "evacuation": {"runs": run, "area": area, "ax": None},
        "field": {"on": grid, "values": np.zeros(grid.shape), "zone": zone, "name": "", "ax": None},
        "mean_curve": {"x": [1.0], "samples": [[1.0, 2.0]], "confidence": 0.95, "names": ("a", "b"), "ax": None},
        "orders": {"fits": at["order"], "ax": None},
        "plan": {"sol": at["walked"], "k": -1, "layer": "density", "plan": room, "ax": None},
        "plans": {"sol": at["walked"], "moments": 2, "plan": room},
        "report": {"sol": at["walked"], "path": path / "r.html", "title": "", "plan": room, "film": False,
                   "most_bytes": 10**7},
        "quantile_band": {"t": [0.0], "curves": [[1.0], [2.0]], "level": 0.9, "names": ("a", "b"), "ax": None},
        "page": {"sol": run, "path": path / "a.html", "title": "", "quantities": None, "most_bytes": 10**6,
                 "progress": None},
        "serve": {"sol": run, "title": "", "quantities": None, "port": 0},
        "widget": {"sol": run, "title": "", "quantities": None, "height": 560, "most_bytes": 10**6},
        "strip": {"sol": run, "moments": 2, "colour": "speed", "contacts": True, "view": view},
    }  # fmt: skip
    scenarios = {
        "load": {"source": "cradle_apart", "settings": (), "seed": 0}, "shipped": {"name": "cradle_apart"},
        "parse": {"text": jo.scenarios.shipped("cradle_apart"), "name": "a", "settings": (), "seed": 0},
    }  # fmt: skip
    copies = jo.vibro.Copies(q0=[1.0], force=[-1.0], within=jo.HalfSpace([1.0]))
    shaken = jo.vibro.Copies(
        q0=[0.13], v0=[0.19], t0=0.5, force=[-1.0], parameters=[0.025], restitution=0.8,
        within=jo.vibro.Gaps(lambda t, q, p: q[0] - p[0] * np.sin(2 * np.pi * t), flat=True, moving=True),
    )  # fmt: skip
    followed = {
        "copies": shaken, "to": 0.03, "period": lambda p: 1.0, "steps": 40, "parameter": 0, "times": 1, "longest": 0.1,
        "max_points": 100,
    }  # fmt: skip
    branch = jo.vibro.follow(**followed)
    viz["branches"] = {"followed": branch, "coordinate": 0, "names": ("a", "q"), "ax": None}
    periods = {"copies": copies, "scheme": None, "period": 1.0, "steps": 4, "periods": 3}
    vibro = {
        "Copies": {
            "q0": [1.0], "force": [-1.0], "within": jo.HalfSpace([1.0]), "v0": 0.0, "parameters": (),
            "restitution": 0.5, "mass": 1.0, "t0": 0.0,
        },
        "Gaps": {"function": lambda t, q, p: q[0], "gradient": None, "flat": True, "moving": False, "length": 1.0},
        "advance": {"copies": copies, "scheme": None, "t": 1.0, "h": 0.5},
        "impacts": {"copies": copies, "scheme": None, "t": 1.0, "h": 0.5, "keep": 3},
        "sections": {**periods, "skip": 1},
        "lyapunov_exponents": {**periods, "skip": 1},
        "lyapunov_spectra": {**periods, "skip": 1},
        "basins": {**periods, "periods": 20, "most": 8, "tol": 1e-5},
        "follow": followed,
        "follow_doubled": {"branch": branch, "number": 0, "longest": 0.1, "max_points": 5},
        "follow_point": {
            "branch": branch, "number": 0, "parameter": 1, "to": 0.7, "longest": 0.1, "max_points": 5,
        },
        "periodic_orbits": {
            "copies": copies, "scheme": None, "period": 1.0, "steps": 4, "times": 1, "max_iterations": 3,
        },
    }  # fmt: skip
    study = {
        "PreciseMean": {"measure": "x", "width": 1.0, "relative": None, "confidence": 0.95, "least": 5},
        "SettledCurves": {
            "curve": "x", "erd": 0.1, "epc": 0.1, "sc": 0.1, "mean": 0.1, "std": 0.1, "consecutive": 3,
        },
        "Study": {
            "of": "cradle_apart", "over": [{}], "repeat": 1, "measures": (), "curves": (), "seed": 0,
            "trajectories": False, "title": "",
        },
        "curve_changes": {"leaving_times": [[1.0, 2.0], [1.0, 3.0]]},
        "grid": {"parameters": {"a": [1]}},
        "latin_hypercube": {"parameters": {"a": (0.0, 1.0)}, "n": 2, "seed": 0},
        "read": {"folder": path / "run.vtkhdf.study"},
        "report_crowd": {
            "scenario": "evacuation", "path": path / "report.html", "runs": 1, "aset": None, "author": "",
            "failed": (), "executor": ThreadPoolExecutor(1), "progress": None,
        },
        "sweep": {
            "study": jo.study.Study(dict), "executor": ThreadPoolExecutor(1), "workers": 1,
            "folder": path / "study", "until": None, "retry_failed": False, "progress": None,
        },
        "write_table": {"columns": {"n": [1]}, "path": path / "table.csv"},
    }  # fmt: skip
    groups = {
        "": ours,
        "crowds.": crowds,
        "study.": study,
        "vibro.": vibro,
        "models.": models,
        "macro.": macro,
        "analysis.": analysis,
        "impacts.": impacts,
        "theory.": theory,
        "io.": io,
        "viz.": viz,
        "scenarios.": scenarios,
    }
    return {f"{part}{name}": arguments for part, group in groups.items() for name, arguments in group.items()}


def find(name):
    value = jo
    for part in name.split("."):
        value = getattr(value, part)
    return value


def call(name, arguments):
    """Make the call, and close what it opens."""
    function, named = find(name), dict(arguments)
    kinds = inspect.signature(function).parameters.values()
    positional = [named.pop(each.name) for each in kinds if each.kind == each.POSITIONAL_ONLY]
    made = function(*positional, **named)
    if hasattr(made, "close"):
        made.close()
    plt.close("all")


SAID = {
    "area": "corners|area|polygon", "measure": "corners|area",
    "radii": "radius", "within": "radi", "mass": "force|mass", "vertices": "polygon",
    "points": "polygon", "h": "steps", "runs": "Solution", "path": "file", "target": "suffix", "text": "TOML",
}  # fmt: skip
"""Words by which errors call a parameter, where it is not its name."""
USED_LATER = {"radii", "radius", "centre", "lower", "upper", "offset", "noise"}
"""What may depend on time is looked at when it is used."""
LEGITIMATE = {
    "None": None,  # wherever the signature says so
    "text": {"at", "author", "output", "checkpoint", "curve", "folder", "goal", "measure", "name", "path", "title",
             "crowds.DXF.walls", "crowds.DXF.exits"},
    "texts": {"failed", "goal", "knows", "names", "route", "crowds.DXF.walls"},
    "nan": {"values", "zone", "density"},
    "-1": {
        "vibro.follow.to", "vibro.follow_point.to", "Motors.speed",
        "G", "angle", "base", "c", "centre", "coordinate", "direction", "e", "edges", "force", "gravity", "k", "law",
        "low", "mean", "until", "stiffness", "damping", "frequency", "phase",
        "lower", "noise", "length", "normal", "offset", "omega", "q0", "start", "stop", "upper", "v", "v0", "velocity",
        "w", "weakest", "x0", "z", "zone", "Gamma", "u", "height", "seed", "t", "acceleration", "parameters", "t0",
    },
    "complex": set(), "object": set(),
}  # fmt: skip
"""Wrong for most parameters, right for these."""


def public_calls():
    for part, module in PARTS.items():
        for name in module.__all__:
            value = getattr(module, name)
            error = isinstance(value, type) and issubclass(value, BaseException)
            if not inspect.ismodule(value) and not error and f"{part}{name}" not in RESULTS:
                yield f"{part}{name}"


def legitimate(name, parameter, label):
    annotation = str(inspect.signature(find(name)).parameters[parameter].annotation)
    if label == "None":
        return "None" in annotation or annotation == "Any"
    right = LEGITIMATE[label]
    return parameter in right or f"{name}.{parameter}" in right or (label in ("-1", "nan") and parameter in USED_LATER)


def names_it(message, parameter, label):
    if parameter in message or re.search(SAID.get(parameter, "^$"), message):
        return True
    return label in ("text", "texts") and re.search(r"\ba\b", message) is not None  # it shows the wrong text itself


LONG = {"viz.report", "viz.animate", "study.report_crowd"}
"""Calls that run scenarios or draw many pictures, each more than a second."""


@pytest.mark.parametrize("name", [whole(name) if name in LONG else name for name in public_calls()])
def test_a_wrong_kind_of_value_is_an_error_that_names_the_parameter(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = calls()[name]
    shutil.copytree(files()[0].name, tmp_path, dirs_exist_ok=True)
    given = set(inspect.signature(find(name)).parameters)
    assert set(arguments) == {parameter for parameter in given if not parameter.startswith("_")}
    call(name, arguments)  # what is right
    found = []
    for parameter in arguments:
        for label, value in WRONG.items():
            fresh = {key: _other_file(one, f"{parameter}-{label}") for key, one in arguments.items()}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call(name, {**fresh, parameter: value})
            except jo.JostleError as error:
                if not names_it(str(error), parameter, label):
                    found.append(f"{parameter} = {label} is not named: {error}")
            except BaseException as error:  # noqa: BLE001
                found.append(f"{parameter} = {label} ends in {type(error).__name__}: {error}")
            else:
                if not legitimate(name, parameter, label):
                    found.append(f"{parameter} = {label} is accepted")
    assert found == []


def _other_file(value, word):
    """Files are not written twice."""
    new = isinstance(value, Path) and value.name != "run.vtkhdf"
    return value.with_name(f"{word}{value.name}") if new else value


def test_a_type_error_inside_a_function_of_the_user_stays_as_it_is():
    def force(t, q, u):
        return None + q

    with pytest.raises(TypeError, match="unsupported operand"):
        jo.solve(jo.Motion(q0=[1.0], force=force, within=jo.HalfSpace([1.0])), jo.Maury(), t=1.0, h=0.1)


@pytest.mark.parametrize("name", [*CLASSES, "Shown", "ShownDensity"])
def test_a_class_of_the_user_with_the_name_of_another_is_not_taken_for_it(name):
    rule, short = _rule(name), {"Shown": "Solution", "ShownDensity": "Evolution"}.get(name, name.rpartition(".")[2])
    assert not rule.holds(type(short, (), {})())


def test_classes_that_inherit_from_those_of_jostle_and_of_other_packages_are_taken():
    own = type("Own", (jo.HalfSpace,), {})([1.0])
    assert jo.Motion(q0=[1.0], within=own).within is own
    assert _rule("np.random.Generator").holds(np.random.default_rng(0))
    assert _rule("Executor | None").holds(type("Mine", (ThreadPoolExecutor,), {})(1))
