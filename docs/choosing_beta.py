"""Which beta do random copies of the paper's network call for? Writes the table of
choosing_beta.md.

Section 3 of the paper: 20 random models, 20,000 validation rows, betas 1e-6 ... 1e-1; it finds
1e-2.

    python docs/choosing_beta.py
"""

from collections import Counter

import numpy as np
import torch

import sfit

REPEATS = 20
GRID = np.logspace(-6, -1, 6)


def network(inputs, initialise=None):
    """The 150-50 network of section 3, with torch's default weights or others."""
    layers = [torch.nn.Linear(inputs, 150), torch.nn.Linear(150, 50), torch.nn.Linear(50, 1)]
    for layer in layers if initialise else ():
        initialise(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    return torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])


def drawn(inputs, initialise):
    """A `random_model` for `choose_beta`: a network drawn with a seed from its generator."""

    def random_model(rng):
        torch.manual_seed(int(rng.integers(2**31)))
        return network(inputs, initialise)

    return random_model


INITIALISATIONS = {
    "Glorot normal, zero biases (`choose_beta`'s own)": "own",
    "Glorot uniform, zero biases": torch.nn.init.xavier_uniform_,
    "PyTorch's default": None,
    "He normal, zero biases": lambda weight: torch.nn.init.kaiming_normal_(
        weight, nonlinearity="relu"
    ),
}


def main() -> None:
    """Print the table."""
    print("| random weights | intercept as an input | chosen on the grid | exact smallest beta |")
    print("| --- | --- | --- | --- |")
    for name, initialise in INITIALISATIONS.items():
        for intercept in (True, False):
            chosen, exact = Counter(), []
            for repeat in range(REPEATS):
                X, y = sfit.simulate.interactions(20_000, random_state=1_000 + repeat)
                if intercept:
                    X.insert(0, "intercept", 1.0)
                inputs = X.shape[1]
                choice = sfit.choose_beta(
                    network(inputs),
                    X,
                    y,
                    reference=0.0,
                    always_on=["intercept"] if intercept else [],
                    max_beta=1.0,
                    random_model=None if initialise == "own" else drawn(inputs, initialise),
                    random_state=repeat,
                )
                exact.append(choice.beta)
                chosen[min(beta for beta in (*GRID, np.inf) if beta >= choice.beta)] += 1
            counts = ", ".join(f"{beta:.0e}: {chosen[beta]}" for beta in sorted(chosen))
            words = "yes, as in the paper" if intercept else "no"
            span = f"{min(exact):.4f} to {max(exact):.4f}"
            print(f"| {name} | {words} | {counts} of {REPEATS} | {span} |", flush=True)


if __name__ == "__main__":
    main()
