"""Open lists: things that are chosen by name, and to which a plug-in or a script can add.

A package adds to a list with a Python entry point, a script with `Registry.register`:

    [project.entry-points."jostle.schemes"]          # in the pyproject.toml of the package
    leapfrog = "my_package.leapfrog:Leapfrog"

Entry points are found when the list is first read, and each one is imported when its name is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from jostle._tools.suggestions import suggestion
from jostle.errors import BrokenPlugin, InvalidValue

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


Item = TypeVar("Item")
Given = TypeVar("Given")


class Registry(Generic[Item]):
    """Named items of one sort: those of jostle, those of installed plug-ins, and those that a script registers.

    Parameters
    ----------
    group : str
        Group of the entry points of plug-ins.
    noun : str
        What error messages call an item.
    builtin : mapping of str to str, optional
        The items of jostle as "module:object", as `define` takes them.
    check : callable (name, item) -> None, optional
        Raises `InvalidValue` for an item of the wrong kind.

    Examples
    --------
    >>> shapes = Registry("jostle.shapes", "shape", {"fraction": "fractions:Fraction"})
    >>> @shapes.register("star")
    ... def star(): ...
    >>> shapes.names(), shapes.get("star") is star
    (['fraction', 'star'], True)
    >>> shapes.get("stra")
    Traceback (most recent call last):
    jostle.errors.InvalidValue: unknown shape 'stra'; did you mean 'star'?
    """

    def __init__(
        self,
        group: str,
        noun: str,
        builtin: Mapping[str, str] | None = None,
        check: Callable[[str, Any], None] | None = None,
    ):
        self.group, self.noun, self._check = group, noun, check
        self._builtin = dict(builtin or {})
        self._references: dict[str, EntryPoint] | None = None
        self._items: dict[str, Item] = {}

    def define(self, builtin: Mapping[str, str]) -> None:
        """Add items of jostle as "module:object"; each is imported when it is first used.

        A file that items import cannot name them: the package above both defines them.

        Parameters
        ----------
        builtin : mapping of str to str
            Where each item is, by its name.
        """
        self._builtin |= builtin
        self._references = None

    @overload
    def register(self, name: str) -> Callable[[Given], Given]: ...
    @overload
    def register(self, name: str, item: Given) -> Given: ...
    def register(self, name: str, item: Any = None) -> Any:
        """Add an item under a name, as a function or as a decorator; an earlier item of this program is replaced.

        Parameters
        ----------
        name : str
            Name of the item.
        item : object, optional
            The item. Left out where `register` is a decorator.

        Returns
        -------
        object
            The item; or a decorator.
        """
        if item is None:
            return lambda given: self.register(name, given)
        if name in self._found():
            raise InvalidValue(f"the {self.noun} {name!r} is already defined by {_owner(self._found()[name])}")
        if self._check is not None:
            self._check(name, item)
        self._items[name] = item
        return item

    def names(self) -> list[str]:
        """The names of jostle, of plug-ins and of this program; nothing is imported."""
        return list(dict.fromkeys([*self._found(), *self._items]))

    def added(self) -> list[str]:
        """The names that packages and scripts have added to those of jostle."""
        return [name for name in self.names() if name not in self._builtin]

    def get(self, name: str) -> Item:
        """The item of a name, which is imported when it is first used."""
        if name not in self._items:
            if name not in self._found():
                hint = suggestion(name, self.names(), f"known: {', '.join(self.names())}")
                raise InvalidValue(f"unknown {self.noun} {name!r}; {hint}")
            self._items[name] = self._loaded(self._found()[name])
        return self._items[name]

    def items(self) -> Iterator[tuple[str, Item]]:
        """All names with their items, which are imported."""
        return ((name, self.get(name)) for name in self.names())

    def __contains__(self, name: object) -> bool:
        return name in self._items or name in self._found()

    def _found(self) -> dict[str, EntryPoint]:
        """What jostle and the installed packages define, by name."""
        if self._references is None:
            from importlib.metadata import EntryPoint, entry_points  # slow to import, and rarely needed

            found = {name: EntryPoint(name, place, self.group) for name, place in self._builtin.items()}
            for each in entry_points(group=self.group):
                if each.name in found:
                    raise BrokenPlugin(
                        f"the {self.noun} {each.name!r} is defined twice, by {_owner(found[each.name])} and by "
                        f"{_owner(each)}; uninstall one of them"
                    )
                found[each.name] = each
            self._references = found
        return self._references

    def _loaded(self, reference: EntryPoint) -> Item:
        try:
            item: Item = reference.load()
            if self._check is not None:
                self._check(reference.name, item)
        except Exception as error:  # the module of a plug-in may raise anything
            raise BrokenPlugin(
                f"the {self.noun} {reference.name!r} of {_owner(reference)} cannot be used: "
                f"{type(error).__name__}: {error}; repair or uninstall the package"
            ) from error
        return item


def _owner(reference: EntryPoint) -> str:
    return "jostle" if reference.dist is None else f"package {reference.dist.name!r}"


def is_of_jostle(thing: object) -> bool:
    """Whether the class of an object is one of jostle, and not of a user or a plug-in."""
    return type(thing).__module__.partition(".")[0] == "jostle"
