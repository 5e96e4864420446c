"""Offline evaluation: what a log of other choices tells about a policy."""

from superarm import checks
from superarm.evaluate.estimators.estimates import Estimates
from superarm.evaluate.estimators.estimators import estimate
from superarm.evaluate.estimators.off_policy import off_policy
from superarm.evaluate.judgement import Judged, judge, judge_grid
from superarm.evaluate.logged_rounds import LoggedWorld, logged_world, replay
from superarm.evaluate.logs.agent_log import agent_log
from superarm.evaluate.logs.log import Log, event_log
from superarm.evaluate.logs.open_bandit import open_bandit_log
from superarm.evaluate.logs.read import read_log
from superarm.evaluate.logs.tables import LogError
from superarm.evaluate.propensities import chances_of

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

checks.public(__name__)
