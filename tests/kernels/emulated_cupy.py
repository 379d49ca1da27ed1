"""A module in the place of CuPy: arrays of NumPy, and kernels in CUDA compiled for the host, run by a single thread.

It shows that the sources compute what they should; not that their threads do not get in each other's way.
"""

import ctypes
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np

import jostle.kernels
from jostle.kernels.interface import KERNELS

COMPILER = shutil.which("g++") or shutil.which("clang++")
REASON = "a C++ compiler is needed to run the CUDA sources on the host"

HOST = """
#include <cmath>
using std::fabs; using std::sqrt; using std::floor; using std::rint;
struct Dimensions { unsigned x, y, z; };
static const Dimensions blockIdx{0, 0, 0}, threadIdx{0, 0, 0}, blockDim{1, 1, 1}, gridDim{1, 1, 1};
#define __global__
#define __device__ static
#define __shared__ static
template <class T> static T atomicAdd(T *at, T value) { T old = *at; *at += value; return old; }
template <class T> static T atomicMin(T *at, T value) { T old = *at; if (value < old) *at = value; return old; }
template <class T> static T atomicMax(T *at, T value) { T old = *at; if (value > old) *at = value; return old; }
template <class T> static T atomicCAS(T *at, T from, T to) { T old = *at; if (old == from) *at = to; return old; }
#define __launch_bounds__(threads, blocks)
static double __shfl_down_sync(unsigned, double, unsigned) { return 0.0; }
static void __syncthreads() {}
static unsigned __ballot_sync(unsigned, bool yes) { return yes ? 1u : 0u; }
static int __popc(unsigned bits) { return __builtin_popcount(bits); }
"""

KINDS = {"i": ctypes.c_longlong, "u": ctypes.c_ulonglong, "f": ctypes.c_double}


class Function:
    """A kernel; whatever the grid, one thread does all."""

    def __init__(self, function):
        self.function = function
        self.kernel = SimpleNamespace(ptr=0)

    def __call__(self, grid, block, arguments, shared_mem=0):
        assert all(size > 0 for size in (*grid, *block))
        self.function(*[_given(argument) for argument in arguments])


def _given(argument):
    if isinstance(argument, np.ndarray):
        # columns of pairs are given with their stride
        assert argument.flags.c_contiguous or argument.dtype == np.int64, "a kernel was given an array with gaps"
        return ctypes.c_void_p(argument.ctypes.data)
    assert isinstance(argument, np.generic), f"a kernel was given {argument!r}, which has no definite type"
    kind = ctypes.c_uint if argument.dtype == np.uint32 else KINDS[argument.dtype.kind]
    return kind(argument.item())


class RawModule:
    def __init__(self, code, options):
        folder = Path(tempfile.mkdtemp(prefix="jostle-cuda-"))
        (folder / "kernels.cpp").write_text(HOST + code)
        defined = [option for option in options if option.startswith("-D")]
        command = [COMPILER, "-O1", "-std=c++17", "-shared", "-fPIC", "-Wall", "-Wno-maybe-uninitialized", *defined]
        subprocess.run([*command, str(folder / "kernels.cpp"), "-o", str(folder / "kernels.so")], check=True)
        self.library = ctypes.CDLL(str(folder / "kernels.so"))
        shutil.rmtree(folder)

    def get_function(self, name):
        function = getattr(self.library, name)
        function.restype = None
        return Function(function)


def module():
    """The module that stands for CuPy."""
    made = ModuleType("cupy")
    made.__getattr__ = lambda name: getattr(np, name)
    made.RawModule = RawModule
    made.asnumpy = np.asarray
    device = SimpleNamespace(id=0, attributes={"MultiProcessorCount": 1})
    occupancy = SimpleNamespace(occupancyMaxActiveBlocksPerMultiprocessor=lambda *_: 1)
    made.cuda = SimpleNamespace(Device=lambda *_: device, driver=occupancy)
    return made


def kernels():
    """The kernels of `jostle.kernels.cuda` on the host, and two of its modules by name; all else is left as it was."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _of_the_device(name)}
    known = vars(jostle.kernels).pop("cuda", None)  # an import also becomes an attribute of the package
    registered = {name: dict(kernel.implementations) for name, kernel in KERNELS.items()}
    sys.modules["cupy"] = module()
    try:
        import_module("jostle.kernels.cuda")
        found = {name: kernel.implementations for name, kernel in KERNELS.items() if "cupy" in kernel.implementations}
        made = SimpleNamespace(**{name: implementations["cupy"] for name, implementations in found.items()})
        return made, {name: sys.modules[f"jostle.kernels.cuda.{name}"] for name in ("arrangement", "fused")}
    finally:
        for name, kernel in KERNELS.items():
            kernel.implementations = registered[name]
        for name in [name for name in sys.modules if _of_the_device(name)]:
            del sys.modules[name]
        sys.modules.update(before)
        del jostle.kernels.cuda
        if known is not None:
            jostle.kernels.cuda = known


def _of_the_device(name):
    return name == "cupy" or name.startswith(("cupy.", "jostle.kernels.cuda"))
