"""One row per preset: how it is built small, what it can learn, and how its bad arguments are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import superarm
from superarm import policies
from superarm.policy import Policy
from superarm.types import Spec

SET = superarm.top_k(3)
SPEC = Spec(dim=4, num_arms=8, capacity=150)


@dataclass(frozen=True)
class Row:
    build: Callable[..., Policy]
    learns: bool = True
    binary: bool = False
    logistic: bool = False
    bad: tuple[tuple[dict, str], ...] = ()


def windowed():
    """A neural model as in hwang2023's figures, small."""
    network = superarm.perceptron(width=8)
    return superarm.neural(network, learn_every=5, steps=20, memory="window", memory_size=50)


def hoarding():
    """A neural model as in the experiments of NeuralUCB, small; it keeps all that it observed."""
    return superarm.neural(
        superarm.perceptron(width=8, biases=True),
        learning_rate=0.3,
        penalty=1.0,
        anchored=False,
        reduction="mean",
        row_scale=1.0,
        steps=20,
        learn_every=5,
    )


LINEAR_BAD = (
    ({"noise": -1.0}, "noise must be > 0, got -1.0"),
    ({"noise": float("nan")}, "noise must be finite, got nan"),
    ({"prior_scale": 0}, "prior_scale must be > 0, got 0"),
    ({"prior_scale": "big"}, "prior_scale must be a number, got str"),
    ({"width": "wide"}, "width must be one of 'full', 'diagonal', 'sketched', got 'wide'"),
)
NEURAL_BAD = (
    (
        {"width": "wide"},
        "width must be one of 'auto', 'full', 'dual', 'sketched', 'diagonal', 'last-layer', got 'wide'",
    ),
    ({"width": 3}, "width must extend superarm.contract.Width, got int"),
    ({"model": superarm.perceptron()}, "model must extend superarm.contract.Model, got Perceptron"),
)
SCALE_BAD = (
    ({"scale": -1.0}, "scale must be >= 0, got -1.0"),
    ({"draws": 0}, "draws must be >= 1, got 0"),
)
SET_BAD = (({"oracle": 3}, "oracle must extend superarm.contract.Oracle, got int"),)

BOUNDS_BAD = (
    ({"kappa": 0.0}, "kappa must be > 0, got 0.0"),
    ({"norm_bound": -1.0}, "norm_bound must be > 0, got -1.0"),
)
LOG_BAD = (
    *BOUNDS_BAD,
    *SET_BAD,
    ({"nu": -0.1}, "nu must be >= 0, got -0.1"),
    ({"ridge": 0.0}, "ridge must be > 0, got 0.0"),
    ({"width": "wide"}, "width must be one of 'diagonal', 'full', got 'wide'"),
)


def unknown(names):
    """A bad argument that is like none of the names."""
    known = ", ".join(repr(name) for name in names.split())
    return {"speed": 2}, f"an argument must be one of {known}, got 'speed'"


def logistic_row(build, **settings):
    """A preset of bae2026's experiments, small; half of them choose sets."""
    small = {"nu": 0.01, "ridge": 0.1, "learning_rate": 0.5, "steps": 20, "learn_every": 5, **settings}
    names = f"oracle nu ridge kappa norm_bound {'units ' if 'units' in settings else ''}"
    training = "learning_rate optimizer steps learn_every memory memory_size width"
    bad = (*LOG_BAD, unknown(names + training))
    return Row(lambda **kw: build(**{**small, **kw}), logistic=True, bad=bad)


def theory_row(build, **constants):
    """A preset of bae2026's algorithms as written, small; its radius is shrunk to that of a short run."""
    small = {"norm_bound": 10.0, "delta": 0.1, "units": 6, "steps": 20, "c1": 0.1, "c_radius": 1e-5}
    names = "norm_bound delta units depth learning_rate steps c1 c5 c_radius precision"
    own = f"oracle {'kappa ' if 'kappa' in constants else ''}"
    bad = (
        *SET_BAD,
        BOUNDS_BAD[1],
        ({"delta": "small"}, "delta must be a number, got str"),
        unknown(own + names),
        *(BOUNDS_BAD[:1] if "kappa" in constants else ()),
    )
    return Row(lambda **kw: build(**{**small, **constants, **kw}), learns=False, bad=bad)


ENSEMBLE_BAD = (
    ({"size": 0}, "size must be >= 1, got 0"),
    ({"perturbation": -1.0}, "perturbation must be >= 0, got -1.0"),
)
LINK_BAD = (({"link": "probit"}, "link must be one of 'identity', 'logistic', 'poisson', got 'probit'"),)
WARM = {"warmup": 10, "plan": "uniform", "learn_every": 5}
THEORY = {
    "num_arms": 8,
    "rounds": 150,
    "noise": 0.1,
    "effective_dim": 2.0,
    "norm_bound": 1.0,
    "coverage": 0.5,
    "units": 6,
    "steps": 5,
}

