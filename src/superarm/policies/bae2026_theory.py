"""Neural logistic bandits as written: Algorithms 1 and 2 of Bae & Lee (2026), ICML, and appendix I.

The network of the theorems, f = sqrt(m) W_L relu(...) with f = 0 at the start; gradients at theta_0; every
round a fit from theta_0 to the summed loss + (m lambda_t / 2) |theta - theta_0|^2; full matrices

    V_t = kappa lambda_t I + sum g g' / m,    W_t = lambda_t I + sum mu'(f(x_i; theta_i)) g g' / m

with the lambda_t, iota_t, nu_t of equations 1 to 4, whose constants are arguments. Each round costs a
factorization of a p x p matrix: small problems only. Theorems of Thompson sampling hold nu at its last value,
nu_T; here it is that of the round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Required, TypedDict, Unpack

import jax
import numpy as np

from superarm import checks
from superarm.contract import Explorer, Oracle
from superarm.explorers import UCB, Responses, Thompson
from superarm.models import EffectiveDimension, perceptron
from superarm.models.factory import neural
from superarm.models.networks import Precision
from superarm.policies.parts import chosen_by
from superarm.policy import Policy
from superarm.precision import leaf
from superarm.schedules import BernsteinRadius, BernsteinRate, BernsteinRidge, bernstein
from superarm.schedules.bernstein_tails import VARIANCE
from superarm.widths import Full, Gram

__all__ = [
    "neural_log_ts_1_theory",
    "neural_log_ts_2_theory",
    "neural_log_ucb_1_theory",
    "neural_log_ucb_2_theory",
]


class Constants(TypedDict, total=False):
    """Settings of the presets: the constants of the theorems, and the network."""

    norm_bound: Required[float]
    delta: Required[float]
    units: int
    depth: int
    learning_rate: float | None
    steps: int
    c1: float
    c5: float
    c_radius: float
    precision: Precision


@checks.named
def neural_log_ucb_1_theory(
    oracle: Oracle | None = None, *, kappa: float, **constants: Unpack[Constants]
) -> Policy:
    """Algorithm 1: mu(f(x; theta)) + R sqrt(kappa) nu_t ||g(x; theta_0) / sqrt(m)||_{V_t^-1}.

    Args:
        oracle: solves the offline problem over expected rewards; None to choose one arm.
        kappa: 1 / the least variance of a reward.
        constants: norm_bound (S), delta; units (m, 20), depth (L, 2), steps (J, 100); learning_rate (eta m;
            by default c5 / (t L + lambda_t), after Condition 4.4), c5 (C_5, 1), c1 (C_1, 1), c_radius (C_6
            or C_7, 1); precision ("float32").

    >>> import superarm
    >>> superarm.neural_log_ucb_1_theory(kappa=10.0, norm_bound=1.0, delta=0.1).learn_every
    1
    """
    where = "neural_log_ucb_1_theory"
    kappa = checks.positive(where, "kappa", kappa)
    theory = _Theory(where, oracle, kappa=kappa, weighted=False, **_known(where, constants))
    return theory.policy(UCB(radius=theory.radius(VARIANCE * np.sqrt(kappa)), link="logistic"))


@checks.named
def neural_log_ucb_2_theory(oracle: Oracle | None = None, **constants: Unpack[Constants]) -> Policy:
    """Algorithm 2: g(x; theta_0)'(theta - theta_0) + nu_t ||g(x; theta_0) / sqrt(m)||_{W_t^-1}.

    Arguments as in `neural_log_ucb_1_theory`, without kappa.

    >>> import superarm
    >>> superarm.neural_log_ucb_2_theory(norm_bound=1.0, delta=0.1).model.linearized
    True
    """
    where = "neural_log_ucb_2_theory"
    theory = _Theory(where, oracle, weighted=True, linearized=True, **_known(where, constants))
    return theory.policy(theory.through(UCB(radius=theory.radius(1.0))))


@checks.named
def neural_log_ts_1_theory(
    oracle: Oracle | None = None, *, kappa: float, **constants: Unpack[Constants]
) -> Policy:
    """Appendix I: draws around f(x; theta) with sd sqrt(kappa) nu_t ||g(x; theta_0) / sqrt(m)||_{V_t^-1}.

    Arguments as in `neural_log_ucb_1_theory`.

    >>> import superarm
    >>> superarm.neural_log_ts_1_theory(kappa=10.0, norm_bound=1.0, delta=0.1).learn_every
    1
    """
    where = "neural_log_ts_1_theory"
    kappa = checks.positive(where, "kappa", kappa)
    theory = _Theory(where, oracle, kappa=kappa, weighted=False, **_known(where, constants))
    return theory.policy(theory.through(Thompson(scale=theory.radius(np.sqrt(kappa)), joint=False)))


@checks.named
def neural_log_ts_2_theory(oracle: Oracle | None = None, **constants: Unpack[Constants]) -> Policy:
    """Appendix I: draws around g(x; theta_0)'(theta - theta_0) with sd nu_t ||g / sqrt(m)||_{W_t^-1}.

    Arguments as in `neural_log_ucb_1_theory`, without kappa.

    >>> import superarm
    >>> superarm.neural_log_ts_2_theory(norm_bound=1.0, delta=0.1).model.linearized
    True
    """
    where = "neural_log_ts_2_theory"
    theory = _Theory(where, oracle, weighted=True, linearized=True, **_known(where, constants))
    return theory.policy(theory.through(Thompson(scale=theory.radius(1.0), joint=False)))


def _known(where: str, constants: Constants) -> Constants:
    """Return the constants; all must be known, and the two without a default given."""
    given: Mapping[str, Any] = constants
    checks.keywords(where, given, Constants)
    for name in ("norm_bound", "delta"):
        if name not in given:
            raise TypeError(f"{where}: {name} must be given")
        checks.real(where, name, given[name])
    return constants


class _Theory:
    """What the four share."""

    def __init__(
        self,
        where: str,
        oracle: Oracle | None,
        *,
        weighted: bool,
        linearized: bool = False,
        kappa: Any = 1.0,
        norm_bound: float,
        delta: float,
        units: int = 20,
        depth: int = 2,
        learning_rate: float | None = None,
        steps: int = 100,
        c1: float = 1.0,
        c5: float = 1.0,
        c_radius: float = 1.0,
        precision: Precision = "float32",
    ) -> None:
        self.where, self.oracle, self.chooser = where, oracle, chosen_by(where, oracle)
        checks.positive(where, "norm_bound", norm_bound)
        self.constants = bernstein(norm_bound=norm_bound, delta=delta, depth=depth, c1=c1)
        self.c_radius = checks.positive(where, "c_radius", c_radius)
        with jax.enable_x64(True):
            share = leaf(VARIANCE / self.constants.first_ridge)
        network = perceptron(width=units, depth=depth, parametrization="ntk", precision=precision)
        self.model = neural(
            network,
            ridge=BernsteinRidge(self.constants, leaf(kappa)),
            row_scale=1.0 / math.sqrt(units),
            loss="logistic",
            learning_rate=BernsteinRate(self.constants, checks.positive(where, "c5", c5))
            if learning_rate is None
            else learning_rate,
            penalty=BernsteinRidge(self.constants, leaf(units)),
            steps=steps,
            restart=True,
            weights="fit" if weighted else "none",
            gradients="first",
            linearized=linearized,
            dimension=EffectiveDimension(share, Full()),
        )

    def radius(self, scale: Any) -> BernsteinRadius:
        """Return nu_t times `scale`."""
        return BernsteinRadius(self.constants, self.c_radius, leaf(scale), size=self.chooser.size)

    def through(self, explorer: Explorer) -> Explorer:
        """Return the explorer, on the scale of rewards where sets are chosen."""
        return explorer if self.oracle is None else Responses(explorer, "logistic")

    def policy(self, explorer: Explorer) -> Policy:
        """Return the policy."""
        return Policy(
            model=self.model, width=Gram(), explorer=explorer, chooser=self.chooser, name=self.where
        )
