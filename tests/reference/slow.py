"""SFIT as it is written in the paper: slow, and meant to be obviously correct.

Horel & Giesecke, "Computationally Efficient Feature Significance and Importance for Machine Learning
Models", sections 2.1 to 2.4. Where the paper is silent, the decisions table of STATISTICS.md is followed
("Decisions, ..." in the comments). Nothing is shared with the library: loops over rows and features,
binomial probabilities as exact integers, and numpy only for the arrays that are handed to ``predict``.
Features are numbered from 0 (the paper's from 2: its first coordinate is the intercept).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np

SMALLEST = 5e-324  # the smallest positive double

# ----------------------------------------------------------- section 2.2: the sign test, B ~ Bin(n, 1/2)


def _lower_tails(n: int) -> Iterator[tuple[int, int]]:
    """Yield (k, 2^n P(B <= k)) for k = 0, 1, ..., n; the second number is an exact integer."""
    ways, total = 1, 0  # ways = math.comb(n, k), by comb(n, k + 1) = comb(n, k) (n - k) / (k + 1)
    for k in range(n + 1):
        total += ways
        yield k, total
        ways = ways * (n - k) // (k + 1)


@cache
def p_value(n_positive: int, n: int) -> float:
    """One-sided p-value P(B >= n_positive): section 2.2, BinomTest(n+, n2, 1/2, greater)."""
    for k, outcomes in _lower_tails(n):
        if k == n - n_positive:  # P(B >= n_positive) = P(B <= n - n_positive), by symmetry
            return float(Fraction(outcomes, 2**n))
    raise ValueError(f"n_positive must lie between 0 and n = {n}, got {n_positive!r}")


@cache
def critical_count(n: int, alpha: float) -> int:
    """Smallest c with P(B >= c) < alpha, or n + 1 when there is none."""
    c = n + 1
    for k, outcomes in _lower_tails(n):
        if not outcomes < Fraction(alpha) * 2**n:  # Decisions, Reject: strictly p < alpha
            break
        c = n - k
    return c


@cache
def _exact_k(n: int, alpha: float) -> tuple[int | None, float]:
    """Largest k with 2 P(B <= k) <= alpha, and 1 - 2 P(B <= k); (None, 1.0) when there is none."""
    found: tuple[int | None, float] = (None, 1.0)
    for k, outcomes in _lower_tails(n):
        if not 2 * outcomes <= Fraction(alpha) * 2**n:
            break
        found = k, float(1 - Fraction(2 * outcomes, 2**n))
    return found


def exact_interval(deltas: Sequence[float], alpha: float) -> tuple[float, float, float]:
    """Closed [d_(1+k), d_(n-k)] and its coverage 1 - 2 P(B <= k): section 2.2; Decisions, Exact interval."""
    d, n = sorted(deltas), len(deltas)
    k, coverage = _exact_k(n, alpha)
    if k is None:
        return -math.inf, math.inf, 1.0
    return d[(1 + k) - 1], d[(n - k) - 1], coverage  # ranks are 1-based, lists are not


def asymptotic_interval(deltas: Sequence[float], alpha: float) -> tuple[float, float]:
    """The interval of Algorithms 1 and 2, ranks 1-based and clipped to 1..n."""
    d, n = sorted(deltas), len(deltas)
    half_width = (
        NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt(n) / 2
    )  # q_{1 - alpha/2} sqrt(n2) / 2
    low = math.floor((n + 1) / 2 - half_width)
    high = math.ceil((n + 1) / 2 + half_width)
    return d[min(max(low, 1), n) - 1], d[min(max(high, 1), n) - 1]


def lower_bound(deltas: Sequence[float], alpha: float) -> float:
    """d_(1+k1), k1 the largest k with P(B <= k) < alpha; -inf when none. Decisions, One-sided bound."""
    d, n = sorted(deltas), len(deltas)
    k1 = n - critical_count(n, alpha)  # P(B <= k) = P(B >= n - k); k1 = -1 says that there is none
    return d[(1 + k1) - 1] if k1 >= 0 else -math.inf


def median(deltas: Sequence[float]) -> float:
    """The statistic m_hat of section 2.1; the mean of the two middle values for even n."""
    d, n = sorted(deltas), len(deltas)
    return d[n // 2] if n % 2 else (d[n // 2 - 1] + d[n // 2]) / 2


def beta_max(rhos: Sequence[float], alpha: float) -> float:
    """The c-th largest rho, c the critical count: significant if and only if beta < beta_max."""
    c = critical_count(len(rhos), alpha)
    if c > len(rhos):
        return math.nan
    value = sorted(rhos, reverse=True)[c - 1]
    return value if value > 0 else math.nan


# --------------------------------------------------------------------- section 2.2: several tests at once


def adjust(p_values: Sequence[float], method: str | None) -> list[float]:
    """Adjusted p-values, at most 1: reject where the adjusted p-value is < alpha.

    With p_(1) <= ... <= p_(m): Bonferroni m p; Holm max over k <= i of (m - k + 1) p_(k); Benjamini-
    Hochberg min over k >= i of m p_(k) / k; Benjamini-Yekutieli the same times 1 + 1/2 + ... + 1/m.
    """
    if method is None:
        return list(p_values)
    m = len(p_values)
    order = sorted(range(m), key=lambda t: p_values[t])
    p = [Fraction(p_values[t]) for t in order]  # p[k - 1] is p_(k)
    harmonic = sum((Fraction(1, k) for k in range(1, m + 1)), Fraction(0))
    adjusted = [0.0] * m
    for i in range(1, m + 1):
        if method == "bonferroni":
            value = m * p[i - 1]
        elif method == "holm":
            value = max((m - k + 1) * p[k - 1] for k in range(1, i + 1))
        elif method == "fdr_bh":
            value = min(m * p[k - 1] / k for k in range(i, m + 1))
        elif method == "fdr_by":  # the method that section 2.2 suggests
            value = min(harmonic * m * p[k - 1] / k for k in range(i, m + 1))
        else:
            raise ValueError(f"unknown correction {method!r}")
        adjusted[order[i - 1]] = float(min(value, Fraction(1)))
    return adjusted


# ------------------------------------------------------------ section 2.1: losses, one number for each row


def _as_rows(values: Any) -> list[list[float]]:
    """One list of floats for each row: (m,) and (m, 1) are the same."""
    return [[float(v) for v in np.ravel(row)] for row in np.asarray(values)]


def _poisson_deviance(y: float, mu: float) -> float:
    if mu < 0 or (mu == 0 and y > 0):
        raise ValueError(f"the Poisson deviance of y = {y!r} at mu = {mu!r} is not finite")
    if y == 0:
        return 2 * mu  # y log y = 0 at 0
    r = (mu - y) / y
    # y log(y / mu) - y + mu, without the cancellation of its terms near y = mu.
    return max(0.0, 2 * y * (r - math.log1p(r))) if r > -1 else 2 * (y * math.log(y / mu) - y + mu)


def _with_parameter(name: str) -> Callable[[float, float], float] | None:
    """Losses whose name has a parameter, as in "pinball:0.75"; None for any other name."""
    family, _, text = name.partition(":")
    if family == "pinball":
        q = float(text)
        return lambda t, mu: max(q * (t - mu), (1 - q) * (mu - t))
    if family == "huber":
        d = float(text)
        return lambda t, mu: (
            0.5 * (t - mu) * (t - mu) if abs(t - mu) <= d else d * (abs(t - mu) - 0.5 * d)
        )
    if family == "tweedie":
        p = float(text)
        return lambda t, mu: max(
            0.0,
            2
            * (
                t ** (2 - p) / ((1 - p) * (2 - p))
                - t * mu ** (1 - p) / (1 - p)
                + mu ** (2 - p) / (2 - p)
            ),
        )
    return None


def _crps(t: float, members: Sequence[float]) -> float:
    """E|X - t| - E|X - X'| / 2, with all pairs of members."""
    k = len(members)
    apart = math.fsum(abs(a - b) for a in members for b in members) / (2 * k * k)
    return math.fsum(abs(a - t) for a in members) / k - apart


