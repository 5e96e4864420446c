"""NeuralUCB and NeuralTS of calvera, run in an environment of its own by `calvera_peer.py`; prints JSON.

Arguments: the file of the stream, and as JSON bandit, units, learn_every, batch, steps, learning_rate, decay,
seed.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings

import lightning
import numpy as np
import torch
from calvera.bandits import NeuralTSBandit, NeuralUCBBandit

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

BANDITS = {"NeuralUCB": NeuralUCBBandit, "NeuralTS": NeuralTSBandit}


def main() -> None:
    """Play the stream; time choosing with recording, and training."""
    settings = json.loads(sys.argv[2])
    torch.set_num_threads(1)
    torch.manual_seed(settings["seed"])
    given = np.load(sys.argv[1], allow_pickle=False)
    stream, rewards = (torch.from_numpy(given[name]).float() for name in ("contexts", "rewards"))
    bandit = built(settings, stream.shape[2])
    items, choosing, training = [], 0.0, 0.0
    for count, (contexts, paid) in enumerate(zip(stream, rewards, strict=True), start=1):
        begun = time.perf_counter()
        chosen, _ = bandit(contexts[None])
        item = int(chosen[0].argmax())
        bandit.record_feedback(contexts[None, item : item + 1], paid[item].reshape(1, 1))
        choosing += time.perf_counter() - begun
        items.append(item)
        if count % settings["learn_every"] == 0:
            begun = time.perf_counter()
            trained(bandit, settings["steps"])
            training += time.perf_counter() - begun
    rounds = len(stream)
    print(json.dumps({"choosing": choosing / rounds, "training": training / rounds, "items": items}))


def built(settings: dict, dim: int):
    """A bandit before its first round."""
    units = settings["units"]
    network = torch.nn.Sequential(
        torch.nn.Linear(dim, units, bias=False), torch.nn.ReLU(), torch.nn.Linear(units, 1, bias=False)
    )
    return BANDITS[settings["bandit"]](
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


def trained(bandit, steps: int) -> None:
    """Take some steps, as calvera does."""
    trainer = lightning.Trainer(
        max_steps=steps,
        max_epochs=-1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(bandit)


if __name__ == "__main__":
    main()
