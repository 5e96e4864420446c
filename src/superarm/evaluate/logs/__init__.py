"""Logs: what was offered, what was chosen, and what came of it; how they are read."""
