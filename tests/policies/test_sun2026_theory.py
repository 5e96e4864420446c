"""The settings of sun2026's theorems 5.5 and 5.11, against the formulas of the paper."""

import math

import pytest
from scipy.stats import norm

import superarm
from superarm.policies.sun2026_theory import design_rounds, theorem_size


def members(arms, rounds, delta, p):
    """Lemmas A.6 and C.7."""
    return math.ceil(8 / p**2 * (arms * math.log(rounds) + math.log(1 / delta)))


@pytest.mark.parametrize(("dim", "delta"), [(3, 0.1), (2, 1e-4)])
def test_glm_es_has_theorem_5_5(dim, delta):
    policy = superarm.glm_es_theory(
        dim=dim,
        num_arms=4,
        rounds=20_000,
        delta=delta,
        perturbation_constant=0.7,
        warmup_constant=0.1,
        memory="arms",
    )
    ensemble = policy.model.model
    assert float(ensemble.model.ridge) == pytest.approx(max(1.0, dim, math.log(1 / delta)))
    assert float(ensemble.model.fitting.penalty) == pytest.approx(max(1.0, dim, math.log(1 / delta)))
    assert float(ensemble.scale) == pytest.approx(0.7 * math.sqrt(dim * math.log(20_000)))
    assert policy.explorer.rounds == math.ceil(0.1 * dim**4 * math.log(20_000) ** 3)
    assert ensemble.size == members(4, 20_000, delta, 1 - norm.cdf(1))  # p_N of lemma A.6


def test_neural_es_has_theorem_5_11():
    sigma, spread, bound, rho, ridge, layers, units, rounds = 0.5, 3.0, 0.8, 0.2, 2.0, 3, 6, 400
    policy = superarm.neural_es_theory(
        num_arms=5,
        rounds=rounds,
        noise=sigma,
        effective_dim=spread,
        norm_bound=bound,
        coverage=rho,
        delta=0.05,
        ridge=ridge,
        units=units,
        depth=layers,
        rate_constant=0.4,
    )
    alpha = sigma * math.sqrt(spread * math.log(1 + rounds * layers**2 / (ridge * spread)))
    alpha += math.sqrt(ridge) * bound
    assert float(policy.model.scale) == pytest.approx(alpha * math.sqrt((ridge + rho) / rho))
    fitting = policy.model.model.fitting
    step = float(fitting.learning_rate) * policy.model.model.network.speed  # on the raw parameters
    assert step == pytest.approx(0.4 / (units * rounds * layers + units * ridge))
    assert float(fitting.penalty) == pytest.approx(units * ridge)  # N lambda / 2 |theta - theta_0|^2
    assert policy.model.size == members(5, rounds, 0.05, 1 / (4 * math.e * math.sqrt(math.pi)))


def test_the_least_ridge_and_the_rounds_of_a_design():
    """lambda >= max(1, S^-2); tau = 1.5 iota^2 d / mu'_min of lemma B.4."""
    settings = {"num_arms": 3, "rounds": 100, "noise": 0.5, "effective_dim": 2.0, "coverage": 0.5, "size": 2}
    policy = superarm.neural_es_theory(norm_bound=0.5, **settings)
    assert float(policy.model.model.ridge) == 4.0
    with pytest.raises(ValueError, match=r"ridge must be at least max\(1, 1 / norm_bound\^2\) = 4, got 3"):
        superarm.neural_es_theory(norm_bound=0.5, ridge=3.0, **settings)
    assert design_rounds(7, 1.3, 0.2) == math.ceil(1.5 * 1.3**2 * 7 / 0.2)
    assert theorem_size(50, 10_000, 0.1) == members(50, 10_000, 0.1, 1 - norm.cdf(1))