def losses(name: str | Callable[[Any, Any], Any], y: Any, prediction: Any) -> list[float]:
    """L(Y_i, mu(X_i)) of section 2.1, row by row.

    Regression losses are means over the outputs. For classification the prediction is (m, classes)
    probabilities and y holds the index of the class. A function is the user's own loss.
    """
    of_one_output: dict[str, Callable[[float, float], float]] = {
        "absolute_error": lambda t, mu: abs(t - mu),
        "squared_error": lambda t, mu: (t - mu) * (t - mu),
        "poisson": _poisson_deviance,
        "gamma": lambda t, mu: max(0.0, 2 * (math.log(mu / t) + t / mu - 1)),
    }
    result = []
    if callable(name):
        return [float(loss) for loss in name(np.asarray(y), np.asarray(prediction))]
    rows = _as_rows(prediction)
    if name == "crps":
        return [_crps(*target, row) for target, row in zip(_as_rows(y), rows, strict=True)]
    of_parameter = _with_parameter(name)
    if of_parameter is not None:
        of_one_output[name] = of_parameter
    if name in of_one_output:
        for target, row in zip(_as_rows(y), rows, strict=True):
            parts = [of_one_output[name](t, mu) for t, mu in zip(target, row, strict=True)]
            result.append(math.fsum(parts) / len(parts))
        return result
    dtype = np.asarray(prediction).dtype
    eps = float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)
    for target, row in zip(_as_rows(y), rows, strict=True):
        label = int(target[0])
        if name == "log_loss":  # the paper's cross entropy, -log({mu(X)}_Y)
            result.append(-math.log(min(max(row[label], eps), 1.0)))
        elif name == "brier" and len(row) == 2:
            result.append((row[1] - label) ** 2)
        elif name == "brier":
            result.append(math.fsum((q - (c == label)) ** 2 for c, q in enumerate(row)))
        elif name == "hinge":
            margin = row[label] - max(s for c, s in enumerate(row) if c != label)
            result.append(max(0.0, 1 - margin))
        elif name == "zero_one":
            result.append(float(row.index(max(row)) != label))  # index: the first of equals
        else:
            raise ValueError(f"unknown loss {name!r}")
    return result


