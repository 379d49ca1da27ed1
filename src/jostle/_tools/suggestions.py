"""Suggestions for unknown names: of arguments, attributes, keys in scenario files, columns, and what is chosen by name.

`WORDS` is the one list of words that other programs, papers and habits use for what has another name here.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

CLOSENESS = 0.6
"""Similarity, between 0 and 1, from which on an error suggests another spelling."""
NAMES_HERE = {
    "h": "dt timestep deltat step stepsize",
    "t": "T tmax tend endtime tfinal tf duration time times totaltime simulationtime end",
    "every": "dump saveevery outputinterval interval stride frames",
    "until": "stop stopwhen event events terminate",
    "progress": "callback callbacks verbose",
    "output": "file filename path save",
    "q0": "x0 x q position positions pos start initialposition initialpositions",
    "q": "x y position positions pos coordinates r",
    "v0": "v u u0 velocity velocities vel initialvelocity initialvelocities speed",
    "u": "v vel velocity velocities speeds speed",
    "velocity": "v u desiredvelocity drift v0",
    "spin0": "spin omega omega0 angularvelocity",
    "spin": "omega angularvelocity angularvelocities",
    "orientation0": "angle angle0 theta theta0 rotation",
    "orientation": "angle angles theta rotation rotations quaternion quaternions",
    "masses": "mass m",
    "mass": "m masses",
    "gravity": "g",
    "force=np.outer(mass, [0.0, -9.81])": "gravity g weight forces",
    "radii": "radius r size sizes diameter diameters",
    "radius": "radii r size diameter",
    "within=jo.Balls(radii)": "radius radii r",
    "within": "walls wall constraints domain box geometry container set boundary",
    "mu": "friction frictioncoefficient coefficientoffriction muf",
    "law=jo.Coulomb(0.5)": "friction mu frictioncoefficient coefficientoffriction",
    "e": "restitution coefficientofrestitution cor bounce bounciness elasticity",
    "law=jo.Restitution(0.8)": "restitution e coefficientofrestitution cor bounce bounciness elasticity",
    "rolling": "rollingfriction rollingresistance",
    "surface_velocity": "drag beltspeed wallvelocity",
    "tol": "tolerance eps epsilon accuracy rtol atol precision",
    "solver=jo.Automatic(tol=1e-4)": "tol tolerance eps rtol atol precision overlap",
    "max_iterations": "iterations maxiter maxiterations niter iter",
    "solver=jo.Automatic(max_iterations=10000)": "iterations maxiter maxiterations niter iter",
    "pairs": "contacts contactpairs",
    "multipliers": "impulses normalforces lambda lambdas",
    "kind": "name type method",
    "Balls": "sphere spheres disc discs disk disks circle circles ball particles grains",
    "HalfSpace": "plane floor ground wall",
    "Coulomb": "friction coulombfriction",
    "Clumps": "clump cluster rigidbody multisphere",
    "Free": "nothing none unconstrained",
    "solve": "run simulate integrate",
    "strip": "plot show",
    "viz": "plot plotting vis pyplot",
    "n": "number count size npart nparticles particles agents",
}
"""Names of jostle, those of keyword arguments with an example where other programs have a number, and the words that
other programs use for them, in lower case and without underscores."""
WORDS: dict[str, tuple[str, ...]] = {
    word: tuple(here for here, words in NAMES_HERE.items() if word in words.casefold().split())
    for words in NAMES_HERE.values()
    for word in words.casefold().split()
}
"""What each word of other programs may be called here, in the order in which the answers are tried."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """The most similar of the choices, or an empty text if none is similar."""
    return next(iter(difflib.get_close_matches(word, list(choices), n=1, cutoff=CLOSENESS)), "")


def here(word: str, choices: Collection[str]) -> str:
    """What a word of other programs is called here: one of the choices, some with "=" and an example; or "".

    >>> here("dt", ["t", "h"]), here("friction", ["q0", "law"]), here("gap", ["t", "h"])
    ('h', 'law=jo.Coulomb(0.5)', '')
    """
    found = WORDS.get(word.casefold().replace("_", "").replace("-", ""), ())
    return next((each for each in found if each.partition("=")[0] in choices), "")


def suggestion(word: str, choices: Collection[str], otherwise: str) -> str:
    """The end of a message about an unknown name: its name here, the most similar choice, or other words.

    >>> suggestion("restitution", ["q0", "law"], ""), suggestion("forse", ["force"], "")
    ('here it is law=jo.Restitution(0.8)', "did you mean 'force'?")
    """
    name = here(word, choices)
    if name:
        return f"here it is {name if '=' in name else repr(name)}"
    near = nearest(word, choices)
    return f"did you mean {near!r}?" if near else otherwise
