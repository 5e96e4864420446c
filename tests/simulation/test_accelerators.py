"""Compiled rounds do not call the host: what a GPU computes, it computes alone."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import superarm
from superarm.environments import linear_scores
from superarm.simulation.round import keys_of
from superarm.simulation.run import _chunk, compiled
from superarm.types import Event, Spec
from support.agent_presets import ARMS, BUILDS, DIM

QUICK = {"lin_ucb", "comb_lin_ts", "cn_ucb", "glm_es", "nvldb", "neural_log_ucb_2"}


def presets():
    return [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.full]) for name in sorted(BUILDS)]


def primitives(program) -> set[str]:
    """The names of all operations of a program, of its loops and branches, too."""
    found = set()
    for equation in program.eqns:
        found.add(equation.primitive.name)
        for value in jax.tree.leaves(equation.params, is_leaf=is_program):
            if is_program(value):
                found |= primitives(getattr(value, "jaxpr", value))
    return found


def is_program(value) -> bool:
    return hasattr(value, "eqns") or hasattr(value, "jaxpr")


def calls_host(names: set[str]) -> set[str]:
    return {name for name in names if "callback" in name or name in ("infeed", "outfeed")}


@pytest.mark.parametrize("name", presets())
def test_a_round_calls_nothing_on_the_host(name):
    policy = BUILDS[name]().epochs(1)[0].policy
    assert policy.native
    with jax.enable_x64(True):
        state = policy.init(jax.random.key(0), Spec(dim=DIM, num_arms=ARMS, capacity=64))

        def one_round(state, key, contexts):
            decision = policy.select(state, key, contexts, jnp.int64(3))
            size = decision.items.shape[0]
            feedback = jnp.ones(size) if size == 1 else jnp.arange(size) / max(size - 1, 1)
            event = Event(decision.items, decision.features, feedback, decision.mask, decision.memo)
            return policy.learn(policy.observe(state, key, event), key)

        program = jax.make_jaxpr(one_round)(state, jax.random.key(1), jnp.ones((ARMS, DIM)))
    assert not calls_host(primitives(program.jaxpr))


def test_a_call_of_the_host_would_be_found():
    def asks(value):
        return jax.lax.fori_loop(
            0, 2, lambda _, x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), jnp.float32), x), value
        )

    assert calls_host(primitives(jax.make_jaxpr(asks)(jnp.float32(1.0)).jaxpr))


def test_a_chunk_moves_nothing_between_host_and_device():
    world, policy = linear_scores(dim=DIM, num_arms=ARMS), superarm.lin_ts()
    with jax.enable_x64(True):
        keys = keys_of(0)
        state = jax.tree.map(jnp.array, policy.init(keys.init, world.spec))
        start, length, origin = jnp.int64(0), jnp.int64(20), jnp.int64(0)
        arguments = jax.device_put((policy, world, world.init(keys.world), keys))
        chunk, _ = compiled(_chunk, *arguments, state, start, length, origin, keep_events=False)
        with jax.transfer_guard("disallow"):
            state, trace = chunk(*arguments, state, start, length, origin)
            jax.block_until_ready(trace)
            with pytest.raises(Exception, match=r"(?i)disallowed"):  # so the guard is one
                chunk(*arguments, state, np.int64(20), length, origin)
    assert np.all(trace.healthy[:20])
