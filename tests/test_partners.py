"""Which features are tried together, and in what order."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.tree import DecisionTreeRegressor

import sfit
from sfit._features import Features
from sfit._partners import find_partners, interaction_scores
from sfit.exceptions import ArgumentError
from sfit.models import Dense, as_view


def features(columns, names=None, width=None):
    width = width or 1 + max(c for own in columns for c in own)
    return Features(
        names=tuple(names or (f"f{j}" for j in range(len(columns)))),
        columns=tuple(map(tuple, columns)),
        always_on=(),
        reference=np.zeros((1, width)),
        space="original",
        origin="given",
    )


@pytest.fixture(scope="module")
def rows():
    """Two pairs that interact, and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_500, 5))
    y = 3 * X[:, 0] * X[:, 1] + 3 * X[:, 2] * X[:, 3] + 0.1 * rng.normal(size=1_500)
    return X, y


def test_scores_of_a_network_are_those_of_its_first_layer(rows):
    """|W|^T |W| summed by hand over the hidden units, the diagonal left out."""
    X, y = rows
    network = MLPRegressor(hidden_layer_sizes=(7, 3), max_iter=2_000, tol=1e-2, random_state=0)
    network.fit(X, y)
    first = network.coefs_[0]
    scores = interaction_scores(as_view(network).structure, features([[j] for j in range(5)]))
    for j in range(5):
        for k in range(5):
            by_hand = sum(abs(first[j, unit]) * abs(first[k, unit]) for unit in range(7))
            assert scores[j, k] == pytest.approx(0 if j == k else by_hand)


def test_scores_of_groups_add_up(rows):
    """The score of two groups is the sum over their columns; columns of neither do not count."""
    weights = np.abs(np.random.default_rng(1).normal(size=(5, 4)))
    structure = Dense(layers=((-weights, np.zeros(4), "relu"),), output="identity")
    scores = interaction_scores(structure, features([[0, 3], [1], [4]], width=5))
    product = weights @ weights.T
    assert scores[0, 1] == pytest.approx(product[0, 1] + product[3, 1])
    assert scores[0, 2] == pytest.approx(product[0, 4] + product[3, 4])
    np.testing.assert_allclose(scores, scores.T)
    assert (np.diag(scores) == 0).all()


def shared_paths(tree, node, above, counts):
    """Add one to (feature, feature of an ancestor) for every split below, recursively."""
    if tree.children_left[node] < 0:
        return
    own = tree.feature[node]
    for other in above:
        counts[own, other] += 1
        counts[other, own] += 1
    for child in (tree.children_left[node], tree.children_right[node]):
        shared_paths(tree, child, [*above, own], counts)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=6, random_state=0),
        RandomForestRegressor(n_estimators=5, max_depth=6, random_state=0),
        GradientBoostingRegressor(n_estimators=20, max_depth=3, random_state=0),
        DecisionTreeRegressor(max_depth=1, random_state=0),
    ],
)
def test_scores_of_trees_count_shared_paths(rows, model):
    """Pairs of a split and one of its ancestors, counted by a slow walk over every tree."""
    X, y = rows
    model = model.fit(X, y)
    expected = np.zeros((5, 5))
    members = np.ravel(getattr(model, "estimators_", [model]))
    for member in members:
        shared_paths(member.tree_, 0, [], expected)
    np.fill_diagonal(expected, 0)
    scores = interaction_scores(as_view(model).structure, features([[j] for j in range(5)]))
    np.testing.assert_array_equal(scores, expected)


def test_structure_finds_the_pairs_that_interact(rows):
    """The first partner by structure is the feature that really interacts."""
    X, y = rows
    model = GradientBoostingRegressor(n_estimators=200, max_depth=3, random_state=0).fit(X, y)
    columns = features([[j] for j in range(5)])
    found = find_partners("auto", 1, columns, as_view(model).structure, frozenset(range(5)))
    assert {j: found[j] for j in range(4)} == {0: [1], 1: [0], 2: [3], 3: [2]}


def test_equal_scores_go_by_name():
    """The order of the columns does not decide between equals."""
    structure = Dense(layers=((np.ones((4, 2)), np.zeros(2), "relu"),), output="identity")
    found = find_partners(
        "auto", None, features([[0], [1], [2], [3]], "dbca"), structure, frozenset(range(4))
    )
    assert found == {0: [3, 1, 2], 1: [3, 2, 0], 2: [3, 1, 0], 3: [1, 2, 0]}


def test_unknown_structure_and_all_try_everything():
    """Every other tested feature, in the order of the columns; given features are no partners."""
    columns = features([[0], [1], [2], [3]])
    for partners in ("auto", "all"):
        found = find_partners(partners, None, columns, None, frozenset({0, 1, 3}))
        assert found == {0: [1, 3], 1: [0, 3], 3: [0, 1]}


