"""Offline evaluation: what a log of other choices tells about a policy."""

from superarm.evaluate.log import Log, event_log
from superarm.evaluate.open_bandit import open_bandit_log
from superarm.evaluate.replay import LoggedWorld, logged_world, replay

__all__ = ["Log", "LoggedWorld", "event_log", "logged_world", "open_bandit_log", "replay"]