# ------------------------------------------------------- section 2.1: Delta_j^i, one number for each row


def same_predictions(a: Any, b: Any, unit: float, e: float) -> bool:
    """Whether two predictions of one row are the same up to rounding. Decisions, Rounding."""
    for u, v in zip(map(float, np.ravel(a)), map(float, np.ravel(b)), strict=True):
        if abs(u - v) > max(8 * unit * max(abs(u), abs(v)), 4 * e):
            return False
    return True


def rho_delta(
    base_loss: Sequence[float], full_loss: Sequence[float], same: Sequence[bool], beta: float
) -> tuple[list[float], list[float]]:
    """Return the relative improvements rho_i and the differences Delta^i; row i is positive iff rho_i > beta.

    Delta^i = (1 - beta) base_i - full_i (section 2.1). Its sign is that of the one comparison
    rho_i > beta (Decisions, Counting), also where rounding of the formula would say otherwise.
    """
    rhos, deltas = [], []
    for base, full, equal in zip(base_loss, full_loss, same, strict=True):
        if equal:
            full = base
        rho = (base - full) / base if base > 0 else -math.inf
        delta = (1 - beta) * base - full
        delta = max(delta, SMALLEST) if rho > beta else min(delta, 0.0)
        rhos.append(rho)
        deltas.append(delta)
    return rhos, deltas


