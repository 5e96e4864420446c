"""Offline evaluation: what a log of other choices tells about a policy."""

from superarm.evaluate.agent_log import agent_log
from superarm.evaluate.chances import chances_of
from superarm.evaluate.estimates import Estimates
from superarm.evaluate.estimators import estimate
from superarm.evaluate.judge import Judged, judge, judge_grid
from superarm.evaluate.log import Log, event_log
from superarm.evaluate.off_policy import off_policy
from superarm.evaluate.open_bandit import open_bandit_log
from superarm.evaluate.read import read_log
from superarm.evaluate.replay import LoggedWorld, logged_world, replay
from superarm.evaluate.tables import LogError

__all__ = [
    "Estimates",
    "Judged",
    "Log",
    "LogError",
    "LoggedWorld",
    "agent_log",
    "chances_of",
    "estimate",
    "event_log",
    "judge",
    "judge_grid",
    "logged_world",
    "off_policy",
    "open_bandit_log",
    "read_log",
    "replay",
]
