"""The style of the figures in the gallery, and its thumbnails: one panel of the first figure of each program."""

from pathlib import Path

import matplotlib.pyplot as plt
from PIL import Image, ImageOps

from jostle.viz import use_style

SIZE = (520, 390)
"""Size of a thumbnail in pixels, about twice that on the page, for sharp screens."""
SIMILAR = 0.95
"""Panels that are at least this large, beside the largest, are alike: the one in the middle is shown."""


def style(gallery_conf, fname):
    """Called before each program of the gallery."""
    use_style()


def panel(block, block_vars, gallery_conf):
    """Save one panel of the first figure of a program; called after each of its blocks, before figures are saved."""
    images = block_vars["image_path_iterator"]
    if plt.get_fignums() and not len(images):
        figure = plt.figure(plt.get_fignums()[0])
        path = Path(images.image_path).parent / "panel" / f"{Path(block_vars['src_file']).stem}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.canvas.draw()
        figure.set_layout_engine("none")  # nothing moves any more
        axes, is_scene = shown(figure)
        if is_scene:
            axes.set_axis_off()
        box = axes.get_window_extent() if is_scene else axes.get_tightbbox()
        inches = box.transformed(figure.dpi_scale_trans.inverted())
        figure.savefig(path, bbox_inches=inches, dpi=max(SIZE[0] / inches.width, SIZE[1] / inches.height))
        axes.set_axis_on()
    return ""


def shown(figure):
    """The panel of a figure that a thumbnail shows, and whether it is a picture of bodies or cells."""
    axes = [one for one in figure.axes if one.has_data() and one.get_label() != "<colorbar>"]
    scenes = [one for one in axes if one.get_aspect() != "auto"]
    areas = {one: one.get_window_extent().width * one.get_window_extent().height for one in scenes or axes}
    alike = [one for one, area in areas.items() if area >= SIMILAR * max(areas.values())]
    return alike[len(alike) // 2], bool(scenes)


def put_thumbnails(app):
    """Put the panels in the place of thumbnails of whole figures, when all programs have run."""
    for path in Path(app.srcdir, "gallery").glob("*/images/panel/*.png"):
        with Image.open(path) as image:
            fitted = ImageOps.pad(image.convert("RGB"), SIZE, color="white", method=Image.Resampling.LANCZOS)
        fitted.save(path.parents[1] / "thumb" / f"sphx_glr_{path.stem}_thumb.png")
