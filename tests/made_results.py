"""Made-up results with many long-named features; no model is predicted."""

from made_document import long_names

import sfit
from sfit._result import Settings
from sfit._set_tests import GateTest, SetTest

N = 9_000


def made_result(n_features):
    """A sign test: a quarter of the features is significant, and a quarter is ignored."""
    names = long_names(n_features)
    found = tuple(names[: n_features // 4])
    tests = tuple(
        _test(name, place / n_features, name in found, ignored=place >= 0.7 * n_features)
        for place, name in enumerate(names)
    )
    gate = GateTest(1, found, 0.01, 0.001, 5_000, N, 0.5, 0.4, True)
    settings = Settings(
        test="sign", n_rows=N, loss="absolute_error", alpha=0.05, beta=(0.01,), max_order=1,
        correction="fdr_by", interval="exact", coverage=0.95, reference="mean",
        reference_origin="test rows", space="raw", given=(), always_on=(), partners="found",
        n_partners=None, exhaustive=False, strict=False, ties="keep",
    )  # fmt: skip
    caveats = ("reference values were taken from the test rows.", f"{names[0]} is nearly constant.")
    run = {"seconds": 3.2, "versions": {"sfit": "1.0"}}
    return sfit.SFITResult(tests, (gate,), tuple(names), settings, caveats, run=run)


def made_parts(n_features):
    """The same for two values of a column."""
    return sfit.PartitionedResult(
        ((1, made_result(n_features)), (2, made_result(n_features))), "sex"
    )


def _test(name, share, significant, *, ignored):
    effect = 0.0 if ignored else 1 - share
    p = 1e-6 if significant else 1.0 if ignored else 0.2
    return SetTest(
        loss_base=1.0, loss_full=1 - 0.1 * effect, share_moved=float(not ignored),
        n_better=int(0.6 * N * effect), n_worse=int(0.3 * N * effect), order=1, term=(name,),
        base=(), statistic=effect, ci_low=0.9 * effect, ci_high=1.1 * effect,
        ci_lower=0.9 * effect, p_value=p, p_adjusted=p, significant=significant,
        n_positive=int(0.6 * N * effect), n=N, beta=0.01, beta_max=0.1 * effect,
    )  # fmt: skip
