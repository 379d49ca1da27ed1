"""Bodies and rows of `fused` and `grips` as records that fill whole vector registers, and what a sweep does with them.

A record holds the coordinates of a vector, zeros, and one more number at its end: the inverse mass of a body beside its
velocities v, its mass beside its other velocities, zero beside the normal of a selected row. So a body is read and
written at once. The compiler does not find that out from a loop over the coordinates (1.3 to 2 times slower), therefore
the instructions are written here.
"""

from __future__ import annotations

from collections.abc import Sequence
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


# Contacts of balls with spin. A body has two records after each other, its velocity and its spin. Four contacts that
# share no body are swept at once: most instructions of one alone would wait for the ones before.

N, MU, S, BY_N, BY_T, ARMS, P, Y, SWEPT = 0, 3, 4, 7, 8, 9, 11, 14, 17
"""Entries of a contact: normal, friction coefficient, slack at w, 1 / W_n, 1 / W_t, both arms, the multiplier, and the
one that the sweep starts from; and how many entries a sweep needs."""


class _Four:
    """Four numbers in a formula, one for each contact: operators generate the instructions."""

    def __init__(self, builder: Any, value: Any):
        self.builder, self.value = builder, value

    def number(self, value: float) -> _Four:
        return _Four(self.builder, ir.Constant(self.value.type, [value] * 4))

    def __add__(self, other: _Four) -> _Four:
        return _Four(self.builder, self.builder.fadd(self.value, other.value, flags=FREE_ORDER))

    def __sub__(self, other: _Four) -> _Four:
        return _Four(self.builder, self.builder.fsub(self.value, other.value, flags=FREE_ORDER))

    def __mul__(self, other: _Four) -> _Four:
        return _Four(self.builder, self.builder.fmul(self.value, other.value, flags=FREE_ORDER))

    def __truediv__(self, other: _Four) -> _Four:
        return _Four(self.builder, self.builder.fdiv(self.value, other.value, flags=FREE_ORDER))

    def root(self) -> _Four:
        """The square roots."""
        signature = ir.FunctionType(self.value.type, [self.value.type])
        root = cgutils.get_or_insert_function(self.builder.module, signature, "llvm.sqrt.v4f64")
        return _Four(self.builder, self.builder.call(root, [self.value]))

    def above(self, other: _Four) -> Any:
        """Which numbers exceed others."""
        return self.builder.fcmp_ordered(">", self.value, other.value)

    def where(self, condition: Any, otherwise: _Four) -> _Four:
        """These numbers where a condition holds, and others elsewhere."""
        return _Four(self.builder, self.builder.select(condition, self.value, otherwise.value))


def _dot(one: Sequence[_Four], other: Sequence[_Four]) -> _Four:
    x, y, z = (a * b for a, b in zip(one, other, strict=True))
    return x + y + z


def _cross(one: Sequence[_Four], other: Sequence[_Four]) -> list[_Four]:
    return [one[a] * other[b] - one[b] * other[a] for a, b in ((1, 2), (2, 0), (0, 1))]


def _transposed(builder: Any, four: Sequence[Any]) -> list[Any]:
    """The columns of a matrix by its rows, four vectors."""

    def mixed(one: Any, other: Any, lanes: list[int]) -> Any:
        return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(LANE, 4), lanes))

    even, odd = [0, 4, 2, 6], [1, 5, 3, 7]
    halves = [[mixed(four[k], four[k + 1], lanes) for k in (0, 2)] for lanes in (even, odd)]
    return [mixed(*halves[column % 2], [0, 1, 4, 5] if column < 2 else [2, 3, 6, 7]) for column in range(4)]


