"""Pictures of a page: a screen, a part of it, a phone, the dark, and the pages of its PDF."""

import io
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
COLOURS = 128
"""A palette of this size keeps text sharp, and pictures below 250 KB."""


def photograph(page, folder, name, n_pages):
    """Pictures of the HTML file `page` in `folder`, as {NAME}-{PART}.png; the PDF's number of pages."""
    from playwright.sync_api import sync_playwright

    if shutil.which("chromium") is None or shutil.which("pdftoppm") is None:
        sys.exit("skipped: pictures of pages need chromium and pdftoppm (poppler-utils).")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)

        def opened(width, height, scheme="light", scale=1):
            size = {"width": width, "height": height}
            tab = browser.new_page(viewport=size, color_scheme=scheme, device_scale_factor=scale)
            tab.goto(Path(page).as_uri())
            return tab

        screens = {
            "page": opened(1180, 900).screenshot(),
            "features": opened(1180, 900).locator("#features").screenshot(),
            "phone": opened(360, 720, scale=1.5).screenshot(),
            "dark": opened(1180, 900, "dark").locator("#mechanism").screenshot(),
        }
        tab = opened(1180, 900)
        printed = tab.pdf(format="A4", prefer_css_page_size=True)
        # The body only: the appendices would make the file too large for the repository.
        body = tab.pdf(format="A4", prefer_css_page_size=True, page_ranges="1-4")
        (folder / f"{name}.pdf").write_bytes(body)
        browser.close()
    for number in range(1, n_pages + 1):
        command = ["pdftoppm", "-png", "-r", "80", "-f", str(number), "-l", str(number), "-"]
        drawn = subprocess.run(command, input=printed, capture_output=True, check=True)  # noqa: S603
        screens[f"print-{number}"] = drawn.stdout
    for part, screen in screens.items():
        picture = Image.open(io.BytesIO(screen)).convert("RGB")
        small = picture.quantize(COLOURS, dither=Image.Dither.NONE)
        small.save(folder / f"{name}-{part}.png", optimize=True)
    return printed.count(b"/Type /Page\n")
