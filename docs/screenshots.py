"""Pictures for the README: the report of a real result in a real browser, and the displays.

    pip install ".[report]" playwright    and a chromium on the path
    python docs/screenshots.py

writes docs/images/.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
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
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        result.to_html(path)
        photograph(path)
    display = DeltaDisplay.from_model(model, X[test], y[test], "X3", reference=X[train])
    display.figure_.savefig(IMAGES / "delta.png", dpi=110)


def photograph(path: Path) -> None:
    """The top of the page, light and dark."""
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        for scheme in ("light", "dark"):
            page = browser.new_page(
                viewport={"width": 1180, "height": 900}, color_scheme=scheme, device_scale_factor=1
            )
            page.goto(path.as_uri())
            page.screenshot(path=IMAGES / f"report-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main()
