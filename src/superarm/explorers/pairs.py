"""Explorers of duels: what is said of all pairs of arms, from one n x n covariance.

    squared width of a pair  |phi_i - phi_j|^2 = C_ii + C_jj - 2 C_ij,   C = F V^-1 F'

oh2026, section 4.2. The chooser `Duel` turns it into two arms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from superarm.contract import Explorer, Special
from superarm.models.layers import LayerScores
from superarm.precision import FLOAT
from superarm.pytree import pytree, static
from superarm.schedules.radius import Radius
from superarm.types import Array, DuelScores, PairScores
from superarm.widths.pairs import distances

__all__ = ["PairColstim", "PairEnsemble", "PairLayers", "PairThompson", "PairUCB", "PairUniform"]


class PairExplorer(Explorer):
    """An explorer whose scores are of pairs of arms."""

    @property
    def compares(self) -> bool:
        """True."""
        return True


def pair_widths(beliefs: Any) -> Array:
    """(n, n) |phi_i - phi_j| in the norm of V^-1."""
    return distances(beliefs.covariance().astype(FLOAT))


@pytree
@dataclass(frozen=True)
class PairUCB(PairExplorer):
    """Optimism: a pair's bonus is a_t times its width."""

    radius: Radius

    def scores(self, key: Array, beliefs: Any, count: Array) -> PairScores:
        """What is said of all pairs; nothing is random."""
        widths = pair_widths(beliefs)
        reach = self.radius.at(count, beliefs.logdet) * widths
        return PairScores(mean=beliefs.mean, reach=reach, bonus=reach, spread=widths)


@pytree
@dataclass(frozen=True)
class PairThompson(PairExplorer):
    """Thompson sampling: a pair's bonus is drawn from N(0, (a_t width)^2), apart from the others.

    Args:
        radius: a_t.
        listing: draw the spread of candidates as the listings of appendix E.2.2 do, from N(s, (s^2 / 4)^2)
            with s = a_t width; otherwise as section 4.2 writes, its square from N(w^2, w^4 / (4 log(K t^2))).
    """

    radius: Radius
    listing: bool = static(default=False)

    def scores(self, key: Array, beliefs: Any, count: Array) -> PairScores:
        """What is said of all pairs."""
        widths = pair_widths(beliefs)
        reach = self.radius.at(count, beliefs.logdet) * widths
        normals = jax.random.normal(key, reach.shape, FLOAT)
        if self.listing:
            spread = reach + 0.25 * reach**2 * normals
        else:
            rounds = (count + 1).astype(FLOAT)
            scale = 0.5 / jnp.sqrt(jnp.maximum(jnp.log(reach.shape[0] * rounds**2), 1e-12))
            spread = widths**2 * (1.0 + scale * normals)
        return PairScores(mean=beliefs.mean, reach=reach, bonus=reach * normals, spread=spread)


@pytree
@dataclass(frozen=True)
class PairLayers(PairExplorer):
    """What the layers of a `Layered` model say: the chooser `LayeredDuel` goes down through them."""

    def scores(self, key: Array, beliefs: Any, count: Array) -> LayerScores:
        """All layers; nothing is random."""
        layers: LayerScores = beliefs.layers
        return layers

    @property
    def pair_scores(self) -> type[DuelScores]:
        """Those of layers."""
        return LayerScores

    @property
    def needs(self) -> frozenset[Special]:
        """Layers."""
        return frozenset({"layers"})


@pytree
@dataclass(frozen=True)
class PairEnsemble(PairExplorer):
    """Two members of an ensemble, drawn apart: one chooses the first arm, the other the second.

    With the asymmetric duel this is double ensemble sampling; the reach is the members' spread.
    """

    def scores(self, key: Array, beliefs: Any, count: Array) -> PairScores:
        """What is said of all pairs."""
        members = beliefs.members
        first, second = members[jax.random.randint(key, (2,), 0, members.shape[0])]
        apart = members - jnp.mean(members, axis=0, keepdims=True)
        reach = distances(apart.T @ apart / members.shape[0])  # the deviation of differences over members
        bonus = jnp.broadcast_to((second - first)[:, None], reach.shape)
        return PairScores(mean=first, reach=reach, bonus=bonus, spread=reach)

    @property
    def needs(self) -> frozenset[Special]:
        """Members."""
        return frozenset({"members"})


@pytree
@dataclass(frozen=True)
class PairUniform(PairExplorer):
    """Two arms by chance."""

    def scores(self, key: Array, beliefs: Any, count: Array) -> PairScores:
        """Random bonuses, and nothing else."""
        num_arms = beliefs.mean.shape[0]
        chance = jax.random.uniform(key, (num_arms, num_arms), FLOAT)
        zeros = jnp.zeros_like(chance)
        return PairScores(mean=zeros[0], reach=zeros, bonus=chance, spread=chance)


@pytree
@dataclass(frozen=True)
class PairColstim(PairExplorer):
    """CoLSTIM: utilities perturbed in proportion to their widths choose the first arm, optimism the second.

    Args:
        radius: c, of the second arm's bonus.
        threshold: perturbations are Gumbel draws cut off at +- this.
    """

    radius: Radius
    threshold: Array

    def scores(self, key: Array, beliefs: Any, count: Array) -> PairScores:
        """What is said of all pairs."""
        widths = pair_widths(beliefs)
        reach = self.radius.at(count, beliefs.logdet) * widths
        draws = jnp.clip(jax.random.gumbel(key, beliefs.mean.shape, FLOAT), -self.threshold, self.threshold)
        perturbed = beliefs.mean + draws * beliefs.norms()
        # The challenger is judged by its utility as it is.
        bonus = (beliefs.mean - perturbed)[:, None] + reach
        return PairScores(mean=perturbed, reach=reach, bonus=bonus, spread=widths)
