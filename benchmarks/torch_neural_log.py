"""NeuralLog-UCB-2 the straightforward way in PyTorch: one backward pass per arm. Run by neural_log.py.

Usage: python torch_neural_log.py SETTINGS (JSON); prints seconds and the total regret as JSON.
"""

from __future__ import annotations

import json
import math
import sys
import time

import torch


def main() -> None:
    """Run once and report."""
    settings = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(settings["seed"])
    begun = time.perf_counter()
    regret = run(settings, generator)
    print(json.dumps({"seconds": time.perf_counter() - begun, "regret": regret}))


def run(settings: dict, generator: torch.Generator) -> float:
    """T rounds on the environment of bae2026's h1."""
    dim, arms, units = settings["dim"], settings["arms"], settings["units"]
    ridge, nu = settings["ridge"], settings["nu"]
    pool = 2 * torch.rand(2500, dim, generator=generator) - 1
    theta = 2 * torch.rand(dim, generator=generator) - 1
    network = torch.nn.Sequential(
        torch.nn.Linear(dim, units, bias=False), torch.nn.ReLU(), torch.nn.Linear(units, 1, bias=False)
    )
    size = sum(weights.numel() for weights in network.parameters())
    matrix, plain = ridge * torch.ones(size), torch.zeros(size)
    contexts, rewards, regret = [], [], 0.0
    for count in range(1, settings["rounds"] + 1):
        offered = pool[torch.randperm(2500, generator=generator)[:arms]]
        means = torch.sigmoid(0.2 * (offered @ theta) ** 4)
        beta = nu * (3.0 * math.sqrt(float(torch.log1p(0.25 * plain).sum())) + math.sqrt(ridge))
        scores, gradients = [], []
        for context in offered:
            network.zero_grad()
            score = network(context)
            score.backward()
            gradient = torch.cat([weights.grad.flatten() for weights in network.parameters()])
            gradients.append(gradient)
            scores.append(score.item() + beta * math.sqrt(float((gradient**2 / matrix).sum())))
        chosen = max(range(arms), key=scores.__getitem__)
        with torch.no_grad():
            chance = torch.sigmoid(network(offered[chosen])).item()
        matrix = matrix + chance * (1 - chance) * gradients[chosen] ** 2
        plain = plain + gradients[chosen] ** 2
        contexts.append(offered[chosen])
        rewards.append(float(torch.rand((), generator=generator) < means[chosen]))
        regret += float(means.max() - means[chosen])
        if count % settings["learn_every"] == 0:
            fit(network, torch.stack(contexts), torch.tensor(rewards), settings)
    return regret


def fit(network: torch.nn.Module, contexts: torch.Tensor, rewards: torch.Tensor, settings: dict) -> None:
    """Full-batch gradient descent on the mean loss with penalty lambda |theta|^2 / t."""
    optimizer = torch.optim.SGD(network.parameters(), lr=settings["learning_rate"])
    for _ in range(settings["steps"]):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            network(contexts)[:, 0], rewards, reduction="sum"
        )
        penalty = settings["ridge"] * sum((weights**2).sum() for weights in network.parameters())
        ((loss + penalty) / len(rewards)).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
