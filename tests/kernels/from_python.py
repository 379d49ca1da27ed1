"""Helpers of the kernels, compiled once more so that Python can call them."""

from functools import cache

from jostle.kernels.cpu.jit import KERNELS, jit
from jostle.kernels.cpu.naming import renamed


@cache
def from_python(helper, **types):
    """The same function with the code that lets Python call it; types of arguments as in `naming.renamed`."""
    options = {key: helper.targetoptions[key] for key in ("fastmath",) if key in helper.targetoptions}
    name = "_".join([helper.__name__, "from_python", *types.values()])
    kernel = jit(allocates=helper.targetoptions["_nrt"] or bool(types), **options)(
        renamed(helper.py_func, name, **types)
    )
    KERNELS.remove(kernel)  # not one of the library's
    return kernel