@intrinsic
def grip(typing: Any, four: Any, bodies: Any, k: Any, body: Any, v: Any, anew: Any, beta: Any, coulomb: Any) -> Any:
    """The step of four contacts, those of four[k] between bodies[k], from P if `anew`, otherwise from Y.

    P, Y and the velocities v change. Returns how far the steps go against the way of P, and the sum of s0 . P, by
    Coulomb's law instead that of the squares of the steps.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        contacts, numbers, at, records, entry, from_p, momentum, by_coulomb = arguments
        vectors = _Vectors(context, builder, 4)

        def place_of(number: int) -> Any:
            return vectors.place(four, contacts, at, ir.Constant(INDEX, number))

        def loaded(first: int) -> list[_Four]:
            return [_Four(builder, vectors.load(place_of(first + axis))) for axis in range(3)]

        first = cgutils.create_struct_proxy(bodies)(context, builder, value=numbers).data
        places: list[list[Any]] = []  # of the velocities and the spins of the first bodies, then of the second
        for end in range(2):
            lanes = [builder.add(builder.mul(at, INDEX(8)), INDEX(4 * end + lane)) for lane in range(4)]
            record = [
                builder.shl(builder.zext(builder.load(builder.gep(first, [lane])), INDEX), INDEX(1)) for lane in lanes
            ]
            for spin in range(2):
                places.append([vectors.place(body, records, entry, builder.add(one, INDEX(spin))) for one in record])
        moving = [_transposed(builder, [vectors.load(place) for place in each]) for each in places]
        (*v_i, m_i), (*w_i, t_i), (*v_j, m_j), (*w_j, t_j) = ([_Four(builder, one) for one in each] for each in moving)

        n, s0, p, y = (loaded(each) for each in (N, S, P, Y))
        (mu, by_n, by_t), (r_i, r_j, _) = ([loaded(each)[0] for each in (MU, BY_N, BY_T)], loaded(ARMS))
        nothing, one, xyz = mu.number(0.0), mu.number(1.0), range(3)
        y = [p[x].where(from_p, y[x]) for x in xyz]
        turned = _cross([r_i * w_i[x] + r_j * w_j[x] for x in xyz], n)
        s = [s0[x] + v_j[x] - v_i[x] - turned[x] for x in xyz]
        s_n, y_n = _dot(s, n), _dot(y, n)
        tangent = [y[x] - by_t * s[x] - (y_n - by_t * s_n) * n[x] for x in xyz]
        wanted, t = y_n - by_n * s_n, _dot(tangent, tangent).root()
        found = cgutils.alloca_once_value(builder, wanted.value)
        with builder.if_then(builder.not_(by_coulomb)):
            ratio = mu * by_n / by_t
            nearest = (wanted + ratio * t) / (one + ratio * mu)
            builder.store(nearest.where(t.above(mu * wanted), wanted).value, found)
        wanted = _Four(builder, builder.load(found))
        wanted = wanted.where(wanted.above(nothing), nothing)
        factor = (mu * wanted / t).where(t.above(mu * wanted), one)
        q = [wanted * n[x] + factor * tangent[x] for x in xyz]
        step, way = [q[x] - y[x] for x in xyz], [q[x] - p[x] for x in xyz]
        moment, t_i, t_j = _cross(n, step), r_i * t_i, r_j * t_j
        after = (
            [*(v_i[x] - m_i * step[x] for x in xyz), m_i], [*(w_i[x] - t_i * moment[x] for x in xyz), moving[1][3]],
            [*(v_j[x] + m_j * step[x] for x in xyz), m_j], [*(w_j[x] - t_j * moment[x] for x in xyz), moving[3][3]],
        )  # fmt: skip
        for each, to in zip(after, places, strict=True):
            rows = _transposed(builder, [one.value if isinstance(one, _Four) else one for one in each])
            for value, place in zip(rows, to, strict=True):
                vectors.store(value, place)
        factor = _Four(builder, vectors.all_lanes(momentum))
        for x in xyz:
            vectors.store(q[x].value, place_of(P + x))
            vectors.store((q[x] + factor * way[x]).value, place_of(Y + x))
        W_n = m_i + m_j
        against = vectors.sum((nothing - W_n * _dot(step, way)).value)
        squares, linear = vectors.sum((W_n * _dot(step, step)).value), vectors.sum(_dot(s0, q).value)
        return context.make_tuple(
            builder, signature.return_type, [against, builder.select(by_coulomb, squares, linear)]
        )

    found = types.UniTuple(types.float64, 2)(
        four, bodies, types.int64, body, types.int64, types.boolean, types.float64, types.boolean
    )
    return found, generate
