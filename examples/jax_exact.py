"""Fits a line through many points by gradient descent in JAX, in several orders of the points, and prints the
line and the last gradient: first with JAX's own sums, then with those of bitfold, where all runs are the same.

    python examples/jax_exact.py

The order of the points does not change what the gradients are, only how their terms are added.
"""

import argparse
import functools

try:
    import jax
    import jax.numpy as jnp

    import bitfold.jax
except ImportError as error:
    raise SystemExit(f"this example needs JAX and bitfold: {error}")

POINTS = 100_000


@functools.partial(jax.jit, static_argnames=("sum", "steps"))
def fit(x, y, sum, steps):
    """Returns the slope and the intercept, and the gradient of both where the descent ends."""

    def gradient(line):
        error = line[0] * x + line[1] - y
        return jnp.stack([sum(error * x), sum(error)]) / POINTS

    line, _ = jax.lax.scan(lambda line, _: (line - 0.1 * gradient(line), None), jnp.zeros(2), length=steps)
    return line, gradient(line)


def main():
    parser = argparse.ArgumentParser(description="Fit a line to the same bits in any order of the points.")
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps

    keys = jax.random.split(jax.random.key(0), 3)
    x = jax.random.normal(keys[0], POINTS)
    y = 3 * x + 1 + jax.random.normal(keys[1], POINTS)
    orders = {
        "forward": jnp.arange(POINTS), "backward": jnp.arange(POINTS)[::-1],
        "shuffled": jax.random.permutation(keys[2], POINTS),
    }  # fmt: skip
    for name, sum in (("jax.numpy.sum", jnp.sum), ("bitfold.jax.sum", bitfold.jax.sum)):
        print(f"{name}:")
        found = set()
        for order, index in orders.items():
            line, gradient = (tuple(each.tolist()) for each in fit(x[index], y[index], sum, steps))
            found.add((line, gradient))
            print("  line {:.9g} x + {:.9g}, gradient {:.9g}, {:.9g}:".format(*line, *gradient), order)
        print("  all are the same" if len(found) == 1 else f"  {len(found)} different results")


if __name__ == "__main__":
    main()
