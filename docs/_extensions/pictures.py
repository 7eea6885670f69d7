"""Pictures of the gallery, twice: for light and for dark pages, both without a background."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

# Björn Ottosson's Oklab: its first axis is lightness as people see it, and hue stays when it changes.
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
DARK_PAGE = 0.21  # lightness of the theme's dark background
PIXELS_PER_INCH = 96  # of a browser; files have twice as many

PAIR = """
.. image:: /{folder}/{light}
   :alt: {alt}
   :class: sphx-glr-single-img only-light
   :width: {width}px

.. image:: /{folder}/{dark}
   :alt: {alt}
   :class: sphx-glr-single-img only-dark
   :width: {width}px

"""


def for_dark_pages(picture: Image.Image) -> Image.Image:
    """A picture with its lightness mirrored: black becomes white, white the colour of the page."""
    pixels = np.asarray(picture.convert("RGBA"), dtype=float) / 255
    linear = np.where(
        pixels[..., :3] <= 0.04045,
        pixels[..., :3] / 12.92,
        ((pixels[..., :3] + 0.055) / 1.055) ** 2.4,
    )
    lab = np.cbrt(linear @ TO_CONES.T) @ TO_LAB.T
    lab[..., 0] = 1 - (1 - DARK_PAGE) * lab[..., 0]
    linear = np.clip((lab @ np.linalg.inv(TO_LAB).T) ** 3 @ np.linalg.inv(TO_CONES).T, 0, 1)
    pixels[..., :3] = np.where(
        linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055
    )
    return Image.fromarray((pixels * 255).round().astype(np.uint8), "RGBA")


def scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """The figures of a code block, as sphinx-gallery asks for them."""
    import matplotlib.pyplot as plt

    text = ""
    for number, name in zip(plt.get_fignums(), block_vars["image_path_iterator"], strict=False):
        figure, light = plt.figure(number), Path(name)
        dark = light.with_name(f"{light.stem}_dark.png")
        figure.savefig(light, dpi=2 * PIXELS_PER_INCH, transparent=True)
        for_dark_pages(Image.open(light)).save(dark)
        titles = [ax.get_title() or ax.get_title("left") for ax in figure.axes]
        text += PAIR.format(
            folder=light.parent.relative_to(gallery_conf["src_dir"]).as_posix(),
            light=light.name,
            dark=dark.name,
            alt="; ".join(filter(None, titles)).replace("\n", " ")
            or Path(block_vars["src_file"]).stem,
            width=round(figure.get_figwidth() * PIXELS_PER_INCH),
        )
    plt.close("all")
    return text
