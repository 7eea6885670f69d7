"""The page of the calibration study: size, corrections, gates, coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfit.studies._page import joined, new_figure, table

if TYPE_CHECKING:
    from sfit.studies.calibration import Result, Size

CURVE_BETAS = tuple(np.logspace(-5, -1, 81).tolist())
"""The betas of the curves."""

COLOURS = {
    "least squares, 52 columns": "#0072B2",
    "least squares, skewed features and noise": "#56B4E9",
    "least squares, means of 1, reference 0": "#D55E00",
    "the same, reference = training means": "#009E73",
    "random forest": "#CC79A7",
    "random forest, a fourth of the test rows": "#E3B5CF",
}


def figures(result: Result) -> dict[str, Any]:
    """Type I error of every model against beta."""
    figure, ax = new_figure(width=8.4)
    lines = {name: (colour, "-") for name, colour in COLOURS.items()}
    # The longer a network was trained, the darker its line.
    networks = [name for name in result.sizes if name.startswith("network")]
    lines |= {
        name: (str(round(0.7 * (1 - place / len(networks)), 2)), "-.")
        for place, name in enumerate(networks, 1)
    }
    for name, size in result.sizes.items():
        colour, style = lines[name]
        # Two lines coincide: one is dashed.
        ax.plot(
            CURVE_BETAS, size.curve, "--" if "same" in name else style, color=colour, label=name
        )
    ax.axhline(0.05, color="black", linestyle=":", linewidth=1, label="alpha = 0.05")
    ax.set(
        xscale="log",
        xlabel="beta",
        ylabel="share of noise features called significant",
        ylim=(-0.02, 1),
    )
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return {"size": figure}


def page(result: Result) -> str:
    """Size, corrections, gates, coverage."""
    sections = (_size, _why, _corrections, _gate, _intervals, _boundary)
    return joined(*(section(result) for section in sections))


def _heads(result: Result) -> list[str]:
    return [f"beta = {beta:g}" for beta in result.betas]


def _size(result: Result) -> str:
    """Type I error of every model, at every beta."""
    return f"""
The paper has no such study. The sign test is exact for H0: median(delta) <= 0, given the fitted model.
An overfitted model can use a noise feature in a way that gives a positive median. H0 is then false and rejecting it is
correct: the *feature* is noise, but the model's use of it is real. beta excludes improvements that are too small to matter.

## Type I error: pure noise features called significant

alpha = 0.05, one test per feature, on 2,000 held-out rows. Each model was fitted {
        result.repeats
    } times: least
squares to 100 rows with 50 noise columns, and the paper's 150-50 network and a forest of 100 trees to 500 rows of
section 3 (X6 and X7 are noise). The last column is the smallest beta of the curve at which at most 5 % of the tests
reject. The Monte Carlo error of a share of n tests is at most 0.5 / sqrt(n), here {
        0.5 / np.sqrt(min(size.n_tests for size in result.sizes.values())):.3f}.

{
        table(
            ("model", "tests", *_heads(result), "smallest beta for 5 %"),
            [
                (
                    name,
                    size.n_tests,
                    *(f"{rate:.3f}" for rate in size.type_one),
                    _sufficient(size),
                )
                for name, size in result.sizes.items()
            ],
        )
    }

![Type I error against beta](calibration-size.png)

If a model uses noise, more test rows reveal it more often: compare the two lines of the forest. In the
linear models, symmetric features frozen at their means stay below alpha even at beta = 0. Freezing features with mean 1
at 0 makes noise look useful at every practical beta: take the reference from the training rows.
"""


def _why(result: Result) -> str:
    """Why the networks use noise."""
    return f"""
A network fitted to 500 rows uses noise, and *the amount depends on the length of training*. At beta = 0 the
share of tests that reject is {_networks_text(result, 0)}; at beta = 0.01 it is
{_networks_text(result, result.betas.index(0.01))}. All lengths start from the same
weights and see the rows in the same order. The reason, shown for X6:

