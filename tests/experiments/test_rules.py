"""Quantities of runs, and the rules of claims: every verdict can be reached."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from superarm.experiments import rules
from superarm.experiments.claims import MissingRuns, judge, number
from superarm.experiments.runs import Runs, per_round, relative, share, sweep, total
from support.regret_tables import one_round, runs_of, table_of, verdict


def test_quantities_take_the_window_that_they_name():
    runs = runs_of({("a", "p"): [[5.0, 2.0, 1.0, 0.0], [6.0, 3.0, 2.0, 1.0]]})
    assert total("a", "p")(runs).tolist() == [8.0, 12.0]
    assert total("a", "p", last=2)(runs).tolist() == [7.0, 9.0]
    assert per_round("a", "p", first=3, last=4)(runs).tolist() == [0.5, 1.5]
    assert share("a", "p", last=4)(runs).tolist() == [0.75, 0.75]


def test_a_share_is_of_the_seeds_that_both_have_and_lost_ones_stay_lost():
    runs = runs_of({("a", "p"): [[4.0], [math.nan], [9.0]], ("a", "base"): [[2.0], [2.0]]})
    found = relative(total("a", "p"), total("a", "base"))(runs)
    assert found.index.tolist() == [0, 1]
    np.testing.assert_array_equal(found, [2.0, math.nan])


@pytest.mark.parametrize(
    "quantity", [total("b", "p"), total("a", "q"), total("a", "p", last=9), total("a", "p", first=9)]
)
def test_what_is_not_run_is_missing_and_leaves_a_claim_open(quantity):
    runs = runs_of({("a", "p"): [[1.0, 1.0]]})
    with pytest.raises(MissingRuns):
        quantity(runs)
    found = verdict(rules.within("it is one", quantity, 1.0, relative=0.1), runs)
    assert (found.verdict, found.measured) == ("open", None)
    assert "at this scale" in found.detail


def test_a_window_inside_a_recorded_row_is_missing():
    runs = runs_of({("a", "p"): [[1.0, 1.0, 1.0, 1.0]]})
    thinned = Runs(runs.table[runs.table["round"] % 2 == 0], runs.axis)
    with pytest.raises(MissingRuns, match="rounds 1 to 3 are not recorded apart"):
        total("a", "p", last=3)(thinned)


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ([99.0, 100.0, 101.0], "holds"),  # 100 +- 2.5, tolerance 5
        ([109.0, 110.0, 111.0], "fails"),  # 107.5 and up
        ([104.0, 106.0, 108.0], "open"),  # the mean is outside, the interval is not
        ([90.0, 100.0, 110.0], "open"),  # the mean fits, but is not known that well
        ([100.0], "open"),
        ([99.0, math.nan, 101.0], "fails"),
    ],
)
def test_within(values, answer):
    claim = rules.within("it is 100", total("a", "p"), 100.0, relative=0.05)
    assert claim.expected == "100 ± 5 %"
    assert verdict(claim, runs_of({("a", "p"): one_round(values)})).verdict == answer


def test_within_an_absolute_tolerance():
    claim = rules.within("it is 0.7", total("a", "p"), 0.7, absolute=0.05)
    found = verdict(claim, runs_of({("a", "p"): one_round([0.68, 0.70, 0.69])}))
    assert (found.expected, found.verdict) == ("0.7 ± 0.05", "holds")
    np.testing.assert_allclose(found.measured, 0.69)


@pytest.mark.parametrize(
    ("values", "answer"),
    [([42.0, 42.1, 41.9], "holds"), ([52.0, 52.1, 51.9], "fails"), ([30.0, 42.0, 54.0], "open")],
)
def test_ratio_within(values, answer):
    regrets = {("a", "p"): one_round(values), ("b", "p"): one_round([10.0, 10.01, 9.99])}
    claim = rules.ratio_within("4.2 times", total("a", "p"), total("b", "p"), 4.2, relative=0.05)
    assert verdict(claim, runs_of(regrets)).verdict == answer


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ([1.0, 2.0, 3.0, 4.0], "holds"),  # each about 1 below its pair, though the ranges overlap
        ([3.0, 4.2, 4.8, 6.4], "fails"),
        ([1.0, 4.1, 4.4, 4.7], "open"),
        ([1.0, math.nan, 3.0, 4.0], "fails"),
    ],
)
def test_below_is_paired_by_seed(values, answer):
    regrets = {("a", "p"): one_round(values), ("a", "q"): one_round([2.0, 3.1, 3.9, 5.2])}
    found = verdict(rules.below("p < q", total("a", "p"), total("a", "q")), runs_of(regrets))
    assert found.verdict == answer


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_the_interval_that_is_printed_is_the_one_that_decides(factor):
    """Differences that vary with the other's mean: by the delta method it would be another."""
    other = np.array([10.0, 20.0, 60.0, 90.0])
    own = factor * other + np.array([-1.0, -2.0, -8.0, -1.0])
    regrets = {("a", "p"): one_round(own), ("a", "q"): one_round(other)}
    found = verdict(rules.below("p < q", total("a", "p"), total("a", "q"), factor=factor), runs_of(regrets))
    gap = scipy.stats.ttest_rel(own, factor * other).confidence_interval(0.95)
    low, high = (factor + end / other.mean() for end in (gap.low, gap.high))
    assert found.measured == pytest.approx(own.mean() / other.mean())
    assert found.detail.startswith(f"95 % {low:.4g} to {high:.4g}")
    assert found.verdict == "open"
    assert high > factor


