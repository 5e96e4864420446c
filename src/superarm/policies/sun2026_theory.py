"""Ensemble sampling with the settings of the theorems (5.5 and 5.11 of sun2026).

They are for proofs: at K = 50 arms and T = 10,000 rounds theorem 5.5 asks for about 150,000 members. What the
paper states up to a constant has that constant as an argument.
"""

from __future__ import annotations

import math
from typing import Unpack

from superarm import checks
from superarm.contract import Oracle
from superarm.models import perceptron
from superarm.models.factory import Keeping, neural
from superarm.policies.sun2026 import GlmEsSettings, glm_es, neural_es
from superarm.policy import Policy

__all__ = ["glm_es_theory", "neural_es_theory"]

OPTIMISM_GLM = 0.5 * math.erfc(1.0 / math.sqrt(2.0))  # p_N = 1 - Phi(1), lemma A.6
OPTIMISM_NEURAL = 1.0 / (4.0 * math.e * math.sqrt(math.pi))  # p'_N, lemma C.6


def theorem_size(num_arms: int, rounds: int, delta: float, optimism: float = OPTIMISM_GLM) -> int:
    """Return m = 8 / p^2 (K log T + log 1 / delta), rounded up: lemmas A.6 and C.7.

    >>> theorem_size(2, 100, 0.1, optimism=1.0)
    93
    """
    return math.ceil(8.0 / optimism**2 * (num_arms * math.log(rounds) + math.log(1.0 / delta)))


def design_rounds(dim: int, sharpness: float, least_slope: float) -> int:
    """Return tau = 1.5 iota^2 d / mu'_min of lemma B.4: after it |x| <= 1 / iota in the norm of H_t^-1.

    >>> design_rounds(20, 2.0, 0.25)
    480
    """
    return math.ceil(1.5 * sharpness**2 * dim / least_slope)


@checks.named
def glm_es_theory(
    oracle: Oracle | None = None,
    *,
    dim: int,
    num_arms: int,
    rounds: int,
    delta: float = 0.1,
    perturbation_constant: float = 1.0,
    warmup_constant: float = 1.0,
    size: int | None = None,
    **settings: Unpack[GlmEsSettings],
) -> Policy:
    """GLM-ES with theorem 5.5's settings for T rounds.

        lambda = max(1, d, log 1/delta),  m = 8 / p_N^2 (K log T + log 1/delta),
        sigma_R = c (d log T)^(1/2),  tau = c' d^4 (log T)^3

    Args:
        oracle: solves the offline problem over expected rewards; None to choose one arm.
        dim: d.
        num_arms: K.
        rounds: T.
        delta: the bound holds with probability 1 - 4 delta.
        perturbation_constant: c.
        warmup_constant: c'.
        size: m, where the theorem's is too many.
        settings: link, memory and others of `glm_es`.

    >>> policy = glm_es_theory(dim=2, num_arms=3, rounds=1000, warmup_constant=0.1, size=10, memory="arms")
    >>> float(policy.model.model.model.ridge), policy.explorer.rounds
    (2.302585092994046, 528)
    """
    where = "glm_es_theory"
    dim, num_arms = checks.count(where, "dim", dim), checks.count(where, "num_arms", num_arms)
    log_rounds = math.log(checks.count(where, "rounds", rounds, low=2))
    delta = _probability(where, delta)
    constants = [
        float(checks.positive(where, name, value))
        for name, value in (
            ("perturbation_constant", perturbation_constant),
            ("warmup_constant", warmup_constant),
        )
    ]
    warmup = math.ceil(constants[1] * dim**4 * log_rounds**3)
    if warmup >= rounds:
        must = "the warm-up must leave rounds: lower warmup_constant or ask for more rounds"
        raise ValueError(f"{where}: {must}, got {warmup} of {rounds}")
    return glm_es(
        oracle,
        size=size or theorem_size(num_arms, rounds, delta),
        perturbation=constants[0] * math.sqrt(dim * log_rounds),
        ridge=max(1.0, float(dim), math.log(1.0 / delta)),
        warmup=warmup,
        **settings,
    )


@checks.named
def neural_es_theory(
    oracle: Oracle | None = None,
    *,
    num_arms: int,
    rounds: int,
    noise: float,
    effective_dim: float,
    norm_bound: float,
    coverage: float,
    delta: float = 0.1,
    ridge: float | None = None,
    units: int = 100,
    depth: int = 2,
    rate_constant: float = 1.0,
    steps: int = 100,
    size: int | None = None,
    **fitting: Unpack[Keeping],
) -> Policy:
    """Neural-ES with theorem 5.11's settings for T rounds, on the network of section 4.3.

        alpha_T = sigma (d~ log(1 + T L^2 / (lambda d~)))^(1/2) + lambda^(1/2) S,
        sigma_R = alpha_T ((lambda + rho) / rho)^(1/2),  eta = C (N T L + N lambda)^-1

    Args:
        oracle: solves the offline problem; None to choose one arm.
        num_arms: K.
        rounds: T.
        noise: sigma; the noise is sigma-sub-Gaussian.
        effective_dim: d~ of equation 5.2, see `superarm.ntk`.
        norm_bound: S >= (2 h'H^-1 h)^(1/2).
        coverage: rho of assumption 5.10.
        delta: the bound holds with probability 1 - 4 delta.
        ridge: lambda; by default max(1, S^-2), the least that the theorem allows.
        units: N, even.
        depth: L.
        rate_constant: C, of a step on the raw parameters.
        steps: J.
        size: m, where the theorem's is too many.
        fitting: memory ("all"), learn_every (1): see `superarm.neural`.

    >>> policy = neural_es_theory(
    ...     num_arms=3, rounds=100, noise=0.5, effective_dim=2.0, norm_bound=1.0, coverage=0.5, size=5
    ... )
    >>> round(float(policy.model.scale), 3)
    4.553
    """
    where = "neural_es_theory"
    arms, length = checks.count(where, "num_arms", num_arms), checks.count(where, "rounds", rounds, low=2)
    sigma, dimension, bound, rho, rate = (
        float(checks.positive(where, name, value))
        for name, value in (
            ("noise", noise),
            ("effective_dim", effective_dim),
            ("norm_bound", norm_bound),
            ("coverage", coverage),
            ("rate_constant", rate_constant),
        )
    )
    least = max(1.0, bound**-2)
    penalty = least if ridge is None else float(checks.positive(where, "ridge", ridge))
    if penalty < least:
        raise ValueError(f"{where}: ridge must be at least max(1, 1 / norm_bound^2) = {least:g}, got {ridge}")
    spread = dimension * math.log(1.0 + length * depth**2 / (penalty * dimension))
    deviation = sigma * math.sqrt(spread) + math.sqrt(penalty) * bound
    step = rate / (units * length * depth + units * penalty)
    model = neural(
        perceptron(width=units, depth=depth, parametrization="ntk"),
        ridge=penalty,
        learning_rate=step * units,  # the network's own scale divides it by N
        steps=steps,
        restart=True,
        **fitting,
    )
    return neural_es(
        oracle,
        model,
        size=size or theorem_size(arms, length, _probability(where, delta), OPTIMISM_NEURAL),
        perturbation=deviation * math.sqrt((penalty + rho) / rho),
    )


def _probability(where: str, delta: float) -> float:
    value = float(checks.positive(where, "delta", delta))
    if value >= 1.0:
        raise ValueError(f"{where}: delta must be below 1, got {delta}")
    return value
