"""NeuralUCB of calvera, run in an environment of its own by `calvera_peer.py`; prints one line of JSON.

Arguments, as JSON: arms, dim, units, rounds, learn_every, batch, steps, learning_rate, decay, seed.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings

import lightning
import torch
from calvera.bandits import NeuralUCBBandit

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def main() -> None:
    """Run a stream of rounds; time choosing, recording and training."""
    settings = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(settings["seed"])
    arms, dim, units = settings["arms"], settings["dim"], settings["units"]
    network = torch.nn.Sequential(
        torch.nn.Linear(dim, units, bias=False), torch.nn.ReLU(), torch.nn.Linear(units, 1, bias=False)
    )
    bandit = NeuralUCBBandit(
        n_features=dim,
        network=network,
        train_batch_size=settings["batch"],
        learning_rate=settings["learning_rate"],
        weight_decay=settings["decay"],
        exploration_rate=1.0,
        early_stop_threshold=None,
        min_samples_required_for_training=1,
        initial_train_steps=0,
    )
    truth = torch.nn.functional.normalize(torch.randn(dim), dim=0)
    regret, choosing, training = 0.0, 0.0, 0.0
    for count in range(1, settings["rounds"] + 1):
        contexts = torch.nn.functional.normalize(torch.randn(1, arms, dim), dim=-1)
        means = (contexts[0] @ truth) ** 2
        begun = time.perf_counter()
        chosen, _ = bandit(contexts)
        item = int(chosen[0].argmax())
        reward = means[item] + 0.01 * torch.randn(())
        bandit.record_feedback(contexts[:, item : item + 1], reward.reshape(1, 1))
        choosing += time.perf_counter() - begun
        regret += float(means.max() - means[item])
        if count % settings["learn_every"] == 0:
            begun = time.perf_counter()
            trainer = lightning.Trainer(
                max_steps=settings["steps"],
                max_epochs=-1,
                accelerator="cpu",
                logger=False,
                enable_checkpointing=False,
                enable_progress_bar=False,
                enable_model_summary=False,
            )
            trainer.fit(bandit)
            training += time.perf_counter() - begun
    rounds = settings["rounds"]
    print(json.dumps({"choosing": choosing / rounds, "training": training / rounds, "regret": regret}))


if __name__ == "__main__":
    main()
