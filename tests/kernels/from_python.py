"""Helpers of the kernels, compiled once more so that Python can call them."""

from functools import cache

from jostle.kernels.compiling import KERNELS, jit, renamed


@cache
def from_python(helper, **types):
    """The same function with the code that lets Python call it; types of arguments as in `naming.renamed`."""
    options = {key: helper.targetoptions[key] for key in ("fastmath",) if key in helper.targetoptions}
    name = "_".join([helper.__name__, "from_python", *types.values()])
    function = renamed(helper.py_func, name, **types)
    if any(declared is None for declared in helper.declared) and "Any" not in function.__annotations__.values():
        function.__annotations__ = {}  # tuples of arrays have the types that they are called with
    kernel = jit(allocates=helper.targetoptions["_nrt"] or bool(types), **options)(function)
    KERNELS.remove(kernel)  # not one of the library's
    return kernel