{
        table(
            (
                "model",
                "targets above the prediction at the reference",
                "predictions that X6 raises",
                "standard deviation of the change, relative to y",
            ),
            [
                (name, f"{size.above:.0%}", f"{size.raised:.0%}", size.moved)
                for name, size in result.sizes.items()
                if name.startswith(("network", "random"))
            ],
        )
    }

The targets are skewed (X3 enters as a square), so most of them lie above the prediction at the reference. A ReLU
network starts with all its kinks at zero. Early in training, moving *any* feature away from its mean raises the output,
in either direction, and the loss of most rows falls a little. Further training removes this effect, although the network
fits its training rows more and more closely. Overfitted networks therefore have no *single* type I error, and
beta = 0.01, the value that randomisation gives for the paper's network, is not sufficient for all of them.
"""


def _corrections(result: Result) -> str:
    """False discoveries and power, with and without the correction."""
    heads = _heads(result)
    return f"""
## With Benjamini-Yekutieli

Share of the fits with at least one false discovery, and share of the true features found (X1 and X2 in the linear
models, X1 and X3 in section 3), each without / with the correction:

{
        table(
            ("model", *(f"{kind}, {head}" for head in heads for kind in ("false", "found"))),
            [
                (
                    name,
                    *(
                        cell
                        for place in range(len(heads))
                        for cell in (
                            f"{size.any_false[place]:.2f} / {size.any_false_by[place]:.2f}",
                            f"{size.power[place]:.2f} / {size.power_by[place]:.2f}",
                        )
                    ),
                )
                for name, size in result.sizes.items()
            ],
        )
    }

The correction controls chance findings. It cannot help if the model really uses noise: for the networks it changes
little, and beta changes much.
"""


def _gate(result: Result) -> str:
    return f"""
## The gate

Share of the fits whose gate is open although only noise features are left (alpha = 0.05):

{table(("model", "gate open"), [(name, f"{size.gate:.3f}") for name, size in result.sizes.items()])}

The gate has no beta. If the noise features make predictions worse, it stays closed more often than alpha requires. It
opens if a model gains slightly from them, as the networks do, or if the reference is far from the means. An open gate
means that this model predicts better with all its features, not that a true feature is left.
"""


def _intervals(result: Result) -> str:
    """Coverage of both intervals, exact and observed."""
    return f"""
## Intervals

Coverage of the 95 % interval for the median of X1's differences (perfect model of section 3, beta = 0.01): exact, from
the binomial distribution, and observed over simulated test sets.

{
        table(
            ("interval", "rows", "ranks", "exact coverage", "observed", "mean width"),
            [
                (
                    one.interval,
                    one.n,
                    f"{one.low:,} to {one.high:,}",
                    f"{one.exact:.4f}",
                    f"{one.observed:.4f}",
                    one.mean_width,
                )
                for one in result.coverage
            ],
        )
    }

Both intervals cover at least 95 %. They differ at 37 values of n up to 5,000 (17, 44, 67, ...), where the paper's
interval is one rank wider on each side; otherwise they use the same ranks.
"""


def _boundary(result: Result) -> str:
    return f"""
## The test at its boundary

If the median is exactly 0, the test rejects slightly less often than alpha, because counts are whole numbers:

{
        table(
            ("rows", *(f"{n:,}" for n in result.boundary)),
            [("size at alpha = 0.05", *(f"{size:.4f}" for size in result.boundary.values()))],
        )
    }
"""


def _networks_text(result: Result, place: int) -> str:
    """Type I error of the networks at one beta, in words."""
    shares = {
        name.removeprefix("network, "): size.type_one[place]
        for name, size in result.sizes.items()
        if name.startswith("network")
    }
    return ", ".join(f"{share:.0%} after {epochs}" for epochs, share in shares.items())


def _sufficient(size: Size) -> str:
    """The smallest beta of the curve at which at most 5 % of the tests of noise reject."""
    enough = [beta for beta, rate in zip(CURVE_BETAS, size.curve, strict=True) if rate <= 0.05]
    if not enough:
        return f"over {CURVE_BETAS[-1]:g}"
    return f"{enough[0]:.2g}" if enough[0] > CURVE_BETAS[0] else f"under {CURVE_BETAS[0]:g}"
