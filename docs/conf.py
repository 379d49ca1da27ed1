"""Sphinx configuration. The build executes the code cells of the pages and the programs of the gallery."""

import functools
import inspect
import os
import re
import sys
from importlib.metadata import metadata
from pathlib import Path

from docutils import nodes
from sphinx.util.parallel import make_chunks

import jostle
from jostle._tools.colours import DARK, FONTS, LIGHT
from jostle.cli import lessons
from jostle.cli.lessons import notebook_text
from jostle.study.executing import ONE_THREAD

project = "jostle"
author = "the jostle developers"
copyright = "2026, the jostle developers"
version = release = jostle.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
extensions += ["sphinx_gallery.gen_gallery", "sphinx-mathjax-offline"]  # the latter for formulas without a network
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
QUICK = os.environ.get("JOSTLE_DOCS", "quick" if os.environ.get("CI") else "full") == "quick"
"""`make docs-quick` and CI run no code of the pages and of the gallery, and copy no sources; tests check that code."""
nb_execution_mode = "off" if QUICK else "force"
extensions += [] if QUICK else ["sphinx.ext.viewcode"]
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_render_markdown_format = "myst"  # with tables

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for figures.py

MADE = HERE / "_build" / "made"
"""What is written before the build: the colours of the site, the style of the figures in the pages, and notebooks."""
(MADE / "static").mkdir(parents=True, exist_ok=True)
(MADE / "static" / "palette.css").write_text(
    f"html {{ --fonts: {FONTS}; }}\n"
    + "".join(
        f'html[data-theme="{name}"] {{ {theme.variables()} }}\n' for name, theme in (("light", LIGHT), ("dark", DARK))
    )
)
startup = MADE / "ipython" / "profile_default" / "startup"
startup.mkdir(parents=True, exist_ok=True)
(startup / "style.py").write_text("import jostle.viz\n\njostle.viz.use_style()\n")
os.environ["IPYTHONDIR"] = str(MADE / "ipython")
os.environ.update(ONE_THREAD)  # in the processes that run pages and programs, of which there is one for each core

(MADE / "notebooks").mkdir(exist_ok=True)
for name, text in lessons.pages().items():
    (MADE / "notebooks" / f"{name}.ipynb").write_text(notebook_text(text), encoding="utf-8")
NOTEBOOK = (
    "{{download}}`Download this lesson as a notebook </_build/made/notebooks/{name}.ipynb>`, "
    "or save all lessons with `jostle dev lessons`."
)
"""The line below the title of a lesson."""

SECTIONS = ["friction", "venel_2009", "bernicot_lefebvre_2010", "paoli_2005_2010", "bourdin_maury_2020", "gradients"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": [f"../examples/gallery/{section}" for section in SECTIONS],
    "within_subsection_order": "FileNameSortKey",
    "run_stale_examples": True,  # the library changes, not only the programs
    "reset_modules": ("matplotlib", "figures.style"),
    "image_scrapers": ("figures.panel", "matplotlib"),
    "capture_repr": (),
    "matplotlib_animations": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "nested_sections": False,
    "plot_gallery": not QUICK,
    "parallel": not QUICK,  # True: as many processes as those of Sphinx, by joblib
}

napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # types are words, such as "array, shape (n, d)": Sphinx would link each of them
napoleon_custom_sections = [("Attributes", "params_style")]  # one list; an object for each would repeat properties
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_default_options = {"no-value": True}  # of constants and of attributes: their descriptions say what they mean

html_theme = "pydata_sphinx_theme"
html_title = "jostle"
html_static_path = ["_static", "_build/made/static"]
html_css_files = ["palette.css", "site.css"]
html_logo = html_favicon = "../src/jostle/viz/web/logo.svg"
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "logo": {"text": "jostle"},
    "header_links_before_dropdown": 6,
    "show_nav_level": 2,
    "show_toc_level": 2,
}
ADDRESSES = dict(entry.split(", ", 1) for entry in metadata("jostle").get_all("Project-URL", []))
"""The addresses of pyproject.toml, [project.urls]: none until a maintainer fills them in."""
html_theme_options["external_links"] = [{"name": name, "url": url} for name, url in ADDRESSES.items()]
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "gallery/**": []}
html_show_sourcelink = False
exclude_patterns = ["_build", "gallery/**/*.ipynb"]
default_role = "code"
smartquotes_action = "De"  # dashes and ellipses; quotation marks and the primes of q'' stay as they are written

UNTOUCHED = re.compile(r"(``.*?``|`[^`]+`|\*\*\S.*?\S\*\*)")
"""Code and bold text in a docstring."""
NAME = re.compile(r"`[A-Za-z_][\w.]*`")
"""One name in code."""
PARTS = [name for name in jostle.__all__ if inspect.ismodule(getattr(jostle, name))]
PUBLIC = set(jostle.__all__) - set(PARTS) | {
    f"{part}.{name}" for part in PARTS for name in getattr(jostle, part).__all__
}
"""The public names, without the leading "jostle."."""
PROSE = re.compile(r"(?:jo\.|jostle\.)?([A-Za-z_][\w.]*)(?:\(.*\))?")
"""A name in the prose of a page, with or without arguments."""
COLON = "\ue000"
"""Stands for a colon while napoleon reads a docstring; a character for private use."""


