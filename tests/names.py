"""The public names of the library, and those that a program uses."""

import ast
import inspect
from importlib import import_module

import jostle


def public_names():
    """jostle.Name, and the names of its parts: jostle.models.rack."""
    for name in jostle.__all__:
        value = getattr(jostle, name)
        if inspect.ismodule(value):
            yield from (f"{name}.{inner}" for inner in value.__all__)
        else:
            yield name


def exists(name):
    """Whether a dotted name, such as jo.models.rack or jo.Maury.cite, leads through public names to something."""
    value = jostle
    for part in name.split(".")[1:]:
        if inspect.ismodule(value) and part not in value.__all__:
            return False
        if not hasattr(value, part):  # a field of a dataclass or NamedTuple, which only objects have
            return part in inspect.get_annotations(value)
        value = getattr(value, part)
    return True


def unknown_names(program):
    """The names of jostle, and the keywords of its functions, that a program uses and that do not exist."""
    tree, known, unknown = ast.parse(program), {"jostle": jostle}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {each.asname: import_module(each.name) for each in node.names if each.asname and _ours(each.name)}
        elif isinstance(node, ast.ImportFrom) and _ours(node.module):
            module = import_module(node.module)
            known |= {each.asname or each.name: getattr(module, each.name, None) for each in node.names}
            unknown += [f"{node.module}.{each.name}" for each in node.names if not hasattr(module, each.name)]

    def found(node):
        """What a dotted name stands for, as far as it leads through modules and classes."""
        if isinstance(node, ast.Name):
            return known.get(node.id)
        owner = found(node.value) if isinstance(node, ast.Attribute) else None
        return getattr(owner, node.attr, None) if inspect.ismodule(owner) or inspect.isclass(owner) else None

    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and inspect.ismodule(found(node.value)) and found(node) is None:
            unknown.append(ast.unparse(node))
        elif isinstance(node, ast.Call) and callable(function := found(node.func)):
            parameters = inspect.signature(function).parameters
            if not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
                used = [keyword.arg for keyword in node.keywords if keyword.arg]
                unknown += [f"{ast.unparse(node.func)}({name}=)" for name in used if name not in parameters]
    return unknown


def _ours(module):
    return module is not None and module.partition(".")[0] == "jostle"
