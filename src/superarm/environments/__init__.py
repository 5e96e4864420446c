"""Environments: worlds to learn in, with known optima."""

from superarm.environments.alpha_regret import AlphaRegret, alpha_regret
from superarm.environments.answer_duels import AnswerDuels, answer_duels
from superarm.environments.catalogue import Catalogue, catalogue
from superarm.environments.choices import AssortmentChoices, assortment_choices
from superarm.environments.class_duels import ClassDuels, class_duels
from superarm.environments.classification import Classification, classification
from superarm.environments.clicks import Clicks, PairClicks, clicks
from superarm.environments.duels import Duels, duels
from superarm.environments.fixed_arms import FixedArms, fixed_arms
from superarm.environments.fixed_scores import FixedScores, fixed_scores
from superarm.environments.linear import LinearScores, linear_scores
from superarm.environments.logistic import LogisticScores, logistic_scores
from superarm.environments.longest_path import LongestPath, longest_path
from superarm.environments.matrix_duels import MatrixDuels, matrix_duels
from superarm.environments.scores import NonlinearScores, nonlinear_scores
from superarm.environments.stream import Stream, stream

__all__ = [
    "AlphaRegret",
    "AnswerDuels",
    "AssortmentChoices",
    "Catalogue",
    "ClassDuels",
    "Classification",
    "Clicks",
    "Duels",
    "FixedArms",
    "FixedScores",
    "LinearScores",
    "LogisticScores",
    "LongestPath",
    "MatrixDuels",
    "NonlinearScores",
    "PairClicks",
    "Stream",
    "alpha_regret",
    "answer_duels",
    "assortment_choices",
    "catalogue",
    "class_duels",
    "classification",
    "clicks",
    "duels",
    "fixed_arms",
    "fixed_scores",
    "linear_scores",
    "logistic_scores",
    "longest_path",
    "matrix_duels",
    "nonlinear_scores",
    "stream",
]
