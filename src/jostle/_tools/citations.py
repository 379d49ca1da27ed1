"""Which papers to cite for what: ``jo.cite(jo.Maury)`` is the BibTeX entry of the paper of a scheme, law or model.

`PAPERS` holds the papers, `CITED` says which of them a module or a function implements; see docs/reference/citing.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from jostle._tools.arguments import check_arguments
from jostle.errors import InvalidValue


class Paper(NamedTuple):
    """A paper, as reference lists name it. Names of authors are joined by " and ", as BibTeX wants them."""

    author: str
    title: str
    year: int
    journal: str = ""
    """The journal, or the book if `chapter` is true."""
    volume: str = ""
    """The volume, with the issue in parentheses."""
    pages: str = ""
    doi: str = ""
    hal: str = ""
    """The identifier in the open archive HAL."""
    chapter: bool = False

    def bibtex(self, key: str) -> str:
        """The paper as a BibTeX entry with this key."""
        kind = "incollection" if self.chapter else "article" if self.journal else "misc"
        volume, _, issue = self.volume.rstrip(")").partition("(")
        fields = {
            "author": self.author, "title": f"{{{self.title}}}",
            "booktitle" if self.chapter else "journal": self.journal, "year": str(self.year), "volume": volume,
            "number": issue.replace("-", "--"), "pages": self.pages.replace("–", "--"), "doi": self.doi,
            "note": f"HAL: {self.hal}" if self.hal else "",
        }  # fmt: skip
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@{kind}{{{key},", *lines, "}"])

    def __str__(self) -> str:
        names = [" ".join(reversed(name.strip("{}").split(", "))) for name in self.author.split(" and ")]
        authors = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        place = " ".join(filter(None, [f"In {self.journal}" if self.chapter else self.journal, self.volume]))
        where = ", ".join(filter(None, [place, self.pages, str(self.year)]))
        link = f" https://doi.org/{self.doi}" if self.doi else f" https://hal.science/{self.hal}" if self.hal else ""
        return f"{authors}: {self.title}. {where}.{link}"


JOSTLE = Paper("{The jostle developers}", "jostle: dynamics with hard unilateral constraints", 2026)
"""The library itself, as in CITATION.cff."""

PAPERS = {
    "bernicot2010": Paper(
        "Bernicot, Frédéric and Lefebvre-Lepot, Aline",
        "Existence results for nonsmooth second-order differential inclusions, convergence result for a numerical "
        "scheme and application to the modeling of inelastic collisions",
        2010, "Confluentes Mathematici", "2(4)", "445–471", "10.1142/S1793744210000247", "hal-03030606",
    ),
    "paoli2010": Paper(
        "Paoli, Laetitia",
        "Time-stepping approximation of rigid-body dynamics with perfect unilateral constraints. II: The partially "
        "elastic impact case",
        2010, "Archive for Rational Mechanics and Analysis", "198(2)", "505–568", hal="hal-01564583",
    ),
    "paoli2005": Paper(
        "Paoli, Laetitia", "An existence result for non-smooth vibro-impact problems", 2005,
        "Journal of Differential Equations", "211(2)", "247–281", "10.1016/j.jde.2004.11.008", "hal-01569156",
    ),
    "venel2009": Paper(
        "Venel, Juliette", "Numerical scheme for a whole class of sweeping process", 2009, hal="hal-00376442",
    ),
    "bourdin2020": Paper(
        "Bourdin, Félicien and Maury, Bertrand",
        "Multibody and macroscopic impact laws: a convex analysis standpoint", 2020, "Trails in Kinetic Theory",
        hal="hal-02555465", chapter=True,
    ),
    "lefebvre2009": Paper(
        "Lefebvre, Aline", "Numerical simulation of gluey particles", 2009,
        "ESAIM: Mathematical Modelling and Numerical Analysis", "43(1)", "53–80", "10.1051/m2an/2008042",
    ),
    "jean1999": Paper(
        "Jean, Michel", "The non-smooth contact dynamics method", 1999,
        "Computer Methods in Applied Mechanics and Engineering", "177(3-4)", "235–257",
        "10.1016/S0045-7825(98)00383-1",
    ),
    "moreau1977": Paper(
        "Moreau, Jean Jacques", "Evolution problem associated with a moving convex set in a Hilbert space", 1977,
        "Journal of Differential Equations", "26(3)", "347–374", "10.1016/0022-0396(77)90085-7",
    ),
    "maury2010": Paper(
        "Maury, Bertrand and Roudneff-Chupin, Aude and Santambrogio, Filippo",
        "A macroscopic crowd motion model of gradient flow type", 2010,
        "Mathematical Models and Methods in Applied Sciences", "20(10)", "1787–1821", "10.1142/S0218202510004799",
    ),
    "maury2017": Paper(
        "Maury, Bertrand and Preux, Anthony",
        "Pressureless Euler equations with maximal density constraint: a time-splitting scheme", 2017,
        "Topological Optimization and Optimal Transport", hal="hal-01224008", chapter=True,
    ),
    "degond2011": Paper(
        "Degond, Pierre and Hua, Jiale and Navoret, Laurent",
        "Numerical simulations of the Euler system with congestion constraint", 2011,
        "Journal of Computational Physics", "230(22)", "8057–8088", "10.1016/j.jcp.2011.07.010",
    ),
    "natile2009": Paper(
        "Natile, Luca and Savaré, Giuseppe",
        "A Wasserstein approach to the one-dimensional sticky particle system", 2009,
        "SIAM Journal on Mathematical Analysis", "41(4)", "1340–1365", "10.1137/090750809",
    ),
    "liu2008": Paper(
        "Liu, Caishan and Zhao, Zhen and Brogliato, Bernard",
        "Frictionless multiple impacts in multibody systems. I. Theoretical framework", 2008,
        "Proceedings of the Royal Society A", "464", "3193–3211", "10.1098/rspa.2008.0078",
    ),
    "acary2011": Paper(
        "Acary, Vincent and Cadoux, Florent and Lemaréchal, Claude and Malick, Jérôme",
        "A formulation of the linear discrete Coulomb friction problem via convex optimization", 2011,
        "ZAMM - Journal of Applied Mathematics and Mechanics", "91(2)", "155–175", "10.1002/zamm.201000073",
    ),
    "anitescu2006": Paper(
        "Anitescu, Mihai", "Optimization-based simulation of nonsmooth rigid multibody dynamics", 2006,
        "Mathematical Programming", "105(1)", "113–143", "10.1007/s10107-005-0590-7",
    ),
    "ohern2003": Paper(
        "O'Hern, Corey S. and Silbert, Leonardo E. and Liu, Andrea J. and Nagel, Sidney R.",
        "Jamming at zero temperature and zero applied stress: The epitome of disorder", 2003,
        "Physical Review E", "68", "011306", "10.1103/PhysRevE.68.011306",
    ),
    "tordeux2016": Paper(
        "Tordeux, Antoine and Chraibi, Mohcine and Seyfried, Armin",
        "Collision-free speed model for pedestrian dynamics", 2016, "Traffic and Granular Flow '15",
        pages="225–232", doi="10.1007/978-3-319-33482-0_29", chapter=True,
    ),
}  # fmt: skip
"""All papers by their BibTeX keys: first those that jostle was built for, then others."""

CITED = {
    "jostle.schemes.maury": ("bernicot2010",),
    "jostle.schemes.gluey": ("lefebvre2009", "bernicot2010"),
    "jostle.schemes.paoli": ("paoli2010", "paoli2005"),
    "jostle.schemes.moreau_jean": ("jean1999",),
    "jostle.schemes.venel": ("venel2009",),
    "jostle.schemes.catching_up": ("moreau1977", "venel2009"),
    "jostle.laws": ("bourdin2020", "paoli2010"),
    "jostle.laws.Coulomb": ("acary2011",),
    "jostle.laws.ConvexFriction": ("anitescu2006",),
    "jostle.impacts.springs": ("liu2008",),
    "jostle.models.balls.spheres": ("bernicot2010",),
    "jostle.models.balls.labyrinth": ("venel2009",),
    "jostle.models.balls.cradle": ("bourdin2020",),
    "jostle.models.balls.chain": ("bourdin2020",),
    "jostle.models.machines": ("paoli2005", "paoli2010"),
    "jostle.models.packings": ("ohern2003",),
    "jostle.crowds.model.crowd": ("venel2009",),
    "jostle.crowds.model.behaviours.Inhibition": ("tordeux2016",),
    "jostle.crowds.model.behaviours.TimeGap": ("tordeux2016",),
    "jostle.crowds.model.behaviours.Repulsion": ("tordeux2016",),
    "jostle.macro.isotropic": ("bourdin2020",),
    "jostle.macro.square": ("bourdin2020",),
    "jostle.macro.triangular": ("bourdin2020",),
    "jostle.macro.homogenise": ("bourdin2020",),
    "jostle.macro.motion.splitting": ("maury2017", "maury2010"),
    "jostle.macro.motion.barrier": ("degond2011",),
    "jostle.macro.motion.impacts": ("bourdin2020",),
    "jostle.macro.motion.sticky": ("bourdin2020", "natile2009"),
    "jostle.macro.motion.wasserstein": ("maury2010",),
}
"""Modules, or single names of modules, that implement papers, with their keys; the most important one comes first."""


@check_arguments
def cite(subject: Any = None, *, bibtex: bool = True) -> str:
    """Name the papers to cite for a scheme, law or model.

    Parameters
    ----------
    subject : class, function or object, optional
        What was used: ``jo.Maury``, ``jo.Maury()``, ``jo.macro.Square``, ``jo.models.labyrinth``. By default jostle
        itself.
    bibtex : bool
        Whether to return BibTeX entries, or lines of text.

    Returns
    -------
    str
        One entry for each paper, the most important one first.

    Examples
    --------
    >>> import jostle as jo
    >>> print(jo.cite(jo.Venel))
    @misc{venel2009,
      author = {Venel, Juliette},
      title = {{Numerical scheme for a whole class of sweeping process}},
      year = {2009},
      note = {HAL: hal-00376442},
    }
    >>> print(jo.cite(jo.Venel, bibtex=False))
    Juliette Venel: Numerical scheme for a whole class of sweeping process. 2009. https://hal.science/hal-00376442
    """
    if subject is None:
        papers = [("jostle", JOSTLE)]
    else:
        keys = next((CITED[name] for name in _names(subject) if name in CITED), None)
        if keys is None:
            raise InvalidValue(f"no paper is known for subject = {subject!r}; jo.cite() names jostle itself")
        papers = [(key, PAPERS[key]) for key in keys]
    return "\n\n".join(paper.bibtex(key) for key, paper in papers) if bibtex else "\n".join(str(p) for _, p in papers)


def _names(subject: Any) -> Iterator[str]:
    """The full names of a function, or of a class and its base classes, each followed by that of its module."""
    if not isinstance(subject, type) and not callable(subject):
        subject = type(subject)
    for each in getattr(subject, "__mro__", (subject,)):
        module = str(getattr(each, "__module__", ""))
        yield f"{module}.{getattr(each, '__qualname__', '')}"
        yield module
