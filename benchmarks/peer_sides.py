"""The sides of `peers.py` that are not superarm, each run in an environment of its own.

Arguments: the side's name, the file of the stream, the most seconds to spend. For every line of the input it
plays the stream anew, and prints what it did as a line of JSON. A side is made from the number
of arms and of features, and has three parts: `form` brings the contexts of a round into the shape that the
library takes, which is not timed; `select` and `update` are. Settings are superarm's, where the library has
them: exploration ALPHA for upper confidence bounds, prior 1 and noise NOISE for Thompson sampling.
"""

from __future__ import annotations

import json
import random
import sys
import time
from types import SimpleNamespace

import numpy as np

ALPHA, NOISE = 0.2, 0.1
FORMING = 4.0  # times the seconds to spend may pass, with what is not timed


class NumpyLinUCB:
    """Sherman-Morrison, all arms at once."""

    def __init__(self, arms, dim):
        self.inverse, self.theta = np.eye(dim), np.zeros(dim)

    def form(self, contexts):
        return contexts

    def select(self, contexts):
        widths = np.sqrt(np.sum((contexts @ self.inverse) * contexts, axis=1))
        return int(np.argmax(contexts @ self.theta + ALPHA * widths))

    def update(self, contexts, item, reward):
        row = contexts[item]
        direction = self.inverse @ row
        growth = 1.0 + row @ direction
        self.theta = self.theta + direction * ((reward - row @ self.theta) / growth)
        self.inverse -= np.outer(direction, direction / growth)


class NumpyLinTS(NumpyLinUCB):
    """The same with a draw of the parameters; features are over the noise."""

    def __init__(self, arms, dim):
        super().__init__(arms, dim)
        self.rng = np.random.default_rng(0)

    def form(self, contexts):
        return contexts / NOISE

    def select(self, contexts):
        normals = self.rng.standard_normal(len(self.theta))
        return int(np.argmax(contexts @ (self.theta + np.linalg.cholesky(self.inverse) @ normals)))

    def update(self, contexts, item, reward):
        super().update(contexts, item, reward / NOISE)


class NumpyDisjoint:
    """One inverse (d, d) per arm, all arms at once."""

    def __init__(self, arms, dim):
        self.inverse, self.theta = np.tile(np.eye(dim), (arms, 1, 1)), np.zeros((arms, dim))

    def form(self, context):
        return context

    def select(self, context):
        return int(np.argmax(self.theta @ context + ALPHA * np.sqrt(self.inverse @ context @ context)))

    def update(self, context, item, reward):
        direction = self.inverse[item] @ context
        growth = 1.0 + context @ direction
        self.theta[item] += direction * ((reward - context @ self.theta[item]) / growth)
        self.inverse[item] -= np.outer(direction, direction / growth)


class ScipyLogistic(NumpyLinUCB):
    """GLM-UCB: in every round a penalized logistic regression of all history, from the last one on."""

    def __init__(self, arms, dim):
        from scipy.optimize import minimize

        super().__init__(arms, dim)
        self.minimize, self.rows, self.rewards = minimize, np.zeros((0, dim)), np.zeros(0)

    def select(self, contexts):
        widths = np.sqrt(np.sum((contexts @ self.inverse) * contexts, axis=1))
        return int(np.argmax(1.0 / (1.0 + np.exp(-contexts @ self.theta)) + ALPHA * widths))

    def update(self, contexts, item, reward):
        row = contexts[item]
        direction = self.inverse @ row
        self.inverse -= np.outer(direction, direction / (1.0 + row @ direction))
        self.rows, self.rewards = np.vstack([self.rows, row]), np.append(self.rewards, reward)
        self.theta = self.minimize(self.loss, self.theta, jac=True, method="L-BFGS-B").x

    def loss(self, theta):
        odds = self.rows @ theta
        value = np.sum(np.logaddexp(0.0, odds) - self.rewards * odds) + 0.5 * theta @ theta
        return value, self.rows.T @ (1.0 / (1.0 + np.exp(-odds)) - self.rewards) + theta


class Vowpal:
    """SquareCB over the actions' features, as text that is parsed once a round."""

    OPTIONS = "--cb_explore_adf --squarecb --gamma_scale 1000 --noconstant --quiet --random_seed 1"

    def __init__(self, arms, dim):
        from vowpalwabbit import Workspace

        self.workspace, self.arms = Workspace(self.OPTIONS), range(arms)
        self.rng = random.Random(0)  # noqa: S311 (a simulation)

    def form(self, contexts):
        words = [" ".join(f"{index}:{value:.7g}" for index, value in enumerate(row)) for row in contexts]
        return SimpleNamespace(text=["|a " + features for features in words])

    def select(self, offer):
        offer.examples = self.workspace.parse(offer.text)
        return self.draw(offer)

    def draw(self, offer):
        offer.chances = self.workspace.predict(offer.examples)
        return self.rng.choices(self.arms, offer.chances)[0]

    def update(self, offer, item, reward):
        offer.examples[item].set_label_string(f"0:{-reward}:{offer.chances[item]}")
        self.workspace.learn(offer.examples)
        self.workspace.finish_example(offer.examples)


class VowpalParsed(Vowpal):
    """The same, parsed before the round."""

    def form(self, contexts):
        return SimpleNamespace(examples=self.workspace.parse(super().form(contexts).text))

    def select(self, offer):
        return self.draw(offer)


