"""The rules that decide claims, each as a function that makes a claim from its sentence.

Comparisons are paired by seed, and intervals are two-sided at 95 %. NumPy and SciPy are imported when a claim
is judged: importing an experiment, which makes its claims, stays cheap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise, product

from superarm.experiments.claims import Answer, Claim, Finding, MissingRuns, number
from superarm.experiments.runs import Points, Quantity, Runs, Seeds
from superarm.statistics import Interval, Vector, interval, ratio_interval

# "The same" and "competitive" mean: the upper end of the paired ratio's interval is below this.
NOT_WORSE = 1.10


def within(
    sentence: str, quantity: Quantity, expected: float, *, relative: float = 0.0, absolute: float = 0.0
) -> Claim:
    """Claim that a mean is `expected`, up to a tolerance.

    Holds when the whole interval lies within the tolerance; fails when all of it lies outside.
    """
    slack = absolute or relative * abs(expected)
    allowed = f"{absolute:g}" if absolute else f"{100 * relative:g} %"

    def rule(runs: Runs) -> Finding:
        return _settle(interval(quantity(runs).to_numpy()), expected, slack)

    return Claim(sentence, f"{number(expected)} ± {allowed}", rule)


def ratio_within(
    sentence: str, above: Quantity, below_it: Quantity, expected: float, *, relative: float
) -> Claim:
    """Claim that a ratio of two means is `expected`, up to a relative tolerance."""
    slack = relative * abs(expected)

    def rule(runs: Runs) -> Finding:
        return _settle(_ratio(above(runs), below_it(runs)), expected, slack)

    return Claim(sentence, f"{number(expected)} ± {100 * relative:g} %", rule)


def at_most(sentence: str, quantity: Quantity, limit: float) -> Claim:
    """Claim that a mean is at most `limit`: holds when the whole interval is, fails when none of it is."""

    def rule(runs: Runs) -> Finding:
        found = interval(quantity(runs).to_numpy())
        return Finding(found.mean, _side(found, limit), _words(found))

    return Claim(sentence, f"<= {number(limit)}", rule)


def below(sentence: str, lower: Quantity, higher: Quantity, *, factor: float = 1.0) -> Claim:
    """Claim that one mean is below `factor` times another, paired by seed.

    The number measured is the ratio of the means, its interval that of the paired differences, as a share of
    the other mean: what decides.
    """

    def rule(runs: Runs) -> Finding:
        gap, ratio = _compared(*_paired(lower(runs), higher(runs)), factor)
        return Finding(ratio.mean, _side(gap, 0.0), _words(ratio))

    return Claim(sentence, f"< {factor:g}", rule)


def chain(sentence: str, *groups: Mapping[str, Quantity]) -> Claim:
    """Claim that every mean of a group is below every mean of the next group, paired by seed.

    Holds when all pairs do, fails when one is the other way round. The number measured is the largest ratio
    of the pairs that decide.
    """

    def rule(runs: Runs) -> Finding:
        links = []
        for lower, higher in pairwise(groups):
            for (low, first), (high, second) in product(lower.items(), higher.items()):
                gap, ratio = _compared(*_paired(first(runs), second(runs)))
                links.append((ratio.mean, _side(gap, 0.0), f"{low} against {high}, {_words(ratio)}"))
        answers = {answer for _, answer, _ in links}
        verdict: Answer = "fails" if "fails" in answers else "open" if "open" in answers else "holds"
        deciding = [link for link in links if link[1] == verdict]
        worst = max(deciding, key=lambda link: link[0] if math.isfinite(link[0]) else -math.inf)
        return Finding(worst[0], verdict, worst[2])

    return Claim(sentence, "< 1", rule)


def not_worse(sentence: str, candidate: Quantity, reference: Quantity, *, limit: float = NOT_WORSE) -> Claim:
    """Claim that one mean is at most `limit` times another, paired by seed."""

    def rule(runs: Runs) -> Finding:
        first, second = _paired(candidate(runs), reference(runs))
        if not first.any() and not second.any():
            return Finding(math.nan, "open", "both are 0")
        ratio = ratio_interval(first, second)
        return Finding(ratio.mean, _side(ratio, limit), _words(ratio))

    return Claim(sentence, f"< {limit:g}", rule)


def more_variable(sentence: str, wide: Quantity, narrow: Quantity) -> Claim:
    """Claim that one quantity varies more over seeds than another: by the F interval of their variances.

    The number measured is the ratio of the standard deviations. Seeds are common to both, which the interval
    does not use.
    """

    def rule(runs: Runs) -> Finding:
        from scipy.special import fdtri

        first, second = (quantity(runs).to_numpy() for quantity in (wide, narrow))
        freedom = len(first) - 1, len(second) - 1
        if min(freedom) < 1:
            return Finding(math.nan, "open", "one seed, no interval")
        ratio = float(first.var(ddof=1) / second.var(ddof=1))
        low, high = (math.sqrt(ratio / float(fdtri(*freedom, level))) for level in (0.975, 0.025))
        verdict: Answer = "holds" if low > 1.0 else "fails" if high < 1.0 else "open"
        words = f"95 % {number(low)} to {number(high)} over {len(first)} seeds"
        return Finding(math.sqrt(ratio), verdict, words)

    return Claim(sentence, "> 1", rule)


def flat(
    sentence: str, points: Points, *, reference: float, decades: float, limit: float = NOT_WORSE
) -> Claim:
    """Claim that the mean stays below `limit` times the reference's over so many decades around it."""

    def rule(runs: Runs) -> Finding:
        ratios = _against(points(runs), reference)
        sure = _span(ratios, reference, lambda ratio: _side(ratio, limit) == "holds")
        at_most = _span(ratios, reference, lambda ratio: _side(ratio, limit) != "fails")
        width, possible = (math.log10(span[1] / span[0]) for span in (sure, at_most))
        wanted = decades - 1e-9  # powers of ten are not exact
        verdict: Answer = "holds" if width >= wanted else "open" if possible >= wanted else "fails"
        return Finding(width, verdict, f"from {sure[0]:g} to {sure[1]:g}")

    return Claim(sentence, f">= {decades:g} decades", rule)