# ------------------------------------------- Algorithm 1, Algorithm 2, higher orders and given features


def _bases(term: tuple[int, ...], found: dict[int, int], strict: bool) -> list[tuple[int, ...]]:
    """What a set is tested over: section 2.3; Decisions, Order m and Stricter rule."""
    base = tuple(
        j for j in term if j in found
    )  # Algorithm 2: {k} if k is in S_1, otherwise nothing
    one_less = [tuple(k for k in term if k != j) for j in term]
    if base == term:  # only with exhaustive=True
        bases = one_less
    else:
        bases = [base, *one_less] if strict else [base]
    return list(dict.fromkeys(bases))


def _smallest(numbers: Sequence[float]) -> float:
    """A set stays significant while all its contrasts do; NaN where one is not even at beta = 0."""
    return float("nan") if any(map(math.isnan, numbers)) else min(numbers)


def sfit(
    predict: Callable[[np.ndarray], Any],
    X: Any,
    y: Any,
    *,
    loss: str | Callable[[Any, Any], Any],
    alpha: float = 0.05,
    beta: float | Sequence[float] = 0.01,
    max_order: int = 1,
    correction: str | None = None,
    alpha_by_order: Sequence[float] | None = None,
    interval: str = "exact",
    reference: Any,
    columns: Sequence[Sequence[int]],
    always_on: Sequence[int] = (),
    given: Sequence[int] | str = (),
    partners: Sequence[Sequence[int]] | None = None,
    n_partners: int | None = None,
    exhaustive: bool = False,
    strict: bool = False,
    unit: float = 2.0**-52,
    e: float = 0.0,
) -> dict[str, Any]:
    """Run the whole procedure on the rows (X, y) and return plain tests, gates and found features.

    ``columns[j]`` are the columns of feature j; ``reference`` is one row of values for hidden columns;
    ``given`` are features revealed on every side (section 2.4), or "rest". X and reference go to
    ``predict`` in their common numpy type.
    """
    X, reference = np.asarray(X), np.asarray(reference)
    rest = isinstance(given, str)
    if rest and given != "rest":
        raise ValueError(f'given must be features or "rest", got {given!r}')
    everything = frozenset(range(len(columns)))
    fixed = frozenset() if rest else frozenset(given)
    tested = sorted(everything - fixed)

    @cache
    def side(shown: frozenset[int]) -> tuple[list[list[float]], list[float]]:
        """Predictions and losses on the masked data set X_i^(1, shown) of section 2.1."""
        visible = set(always_on) | {c for j in shown for c in columns[j]}
        masked = np.empty(X.shape, dtype=np.result_type(X, reference))
        for i in range(X.shape[0]):
            for c in range(X.shape[1]):
                masked[i, c] = X[i, c] if c in visible else reference[c]
        prediction = np.asarray(predict(masked))
        return _as_rows(prediction), losses(loss, y, prediction)

    def contrast(base: Sequence[int], full: Sequence[int], b: float) -> dict[str, Any]:
        base_rows, base_loss = side(frozenset(base) | fixed)
        full_rows, full_loss = side(frozenset(full) | fixed)
        same = [same_predictions(u, v, unit, e) for u, v in zip(base_rows, full_rows, strict=True)]
        rhos, deltas = rho_delta(base_loss, full_loss, same, b)
        n_positive = sum(rho > b for rho in rhos)  # n+ = sum of 1{Delta^i > 0}, Algorithms 1 and 2
        p = p_value(n_positive, len(rhos))
        return {
            "base": tuple(sorted(base)),
            "n_positive": n_positive,
            "p": p,
            "rhos": rhos,
            "deltas": deltas,
        }

    def row(order: int, term: tuple[int, ...], b: float) -> dict[str, Any]:
        if rest:
            others = everything - set(term)
            tried = [contrast(sorted(others), sorted(everything), b)]
        else:
            tried = [contrast(base, term, b) for base in _bases(term, found, strict)]
        worst = max(tried, key=lambda t: (t["p"], -t["n_positive"]))  # max: the first of equals
        deltas = worst["deltas"]
        if interval == "exact":
            ci_low, ci_high, _ = exact_interval(deltas, alpha)
        elif interval == "asymptotic":
            ci_low, ci_high = asymptotic_interval(deltas, alpha)
        else:
            raise ValueError(f"unknown interval {interval!r}")
        return {
            "order": order, "term": term, "base": worst["base"], "n_positive": worst["n_positive"],
            "n": len(deltas), "p_value": worst["p"], "statistic": median(deltas), "ci_low": ci_low,
            "ci_high": ci_high, "ci_lower": lower_bound(deltas, alpha), "beta": b,
            "beta_max": _smallest([beta_max(t["rhos"], alpha) for t in tried]),
        }  # fmt: skip

    def plan(order: int, known: Any) -> list[tuple[int, ...]]:
        """All distinct sets {j} + K, K from P_j (Algorithm 2), its first l members (end of section 2.3)."""
        sets = set()
        for j in tested:
            if j in known and not exhaustive:
                continue
            candidates = tested if partners is None else partners[j]
            allowed = [k for k in dict.fromkeys(candidates) if k != j and k not in fixed][
                :n_partners
            ]
            for chosen in combinations(allowed, order - 1):
                sets.add(tuple(sorted((j, *chosen))))
        return sorted(sets)

    def adjusted_over_orders(order: int, p_values: list[float]) -> list[float]:
        """STATISTICS.md, "Error control over all orders"; a set is asked over any proper subset."""
        assert alpha_by_order is not None
        if order == 1:
            times = alpha / alpha_by_order[0]
            return [min(1.0, times * q) for q in adjust(p_values, "holm")]
        possible = {
            term
            for size in range(len(tested) + 1)
            for known in combinations(tested, size)
            for term in plan(order, known)
        }
        threshold = alpha_by_order[order - 1] / ((2**order - 1) * len(possible)) if possible else 1
        return [min(1.0, p * alpha / threshold) for p in p_values]

    tests: list[dict[str, Any]] = []
    gates: list[dict[str, Any]] = []
    found: dict[int, int] = {}  # feature -> the order at which it was found: S_1, S_2, ...
    for order in range(1, (1 if rest else max_order) + 1):
        b = float(beta if isinstance(beta, (int, float)) else beta[order - 1])
        rows = [row(order, term, b) for term in plan(order, found)]
        p_values = [r["p_value"] for r in rows]
        if alpha_by_order is None:
            adjusted = adjust(p_values, correction)
        else:
            adjusted = adjusted_over_orders(order, p_values)
        for r, p_adjusted in zip(rows, adjusted, strict=True):
            r["p_adjusted"] = p_adjusted
            r["significant"] = p_adjusted < alpha
        tests += rows
        for r in rows:  # only now, when the whole order is decided: S_m gets all new members
            if r["significant"]:
                for j in r["term"]:
                    found.setdefault(j, order)
        if rest:
            break
        # Algorithm 2, first step: is anything left? When all is found, both sides are one: n+ = 0, p = 1.
        gate = contrast(sorted(found), sorted(everything), 0.0)
        gates.append({
            "after_order": order, "found": gate["base"], "n_positive": gate["n_positive"],
            "n": len(gate["deltas"]), "p_value": gate["p"], "open": gate["p"] < alpha,
        })  # fmt: skip
        # A closed gate says that no feature is left to find; sets of found ones may be, if asked for.
        if not gates[-1]["open"] and not exhaustive:
            break
    found = dict(sorted(found.items()))
    return {
        "tests": tests,
        "gates": gates,
        "found": found,
        "remainder": bool(gates) and gates[-1]["open"],
    }
