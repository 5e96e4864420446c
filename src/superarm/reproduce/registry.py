"""The experiments by id. A paper's experiments are imported when one of them, or all, are asked for."""

from __future__ import annotations

import difflib
import fnmatch
import importlib
from collections.abc import Iterable, Iterator, MutableMapping

from superarm.experiments.experiment import SCALES, Experiment, ExperimentError, Plan

PAPERS = ("wen2015", "hwang2023", "bae2026", "sun2026", "oh2026")  # in the order of the list


class Registry(MutableMapping[str, Experiment]):
    """Experiments by id, which is paper/name: one of them imports its paper alone, iterating imports all."""

    def __init__(self, papers: Iterable[str]) -> None:
        """Name the papers, which are packages of `superarm.reproduce.papers`; none is imported yet."""
        self._papers: dict[str, dict[str, Experiment] | None] = dict.fromkeys(papers)

    def _of(self, paper: str) -> dict[str, Experiment]:
        """The experiments of a paper; none where there is no such paper."""
        known = self._papers.get(paper, {})
        if known is None:
            package = importlib.import_module(f"superarm.reproduce.papers.{paper}")
            known = {experiment.id: experiment for experiment in package.EXPERIMENTS}
            self._papers[paper] = known
        return known

    def of(self, paper: str) -> list[Experiment]:
        """Return the experiments of a paper, in their order."""
        return list(self._of(paper).values())

    def __getitem__(self, name: str) -> Experiment:
        """Return the experiment of that id."""
        return self._of(_paper(name))[name]

    def __setitem__(self, name: str, experiment: Experiment) -> None:
        """Add an experiment, after those that its paper has."""
        known = self._of(_paper(name))
        known[name] = experiment
        self._papers[_paper(name)] = known

    def __delitem__(self, name: str) -> None:
        """Forget an experiment."""
        del self._of(_paper(name))[name]

    def __iter__(self) -> Iterator[str]:
        """The ids, in the order of the papers."""
        return iter([name for paper in tuple(self._papers) for name in self._of(paper)])

    def __len__(self) -> int:
        """How many there are."""
        return sum(len(self._of(paper)) for paper in self._papers)


def _paper(name: str) -> str:
    return name.partition("/")[0]


EXPERIMENTS = Registry(PAPERS)


def lookup(name: str, *, where: str = "lookup") -> Experiment:
    """Return the experiment of that id.

    >>> lookup("wen2015/adult").figure.layout
    'return'
    """
    if name not in EXPERIMENTS:
        raise ExperimentError(f"{where}: unknown experiment {name!r}; {_suggestion(name)}")
    return EXPERIMENTS[name]


def same_paper(name: str) -> list[Experiment]:
    """Return the experiments of the paper of an experiment, itself among them.

    >>> [experiment.id for experiment in same_paper("wen2015/adult")][-2:]
    ['wen2015/adult', 'wen2015/lastfm']
    """
    return EXPERIMENTS.of(_paper(name))


def matching(patterns: Iterable[str], *, where: str = "lookup") -> list[Experiment]:
    """Return the experiments of ids and patterns such as "wen2015/*", each once, in the order of the list."""
    names: set[str] = set()
    for pattern in patterns:
        found = fnmatch.filter(EXPERIMENTS, pattern) if any(c in pattern for c in "*?[") else []
        names.update(found or [lookup(pattern, where=where).id])
    if len(names) == 1:
        return [EXPERIMENTS[names.pop()]]
    return [experiment for name, experiment in EXPERIMENTS.items() if name in names]


def plan_of(name: str, scale: str, *, where: str = "lookup") -> Plan:
    """Return what an experiment runs at a scale."""
    if scale not in SCALES:
        from superarm import checks  # which takes NumPy's import: the list does without

        close = checks.hint(scale, SCALES)
        raise ExperimentError(f"{where}: scale must be one of {', '.join(SCALES)}, got {scale!r}{close}")
    return lookup(name, where=where).plan(scale)


def _suggestion(name: str) -> str:
    # The paper before the slash is easily left off.
    short = {full.split("/")[-1]: full for full in reversed(list(EXPERIMENTS))}  # of several, the first
    close = [short[word] for word in difflib.get_close_matches(name, short, n=1)]
    close = difflib.get_close_matches(name, EXPERIMENTS, n=1) or close
    return f"did you mean {close[0]!r}?" if close else "`superarm list` shows them all"