class Coba:
    """Its LinUCB, over the actions' features alone."""

    def __init__(self, arms, dim):
        from coba.learners import LinUCBLearner

        self.learner = LinUCBLearner(alpha=ALPHA, features=["a"])

    def form(self, contexts):
        actions = [tuple(row) for row in contexts.tolist()]
        return actions, {id(action): item for item, action in enumerate(actions)}

    def select(self, offer):
        action, self.chance = self.learner.predict(None, offer[0])
        return offer[1][id(action)]

    def update(self, offer, item, reward):
        self.learner.learn(None, offer[0][item], reward, self.chance)


class CobaLinTS(Coba):
    """Its LinTS."""

    def __init__(self, arms, dim):
        from coba.learners import LinTSLearner

        self.learner = LinTSLearner(v=NOISE**2, features=["a"])


class River:
    """Its Bayesian regression, asked for every arm; its variance is the width's square plus that of noise."""

    def __init__(self, arms, dim):
        from river.linear_model import BayesianLinearRegression

        self.model = BayesianLinearRegression()

    def form(self, contexts):
        return [dict(enumerate(row)) for row in contexts.tolist()]

    def select(self, offer):
        found = [self.model.predict_one(row, with_dist=True) for row in offer]
        scores = [one.mu + ALPHA * max(one.sigma**2 - 1.0, 0.0) ** 0.5 for one in found]
        return max(range(len(scores)), key=scores.__getitem__)

    def update(self, offer, item, reward):
        self.model.learn_one(offer[item], reward)


class RiverDisjoint:
    """Its LinUCBDisjoint; the exploration is its own, mean + sigma with the noise in sigma."""

    def __init__(self, arms, dim):
        from river.bandit import LinUCBDisjoint

        self.policy, self.arms = LinUCBDisjoint(seed=0), list(range(arms))

    def form(self, context):
        return dict(enumerate(context.tolist()))

    def select(self, context):
        return self.policy.pull(self.arms, context)

    def update(self, context, item, reward):
        self.policy.update(item, context, reward)


class Mabwiser:
    """Its LinUCB, begun with a context of zeros, which teaches nothing."""

    def __init__(self, arms, dim):
        from mabwiser.mab import MAB, LearningPolicy

        self.mab = MAB(list(range(arms)), LearningPolicy.LinUCB(alpha=ALPHA, l2_lambda=1.0))
        self.mab.fit([0], [0.0], np.zeros((1, dim)))

    def form(self, context):
        return context[None]

    def select(self, context):
        return self.mab.predict(context)

    def update(self, context, item, reward):
        self.mab.partial_fit([item], [reward], context)


class BayesianDisjoint:
    """Thompson sampling with a regression per arm; its upper bounds are quantiles of 1,000 draws, slower."""

    def __init__(self, arms, dim):
        from bayesianbandits import Arm, ContextualAgent, NormalRegressor, ThompsonSampling

        made = [Arm(item, learner=NormalRegressor(alpha=1.0, beta=NOISE**-2)) for item in range(arms)]
        self.agent = ContextualAgent(made, ThompsonSampling(), random_seed=0)

    def form(self, context):
        return context.reshape(1, -1)

    def select(self, context):
        return self.agent.pull(context)[0]

    def update(self, context, item, reward):
        self.agent.update(context, np.array([reward]))


class Bayesian(BayesianDisjoint):
    """Thompson sampling with one regression for all arms; the context holds the features of all."""

    def __init__(self, arms, dim):
        from bayesianbandits import (
            Arm,
            ArmFeaturizer,
            LipschitzContextualAgent,
            NormalRegressor,
            ThompsonSampling,
        )

        class Rows(ArmFeaturizer):
            def transform(self, X, *, action_tokens):
                return X.reshape(arms, dim)[action_tokens]

        self.agent = LipschitzContextualAgent(
            arms=[Arm(item, learner=None) for item in range(arms)],
            policy=ThompsonSampling(),
            arm_featurizer=Rows(),
            learner=NormalRegressor(alpha=1.0, beta=NOISE**-2),
            random_seed=0,
        )


SIDES = {
    "NumPy, LinUCB": NumpyLinUCB,
    "NumPy, LinTS": NumpyLinTS,
    "NumPy, disjoint": NumpyDisjoint,
    "SciPy, GLM-UCB": ScipyLogistic,
    "vowpalwabbit": Vowpal,
    "vowpalwabbit, parsed": VowpalParsed,
    "coba, LinUCB": Coba,
    "coba, LinTS": CobaLinTS,
    "river": River,
    "river, disjoint": RiverDisjoint,
    "mabwiser, disjoint": Mabwiser,
    "bayesianbandits, LinTS": Bayesian,
    "bayesianbandits, disjoint": BayesianDisjoint,
}


def play(side, contexts, rewards, seconds):
    """Return the items chosen and the seconds of every round, until the stream or the time ends."""
    items, spent, total = [], [], 0.0
    ends = time.perf_counter() + FORMING * seconds
    for row, paid in zip(contexts, rewards, strict=True):
        offer = side.form(row)
        begun = time.perf_counter()
        item = side.select(offer)
        side.update(offer, item, paid[item])
        ended = time.perf_counter()
        spent.append(ended - begun)
        items.append(item)
        total += spent[-1] if len(spent) > 1 else 0.0  # the first call may set things up
        if total > seconds or ended > ends:
            break
    return items, spent


def main():
    name, path, seconds = sys.argv[1:]
    stream = np.load(path, allow_pickle=False)
    contexts, rewards = stream["contexts"].astype(np.float64), stream["rewards"].astype(np.float64)
    for _ in sys.stdin:
        side = SIDES[name](rewards.shape[1], contexts.shape[-1])
        items, spent = play(side, contexts, rewards, float(seconds))
        print(json.dumps({"items": items, "spent": spent}), flush=True)


if __name__ == "__main__":
    main()
