"""Sphinx configuration. The build executes the code cells of the pages and the programs of the gallery."""

import os
import re
import sys
from pathlib import Path

import jostle
from jostle.cli import lessons
from jostle.cli.notebooks import notebook_text
from jostle.colours import DARK, FONTS, LIGHT

project = "jostle"
author = "the jostle developers"
copyright = "2026, the jostle developers"
version = release = jostle.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
extensions += ["sphinx_gallery.gen_gallery", "sphinx-mathjax-offline"]  # the latter for formulas without a network
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
if os.environ.get("CI"):  # it takes a minute; the tests run the functions that take less
    nb_execution_excludepatterns = ["verification*"]
nb_merge_streams = True

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

(MADE / "notebooks").mkdir(exist_ok=True)
for name, text in lessons.pages().items():
    (MADE / "notebooks" / f"{name}.ipynb").write_text(notebook_text(text), encoding="utf-8")
NOTEBOOK = (
    "{{download}}`Download this lesson as a notebook </_build/made/notebooks/{name}.ipynb>`, "
    "or save all lessons with `jostle lessons`."
)
"""The line below the title of a lesson."""

PAPERS = ["venel_2009", "paoli_2005_2010", "bernicot_lefebvre_2010", "bourdin_maury_2020"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": [f"../examples/gallery/{paper}" for paper in PAPERS],
    "within_subsection_order": "FileNameSortKey",
    "run_stale_examples": True,  # the library changes, not only the programs
    "reset_modules": ("matplotlib", "figures.style"),
    "capture_repr": (),
    "matplotlib_animations": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "nested_sections": False,
    "plot_gallery": not os.environ.get("CI"),  # the tests run every program and check its numbers
}

napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # a list, not an object for each: methods follow as objects
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 90

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
}
html_context = {"default_mode": "auto"}
html_sidebars = {"**": []}
html_show_sourcelink = False
exclude_patterns = ["_build", "gallery/**/*.ipynb"]
default_role = "code"

UNTOUCHED = re.compile(r"(``.*?``|`[^`]+`|\*\*\S.*?\S\*\*)")
"""Code and bold text in a docstring."""


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
            lines[k] = "".join(parts)


def forget_sources_of_others(app, env):
    """Reading in parallel leaves behind pages with the source code of imported modules, to which nothing links."""
    env._viewcode_modules = {name: page for name, page in env._viewcode_modules.items() if name.startswith("jostle")}


def offer_notebook(app, docname, source):
    """Put a link to the notebook of a lesson below its title."""
    folder, _, name = docname.rpartition("/")
    if folder == "teaching" and name in lessons.pages():
        source[0] = re.sub(r"^# .*$", rf"\g<0>\n\n{NOTEBOOK.format(name=name)}", source[0], count=1, flags=re.M)


def setup(app):
    app.connect("source-read", offer_notebook)
    app.connect("env-updated", forget_sources_of_others)
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True  # it copies files when all is built
    app.connect("autodoc-process-docstring", escape_bars, priority=400)  # before napoleon
