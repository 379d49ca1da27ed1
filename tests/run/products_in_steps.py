"""Take steps with many bodies, and print each product of long vectors that NumPy gives to BLAS, as JSON.

The modules of jostle are compiled with every `a @ b` and `a.dot(b)` replaced by a call that looks at a and b, and the
functions of NumPy that use BLAS by functions that look at their arguments. Compiled kernels are not looked at.
"""

import ast
import functools
import json
import operator
import sys
import traceback
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

import numpy as np

SIDE = 40
"""Number of bodies along a side of the lattice."""
PRODUCTS = ("dot", "vdot", "inner", "matmul", "tensordot")
found: set[str] = set()
looked = 0
"""Number of products that were looked at."""


def look(operands, least=2):
    """Note a call with this many arrays of numbers, one of which has an entry for each body."""
    global looked
    looked += 1
    shapes = [a.shape for a in operands if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    if len(shapes) >= least and max(np.prod(shape) for shape in shapes) >= SIDE**2:
        here = [frame for frame in traceback.extract_stack() if "jostle" in Path(frame.filename).parts][-1]
        found.add(f"{Path(here.filename).name}, line {here.lineno}: {shapes}")


def watched_matmul(a, b):
    look((a, b))
    return operator.matmul(a, b)


def watched_dot(a, *rest):
    look((a, *rest))
    return a.dot(*rest)


def watched(function, least):
    @functools.wraps(function)
    def call(*operands, **options):
        if "axis" not in options:  # norms along an axis are sums of squares
            look(operands, least)
        return function(*operands, **options)

    return call


class Watch(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        return ast.copy_location(ast.Call(ast.Name("watched_matmul", ast.Load()), [node.left, node.right], []), node)

    def visit_Call(self, node):
        self.generic_visit(node)
        of = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "dot" else None
        if of is None or (isinstance(of, ast.Name) and of.id == "np"):
            return node
        return ast.copy_location(ast.Call(ast.Name("watched_dot", ast.Load()), [of, *node.args], []), node)


class Loader(SourceFileLoader):
    def get_code(self, fullname):
        tree = Watch().visit(ast.parse(self.get_data(self.path)))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)

    def exec_module(self, module):
        vars(module).update(watched_matmul=watched_matmul, watched_dot=watched_dot)
        super().exec_module(module)


class Finder:
    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname.partition(".")[0] != "jostle" or fullname.startswith("jostle.kernels"):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = Loader(fullname, spec.origin)
        return spec


def take_steps():
    """Two steps of each scheme, with contacts of bodies and with each kind of wall."""
    import jostle as jo

    rng, top = np.random.default_rng(0), SIDE + 1.0
    q = np.stack(np.meshgrid(np.arange(1.0, top), np.arange(1.0, top)), axis=-1).reshape(-1, 2)
    velocity, mass = rng.normal(size=q.shape), rng.uniform(1.0, 2.0, len(q))
    corners = np.array([(0.0, 0.0), (top, 0.0), (top, top), (0.0, top)])
    balls = jo.Balls(np.full(len(q), 0.49))
    flat = jo.Box([0.0, 0.0], [top, top]) & jo.HalfSpace([1.0, 1.0])
    others = jo.Segments(np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)) & jo.Inside([top / 2, top / 2], top)
    for wall in (flat, others & jo.Outside([-5.0, -5.0], 1.0)):
        heavy = jo.Motion(q0=q, v0=velocity, force=[0.0, -1.0], mass=mass, within=balls & wall)
        for scheme in (jo.Maury(), jo.MoreauJean(), jo.Paoli()):
            jo.solve(heavy, scheme, t=0.02, h=0.01)
        jo.solve(jo.Sweeping(q0=q, velocity=velocity, within=balls & wall), jo.Venel(), t=0.02, h=0.01)
    room = jo.crowds.Room(corners.tolist(), doors=[((top, top / 2), (top, top - 2.0))])
    people = jo.crowds.crowd(len(q), q0=q, radius=0.2, room=room, speed=1.4)
    jo.solve(people, jo.Venel(), t=0.02, h=0.01)


if __name__ == "__main__":
    sys.meta_path.insert(0, Finder)
    for name in PRODUCTS:
        setattr(np, name, watched(getattr(np, name), 2))
    for name in np.linalg.__all__:
        if name != "LinAlgError":
            setattr(np.linalg, name, watched(getattr(np.linalg, name), 1))
    take_steps()
    print(json.dumps({"looked": looked, "found": sorted(found)}))