def test_below_uses_the_seeds_that_both_have_and_a_factor():
    regrets = {("a", "p"): one_round([2.0, 2.1, 1.9, 999.0]), ("a", "q"): one_round([5.0, 5.1, 4.9])}
    runs = runs_of(regrets)
    half = verdict(rules.below("p < q / 2", total("a", "p"), total("a", "q"), factor=0.5), runs)
    assert (half.verdict, half.expected) == ("holds", "< 0.5")
    np.testing.assert_allclose(half.measured, 6.0 / 15.0)
    fifth = rules.below("p < q / 5", total("a", "p"), total("a", "q"), factor=0.2)
    assert verdict(fifth, runs).verdict == "fails"


@pytest.mark.parametrize(
    ("values", "answer"),
    [([10.5, 20.9, 31.0], "holds"), ([13.0, 26.1, 38.9], "fails"), ([8.0, 28.0, 31.0], "open")],
)
def test_not_worse(values, answer):
    regrets = {("a", "p"): one_round(values), ("a", "q"): one_round([10.0, 20.0, 30.0])}
    claim = rules.not_worse("as good", total("a", "p"), total("a", "q"))
    assert verdict(claim, runs_of(regrets)).verdict == answer


def swept(levels, noise=0.01):
    """A sweep over powers of ten, with three seeds around each level."""
    axis = {f"x{index}": 10.0**index for index in range(len(levels))}
    spread = np.array([-noise, 0.0, noise])
    regrets = {(f"x{index}", "p"): one_round(level * (1 + spread)) for index, level in enumerate(levels)}
    return Runs(table_of(regrets), axis)


@pytest.mark.parametrize(
    ("levels", "answer", "measured"),
    [
        ([5.0, 1.0, 1.02, 1.0, 1.01, 7.0], "holds", 3.0),
        ([5.0, 1.0, 1.02, 1.0, 7.0, 1.0], "fails", 2.0),
        ([5.0, 1.0, 1.02, 1.0, math.nan, 1.0], "fails", 2.0),
    ],
)
def test_flat_counts_the_unbroken_decades_around_the_reference(levels, answer, measured):
    found = verdict(rules.flat("flat", sweep("p"), reference=100.0, decades=3), swept(levels))
    assert (found.verdict, found.measured) == (answer, pytest.approx(measured))


def test_flat_is_open_where_an_edge_is_not_decided():
    runs = swept([5.0, 1.0, 1.02, 1.0, 1.0, 7.0])
    seeds = runs.table["setting"] == "x4"
    runs.table.loc[seeds, "regret"] = [0.7, 1.0, 1.4]
    assert verdict(rules.flat("flat", sweep("p"), reference=100.0, decades=3), runs).verdict == "open"


def test_flat_looks_at_the_range_of_its_sweep_and_at_its_limit():
    runs = swept([9.0, 1.0, 1.5, 1.5])
    strict = rules.flat("flat", sweep("p", low=10.0), reference=10.0, decades=2)
    loose = rules.flat("flat", sweep("p", low=10.0), reference=10.0, decades=2, limit=2.0)
    assert [verdict(claim, runs).verdict for claim in (strict, loose)] == ["fails", "holds"]


def line(levels, noise):
    axis = {f"x{index}": float(index + 1) for index in range(len(levels))}
    spread = np.array([-noise, 0.0, noise])
    regrets = {(f"x{index}", "p"): one_round(level + spread) for index, level in enumerate(levels)}
    return Runs(table_of(regrets), axis)


