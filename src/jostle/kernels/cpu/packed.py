"""Compiled kernels as functions of one address, where their arguments lie one after the other.

So compiled code can call any kernel without Python, and threads can share its pieces without waiting for Python's lock.
The arguments are those of numba's own calls: an array is its size, its address, its shape and its strides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core.compiler_lock import global_compiler_lock
from numba.np.numpy_support import as_dtype

WORD = ir.IntType(64)
RESULT_WORDS = 4
"""Room for what a kernel returns, before its arguments."""
OF_RESULT: dict[Any, str] = {types.int64: "q", types.float64: "d", types.boolean: "?"}


class Packed:
    """A compiled version of a kernel.

    Parameters
    ----------
    compiled : numba's compile result
        What `overloads` of a numba function holds.
    """

    def __init__(self, compiled: Any):
        kernel = compiled.fndesc
        self.name, arguments, result = kernel.qualname, kernel.argtypes, kernel.restype
        places = [RESULT_WORDS]
        for kind in arguments:
            places.append(places[-1] + len(_codes(kind)))
        self.arguments = [
            (_flattening(self.name, kind), Struct("=" + _codes(kind)), 8 * place)
            for kind, place in zip(arguments, places, strict=False)
        ]
        self.words = places[-1]
        self.several = isinstance(result, types.UniTuple)
        one, count = (result.dtype, result.count) if self.several else (result, 1)
        self.result = None if one is types.none else Struct("=" + OF_RESULT[one] * count)
        assert self.result is None or self.result.size <= 8 * RESULT_WORDS
        self.address, self._engine = _entry(compiled)

    def pack(self, pieces: Sequence[tuple[Any, ...]]) -> Any:
        """(pieces, words) the arguments of each piece, with room for its result."""
        words = np.zeros((len(pieces), self.words), np.int64)
        memory, first = memoryview(words).cast("B"), pieces[0]
        self._write(memory, 0, first, (self,) * len(first))
        words[1:] = words[0]
        for number, piece in enumerate(pieces):
            self._write(memory, 8 * self.words * number, piece, first)
        return words

    def _write(self, memory: memoryview, start: int, piece: tuple[Any, ...], but: tuple[Any, ...]) -> None:
        """Write the arguments of a piece, but for those that are in place."""
        for argument, known, (flatten, layout, place) in zip(piece, but, self.arguments, strict=True):
            if argument is not known:
                layout.pack_into(memory, start + place, *flatten(argument))

    def results(self, words: Any) -> list[Any]:
        """What the kernel returned for each piece."""
        if self.result is None:
            return [None] * len(words)
        memory, size = memoryview(words).cast("B"), 8 * self.words
        found = [self.result.unpack_from(memory, number * size) for number in range(len(words))]
        return found if self.several else [one for (one,) in found]


def _codes(kind: Any) -> str:
    """The codes of `struct` for an argument, one for each word."""
    if isinstance(kind, types.Array):
        return "q" * (5 + 2 * kind.ndim)
    return "d" if kind is types.float64 else "q"


def _flattening(name: str, kind: Any) -> Callable[[Any], tuple[Any, ...]]:
    """A function that takes an argument of this type apart."""
    if isinstance(kind, types.Array):
        dtype, ndim, written = as_dtype(kind.dtype), kind.ndim, kind.mutable

        def flatten(array: Any) -> tuple[Any, ...]:
            flags = array.flags
            fits = array.dtype == dtype and array.ndim == ndim and flags.c_contiguous and flags.aligned
            if not fits or (written and not flags.writeable):
                raise TypeError(
                    f"{name} takes {kind} here, not {array.dtype} of shape {array.shape} with strides {array.strides}, "
                    f"aligned: {flags.aligned}, writable: {flags.writeable}"
                )
            address = array.__array_interface__["data"][0]
            return 0, 0, array.size, array.itemsize, address, *array.shape, *array.strides

        return flatten
    return (lambda yes: (bool(yes),)) if kind is types.boolean else (lambda number: (number,))


@global_compiler_lock  # type: ignore[untyped-decorator]
def _entry(compiled: Any) -> tuple[int, Any]:
    """The address of a function of the packed arguments that calls a compiled kernel; and what keeps it alive.

    The function returns zero, or the number of an error if the kernel raised one.
    """
    kernel, context = compiled.fndesc, compiled.target_context
    called = context.call_conv.get_function_type(kernel.restype, kernel.argtypes)
    module = ir.Module()
    module.triple = binding.get_process_triple()
    entry = ir.Function(module, ir.FunctionType(WORD, [WORD.as_pointer()]), "entry")
    (words,), builder = entry.args, ir.IRBuilder(entry.append_basic_block())
    result, problem, *arguments = called.args
    values = [builder.bitcast(words, result), builder.alloca(problem.pointee)]
    for place, kind in enumerate(arguments, start=RESULT_WORDS):
        word = builder.load(builder.gep(words, [ir.Constant(WORD, place)]))
        values.append(_converted(builder, word, kind))
    address = compiled.library.get_pointer_to_function(kernel.llvm_func_name)
    status = builder.call(builder.inttoptr(ir.Constant(WORD, address), called.as_pointer()), values)
    builder.ret(builder.zext(status, WORD))
    machine = binding.Target.from_default_triple().create_target_machine(opt=0, jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(str(module)), machine)
    engine.finalize_object()
    return engine.get_function_address("entry"), engine


def _converted(builder: Any, word: Any, kind: Any) -> Any:
    """A word as what the kernel takes."""
    if isinstance(kind, ir.PointerType):
        return builder.inttoptr(word, kind)
    if isinstance(kind, ir.DoubleType):
        return builder.bitcast(word, kind)
    return word if kind == WORD else builder.trunc(word, kind)