def escape_bars(app, what, name, obj, options, lines):
    """Escape |u| and u*, which docstrings write for norms and products, outside of code and bold text.

    reStructuredText would take them for a substitution and for emphasis. Napoleon runs afterwards, and adds its own.
    """
    in_example = False
    for k, line in enumerate(lines):
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if not in_example:
            parts = UNTOUCHED.split(line)
            parts[::2] = [part.replace("|", r"\|").replace("*", r"\*") for part in parts[::2]]
            parts[1::2] = [linked(part, name) for part in parts[1::2]]
            lines[k] = "".join(parts)
    if what in ("attribute", "data", "property"):  # where napoleon takes the words before a first colon for a type
        lines[:1] = [line.replace(":", COLON) for line in lines[:1]]


def linked(code, name):
    """A public name in code, with a link to its description; other code as it is.

    `name` is the object whose docstring it is in: a word may be short for a name of its module or its class.
    """
    if not NAME.fullmatch(code):
        return code
    word, own = code.strip("`"), name.split(".")[1]
    for place in (f"{own}.{word}", word.removeprefix("jostle.")):
        if place in PUBLIC or described(place):
            return f":py:obj:`{word} <jostle.{place}>`"
    return code


def described(place):
    """Whether a name is that of a method or property of a public class, with a description."""
    of_class, _, member = place.rpartition(".")
    if of_class not in PUBLIC:
        return False
    value = getattr(functools.reduce(getattr, of_class.split("."), jostle), member, None)
    return callable(value) or isinstance(value, property | functools.cached_property)


def tidy_signature(app, what, name, obj, options, signature, return_annotation):
    """Hide constructors of classes that the library returns or raises, and defaults that have no short form."""
    if signature is None:
        return None
    text = obj.__doc__ or ""
    if what == "exception" or (what == "class" and "Attributes\n" in text and "Parameters\n" not in text):
        return "", None
    return re.sub(r"=<[^<>]*>", "=...", signature), return_annotation


def skip_aliases(app, what, name, obj, skip, options):
    """Fields of a NamedTuple, which Python documents as "Alias for field number 0"; the class lists them."""
    return True if str(getattr(obj, "__doc__", "")).startswith("Alias for field number") else None


def put_colons_back(app, what, name, obj, options, lines):
    """After napoleon, the colons that `escape_bars` has hidden from it."""
    lines[:] = [line.replace(COLON, ":") for line in lines]


def deal_pages(app, env, docnames):
    """Give each process of Sphinx equally many pages with code. Sphinx hands out consecutive pages, in equal parts."""
    size = max(map(len, make_chunks(docnames, app.parallel)), default=0)
    code = [name for name in docnames if "{code-cell}" in Path(env.doc2path(name)).read_text(encoding="utf-8")]
    rest = [name for name in docnames if name not in code]
    docnames.clear()
    for process in range(app.parallel):
        part = code[process :: app.parallel]
        filling = max(0, size - len(part))
        docnames += part + rest[:filling]
        rest = rest[filling:]
    docnames += rest


def forget_sources_of_others(app, env):
    """Reading in parallel leaves behind pages with the source code of imported modules, to which nothing links."""
    env._viewcode_modules = {name: page for name, page in env._viewcode_modules.items() if name.startswith("jostle")}


def link_names(app, doctree, docname):
    """Link each public name in the code of a page to its description, once in a section."""
    objects = app.env.get_domain("py").objects
    linked_already = set()
    for code in list(doctree.findall(nodes.literal)):
        name = PROSE.fullmatch(code.astext())
        if name is None or isinstance(code.parent, nodes.reference | nodes.title | nodes.term):
            continue
        place, section = f"jostle.{name[1]}", next((s for s in walk_up(code) if isinstance(s, nodes.section)), None)
        if (place, section) in linked_already or place not in objects or objects[place].docname == docname:
            continue
        linked_already.add((place, section))
        uri = app.builder.get_relative_uri(docname, objects[place].docname)
        code.replace_self(
            nodes.reference("", "", code.deepcopy(), internal=True, refuri=f"{uri}#{objects[place].node_id}")
        )


def walk_up(node):
    """The elements of a page that contain this one, from the inside."""
    while node.parent is not None:
        node = node.parent
        yield node


def offer_notebook(app, docname, source):
    """Put a link to the notebook of a lesson below its title."""
    folder, _, name = docname.rpartition("/")
    if folder == "teaching" and name in lessons.pages():
        source[0] = re.sub(r"^# .*$", rf"\g<0>\n\n{NOTEBOOK.format(name=name)}", source[0], count=1, flags=re.M)


def setup(app):
    from figures import put_thumbnails

    app.connect("builder-inited", put_thumbnails, priority=900)  # after the gallery has run
    app.connect("source-read", offer_notebook)
    app.connect("doctree-resolved", link_names)
    if not QUICK:
        app.connect("env-before-read-docs", deal_pages)
        app.connect("env-updated", forget_sources_of_others)
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True  # it copies files when all is built
    app.connect("autodoc-process-docstring", escape_bars, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", put_colons_back, priority=600)
    app.connect("autodoc-process-signature", tidy_signature)
    app.connect("autodoc-skip-member", skip_aliases)
