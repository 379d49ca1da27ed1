"""The public names of the library."""

import inspect

import jostle


def public_names():
    """jostle.Name, and the names of its parts: jostle.models.rack."""
    for name in jostle.__all__:
        value = getattr(jostle, name)
        if inspect.ismodule(value):
            yield from (f"{name}.{inner}" for inner in value.__all__)
        else:
            yield name
