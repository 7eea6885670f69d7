"""Pictures for the README: the report of a real result in a real browser, and the displays.

    pip install ".[report]" playwright    and a chromium on the path
    python docs/screenshots.py

writes docs/images/.
"""

import io
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import skops.io
from PIL import Image
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text
from sklearn.ensemble import HistGradientBoostingRegressor

import sfit
from sfit.plotting import DeltaDisplay

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    """The result of the README, and its report."""
    IMAGES.mkdir(exist_ok=True)
    X, y = sfit.simulate.interactions(40_000, random_state=0)
    train, test = slice(0, 30_000), slice(30_000, None)
    model = HistGradientBoostingRegressor(max_iter=400, random_state=0).fit(X[train], y[train])
    result = sfit.feature_significance(
        model,
        X[test],
        y[test],
        reference=X[train],
        max_order=2,
        beta=(0.01, 0.001),
        strict=True,
    )
    related = sfit.feature_significance(
        model,
        X[test],
        y[test],
        test="permutation",
        reference=sfit.Average(X[train]),
        random_state=0,
    )
    with tempfile.TemporaryDirectory() as folder:
        result.to_html(Path(folder) / "report.html")
        photograph(Path(folder) / "report.html", "light", "dark")
        related.to_html(Path(folder) / "permutation.html")
        photograph(Path(folder) / "permutation.html", "light")
        X[train].assign(y=y[train]).to_csv(Path(folder) / "train.csv", index=False)
        X[test].assign(y=y[test]).to_csv(Path(folder) / "test.csv", index=False)
        skops.io.dump(model, Path(folder) / "model.skops")
        photograph_terminal(folder)
    display = DeltaDisplay.from_model(model, X[test], y[test], "X3", reference=X[train])
    display.figure_.savefig(IMAGES / "delta.png", dpi=110)


FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def photograph_terminal(folder: str) -> None:
    """What the program prints on a real terminal of 100 columns."""
    command = ["sfit", "test", "model.skops", "test.csv", "--target", "y"]
    command += [
        "--reference",
        "train.csv",
        "--order",
        "2",
        "--beta",
        "0.01,0.001",
        "--partners",
        "1",
    ]
    leader, follower = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"}
    run = [sys.executable, "-m", *command]
    with subprocess.Popen(run, cwd=folder, stdout=follower, env=environment):  # noqa: S603
        os.close(follower)
        printed = b""
        try:
            while some := os.read(leader, 65_536):
                printed += some
        except OSError:  # the end of a terminal
            pass
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(Text(f"$ {' '.join(command)}", style="bold"))
    console.print(Text.from_ansi(printed.decode().replace("\r\n", "\n")))
    drawing = Path(folder) / "terminal.svg"
    console.save_svg(str(drawing), title="sfit")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(device_scale_factor=1)
        page.context.set_offline(True)
        page.set_content(f"<body style='margin:0;width:1240px'>{drawing.read_text()}</body>")
        keep(page.locator("svg").first.screenshot(), "terminal.png")
        browser.close()


def keep(screen: bytes, name: str) -> None:
    """Store a screenshot with a palette: text stays sharp, in half of the size."""
    picture = Image.open(io.BytesIO(screen)).convert("RGB")
    small = picture.quantize(128, dither=Image.Dither.NONE)
    small.save(IMAGES / name, optimize=True)


def photograph(path: Path, *schemes: str) -> None:
    """The top of the page, light or dark."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for scheme in schemes:
            page = browser.new_page(
                viewport={"width": 1180, "height": 1000}, color_scheme=scheme, device_scale_factor=1
            )
            page.goto(path.as_uri())
            keep(page.screenshot(), f"{path.stem}-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main()
