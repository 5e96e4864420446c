"""How near fits come to the rate of their own matrix products, and what else they spend time on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

import superarm
from benchmarks.clock import fastest, square, square_rate
from benchmarks.fit_parts import Layers, NewtonSteps
from superarm.models import fitting, newton
from superarm.policies.sun2026 import ensemble_figure_model
from superarm.precision import double
from superarm.types import Spec

TURNS, TARGET = 60, 0.6

HEAD = f"""## Fits against the rate of their matrix products

Fits of a full history as policies make them, from their first parameters. "Products" are the bare matrix
products of a fit's shapes, blocks and steps, scores and gradients, and nothing else. Operations: with n rows
(two a duel), W weights, W' without those of the first layer, a network takes 2 n (2 W + W') a step and
4 n W for the objective before and after; Newton's method 4 n d a step and before the first, and
2 n (d^2 + d) + d^3 / 3 a curvature.
Networks compute in float32, Newton's method in float64, and so does the product of 1024 x 1024 matrices
beside them. The least of {TURNS} in turns; the target is {TARGET:.0%} of the products' rate.

| fit | Mflop | ms | Gflop/s | products, Gflop/s | share | 1024 x 1024, Gflop/s |
|---|---|---|---|---|---|---|
"""
PIECES = """
Where the time goes, in milliseconds: the products, and what each piece adds when it is put around them, one
after the other; less than 0 is noise. "The rest" is what the fit takes beyond all of them, not measured piece
by piece: the objective before and after, the check that it did not diverge, the search for a step's length.

| fit | products | relu and masks | loss | optimizer or Cholesky | the rest |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Case:
    """A policy, the size of its problem, and what its fit consists of."""

    policy: Any
    spec: Spec
    parts: Callable[[Any], Any]


def cases() -> dict[str, Case]:
    """The fits of the papers' settings."""
    duels = superarm.nvldb()
    members = superarm.neural_es(None, ensemble_figure_model(memory="arms"), size=10)
    return {
        "GLM-UCB, Newton: d = 20, n = 2,000": Case(
            superarm.glm_ucb(),
            Spec(dim=20, num_arms=10, capacity=2000),
            lambda counts: NewtonSteps(2000, 20, newton.BLOCK, *counts),
        ),
        "NeuralLog, gradient steps: d = 20, m = 20, n = 2,000": network(
            superarm.neural_log_ucb_2(units=20), Spec(dim=20, num_arms=10, capacity=2000), loss="logistic"
        ),
        "CN-UCB, gradient steps: d = 80, m = 100, n = 404": network(
            superarm.cn_ucb(superarm.top_k(4), width="diagonal"), Spec(dim=80, num_arms=20, capacity=404)
        ),
        "NVLDB, Adam: d = 5, two layers of 32, n = 2,000 duels": network(
            duels, Spec(dim=5, num_arms=5, capacity=4000), sides=2, loss="logistic", optimizer="adam"
        ),
        "Neural-ES, gradient steps: 10 members, d = 20, two layers of 20, n = 50": network(
            members, Spec(dim=20, num_arms=50, capacity=50), members=10
        ),
    }


def network(policy: Any, spec: Spec, **options: Any) -> Case:
    """The case of a network: its shapes are read off its state."""

    def parts(_: Any) -> Layers:
        state = filled(policy, spec)
        how = inner(policy.model).fitting
        layers = tuple(leaf.shape[-2:] for leaf in state.fit.params)
        rows = state.record.history.contexts.shape[0]
        return Layers(layers, rows=rows, block=how.block or fitting.BLOCK, steps=how.steps, **options)

    return Case(policy, spec, parts)


@double
def section() -> str:
    """Measure every fit beside its pieces."""
    found = [rows(name, case) for name, case in cases().items()]
    rates, pieces, held = ("".join(column) for column in zip(*found, strict=True))
    return HEAD + rates + PIECES + pieces + (f"\nBelow the target:\n\n{held}" if held else "")


