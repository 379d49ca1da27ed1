"""Sphinx configuration. The build executes the code cells of the pages and the programs of the gallery."""

import os
import sys
from pathlib import Path

import jostle
from jostle.colours import DARK, FONTS, LIGHT

project = "jostle"
author = "the jostle developers"
copyright = "2026, the jostle developers"
version = release = jostle.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
extensions += ["sphinx_gallery.gen_gallery", "sphinx-mathjax-offline"]  # formulas without a network
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
"""What is written before the build: the colours of the site, and the style of the figures in the pages."""
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
}

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True

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
    "header_links_before_dropdown": 4,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"**": []}
html_show_sourcelink = False
exclude_patterns = ["_build", "gallery/**/*.ipynb"]
default_role = "code"


def escape_bars(app, what, name, obj, options, lines):
    """Docstrings write |u| for a norm, which reStructuredText would take for a substitution."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[k] = line.replace("|", r"\|").replace("*", r"\*")


def forget_sources_of_others(app, env):
    """Reading in parallel leaves behind pages with the source code of imported modules, to which nothing links."""
    env._viewcode_modules = {name: page for name, page in env._viewcode_modules.items() if name.startswith("jostle")}


def setup(app):
    app.connect("env-updated", forget_sources_of_others)
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True  # it copies files when all is built
    app.connect("autodoc-process-docstring", escape_bars)
