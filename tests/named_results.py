"""Results made up for given names of features: for pictures and tables, without a model."""

from sfit import FeatureComparison, ModelComparison, PartComparison, SFITResult
from sfit._partitioned import PartitionedResult
from sfit._profile import FeatureProfile
from sfit._result import Settings
from sfit._set_tests import GateTest, MeanSetTest, PermutationSetTest, SetTest
from sfit.compare._base import ComparisonSettings
from sfit.compare._feature_result import FeatureRank
from sfit.compare._model_result import GainDifference, ModelDifference
from sfit.compare._part_result import PartGain, PartsTest

N_ROWS = 1_000


def settings(test="sign test", **others):
    """Settings of a test of 1,000 rows."""
    plain = {
        "test": test,
        "n_rows": N_ROWS,
        "loss": "squared_error",
        "alpha": 0.05,
        "beta": (0.01, 0.01),
        "max_order": 2,
        "correction": None,
        "interval": "exact",
        "coverage": 0.95,
        "reference": "mean",
        "reference_origin": "training rows",
        "space": "input",
        "given": (),
        "always_on": (),
        "partners": "inside",
        "n_partners": None,
        "exhaustive": False,
        "strict": False,
        "ties": "negative",
    }
    return Settings(**{**plain, **others})


def _effects(share):
    return {
        "loss_base": 2.0,
        "loss_full": 2.0 - share,
        "share_moved": 1.0,
        "n_better": int(N_ROWS * (0.2 + 0.8 * share)),
        "n_worse": int(N_ROWS * 0.8 * (1 - share)),
    }


def _common(term, base, share):
    """Fields that all tests share: the larger the share, the smaller p."""
    return {
        "order": len(term),
        "term": term,
        "base": base,
        "ci_low": share - 0.6,
        "ci_high": share - 0.4,
        "p_value": 0.001 if share > 0.6 else 0.5,
        "p_adjusted": 0.001 if share > 0.6 else 0.5,
        "significant": share > 0.6,
        "n": N_ROWS,
        **_effects(share),
    }


def sign(term, share, base=(), **others):
    own = {
        "statistic": share - 0.5,
        "ci_lower": share - 0.6,
        "n_positive": int(N_ROWS * share),
        "beta": 0.01,
        "beta_max": share / 10,
    }
    return SetTest(**{**_common(term, base, share), **own, **others})


def permutation(term, share, base=(), **others):
    own = {"rise": share - 0.5, "z": 3.0, "p_resolution": 1e-4}
    return PermutationSetTest(**{**_common(term, base, share), **own, **others})


def mean(term, share, base=(), **others):
    own = {
        "mean": share - 0.5,
        "t": 3.0,
        "p_resolution": 1e-4,
        "median": 0.0,
        "median_low": -0.1,
        "median_high": 0.1,
        "p_sign": 0.5,
        "n_positive": 500,
        "n_negative": 500,
        "share_largest": 0.1,
        "guarantee": "symmetric",
    }
    return MeanSetTest(**{**_common(term, base, share), **own, **others})


TESTS = {"sign test": sign, "permutation test": permutation, "mean test": mean}


def made(names, test="sign test", **others):
    """A result with every feature alone, some pairs, and gates (but for the permutation test)."""
    make, n = TESTS[test], len(names)
    shares = [0.95 - 0.9 * place / n for place in range(n)]
    tests = [make((name,), share) for name, share in zip(names, shares, strict=True)]
    pairs = [(one, other) for k, one in enumerate(names[:6]) for other in names[k + 1 : 6]]
    tests += [make(pair, 0.7 - place / 50, pair[:1]) for place, pair in enumerate(pairs)]
    found = tuple(names[: n // 2])
    gates = [
        GateTest(1, found, 0.1, 0.001, 700, N_ROWS, 1.2, 1.0, True),
        GateTest(2, tuple(names), 0.0, 0.5, 500, N_ROWS, 1.05, 1.0, False),
    ]
    return SFITResult(
        tests=tuple(tests),
        gates=() if test == "permutation test" else tuple(gates),
        feature_names=tuple(names),
        settings=settings(test, **others),
    )


def made_parts(names, labels):
    """The same tests in every part."""
    return PartitionedResult(parts=tuple((one, made(names)) for one in labels), by=labels[0])


COMPARED = ComparisonSettings(
    N_ROWS, None, "squared_error", 0.05, "holm", "mean", "training rows", (), (), 0, 2_000
)
PAIRED = {
    "difference": 0.1,
    "ci_low": 0.0,
    "ci_high": 0.2,
    "p_value": 0.01,
    "p_adjusted": 0.03,
    "significant": True,
    "median": 0.1,
    "median_low": 0.0,
    "median_high": 0.2,
    "p_sign": 0.01,
    "n": N_ROWS,
    "n_positive": 600,
    "n_negative": 400,
}


def made_ranks(names):
    ranks = [
        FeatureRank(name, 1 / place, 0.0, 2.0, place, 1, len(names), 600, 400)
        for place, name in enumerate(names, 1)
    ]
    return FeatureComparison(features=tuple(ranks), pairs=(), settings=COMPARED)


def made_models(names, models):
    whole = [
        ModelDifference(models[0], other, **PAIRED, loss_first=1.0, loss_second=0.9)
        for other in models[1:]
    ]
    gains = [
        GainDifference(
            models[0], other, **PAIRED, feature=name, gain_first=0.1, gain_second=0.2,
            missing_in=None,
        )
        for other in models[1:]
        for name in names
    ]  # fmt: skip
    return ModelComparison(
        names=tuple(models), models=tuple(whole), features=tuple(gains), settings=COMPARED
    )


def made_part_gains(names, labels):
    tests = [
        PartsTest(name, 0.1, labels[0], labels[-1], 1.0, 0.01, 0.03, True, 1e-4, N_ROWS, 0, "exact")
        for name in names
    ]
    gains = [
        PartGain(
            name, label, 0.1, 0.0, 0.2, 0.1, 0.0, 1.0, 0.1, 0.1, False, 100, 2.0, 1.0, 60, 40
        )
        for name in names
        for label in labels
    ]  # fmt: skip
    return PartComparison(
        by=labels[0], features=tuple(tests), gains=tuple(gains), trends=(), settings=COMPARED
    )


def made_profile(feature, categories, outputs=("prediction",)):
    """The profile of a feature with these categories, for these outputs of the model."""
    n, places = len(categories), tuple(map(float, range(len(categories))))
    one = len(outputs) == 1
    return FeatureProfile(
        feature=feature,
        n=30 * n + 5,
        is_numeric=False,
        labels=tuple(categories),
        values=places,
        task="regression" if one else "classification",
        outputs=tuple(outputs),
        n_outputs=len(outputs),
        responses=tuple(tuple(0.1 * place + k for place in places) for k in range(len(outputs))),
        base=tuple(0.5 for _ in outputs),
        directions=tuple("" for _ in outputs),
        edges=(),
        counts=(30,) * n,
        n_missing=5,
        missing_response=tuple(0.3 for _ in outputs),
        missing_gain=(0.1, 0.0, 0.2),
        bin_values=places,
        bin_n=(30,) * n,
        bin_gain=tuple(0.01 * place for place in places),
        bin_low=tuple(0.01 * place - 0.1 for place in places),
        bin_high=tuple(0.01 * place + 0.1 for place in places),
        ribbon=(1.0, 0.5, 0.0, -0.5),
        n_better=20,
        n_worse=5,
        loss_base=2.0,
        mean_gain=0.3,
        alpha=0.05,
        n_knots=0,
    )
