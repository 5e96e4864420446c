"""Hwang, Chai & Oh (2023), Combinatorial Neural Bandits, ICML: section 5.

N = 20 arms, K = 4 of them chosen, the return is the sum of their scores. Published are the final regrets of
the authors' own runs, which count noisy scores and draw Thompson samples, each arm apart, with the variance
as the standard deviation. The setting "authors" does the same; the setting "written" draws as the papers'
algorithms say; the setting "tuned" is CN-UCB with other training, chosen on other seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from superarm import checks
from superarm.experiments import rules
from superarm.experiments.claims import Claim
from superarm.experiments.experiment import Experiment, Figure, Plan, Setting
from superarm.experiments.runs import Quantity, elsewhere, total

SEEDS = 20
NEURAL = ("CN-UCB", "CN-TS", "CN-TS-M1")
LINEAR = ("CombLinUCB", "CombLinTS")
LABELS = {
    "written": ("CN-TS", "CN-TS-M1", "CombLinTS"),
    "tuned": ("CN-UCB",),
    "authors": (*NEURAL, *LINEAR),
}
REFERENCE = "Hwang, Chai & Oh (2023), section 5, figure"

COMMON_NOTE = (
    "Regret is counted on expected scores; the published numbers count noisy scores, and are compared "
    "with the same count (realized regret against the best set in hindsight). Contexts are uniform on "
    "the sphere and the noise has standard deviation 0.01, as in the authors' runs; the training is "
    "theirs too, 100 full-batch steps on the last 101 rounds. The exact width is kept in single "
    "precision. 'authors': Thompson draws, CombLinTS's too, of each arm apart and with the variance as "
    "the standard deviation. 'written': as the papers' algorithms say; they explore more. "
    "'tuned': CN-UCB with 50 Adam steps of 0.003 on minibatches of 512 from all history every 10 rounds, and "
    "the diagonal width, chosen for the quadratic score on seeds that are not reported. "
)


@dataclass(frozen=True)
class TopK:
    """Choosing 4 of 20 arms by scores h(x): `TopK(...)(scale)` is the plan.

    Args:
        score: h.
        dim: d.
        rounds: T.
        written: repetitions of Algorithm 2 as written, at paper scale.
        tuned: how the setting "tuned" differs here: biases of the network, radius.
    """

    score: str
    dim: int
    rounds: int
    written: int = 2
    tuned: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, scale: str) -> Plan:
        """Return the plan of a scale."""
        if scale == "smoke":
            world = {"score": self.score, "dim": 6, "width": 16}
            words = "6 features, 16 units, 40 rounds, two policies"
            few = {"authors": ("CN-TS", "CombLinUCB")}
            return Plan(self._settings(world, 2, 2, few), 40, 2, 10, reduced=words)
        world = {"score": self.score, "dim": self.dim, "width": 100}
        if scale == "quick":
            words = f"100 of {self.rounds} rounds, 2 repetitions instead of {SEEDS}"
            return Plan(self._settings(world, 2, 2), 100, 2, 10, reduced=words)
        words = f"{self.written or 'no'} repetitions of the setting 'written'"
        return Plan(self._settings(world, SEEDS, self.written), self.rounds, SEEDS, 10, reduced=words)

    def _settings(
        self,
        world: Mapping[str, Any],
        seeds: int,
        written: int,
        labels: Mapping[str, tuple[str, ...]] = LABELS,
    ) -> tuple[Setting, ...]:
        return tuple(
            Setting(
                name=name,
                environment=partial(_world, world["score"], world["dim"]),
                policies={
                    label: partial(_policy, label, name, world["width"], self._more(name))
                    for label in members
                },
                parameters={
                    **world,
                    "arms": 20,
                    "chosen": 4,
                    "noise": 0.01,
                    "draws": name,
                    **self._more(name),
                },
                seeds=written if name == "written" else seeds,
            )
            for name, members in labels.items()
            if name != "written" or written
        )

    def _more(self, setting: str) -> Mapping[str, Any]:
        return self.tuned if setting == "tuned" else {}


def _world(score: str, dim: int) -> Any:
    from superarm import top_k
    from superarm.environments import nonlinear_scores

    return nonlinear_scores(top_k(4), score=score, dim=dim, num_arms=20, noise=0.01, hindsight=True)


def _policy(label: str, setting: str, units: int, more: Mapping[str, Any], world: Any) -> Any:
    """Build a policy with lambda = gamma = nu = 1, as the paper says for all of them, unless `more` does."""
    import superarm
    from superarm.explorers import Thompson
    from superarm.policies.hwang2023 import cn_figure_model
    from superarm.widths import Dual

    if label == "CombLinUCB":
        return superarm.comb_lin_ucb(world.oracle)
    if label == "CombLinTS":
        plain = superarm.comb_lin_ts(world.oracle)
        apart = Thompson(scale=checks.real(label, "scale", 1.0), joint=False, squared=True)
        return plain if setting == "written" else replace(plain, explorer=apart)
    if setting == "tuned":
        model = _tuned_model(units, biases=more.get("biases", False))
        return superarm.cn_ucb(world.oracle, model, radius=more.get("radius", 1.0), width="diagonal")
    width = Dual(precision="float32")
    model = cn_figure_model(units)
    if label == "CN-UCB":
        return superarm.cn_ucb(world.oracle, model, width=width)
    samples = 1 if label == "CN-TS-M1" else 10
    return superarm.cn_ts(world.oracle, model, draws=samples, squared=setting == "authors", width=width)


def _tuned_model(units: int, *, biases: bool) -> Any:
    """The best of four trainings on seeds 1000 and 1002 of the quadratic score: Adam, from all history."""
    import superarm

    return superarm.neural(
        superarm.perceptron(width=units, biases=biases),
        optimizer="adam",
        learning_rate=0.003,
        steps=50,
        batch=512,
        reduction="mean",
        learn_every=10,
    )


def _regret(label: str, rounds: int, *, setting: str = "authors") -> Quantity:
    return total(setting, label, last=rounds)


def _published(numbers: Mapping[str, float], rounds: int) -> tuple[Claim, ...]:
    """Within 15 % of the published regret, or below it, on the authors' count and settings."""
    return tuple(
        rules.at_most(
            f"{label} has at most 1.15 times the published regret of {value:g} (noisy scores)",
            total("authors", label, column="realized_regret", last=rounds),
            1.15 * value,
        )
        for label, value in numbers.items()
    )


