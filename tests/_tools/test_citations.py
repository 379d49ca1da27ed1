"""Every scheme, law and model names its paper, and the papers are those that its source names."""

import importlib
import re
from pathlib import Path

import pytest

import jostle as jo
from jostle._tools.citations import CITED, PAPERS
from jostle.macro.motion.scheme import DENSITY_SCHEMES
from jostle.schemes import SCHEMES

ROOT = Path(__file__).parents[2]
OWN = {"rack", "random_sequential", "separate", "square_lattice", "triangular_lattice", "lattice_places"}
OWN |= {"Movement", "Shaken", "Turning"}
"""Models that implement no paper."""
IMPLEMENTED = [SCHEMES.get(name) for name in SCHEMES.names()]
IMPLEMENTED += [DENSITY_SCHEMES.get(name) for name in DENSITY_SCHEMES.names()]
IMPLEMENTED += [jo.macro.Isotropic, jo.macro.Square, jo.macro.Triangular, jo.macro.homogenise, jo.macro.StickyBlocks]
IMPLEMENTED += [getattr(jo.models, name) for name in jo.models.__all__ if name not in OWN]
IMPLEMENTED += [jo.impact, jo.crowds.crowd, jo.crowds.Inhibition, jo.crowds.Repulsion]


@pytest.mark.parametrize("subject", IMPLEMENTED, ids=lambda subject: subject.__name__)
def test_everything_that_implements_a_paper_cites_it(subject):
    text = jo.cite(subject)
    assert text.startswith("@")
    assert text.count("{") == text.count("}")
    assert len(jo.cite(subject, bibtex=False).splitlines()) == len(re.findall("^@", text, re.M))


@pytest.mark.parametrize("module", CITED)
def test_a_module_names_the_papers_that_are_cited_for_it(module):
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError:  # the name of a function
        found = importlib.import_module(module.rpartition(".")[0])
        assert hasattr(found, module.rpartition(".")[2])
    text = Path(found.__file__).read_text(encoding="utf-8")
    for key in CITED[module]:
        assert PAPERS[key].author.split(",")[0] in text, f"{module} does not name {key}"


@pytest.mark.parametrize(
    "scheme", [each for each in IMPLEMENTED if hasattr(each, "step")], ids=lambda one: one.__name__
)
def test_the_first_line_of_a_scheme_names_its_paper(scheme):
    main = PAPERS[CITED[scheme.__module__][0]]
    first, surname = scheme.__doc__.splitlines()[0], main.author.split(",")[0]
    assert re.search(rf"{surname}\b.*\b{main.year}\b", first), first


def test_every_paper_is_cited_for_something():
    assert set(PAPERS) == {key for keys in CITED.values() for key in keys}


def test_the_citation_file_has_the_papers_that_jostle_was_built_for():
    text = " ".join((ROOT / "CITATION.cff").read_text(encoding="utf-8").split())
    for paper in list(PAPERS.values())[:5]:
        assert paper.title in text
        assert not paper.doi or paper.doi in text
        assert str(paper.year) in text


def test_a_scheme_of_ones_own_cites_what_it_inherits_from():
    class Mine(jo.Maury):
        pass

    assert Mine.cite() == jo.Maury.cite() == jo.cite(Mine()) == jo.cite(jo.Maury)


def test_what_has_no_paper_is_an_error_and_nothing_is_jostle_itself():
    with pytest.raises(jo.InvalidValue, match=r"no paper is known for subject = .*jo.cite\(\) names jostle itself"):
        jo.cite(jo.models.rack)
    with pytest.raises(jo.InvalidValue, match="no paper is known"):
        jo.cite(jo.crowds.Following)
    assert "The jostle developers" in jo.cite()
    assert jo.cite(bibtex=False) == "The jostle developers: jostle: dynamics with hard unilateral constraints. 2026."
