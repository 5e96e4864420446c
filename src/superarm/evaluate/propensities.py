"""The chances with which a policy that has learned chooses in the events of a log."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from superarm import checks
from superarm.evaluate.logs.log import Log
from superarm.policy import Policy
from superarm.precision import FLOAT, double
from superarm.propensity import draw_on_host, is_exact
from superarm.types import Array, Offer, State

NUM_DRAWS = 200
_EVENTS = 1024  # in one call of compiled code
_TOGETHER = 50  # decisions that are made at once inside of it: bounds what gradients of networks take


@checks.named
@double
def chances_of(
    policy: Policy,
    log: Log,
    *,
    state: State,
    count: int = 0,
    draws: int | None = None,
    positions: bool = False,
    seed: int = 0,
) -> npt.NDArray[np.float64]:
    """Return how a policy in a fixed state would choose in every event: the target of `off_policy`.

    Exact where a policy chooses one arm or the k best by finitely many scores (greedy, epsilon-greedy,
    uniform, UCB, ensembles); otherwise the share of `draws` decisions. These are drawn apart for every event,
    so that their noise is part of what intervals measure: few draws widen an interval, and do not bias it.
    Two policies with one seed share their draws.

    Args:
        policy: chooses one arm or a set.
        log: what is on offer in its events.
        state: of the policy, as it has learned; it must not have learned from the events of this log, which
            it would then be judged on, too.
        count: decisions made before, for schedules and warm-ups.
        draws: decisions per event; None for exact chances where there are such, else 200.
        positions: of a set, return the chances of standing at every position, (n, k, K).
        seed: of the draws.

    Returns:
        (n, K) the chance of each arm, or of being in the set; (n, k, K) by position.

    >>> import jax, numpy as np, superarm
    >>> log = superarm.evaluate.event_log(np.ones((3, 4, 2)), [0, 1, 2], [0.0, 1.0, 0.0])
    >>> policy = superarm.uniform()
    >>> state = policy.init(jax.random.key(0), log.spec)
    >>> chances_of(policy, log, state=state).tolist()[0]
    [0.25, 0.25, 0.25, 0.25]
    """
    where = "chances_of"
    checks.has(where, "policy", policy, ("select", "propensities", "chooser"))
    checks.has(where, "log", log, ("contexts", "mask", "spec"))
    policy.chooser.check(log.spec.num_arms)
    before = jnp.asarray(checks.count(where, "count", count, low=0))
    key = jax.random.key(checks.count(where, "seed", seed, low=0))
    single = policy.chooser.top == 1 and policy.chooser.size == 1
    if draws is None:
        draws = 0 if is_exact(policy) else NUM_DRAWS
    else:
        checks.count(where, "draws", draws)
    events, num_arms, _ = log.contexts.shape
    mask = np.ones((events, num_arms), bool) if log.mask is None else np.asarray(log.mask)
    found = []
    for start in range(0, events, _EVENTS):
        # The last block begins earlier, so that all have one shape: nothing is compiled twice.
        first = max(0, min(start, events - _EVENTS))
        rows = np.arange(first, min(first + _EVENTS, events))
        contexts, offered = jnp.asarray(log.contexts[rows], FLOAT), jnp.asarray(mask[rows])
        if draws == 0:
            chances = np.asarray(
                _exact(policy, state, contexts, before, offered, positions=positions and not single)
            )
            _require_all(where, policy, chances, first)
        elif policy.native:
            chances = np.asarray(
                _drawn(policy, state, key, jnp.asarray(rows), contexts, before, offered, jnp.asarray(draws))
            )
        else:
            chances = _stepped(policy, state, key, rows, contexts, before, offered, draws)
        _require_sound(where, policy, np.isfinite(chances).all(axis=tuple(range(1, chances.ndim))), first)
        found.append(chances[start - first :])
    chances = np.concatenate(found)
    if draws and (single or not positions):
        chances = np.asarray(chances.sum(axis=1))
    return chances[:, None] if positions and single else chances


@partial(jax.jit, static_argnames=("positions",))
def _exact(
    policy: Policy, state: State, contexts: Array, count: Array, mask: Array, *, positions: bool
) -> Array:
    """(e, K), or (e, k, K) by position."""
    return jax.lax.map(
        lambda event: policy.propensities(state, Offer(*event), count, positions=positions),
        (contexts, mask),
        batch_size=_TOGETHER,
    )


@jax.jit
def _drawn(
    policy: Policy,
    state: State,
    key: Array,
    events: Array,
    contexts: Array,
    count: Array,
    mask: Array,
    draws: Array,
) -> Array:
    """(e, k, K) shares of the draws, whose number compiles nothing anew; NaN where one is not sound."""

    def one(event: tuple[Array, Array, Array]) -> Array:
        number, offer = event[0], Offer(*event[1:])

        def add(index: Array, total: Array) -> Array:
            keys = jax.vmap(partial(jax.random.fold_in, jax.random.fold_in(key, number)))(
                index * _TOGETHER + jnp.arange(_TOGETHER)
            )
            decision = jax.vmap(lambda one: policy.select(state, one, offer, count))(keys)
            shares = jax.nn.one_hot(
                decision.items, offer.contexts.shape[0], dtype=FLOAT
            )  # (b, k, K), 0 for -1
            shares = jnp.where(decision.healthy[:, None, None], shares, jnp.nan)
            counted = (index * _TOGETHER + jnp.arange(_TOGETHER) < draws)[:, None, None]
            return total + jnp.sum(jnp.where(counted, shares, 0.0), axis=0)

        zero = jnp.zeros((policy.chooser.size, offer.contexts.shape[0]), FLOAT)
        rounds = (draws + _TOGETHER - 1) // _TOGETHER
        return jax.lax.fori_loop(0, rounds, add, zero) / draws.astype(FLOAT)

    return jax.lax.map(one, (events, contexts, mask))


def _stepped(
    policy: Policy,
    state: State,
    key: Array,
    events: Any,
    contexts: Array,
    count: Array,
    mask: Array,
    draws: int,
) -> npt.NDArray[np.float64]:
    """The same for choosers that run on the host: scores are compiled, choices made one by one."""
    shares = np.zeros((len(events), policy.chooser.size, contexts.shape[1]))
    for row, number in enumerate(events.tolist()):
        keys = jax.vmap(partial(jax.random.fold_in, jax.random.fold_in(key, number)))(jnp.arange(draws))
        offer = Offer(contexts[row], mask[row])
        for choice in draw_on_host(policy, state, keys, offer, count):
            items = np.asarray(choice.items)
            slots = np.flatnonzero(items >= 0)
            shares[row, slots, items[slots]] += 1.0 / draws
            if not bool(choice.feasible):
                shares[row] = np.nan
    return shares


def _require_all(where: str, policy: Policy, chances: Any, first: int) -> None:
    """Refuse exact chances that leave a slot empty: of scores that are NaN, or of too few arms on offer."""
    totals = chances.reshape(chances.shape[0], -1).sum(axis=1)
    _require_sound(where, policy, np.abs(totals - policy.chooser.size) < 1e-6, first)


def _require_sound(where: str, policy: Policy, sound: Any, first: int) -> None:
    bad = np.flatnonzero(~sound)
    if bad.size:
        must = "policy must give a sound decision in every event"
        raise ValueError(f"{where}: {must}, got none of {policy.name} at {first + bad[0]}")
