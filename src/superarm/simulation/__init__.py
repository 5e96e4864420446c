"""Simulation: a policy in a world, over rounds, seeds and hyperparameters."""
