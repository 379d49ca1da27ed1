"""Bodies and rows of `fused` as records that fill whole vector registers, and what a sweep does with them.

A record holds the coordinates of a vector, zeros, and one more number at its end: the inverse mass of a body beside its
velocities v, its mass beside its other velocities, zero beside the normal of a selected row. So a body is read and
written at once. The compiler does not find that out from a loop over the coordinates (1.3 to 2 times slower), therefore
the instructions are written here.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

FREE_ORDER = ("reassoc", "contract")
ALIGNMENT = 8
"""Bytes: that of one number."""
DOUBLE, INDEX, LANE = ir.DoubleType(), ir.IntType(64), ir.IntType(32)


def width(d: int) -> int:
    """Length of the records of vectors with d coordinates: a power of two, so that `_Vectors.sum` can halve it.

    >>> [width(d) for d in (1, 2, 3, 4, 7, 8)]
    [4, 4, 4, 8, 8, 16]
    """
    return max(4, 1 << d.bit_length())


class _Vectors:
    """Records of arrays as vectors of LLVM, in a function that is being generated."""

    def __init__(self, context: Any, builder: Any, lanes: int):
        self.context, self.builder = context, builder
        self.kind, self.last = ir.VectorType(DOUBLE, lanes), lanes - 1

    def place(self, kind: Any, array: Any, entry: Any, at: Any) -> Any:
        """The address of array[entry, at]."""
        builder = self.builder
        found = cgutils.create_struct_proxy(kind)(self.context, builder, value=array)
        count = cgutils.unpack_tuple(builder, found.shape, 3)[1]
        at = builder.zext(at, INDEX) if at.type.width < INDEX.width else at
        number = builder.mul(builder.add(builder.mul(entry, count), at), ir.Constant(INDEX, self.last + 1))
        return builder.bitcast(cgutils.gep(builder, found.data, number), self.kind.as_pointer())

    def load(self, place: Any) -> Any:
        return self.builder.load(place, align=ALIGNMENT)

    def store(self, value: Any, place: Any) -> None:
        self.builder.store(value, place, align=ALIGNMENT)

    def end(self, vector: Any) -> Any:
        """The last number of a record."""
        return self.builder.extract_element(vector, ir.Constant(LANE, self.last))

    def all_lanes(self, number: Any) -> Any:
        """The vector with this number everywhere."""
        nothing = ir.Constant(self.kind, ir.Undefined)
        first = self.builder.insert_element(nothing, number, ir.Constant(LANE, 0))
        zeros = ir.Constant(ir.VectorType(LANE, self.last + 1), [0] * (self.last + 1))
        return self.builder.shuffle_vector(first, nothing, zeros)

    def but_last(self, one: Any, other: Any) -> Any:
        """The vector `one` with the last number of `other`."""
        return self.builder.insert_element(one, self.end(other), ir.Constant(LANE, self.last))

    def sum(self, vector: Any) -> Any:
        """The sum of all numbers: halves are added until one number is left."""
        lanes = self.last + 1
        while lanes > 1:
            lanes //= 2
            nothing, index = ir.Constant(vector.type, ir.Undefined), ir.VectorType(LANE, lanes)
            low = self.builder.shuffle_vector(vector, nothing, ir.Constant(index, list(range(lanes))))
            high = self.builder.shuffle_vector(vector, nothing, ir.Constant(index, list(range(lanes, 2 * lanes))))
            vector = self.builder.fadd(low, high, flags=FREE_ORDER)
        return self.builder.extract_element(vector, ir.Constant(LANE, 0))


@intrinsic
def push(typing: Any, axes: Any, body: Any, v: Any, a: Any, b: Any, e: Any, c: Any, slack: Any, before: Any) -> Any:
    """max(0, before - slack - e . (v_b - v_a)), the new multiplier of row c; v_a and v_b change by its difference."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vectors, (_, bodies, entry, first, second, normals, row, s0, start) = (
            _Vectors(context, builder, lanes),
            arguments,
        )
        one, two = (vectors.place(body, bodies, entry, which) for which in (first, second))
        normal = vectors.load(vectors.place(e, normals, ir.Constant(INDEX, 1), row))
        va, vb = vectors.load(one), vectors.load(two)
        rate = vectors.sum(builder.fmul(normal, builder.fsub(vb, va, flags=FREE_ORDER), flags=FREE_ORDER))
        wanted = builder.fsub(builder.fsub(start, s0, flags=FREE_ORDER), rate, flags=FREE_ORDER)
        zero = ir.Constant(DOUBLE, 0.0)
        p = builder.select(builder.fcmp_ordered(">", wanted, zero), wanted, zero)
        step = builder.fsub(p, start, flags=FREE_ORDER)
        for add, velocity, to in (builder.fsub, va, one), (builder.fadd, vb, two):
            impulse = vectors.all_lanes(builder.fmul(step, vectors.end(velocity), flags=FREE_ORDER))
            vectors.store(add(velocity, builder.fmul(impulse, normal, flags=FREE_ORDER), flags=FREE_ORDER), to)
        return p

    lanes = width(axes.count)
    return types.float64(axes, body, types.int64, a, b, e, c, slack, before), generate


@intrinsic
def carry_on(typing: Any, axes: Any, body: Any, v: Any, x: Any, a: Any, beta: Any) -> Any:
    """v_a += beta (v_a - x_a), and x_a becomes what v_a was; returns |x_a|^2 times the mass."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vectors, (_, bodies, entry, other, which, factor) = _Vectors(context, builder, lanes), arguments
        to, old = vectors.place(body, bodies, entry, which), vectors.place(body, bodies, other, which)
        now, past = vectors.load(to), vectors.load(old)
        way = builder.fmul(vectors.all_lanes(factor), builder.fsub(now, past, flags=FREE_ORDER), flags=FREE_ORDER)
        vectors.store(vectors.but_last(builder.fadd(now, way, flags=FREE_ORDER), now), to)
        vectors.store(vectors.but_last(now, past), old)
        nothing = ir.Constant(vectors.kind, [0.0] * lanes)
        square = vectors.sum(vectors.but_last(builder.fmul(now, now, flags=FREE_ORDER), nothing))
        return builder.fmul(square, vectors.end(past), flags=FREE_ORDER)

    lanes = width(axes.count)
    return types.float64(axes, body, types.int64, types.int64, a, beta), generate