def test_all_goes_by_the_columns_where_the_structure_is_known():
    """Only "auto" asks the model which features are likely to interact."""
    weights = np.diag([1.0, 2.0, 3.0]) + 1.0
    structure = Dense(layers=((weights, np.zeros(3), "relu"),), output="identity")
    columns, tested = features([[0], [1], [2]]), frozenset({0, 1, 2})
    by_structure = find_partners("auto", None, columns, structure, tested)
    assert by_structure == {0: [2, 1], 1: [2, 0], 2: [1, 0]}
    in_order = find_partners("all", None, columns, structure, tested)
    assert in_order == {0: [1, 2], 1: [0, 2], 2: [0, 1]}


def test_scores_of_single_precision_are_summed_in_double():
    """Thousands of small products do not drown in the rounding of the model's own type."""
    weights = np.random.default_rng(0).normal(size=(3, 5_000)).astype(np.float32)
    structure = Dense(layers=((weights, np.zeros(5_000), "relu"),), output="identity")
    scores = interaction_scores(structure, features([[0], [1], [2]]))
    exact = np.abs(weights.astype(float))
    assert scores[0, 2] == pytest.approx(np.sum(exact[0] * exact[2]), rel=1e-13)


def pairs(result):
    return [test.term for test in result.tests if test.order == 2]


def product(rows):
    x = np.asarray(rows)
    return x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3]


@pytest.fixture(scope="module")
def named(rows):
    """The rows in a frame, with their outcome."""
    return pd.DataFrame(rows[0], columns=list("abcde")), rows[1]


def test_a_mapping_names_candidates_in_order(named):
    """Only the pairs that it names are tested; n_partners cuts its lists."""
    X, y = named
    partners = {"a": ["b", "c"], "e": ["d"]}
    assert pairs(sfit.feature_significance(product, X, y, max_order=2, partners=partners)) == [
        ("a", "b"),
        ("a", "c"),
        ("d", "e"),
    ]
    assert pairs(
        sfit.feature_significance(product, X, y, max_order=2, partners=partners, n_partners=1)
    ) == [("a", "b"), ("d", "e")]
    # Candidates that can be gone through but once are looked up but once.
    once = {name: iter(candidates) for name, candidates in partners.items()}
    assert pairs(sfit.feature_significance(product, X, y, max_order=2, partners=once)) == [
        ("a", "b"),
        ("a", "c"),
        ("d", "e"),
    ]


def test_a_callable_names_candidates(named):
    """It is asked by name for every feature; what it names beside itself is tried."""
    X, y = named
    asked = []

    def partners(name):
        asked.append(name)
        return ["a", name] if name in "bc" else []

    result = sfit.feature_significance(product, X, y, max_order=2, partners=partners)
    assert sorted(set(asked)) == list("abcde")
    assert pairs(result) == [("a", "b"), ("a", "c")]
    assert result.settings.partners == "given"


def test_n_partners_limits_every_order(named):
    """Order 3 takes pairs from the first two partners only."""
    X, y = named
    partners = {name: [other for other in "abcde" if other != name] for name in "abcde"}
    result = sfit.feature_significance(
        product, X, y, max_order=3, partners=partners, n_partners=2, exhaustive=True
    )
    triples = {test.term for test in result.tests if test.order == 3}
    assert triples == {("a", "b", "c"), ("a", "b", "d"), ("a", "b", "e")}


def test_a_linear_model_has_a_structure_too(rows):
    """One layer: the score is the product of the sizes of two coefficients."""
    X, _ = rows
    linear = LinearRegression().fit(X, X @ [1.0, -2.0, 3.0, 0.0, 0.0])
    scores = interaction_scores(as_view(linear).structure, features([[j] for j in range(5)]))
    assert scores[0, 1] == pytest.approx(2.0)
    assert scores[1, 2] == pytest.approx(6.0)


def fails(name):
    raise KeyError("nobody")


@pytest.mark.parametrize(
    ("partners", "message"),
    [
        (
            "some",
            r"^partners must be 'auto', 'all', a mapping from a feature to ordered candidates, or a "
            r"callable feature -> candidates; got 'some'\.$",
        ),
        (3, r"^partners must be 'auto', 'all'.* got 3\.$"),
        ({"z": ["a"]}, r"^partners names 'z'"),
        ({"a": ["z"]}, r"^partners\['a'\] names 'z'"),
        (lambda name: ["z"], r"^partners\('a'\) names 'z'"),
        (fails, r"^partners\('a'\) failed: KeyError: 'nobody'$"),
    ],
)
def test_partners_that_do_not_exist_are_refused(named, partners, message):
    """An ArgumentError names the feature and what there is, or what went wrong."""
    X, y = named
    with pytest.raises(ArgumentError, match=message):
        sfit.feature_significance(product, X, y, max_order=2, partners=partners)
