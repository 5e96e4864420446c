"""NVLDB-UCB-ASYM as oh2026's listings have it, in PyTorch. Run by duels.py.

Usage: python torch_duels.py SETTINGS (JSON); prints seconds, the total regret and that of chance as JSON.
"""

from __future__ import annotations

import json
import sys
import time

import torch


def main() -> None:
    """Run once and report."""
    settings = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(settings["seed"])
    begun = time.perf_counter()
    regret, chance = run(settings)
    print(json.dumps({"seconds": time.perf_counter() - begun, "regret": regret, "chance": chance}))


def run(settings: dict) -> tuple[float, float]:
    """T rounds with the square utility."""
    dim, arms, units = settings["dim"], settings["arms"], settings["units"]
    theta = 2 * torch.rand(dim) - 1
    body = torch.nn.Sequential(
        torch.nn.Linear(dim, units, bias=False),
        torch.nn.ReLU(),
        torch.nn.Linear(units, units, bias=False),
        torch.nn.ReLU(),
    )
    last = torch.nn.Linear(units, 1, bias=False)
    start = [weight.detach().clone() for weight in (*body.parameters(), *last.parameters())]
    matrix = settings["ridge"] * torch.eye(units)
    ones, others, wins, weights = [], [], [], []
    regret = chance = 0.0
    for _ in range(settings["rounds"]):
        offered = 2 * torch.rand(arms, dim) - 1
        offered = offered / offered.norm(dim=1, keepdim=True)
        utilities = 10 * (offered @ theta) ** 2
        with torch.no_grad():
            features = body(offered)
            scores = last(features)[:, 0]
        first = int(scores.argmax())
        second, highest = first, -float("inf")
        for arm in range(arms):
            gap = features[arm] - features[first]
            width = torch.clamp(gap @ torch.inverse(matrix) @ gap, min=0).sqrt()
            score = (scores[arm] + settings["radius"] * width).item()
            if score > highest:
                second, highest = arm, score
        won = float(torch.rand(()) < torch.sigmoid(utilities[first] - utilities[second]))
        mean = torch.sigmoid(scores[first] - scores[second])
        weight = 1 / max(float(mean * (1 - mean)), settings["least_deviation"] ** 2)
        gap = features[first] - features[second]
        matrix = matrix + weight * torch.outer(gap, gap)
        ones.append(offered[first])
        others.append(offered[second])
        wins.append(won)
        weights.append(weight)
        regret += float(utilities.max() - (utilities[first] + utilities[second]) / 2)
        chance += float(utilities.max() - utilities.mean())
        fit(body, last, start, (ones, others, wins, weights), settings)
    return regret, chance


def fit(
    body: torch.nn.Module, last: torch.nn.Module, start: list[torch.Tensor], seen: tuple, settings: dict
) -> None:
    """Adam from the first weights, on the summed, weighted loss of all duels."""
    ones, others = torch.stack(seen[0]), torch.stack(seen[1])
    wins, weights = torch.tensor(seen[2]), torch.tensor(seen[3])
    parameters = [*body.parameters(), *last.parameters()]
    with torch.no_grad():
        for weight, first in zip(parameters, start, strict=True):
            weight.copy_(first)
    optimizer = torch.optim.Adam(parameters, lr=settings["learning_rate"])
    for _ in range(settings["steps"]):
        optimizer.zero_grad()
        gaps = (last(body(ones)) - last(body(others)))[:, 0]
        losses = torch.nn.functional.binary_cross_entropy_with_logits(gaps, wins, reduction="none")
        penalty = 0.5 * settings["ridge"] * ((last.weight - start[-1]) ** 2).sum()
        ((weights * losses).sum() + penalty).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
