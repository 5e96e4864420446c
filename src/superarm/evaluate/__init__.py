"""Offline evaluation: what a log of other choices tells about a policy."""

from superarm.evaluate.chances import chances_of
from superarm.evaluate.estimates import Estimates
from superarm.evaluate.estimators import estimate
from superarm.evaluate.log import Log, event_log
from superarm.evaluate.off_policy import off_policy
from superarm.evaluate.open_bandit import open_bandit_log
from superarm.evaluate.read import read_log
from superarm.evaluate.replay import LoggedWorld, logged_world, replay
from superarm.evaluate.tables import LogError

__all__ = [
    "Estimates",
    "Log",
    "LogError",
    "LoggedWorld",
    "chances_of",
    "estimate",
    "event_log",
    "logged_world",
    "off_policy",
    "open_bandit_log",
    "read_log",
    "replay",
]
