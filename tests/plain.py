"""People who walk as in Venel 2009, for tests of this paper and for those that are not about behaviours."""

import jostle as jo


def crowd(n, **said):
    """The same as `jo.crowds.crowd` with the plain behaviour; people without groups walk at 1 m/s."""
    if "wish" not in said:
        said = {"behaviour": jo.crowds.Plain(), **({"speed": 1.0} if isinstance(n, int) else {}), **said}
    return jo.crowds.crowd(n, **said)
