"""The paper's simulated example: fit a network, test which features it uses, and audit it."""

import time
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

import sfit


def main() -> None:
    """Section 3 of the paper, on fewer rows so that it takes seconds."""
    X_train, y_train = sfit.simulate.interactions(30_000, random_state=0)
    X_test, y_test = sfit.simulate.interactions(10_000, random_state=1)

    print("Y = 3 + 4 X1 + X1 X2 + 3 X3^2 + 2 X4 X5 + noise;  X6 and X7 have no effect.")
    started = time.perf_counter()
    model = MLPRegressor(
        hidden_layer_sizes=(150, 50),
        alpha=0.0,
        learning_rate_init=2e-3,
        max_iter=30,
        random_state=0,
    )
    with warnings.catch_warnings():
        # The network is stopped after 30 epochs on purpose, as the paper's is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X_train, y_train)
    fitted = time.perf_counter()
    print(f"A 150-50 network was fitted on {len(X_train):,} rows in {fitted - started:.1f} s.\n")

    result = sfit.feature_significance(
        model, X_test, y_test, max_order=2, beta=(0.01, 0.001), reference=X_train
    )
    print(result.summary())
    tested = time.perf_counter()
    print(f"\nThe test took {tested - fitted:.1f} s, and no refit.\n")

    audit = sfit.audit(
        model,
        X_test,
        y_test,
        train=X_train,
        expected={"X1": "+"},
        title="Audit of the demo",
        purpose="Show what an audit contains.",
        model_name="A 150-50 network",
        data_name="The paper's simulated example",
        random_state=0,
    )
    print(audit.summary())
    page = Path("audit.html").resolve()
    audit.to_html(page)
    print(f"\nThe audit took {time.perf_counter() - tested:.1f} s. Its page: {page}")


if __name__ == "__main__":
    main()