def rows(name: str, case: Case) -> tuple[str, str, str]:
    """Measure one fit; return its rate, its pieces and, below the target, what holds it."""
    state, key = filled(case.policy, case.spec), jax.random.key(1)
    parts = case.parts(newton_counts(case.policy, state))
    leaves, structure = jax.tree.flatten(state)  # before the clock starts: it is done in Python
    learn = jax.jit(lambda leaves: jax.tree.leaves(case.policy.learn(structure.unflatten(leaves), key)))
    calls = {"fit": lambda: learn(leaves), "square": square(parts.dtype), **parts.pieces}
    spent = fastest(calls, TURNS)
    whole, rate = spent.pop("fit"), square_rate(spent.pop("square"))
    flops, bare = parts.operations / 1e9, spent["products"]
    rates = f"{flops / whole:.1f} | {flops / bare:.1f} | **{bare / whole:.0%}**"
    label = name
    if isinstance(parts, NewtonSteps):
        label = f"{name}, {parts.steps} steps, {parts.curvatures} curvatures"
    pieces = dict(zip(spent, np.diff([0.0, *spent.values()]), strict=True)) | {
        "the rest": whole - [*spent.values()][-1]
    }
    added = {piece: took for piece, took in pieces.items() if piece != "products"}
    held = ", ".join(
        f"{piece} {1e3 * took:.2f}" for piece, took in sorted(added.items(), key=lambda one: -one[1])
    )
    short = name.partition(":")[0]
    cells = [pieces.get(column, 0.0) for column in ("products", "relu and masks", "loss")]
    cells += [pieces.get("optimizer", pieces.get("Cholesky", 0.0)), pieces["the rest"]]
    shown = " | ".join(f"{1e3 * cell:.2f}" for cell in cells)
    return (
        f"| {label} | {1e3 * flops:.0f} | {1e3 * whole:.2f} | {rates} | {rate:.0f} |\n",
        f"| {short} | {shown} |\n",
        f"- {short}: of {1e3 * whole:.2f} ms the products take {1e3 * bare:.2f}; {held}.\n"
        if bare < TARGET * whole
        else "",
    )


def filled(policy: Any, spec: Spec) -> Any:
    """A state whose history is full: random contexts, rewards 0 and 1."""
    state = jax.jit(lambda key: policy.init(key, spec))(jax.random.key(0))
    history, rng = state.record.history, np.random.default_rng(0)
    slots, width = history.contexts.shape
    contexts = rng.normal(size=(slots, width)) / np.sqrt(spec.dim)
    full = replace(
        history,
        contexts=jnp.asarray(contexts, history.contexts.dtype),
        feedback=jnp.asarray(rng.random(history.feedback.shape) < 0.5, history.feedback.dtype),
        counts=jnp.ones_like(history.counts),
        seen=jnp.asarray(slots, jnp.int64),
        events=jnp.asarray(slots, jnp.int64),
    )
    return replace(state, record=replace(state.record, history=full))


def newton_counts(policy: Any, state: Any) -> tuple[int, int]:
    """How many steps a fit by Newton's method takes, and how many curvatures; 0 where it is another."""
    model = inner(policy.model)
    if not isinstance(model.fitting, newton.Newton):
        return 0, 0
    history, curvatures = state.record.history, 0
    compute = newton._Problem.root

    def counted(problem: Any, theta: Any) -> Any:
        nonlocal curvatures
        curvatures += 1
        return compute(problem, theta)

    used, key = model.memory.used(history), jax.random.key(1)
    # Run step by step in Python, so that calls can be counted.
    with mock.patch.object(newton._Problem, "root", counted), jax.disable_jit():
        found = model.fitting.fit(
            model.network, state.fit.params, state.fit.first, history, used, key, state.fit.root
        )
    return int(found.steps), curvatures


def inner(model: Any) -> Any:
    """The model that is fitted, of preferences or of an ensemble, too."""
    return model if hasattr(model, "fitting") else inner(model.model)
