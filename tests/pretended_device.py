"""A device without a GPU: arrays as strict as those of CuPy, so that runs on a device are tested on every machine.

An array here wraps one of NumPy and refuses what CuPy refuses: conversions that nobody asked for, one operation with
arrays of NumPy and its own, `initial=` of reductions, methods of ufuncs, index arrays of NumPy, flags. Of the functions
of NumPy it takes those of `FUNCTIONS` and `UFUNCS`, all of which CuPy has. `USED` collects which of them were called.
New arrays are made by the functions of this module, as by those of CuPy; `like=` of NumPy is refused.
The module itself stands for the module `cupy`; `pretended_kernels` are its kernels.
"""

import sys
from types import SimpleNamespace

import numpy as np

FUNCTIONS = {
    "abs", "all", "any", "argmax", "argmin", "argsort", "argwhere", "broadcast_to", "clip", "concatenate",
    "count_nonzero", "cumsum", "diff", "einsum", "empty_like", "flatnonzero", "linalg.norm", "max", "mean", "min",
    "nan_to_num", "nonzero", "repeat", "shape", "stack", "sum", "tile", "transpose", "where", "zeros_like",
}  # fmt: skip
UFUNCS = {
    "absolute", "add", "bitwise_and", "bitwise_or", "divide", "equal", "floor_divide", "fmax", "greater",
    "greater_equal", "invert", "isfinite", "less", "less_equal", "logical_not", "matmul", "maximum", "minimum",
    "multiply", "negative", "not_equal", "power", "remainder", "sqrt", "subtract",
}  # fmt: skip
USED: set[str] = set()

cuda = SimpleNamespace(
    runtime=SimpleNamespace(getDeviceCount=lambda: 1), Device=lambda: SimpleNamespace(compute_capability="70")
)


class ndarray(np.lib.mixins.NDArrayOperatorsMixin):
    __hash__ = None
    __slots__ = ("inside",)

    def __init__(self, inside):
        self.inside = inside

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "version": 3}

    def __array__(self, *args, **kwargs):
        raise TypeError("implicit conversion to an array of NumPy is not allowed; use .get()")

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if method != "__call__" or ufunc.__name__ not in UFUNCS:
            raise TypeError(f"np.{ufunc.__name__}.{method} does not take arrays of a device")
        if options.keys() - {"out", "dtype", "casting"}:
            raise TypeError(f"np.{ufunc.__name__} does not take {sorted(options)} on a device")
        USED.add(ufunc.__name__)
        out = options.pop("out", None)
        if out is None:
            return wrapped(ufunc(*map(unwrapped, inputs), **options))
        if not isinstance(out[0], ndarray):
            raise TypeError("the result would be an array of NumPy")
        ufunc(*map(unwrapped, inputs), out=out[0].inside, **options)
        return out[0]

    def __array_function__(self, function, types, args, options):
        name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
        if name not in FUNCTIONS:
            raise TypeError(f"np.{name} is not one of the functions that may be used on a device")
        if options.keys() & {"initial", "where"}:
            raise TypeError(f"np.{name} takes no initial value and no mask on a device")
        USED.add(name)
        return wrapped(function(*unwrapped(args), **unwrapped(options)))

    # --- what CuPy's arrays have ---

    shape = property(lambda self: self.inside.shape)
    ndim = property(lambda self: self.inside.ndim)
    size = property(lambda self: self.inside.size)
    dtype = property(lambda self: self.inside.dtype)
    nbytes = property(lambda self: self.inside.nbytes)
    T = property(lambda self: ndarray(self.inside.T))

    def get(self):
        return self.inside.copy()

    def copy(self):
        return ndarray(self.inside.copy())

    def tolist(self):
        return self.inside.tolist()

    def tobytes(self):
        return self.inside.tobytes()

    def item(self):
        return self.inside.item()

    def nonzero(self):
        return tuple(ndarray(found) for found in self.inside.nonzero())

    def ravel(self):
        return ndarray(self.inside.ravel())

    def reshape(self, *shape):
        return ndarray(self.inside.reshape(*shape))

    def astype(self, kind):
        return ndarray(self.inside.astype(kind))

    def __len__(self):
        return len(self.inside)

    def __iter__(self):
        return (wrapped(one) for one in self.inside)

    def __getitem__(self, key):
        return wrapped(self.inside[index(key)])

    def __setitem__(self, key, value):
        self.inside[index(key)] = unwrapped(value)

    def __float__(self):
        return float(self._one())

    def __int__(self):
        return int(self._one())

    def __bool__(self):
        return bool(self._one())

    def _one(self):
        if self.inside.size != 1:
            raise ValueError("only an array of one number is a number")
        return self.inside.item()

    def __repr__(self):
        return f"pretended({self.inside!r})"

    def __str__(self):
        return str(self.inside)

    def __format__(self, form):
        if form:
            raise TypeError("arrays of a device are not formatted; take float(array)")
        return str(self)


def _reduction(name):
    def reduce(self, axis=None):
        USED.add(f"ndarray.{name}")
        return wrapped(getattr(self.inside, name)(axis=axis))

    return reduce


for _name in ("all", "any", "argmax", "argmin", "max", "mean", "min", "sum"):
    setattr(ndarray, _name, _reduction(_name))


def asarray(array, dtype=None, order=None):
    """An array of NumPy, moved to the device; one of the device as it is."""
    if not isinstance(array, ndarray):
        return ndarray(np.array(array, dtype=dtype, order=order))
    found = np.asarray(array.inside, dtype=dtype, order=order)
    return array if found is array.inside else ndarray(found)


def ascontiguousarray(array, dtype=None):
    return asarray(array, dtype, order="C")


def arange(stop):
    return ndarray(np.arange(stop))


def empty(shape, dtype=float):
    return ndarray(np.full(shape, 77, dtype))


def full(shape, value):
    return ndarray(np.full(shape, unwrapped(value)))


def ones(shape):
    return ndarray(np.ones(shape))


def zeros(shape, dtype=float):
    return ndarray(np.zeros(shape, dtype))


def wrapped(value):
    """Results: arrays and single numbers become arrays of the device."""
    if isinstance(value, np.ndarray | np.generic):
        return ndarray(np.asarray(value))
    return type(value)(map(wrapped, value)) if isinstance(value, list | tuple) else value


def unwrapped(value):
    """Arguments: those of the device as they are inside, numbers too; arrays of NumPy are refused."""
    if isinstance(value, ndarray):
        return value.inside
    if isinstance(value, np.ndarray):
        raise TypeError(f"an array of NumPy, of shape {value.shape}, among those of a device")
    if isinstance(value, dict):
        return {name: unwrapped(one) for name, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(unwrapped, value))
    return type(value)(map(unwrapped, value)) if isinstance(value, list | tuple) else value


def index(key):
    """An index: numbers, slices, lists, and arrays of the device."""
    if isinstance(key, tuple):
        return tuple(map(index, key))
    if isinstance(key, slice) and any(isinstance(one, ndarray) for one in (key.start, key.stop, key.step)):
        raise TypeError("the ends of a slice are numbers, not arrays of a device")
    if isinstance(key, np.ndarray):
        raise TypeError("an index array of NumPy for an array of a device")
    return key.inside if isinstance(key, ndarray) else key


def install(monkeypatch):
    """Let device="cuda" be this one."""
    from jostle.kernels import devices, interface

    monkeypatch.setitem(devices.ARRAYS, "cuda", __name__)
    monkeypatch.setitem(interface.PACKAGES, __name__, "pretended_kernels")
    return sys.modules[__name__]
