"""A made-up document in the order of an audit, with every kind of block; for tests of its page.

`made_document(40)` has 40 features with long names, 12 of them significant.
"""

from hostile import HOSTILE

from sfit._text import printable, shortened
from sfit.plotting._style import Tooltip
from sfit.report._blocks import (
    Card,
    Cards,
    Cell,
    Checklist,
    Code,
    Document,
    Facts,
    Formula,
    Items,
    Matrix,
    Picture,
    Section,
    SignOff,
    Table,
    Text,
)

WORDS = ("payment", "delay", "balance", "limit", "income", "utilisation", "age", "region")
GROUPS = ("sex = 1 (male)", "sex = 2 (female)", "region = north", "region = south", "age = 60+")


def long_names(n):
    """Different names of 30 to 60 characters, with common prefixes."""
    return [
        f"customer_account_{WORDS[place % 8]}_{WORDS[place // 8 % 8]}_last_12_months_{place:03d}"
        for place in range(n)
    ]


class Bars:
    """A picture: one bar per name."""

    def __init__(self, title, names, height=None):
        self.title, self.names = title, names
        self.caption = "Share of rows predicted better when the model sees the feature."
        self.height = height or 0.9 + 0.2 * len(names)

    def plot(self, ax):
        self.ax = ax
        places = range(len(self.names))
        ax.barh(places, [1 / (1 + place) for place in places], color="#0072b2", height=0.5)
        ax.set_yticks(
            places, [shortened(name, 24).replace("$", r"\$") for name in self.names], fontsize=8
        )
        ax.invert_yaxis()
        ax.spines[["top", "right"]].set_visible(False)
        return self

    def tooltips(self):
        across = self.ax.get_yaxis_transform()
        return [
            Tooltip(self.ax, (0, place - 0.5), across, name)
            for place, name in enumerate(self.names)
        ]


def made_document(n_features=40, n_cards=12, *, hostile=False, n_drawn=30):
    """The document; with `hostile` texts every name and sentence tries to be markup."""
    names = long_names(n_features)
    if hostile:
        names = [*map(printable, HOSTILE), *names][:n_features]
    found = names[:n_cards]
    odd = printable(" ".join(HOSTILE[:4])) if hostile else ""
    return Document(
        title=f"Audit of the default model {odd}".strip(),
        subtitle=f"A. Validator, 2026-01-31 09:00 UTC, sfit 1.0, digest 3f2a9c {odd}".strip(),
        footer=f"Not a reason-code engine. {odd}".strip(),
        sections=(
            *_first_page(found, n_features, odd),
            _mechanism(names, found, n_drawn),
            _cards(found, odd),
            _groups(names, odd),
            _risks(found, odd),
            *_limits(odd),
            *_appendices(names, len(found), odd),
        ),
    )


def _first_page(found, n_features, odd):
    model = (
        ("Name", "default-2026"),
        ("Class", "LGBMClassifier"),
        ("Library", "lightgbm 4.6.0"),
        ("Task", "classification of default: no, yes"),
        ("Parameters", "n_estimators=400, learning_rate=0.03, num_leaves=31, subsample=0.8"),
        ("Fingerprint", "9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d"),
        ("Author", "A. Validator"),
        ("Made", "2026-01-31 09:00 UTC with sfit 1.0"),
        ("Digest of the JSON", "3f2a9c1db4d3b7d4bad9bdd2b0d7b3d"),
    )
    data = (
        ("Name", "Default of credit card clients"),
        ("Period", "2005-04 to 2005-09"),
        ("Rows and columns", f"9,000 × {n_features}"),
        ("Target", "default: 22.1 % yes, 77.9 % no"),
        ("Missing values", "312 of 360,000 cells, most in customer_account_income (120)"),
        ("Training rows", "21,000, reference of the tests"),
        ("Groups", "sex (2), region (2), age (1)"),
        ("Fingerprint", "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"),
    )
    return (
        Section(
            "Purpose",
            "purpose",
            (
                Text(f"Which features does the model use, and for whom? {odd}".strip()),
                Facts(model, "Model"),
                Facts(data, "Data"),
            ),
        ),
        Section(
            "Finding",
            "finding",
            (
                Text(
                    f"{len(found)} of {n_features} features are significantly related to default, "
                    f"led by {found[0]}. {odd}".strip(),
                    "finding",
                ),
                Text("Together they explain 93 % of what the model gains.", "finding"),
                Text("7 % is not attributed to any feature.", "finding"),
                Text(
                    f"The reference values were taken from the test rows. {odd}".strip(), "warning"
                ),
                Text("Pairs were not tested: the budget was spent.", "warning"),
                Text("Three groups of features are strongly correlated.", "warning"),
                Text(
                    "With 9,000 rows, effects below 0.4 % of the loss are missed half of the time.",
                    "warning",
                ),
                Text("40 features were tested; p-values are adjusted by fdr_by.", "warning"),
                _performance(),
            ),
        ),
    )


def _performance():
    rows = [
        ("AUC", "0.781 (0.769 to 0.793)", "0.776 (0.764 to 0.788)", "0.500"),
        ("Average precision", "0.556 (0.533 to 0.579)", "0.549 (0.526 to 0.572)", "0.221"),
        ("Brier score", "0.134 (0.130 to 0.138)", "0.135 (0.131 to 0.139)", "0.172"),
    ]
    return Table(
        title="Performance on these rows",
        key="performance",
        head=("Metric", "All features", "Found features", "Nothing"),
        kinds=("name", "number", "number", "number"),
        rows=tuple(tuple(Cell(text) for text in row) for row in rows),
    )