def _sublinear(rounds: int) -> tuple[Claim, ...]:
    return tuple(
        rules.below(
            f"{neural}: regret grows sub-linearly, less in the second half than in the first",
            total("authors", neural, first=rounds // 2 + 1, last=rounds),
            total("authors", neural, last=rounds // 2),
        )
        for neural in NEURAL
    )


def _beats_linear(rounds: int, remark: str = "") -> tuple[Claim, ...]:
    return tuple(
        rules.below(
            f"{neural} has less regret than {linear}{remark}",
            _regret(neural, rounds),
            _regret(linear, rounds),
        )
        for neural in NEURAL
        for linear in LINEAR
    )


def _experiment(
    name: str, title: str, figure: int, plan: Callable[[str], Plan], claims: tuple[Claim, ...], note: str = ""
) -> Experiment:
    return Experiment(
        id=f"hwang2023/{name}",
        title=title,
        reference=f"{REFERENCE} {figure}",
        plan=plan,
        claims=claims,
        note=COMMON_NOTE + note,
        figure=Figure("regret", "round", "cumulative regret"),
    )


WRONG_BASELINE = (
    "The published linear curves pair the features of the chosen arms with the scores of arms 0 to K - 1; "
    "with the index mended CombLinUCB has little regret on a linear score, below CN-UCB's."
)

ONE_SIDE = (
    "With the authors' training a run ends in one of two ways: it learns both sides of the quadratic, "
    "x'a > 0 and x'a < 0, with a noisy regret of 63 to 125, or one side only, with 130 to 150. That decides "
    "the means: of 20 runs CN-UCB is one-sided in 12, CN-TS in 7, CN-TS-M1 in 5; the published means fit "
    "about 5. Compared with the authors' code (network, start, training, contexts, noise), only the "
    "precision of the width and the rounds of the fits differ, 1, 11, 21 there and 10, 20, 30 here; 11 other "
    "seeds showed no effect of the latter, and single precision moves a width by less than 1e-5 of it."
)

OURS = " (not in the paper's figure)"
AT_40, AT_80 = "hwang2023/dim-40", "hwang2023/quadratic"

EXPERIMENTS = (
    _experiment(
        "linear",
        "Combinatorial neural bandits on a linear score, d = 80",
        1,
        TopK("linear", 80, 2000),
        (*_published({"CN-UCB": 29.6, "CN-TS": 30.6, "CN-TS-M1": 33.0}, 2000), *_beats_linear(2000)),
        WRONG_BASELINE,
    ),
    _experiment(
        "quadratic",
        "Combinatorial neural bandits on a quadratic score, d = 80",
        1,
        TopK("quadratic", 80, 2000),
        (
            *_published({"CN-UCB": 90.6, "CN-TS": 88.1, "CN-TS-M1": 94.3}, 2000),
            *_sublinear(2000),
            *_beats_linear(2000),
        ),
        ONE_SIDE,
    ),
    _experiment(
        "cosine",
        "Combinatorial neural bandits on a cosine score, d = 80",
        1,
        # The best of seven on seeds 1000 and 1001, 2,000 rounds: a constant is most of what is to be learned.
        TopK("cosine", 80, 4000, written=0, tuned={"biases": True, "radius": 0.1}),
        (
            *_published({"CN-UCB": 509.3, "CN-TS": 538.7, "CN-TS-M1": 556.6}, 4000),
            *_sublinear(4000),
            *_beats_linear(4000),
        ),
        "Here 'tuned' has biases and a radius of 0.1: without biases a network learns the constant in cos(z) "
        "= 1 - z^2 / 2 + ... only slowly.",
    ),
    _experiment(
        "dim-40",
        "Combinatorial neural bandits on a quadratic score, d = 40",
        2,
        TopK("quadratic", 40, 2000),
        _beats_linear(2000, OURS),
    ),
    _experiment(
        "dim-120",
        "Combinatorial neural bandits on a quadratic score, d = 120",
        2,
        TopK("quadratic", 120, 4000, written=0),
        (
            rules.below(
                "CN-TS has less regret than CN-TS(M=1) when d is large",
                _regret("CN-TS", 4000),
                _regret("CN-TS-M1", 4000),
            ),
            *(
                rules.not_worse(
                    f"{label}: regret grows no faster than d from 40 to {dim} (at t = 2000)",
                    _regret(label, 2000) if dim == 120 else elsewhere(AT_80, _regret(label, 2000)),
                    elsewhere(AT_40, _regret(label, 2000)),
                    limit=dim / 40,
                )
                for label in NEURAL
                for dim in (80, 120)
            ),
            *_beats_linear(4000, OURS),
        ),
    ),
)
