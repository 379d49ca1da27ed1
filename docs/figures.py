"""The style of the figures in the gallery."""

from jostle.viz import use_style


def style(gallery_conf, fname):
    """Called before each program of the gallery."""
    use_style()