def _mechanism(names, found, n_drawn):
    return Section(
        "Mechanism",
        "mechanism",
        (
            Picture(Bars("How often each feature helps", names[:n_drawn])),
            Picture(Bars("Build-up of the loss", ["hidden", *found[:6], "not attributed", "all"])),
        ),
    )


def _cards(found, odd):
    cards = tuple(
        Card(
            name,
            f"significant {'*' * (1 + place % 3)}",
            (
                Text(f"Raises the prediction; expected: raises. {odd}".strip()),
                Picture(Bars("Response", ["low", "middle", "high"], height=1.6), width=3.5),
                Facts((("Rise", "0.0123"), ("p-value", "0.0005"), ("Weakest group", "age = 60+"))),
            ),
        )
        for place, name in enumerate(found)
    )
    return Section("Significant features", "features", (Cards(cards),))


def _groups(names, odd):
    cells = tuple(
        tuple(f"0.{(7 * row + 3 * column) % 100:02d}" for column in range(len(GROUPS)))
        for row in range(len(names))
    )
    marked = tuple(
        tuple((row + column) % 4 == 0 for column in range(len(GROUPS))) for row in range(len(names))
    )
    return Section(
        "Groups",
        "groups",
        (
            Matrix(
                title="Rise of the loss by group",
                key="groups",
                corner="Feature",
                columns=GROUPS,
                rows=tuple(names[:40]),
                cells=cells[:40],
                marked=marked[:40],
                note=f"Bold: significant within the group. {odd}".strip(),
            ),
        ),
    )


def _risks(found, odd):
    rows = tuple(
        (Cell(name), Cell("sex"), Cell("0.31"), Cell("possible proxy")) for name in found[:4]
    )
    proxies = Table(
        title="Protected attributes and their possible proxies",
        key="proxies",
        head=("Feature", "Attribute", "Association", "Verdict"),
        kinds=("name", "name", "number", "verdict"),
        rows=rows,
        marked=(True,) * len(rows),
        mark="possible proxy",
    )
    return Section(
        "Signs of high risk",
        "signs-of-high-risk",
        (
            proxies,
            Items(
                (f"One feature dominates. {odd}".strip(), "Two features follow sex closely."),
                "Signs",
            ),
            Text("Not a test of fairness.", "note"),
        ),
    )


def _limits(odd):
    checks = (
        ("yes", "Held out.", "No test row is among the training rows."),
        ("no", "Reference from training.", f"It was taken from the test rows. {odd}".strip()),
        ("open", "Independent rows.", "Only the reader can tell: no clusters were named."),
        ("yes", "One model.", "The fingerprint was the same before and after."),
        ("yes", "Finite values.", "Every prediction and every loss is finite."),
        ("open", "Fixed protocol.", "The tests were chosen before the rows were seen."),
        ("no", "No duplicates.", "12 rows occur more than once in the test rows."),
    )
    terms = (
        ("Significant", "The adjusted p-value is below alpha = 0.05."),
        ("Rise", "Mean loss with predictions of other rows, less the mean loss."),
        ("Improved row", "A row whose loss falls by more than beta when a feature is revealed."),
        ("Reference", "The values that a hidden feature takes; here those of training rows."),
        ("Build-up", "Mean loss as the found features are revealed one after the other."),
        ("Association", "Rank correlation for numbers, Cramér's V for categories."),
        ("Group", "Rows with one value of a column, such as sex = 2 (female)."),
        ("Not attributed", "Gain of the full model that no found set accounts for."),
    )
    return (
        Section(
            "Strengths",
            "strengths",
            (Items(("Every test is exact given the reference.", "All features were tested.")),),
        ),
        Section(
            "Limitations",
            "limitations",
            (
                Text("An effect below 0.4 % of the loss would have been missed half of the time."),
                Checklist(checks),
            ),
        ),
        Section("Definitions", "definitions", (Facts(terms),)),
        Section("Sign-off", "sign-off", (SignOff(("Model owner", "Validator", "Risk committee")),)),
    )


def _appendices(names, n_found, odd):
    rows = tuple(
        (
            Cell(name),
            Cell(f"{1 / (1 + place):.4f}"),
            Cell(f"{1 / (2 + place):.4f}"),
            Cell(f"{1 / (1 + place) + 0.1:.4f}"),
            Cell(f"{place / 1000:.3g}"),
            Cell(f"{(50 + place) % 100} %", str((50 + place) % 100)),
            Cell("significant ***" if place < n_found else "–", str(int(place < n_found))),
        )
        for place, name in enumerate(names)
    )
    table = Table(
        title="All features",
        key="features",
        head=("Feature", "Rise", "from", "to", "p-value", "Rows improved", "Verdict"),
        kinds=("name", "number", "number", "number", "number", "number", "verdict"),
        rows=rows,
        marked=tuple(place < n_found for place in range(len(rows))),
        notes=(f"The model ignores 2 features: a and b. {odd}".strip(),),
        searchable=True,
    )
    code = (
        "import sfit\n\naudit = sfit.audit(model, X, y, train=train, random_state=0)\n"
        'audit.to_html("audit.html")  # ``` & <b>'
    )
    return (
        Section("Appendix A: all features", "appendix-features", (table,), appendix=True),
        Section(
            "Appendix B: method",
            "appendix-method",
            (Text("The permutation test."), Formula("p = (1 + #{b : T_b ≥ T}) / (1 + B)")),
            appendix=True,
        ),
        Section(
            "Appendix C: versions and settings",
            "appendix-settings",
            (
                Facts((("sfit", "1.0"), ("numpy", "2.3")), "Versions"),
                Facts((("alpha", "0.05"), ("Correction", f"fdr_by {odd}".strip())), "Settings"),
            ),
            appendix=True,
        ),
        Section("Appendix D: reproduce", "appendix-code", (Code(code),), appendix=True),
    )