def linear(sentence: str, points: Points, *, fit: float = 0.98) -> Claim:
    """Claim that the mean grows linearly over a sweep: a straight line has R^2 >= `fit`.

    Open where the line misses by no more than the noise over seeds (chi-square at 95 %).
    """

    def rule(runs: Runs) -> Finding:
        found = points(runs)
        if len(found) < 3:
            raise MissingRuns("fewer than three settings are run at this scale")
        means = [interval(values.to_numpy()) for values in found.values()]
        return _straight(list(found), means, fit)

    return Claim(sentence, f"R^2 >= {fit:g}", rule)


def finite(sentence: str) -> Claim:
    """Claim that no recorded number is NaN or infinite."""

    def rule(runs: Runs) -> Finding:
        import numpy as np

        numbers = runs.numbers("regret", "realized_regret", "reward", "value", "best")
        bad = int(np.sum(~np.isfinite(numbers)))
        return Finding(bad, "fails" if bad else "holds", f"of {numbers.size} numbers")

    return Claim(sentence, "0", rule)


def _settle(found: Interval, expected: float, slack: float) -> Finding:
    """Decide whether a mean is `expected` up to `slack`, and is known that well."""
    if not math.isfinite(found.mean):
        return Finding(math.nan, "fails", "not a finite number")
    verdict: Answer = "open"
    if found.high < expected - slack or found.low > expected + slack:
        verdict = "fails"
    elif found.low >= expected - slack and found.high <= expected + slack:
        verdict = "holds"
    return Finding(found.mean, verdict, _words(found))


def _compared(first: Vector, second: Vector, factor: float = 1.0) -> tuple[Interval, Interval]:
    """The interval of first - factor * second, and the same as ratios to the second mean."""
    gap = interval(first - factor * second)
    mean = float(second.mean()) if len(second) else math.nan
    if not mean > 0:
        return gap, Interval(math.nan, -math.inf, math.inf, gap.count)
    low, middle, high = (factor + one / mean for one in (gap.low, gap.mean, gap.high))
    return gap, Interval(middle, low, high, gap.count)


def _side(found: Interval, limit: float) -> Answer:
    """Decide whether an interval lies below a limit."""
    if not math.isfinite(found.mean):
        return "fails"
    return "holds" if found.high < limit else "fails" if found.low > limit else "open"


def _paired(first: Seeds, second: Seeds) -> tuple[Vector, Vector]:
    """Return both values of the seeds that both have."""
    seeds = first.index.intersection(second.index)
    if seeds.empty:
        raise MissingRuns("no seed is common to both")
    return first.loc[seeds].to_numpy(), second.loc[seeds].to_numpy()


def _ratio(candidate: Seeds, reference: Seeds) -> Interval:
    return ratio_interval(*_paired(candidate, reference))


def _against(found: dict[float, Seeds], reference: float) -> dict[float, Interval]:
    """Return x -> its values over those of the reference."""
    if reference not in found:
        raise MissingRuns(f"the reference {reference:g} is not run at this scale")
    return {x: _ratio(values, found[reference]) for x, values in found.items()}


def _span(
    ratios: dict[float, Interval], reference: float, accept: Callable[[Interval], bool]
) -> tuple[float, float]:
    """Return the ends of the unbroken range around the reference where ratios are accepted."""
    low = high = reference
    for x in sorted((x for x in ratios if x < reference), reverse=True):
        if not accept(ratios[x]):
            break
        low = x
    for x in sorted(x for x in ratios if x > reference):
        if not accept(ratios[x]):
            break
        high = x
    return low, high


def _straight(points: list[float], means: list[Interval], fit: float) -> Finding:
    """Fit a line to the means; say how much of their variance it explains."""
    import numpy as np
    from scipy.special import chdtri

    x = np.array(points)
    y = np.array([one.mean for one in means])
    if not np.all(np.isfinite(y)):
        return Finding(math.nan, "fails", "not a finite number")
    slope, start = np.polyfit(x, y, 1)
    misses = y - (slope * x + start)
    spread = float(np.sum((y - y.mean()) ** 2))
    explained = 1.0 - float(np.sum(misses**2)) / spread if spread else 0.0
    # Half of a 95 % interval is about two standard errors; without any spread over seeds, every miss counts.
    errors = np.array([max((one.high - one.mean) / 2.0, 1e-12 * abs(one.mean) + 1e-300) for one in means])
    noise_only = float(np.sum((misses / errors) ** 2)) <= float(chdtri(len(x) - 2, 0.05))
    weights = (x - x.mean()) / float(np.sum((x - x.mean()) ** 2))  # of the means in the slope
    falls = slope + 2.0 * float(np.linalg.norm(weights * errors)) < 0
    if explained >= fit and slope > 0:
        verdict: Answer = "holds"
    else:
        verdict = "open" if noise_only and not falls else "fails"
    power = float(np.polyfit(np.log(x), np.log(y), 1)[0]) if np.all(y > 0) and np.all(x > 0) else math.nan
    detail = f"slope {number(float(slope))}, power {power:.2f}, {len(x)} settings from {x[0]:g} to {x[-1]:g}"
    return Finding(explained, verdict, detail)


def _words(found: Interval) -> str:
    if found.count < 2:
        return "one seed, no interval"
    return f"95 % {number(found.low)} to {number(found.high)} over {found.count} seeds"