ROWS = {
    "neural_log_ucb_1": logistic_row(policies.neural_log_ucb_1, units=8),
    "neural_log_ucb_2": logistic_row(policies.neural_log_ucb_2, units=8, oracle=SET),
    "neural_log_ts_1": logistic_row(policies.neural_log_ts_1, units=8, oracle=SET),
    "neural_log_ts_2": logistic_row(policies.neural_log_ts_2, units=8),
    "ncbf_ucb": logistic_row(policies.ncbf_ucb, units=8, oracle=SET),
    "logistic_ucb_1": logistic_row(policies.logistic_ucb_1),
    "ada_ofu_ecolog": logistic_row(policies.ada_ofu_ecolog, oracle=SET),
    "neural_log_ucb_1_theory": theory_row(policies.neural_log_ucb_1_theory, kappa=5.0),
    "neural_log_ucb_2_theory": theory_row(policies.neural_log_ucb_2_theory, oracle=SET),
    "neural_log_ts_1_theory": theory_row(policies.neural_log_ts_1_theory, kappa=5.0, oracle=SET),
    "neural_log_ts_2_theory": theory_row(policies.neural_log_ts_2_theory),
    "glm_ucb": Row(
        lambda **kw: policies.glm_ucb(**{"oracle": SET, "radius": 0.1, **kw}),
        logistic=True,
        bad=(*SET_BAD, LINEAR_BAD[-1], ({"radius": -1}, "radius must be >= 0, got -1")),
    ),
    "logistic_ts": Row(policies.logistic_ts, logistic=True, bad=(*SET_BAD, *SCALE_BAD, LINEAR_BAD[-1])),
    "logistic_ucb_1_original": Row(
        lambda **kw: policies.logistic_ucb_1_original(**{"dim": 4, "radius": 0.5, **kw}),
        logistic=True,
        bad=(*SET_BAD, ({"dim": 0}, "dim must be >= 1, got 0")),
    ),
    "ecolog": Row(
        lambda **kw: policies.ecolog(**{"oracle": SET, "radius": 0.3, **kw}),
        logistic=True,
        bad=(*SET_BAD, BOUNDS_BAD[1], LINEAR_BAD[-1], ({"ridge": 0.0}, "ridge must be > 0, got 0.0")),
    ),
    "cn_ucb": Row(
        lambda **kw: policies.cn_ucb(**{"oracle": SET, "model": windowed(), "radius": 0.3, **kw}),
        bad=(
            *NEURAL_BAD,
            *SET_BAD,
            ({"radius": -1}, "radius must be >= 0, got -1"),
            ({"offset": float("nan")}, "offset must be finite, got nan"),
        ),
    ),
    "cn_ts": Row(
        lambda **kw: policies.cn_ts(**{"oracle": SET, "model": windowed(), "scale": 0.3, "draws": 2, **kw}),
        bad=(*NEURAL_BAD, *SCALE_BAD, *SET_BAD, ({"offset": "much"}, "offset must be a number, got str")),
    ),
    "neural_ucb": Row(
        lambda **kw: policies.neural_ucb(**{"model": hoarding(), "radius": 0.1, **kw}),
        bad=(*NEURAL_BAD, ({"radius": "wide"}, "radius must be a number, got str")),
    ),
    "neural_ts": Row(
        lambda **kw: policies.neural_ts(**{"model": hoarding(), "scale": 0.1, **kw}),
        bad=(*NEURAL_BAD, *SCALE_BAD),
    ),
    "lin_ucb": Row(
        lambda **kw: policies.lin_ucb(**{"noise": 0.1, **kw}),
        bad=(*LINEAR_BAD, ({"radius": -1}, "radius must be >= 0, got -1")),
    ),
    "lin_ts": Row(
        lambda **kw: policies.lin_ts(**{"noise": 0.1, **kw}),
        bad=(*LINEAR_BAD, ({"draws": 0}, "draws must be >= 1, got 0")),
    ),
    "comb_lin_ts": Row(
        lambda **kw: policies.comb_lin_ts(**{"oracle": SET, "noise": 0.1, **kw}), bad=LINEAR_BAD + SET_BAD
    ),
    "comb_lin_ucb": Row(
        lambda **kw: policies.comb_lin_ucb(**{"oracle": SET, "noise": 0.1, **kw}),
        bad=(*LINEAR_BAD, *SET_BAD, ({"radius": "wide"}, "radius must be a number, got str")),
    ),
    "comb_ucb1": Row(
        lambda **kw: policies.comb_ucb1(**{"oracle": SET, **kw}),
        binary=True,
        bad=(*SET_BAD, ({"scale": 0.0}, "scale must be > 0, got 0.0")),
    ),
    "comb_ts": Row(
        lambda **kw: policies.comb_ts(**{"oracle": SET, **kw}),
        binary=True,
        bad=(*SET_BAD, ({"prior_wins": 0.0}, "prior_wins must be > 0, got 0.0")),
    ),
    "epsilon_greedy": Row(
        lambda **kw: policies.epsilon_greedy(**{"oracle": SET, "noise": 0.1, **kw}),
        bad=(*LINEAR_BAD, ({"epsilon": 1.5}, "epsilon must be between 0 and 1, got 1.5")),
    ),
    "uniform": Row(lambda **kw: policies.uniform(**{"oracle": SET, **kw}), learns=False, bad=SET_BAD),
    "lin_es": Row(
        lambda **kw: policies.lin_es(**{"oracle": SET, "size": 4, **kw}),
        bad=(*SET_BAD, *ENSEMBLE_BAD, LINEAR_BAD[-1]),
    ),
    "glm_es": Row(
        lambda **kw: policies.glm_es(**{**WARM, "oracle": SET, "size": 3, **kw}),
        logistic=True,
        bad=(*SET_BAD, *ENSEMBLE_BAD, *LINK_BAD, ({"size": "many"}, "size must be a whole number, got str")),
    ),
    "neural_es": Row(
        lambda **kw: policies.neural_es(**{"model": hoarding(), "size": 3, "warmup": 0, **kw}),
        bad=(*SET_BAD, *ENSEMBLE_BAD),
    ),
    "lin_phe": Row(
        lambda **kw: policies.lin_phe(**{"oracle": SET, "perturbation": 0.1, **kw}),
        bad=(*SET_BAD, ENSEMBLE_BAD[1]),
    ),
    "glm_fpl": Row(
        lambda **kw: policies.glm_fpl(**{**WARM, "perturbation": 0.1, **kw}),
        logistic=True,
        bad=(*SET_BAD, ENSEMBLE_BAD[1], *LINK_BAD),
    ),
    "evill": Row(
        lambda **kw: policies.evill(**{"oracle": SET, "warmup": 0, "learn_every": 5, "scale": 0.3, **kw}),
        logistic=True,
        bad=(*SET_BAD, SCALE_BAD[0], *LINK_BAD),
    ),
    "glm_tsl": Row(
        lambda **kw: policies.glm_tsl(**{**WARM, **kw}), logistic=True, bad=(*SET_BAD, SCALE_BAD[0])
    ),
    "neural_phe": Row(
        lambda **kw: policies.neural_phe(**{"model": hoarding(), **kw}), bad=(*SET_BAD, ENSEMBLE_BAD[1])
    ),
    "glm_es_theory": Row(
        lambda **kw: policies.glm_es_theory(
            **{"dim": 4, "num_arms": 8, "rounds": 150, "warmup_constant": 1e-4, "size": 3, **kw}
        ),
        learns=False,
        bad=(
            ({"delta": 2.0}, "delta must be below 1, got 2.0"),
            ({"dim": 0}, "dim must be >= 1, got 0"),
        ),
    ),
    "neural_es_theory": Row(
        lambda **kw: policies.neural_es_theory(**{**THEORY, "size": 3, **kw}),
        learns=False,
        bad=(
            ({"ridge": 0.5}, "ridge must be at least max(1, 1 / norm_bound^2) = 1, got 0.5"),
            ({"coverage": 0.0}, "coverage must be > 0, got 0.0"),
        ),
    ),
}

# What makes another policy of a policy, and what chooses two arms: their tests are apart.
WRAPPERS = {"warm_up", "cn_ts_doubling", "cn_ucb_doubling"} | {
    f"{name}_es_anytime" for name in ("lin", "glm", "neural")
}
DUELS = {
    *("colstim", "ensemble_duel", "glm_duel", "max_inp", "max_pair_ucb", "uniform_duel"),
    *("neural_log_duel", "vacdb"),
    *("ndb_ts", "ndb_ucb", "nldb", "nvldb", "nvldb_theory"),
}

# Presets whose parts other rows have, too: `make test-full` has them.
ALIKE = {
    "ada_ofu_ecolog",
    "logistic_ucb_1",
    "logistic_ucb_1_original",
    "ncbf_ucb",
    "neural_log_ts_1",
    "neural_log_ts_1_theory",
    "neural_log_ts_2",
    "neural_log_ts_2_theory",
    "neural_log_ucb_1",
    "neural_log_ucb_1_theory",
    "evill",
    "glm_es_theory",
    "glm_fpl",
    "glm_tsl",
    "lin_phe",
    "neural_es_theory",
    "neural_phe",
    "cn_ts",
    "logistic_ts",
    "neural_ts",
}