@pytest.mark.parametrize(
    ("levels", "noise", "answer"),
    [
        ([1.0, 2.0, 3.0], 0.1, "holds"),
        ([1.0, 4.0, 9.0], 0.01, "fails"),  # R^2 = 0.9796, and the bend is no noise
        ([1.0, 4.0, 9.0], 2.0, "open"),  # the same bend, lost in the noise
        ([3.0, 2.0, 1.0], 0.01, "fails"),  # falls
        ([2.1, 2.0, 1.9], 3.0, "open"),  # or so it seems
        ([1.0, math.nan, 3.0], 0.0, "fails"),
        ([1.0, 2.0], 0.1, "open"),
    ],
)
def test_linear(levels, noise, answer):
    found = verdict(rules.linear("linear", sweep("p")), line(levels, noise))
    assert found.verdict == answer


def test_linear_by_hand():
    found = verdict(rules.linear("linear", sweep("p")), line([1.0, 4.0, 9.0], 0.01))
    np.testing.assert_allclose(found.measured, 1 - (2 / 3) / (98 / 3), rtol=1e-9)


def test_finite_counts_what_is_not():
    runs = runs_of({("a", "p"): [[1.0, 2.0]]})
    claim = rules.finite("no NaN")
    assert verdict(claim, runs).verdict == "holds"
    runs.table.loc[0, ["regret", "reward"]] = [math.nan, math.inf]
    found = verdict(claim, runs)
    assert (found.verdict, found.measured) == ("fails", 2.0)


def test_numbers_are_written_in_four_digits():
    assert [number(value) for value in (15612.34, 1.5612e7, 0.00042137, 4.2, math.inf)] == [
        "15612",
        "1.561e+07",
        "0.0004214",
        "4.2",
        "inf",
    ]


def test_a_toy_decides_nothing():
    runs = runs_of({("one", "low"): one_round([1.0, 1.1, 0.9]), ("one", "high"): one_round([5.0, 5.1, 4.9])})
    claims = [rules.below("low is below high", total("one", "low"), total("one", "high"))]
    (serious,), (toy,) = judge(claims, runs), judge(claims, runs, toy=True)
    assert (serious.verdict, toy.verdict) == ("holds", "open")
    assert toy.measured == serious.measured
    assert toy.detail == f"{serious.detail}; a toy decides nothing"


def chained(**regrets):
    runs = runs_of({("one", label): one_round(values) for label, values in regrets.items()})
    groups = [{label: total("one", label)} for label in regrets]
    return verdict(rules.chain("in order", *groups), runs)


def test_a_chain_holds_when_every_link_does():
    found = chained(a=[1.0, 1.1, 0.9], b=[2.0, 2.1, 1.9], c=[8.0, 8.2, 7.9])
    assert found.verdict == "holds"
    assert found.measured == pytest.approx(0.5)
    assert found.detail.startswith("a against b, 95 %")


def test_a_chain_fails_when_one_link_is_the_other_way_round():
    found = chained(a=[1.0, 1.1, 0.9], b=[8.0, 8.1, 7.9], c=[2.0, 2.2, 1.9])
    assert found.verdict == "fails"
    assert found.detail.startswith("b against c")


def test_a_chain_is_open_when_a_link_is_not_sure():
    assert chained(a=[1.0, 3.0, 2.0], b=[2.0, 1.0, 3.1], c=[8.0, 8.2, 7.9]).verdict == "open"
    assert chained(a=[0.0, 0.0], b=[0.0, 0.0]).verdict == "open"


def test_a_chain_compares_all_of_a_group():
    runs = runs_of(
        {
            ("one", label): one_round([value, value + 0.1])
            for label, value in (("a", 1.0), ("b", 3.0), ("c", 2.0))
        }
    )
    claim = rules.chain(
        "a and b below c", {"a": total("one", "a"), "b": total("one", "b")}, {"c": total("one", "c")}
    )
    assert verdict(claim, runs).verdict == "fails"


def test_no_regret_on_either_side_leaves_a_claim_open():
    runs = runs_of({("one", "a"): one_round([0.0, 0.0]), ("one", "b"): one_round([0.0, 0.0])})
    found = verdict(rules.not_worse("a is no worse", total("one", "a"), total("one", "b")), runs)
    assert (found.verdict, found.detail, found.measured) == ("open", "both are 0", None)
