"""Figures with a panel per setting."""

from __future__ import annotations

import pytest

from superarm.experiments.experiment import Figure
from superarm.report.curves import draw
from support.regret_tables import runs_of


@pytest.mark.parametrize(("layout", "height"), [("panels", 6.0), ("reward", 9.0)])
def test_panels_draw_one_setting_each(layout, height):
    runs = runs_of(
        {(setting, policy): [[1.0, 2.0, 3.0]] for setting in ("s1", "s2") for policy in ("a", "b")}
    )
    figure = draw(Figure(layout, "round", "sum"), runs, title="both")
    assert [axes.get_title() for axes in figure.axes] == ["s1", "s2"]
    for axes in figure.axes:
        assert [line.get_label() for line in axes.lines] == ["a", "b"]
        assert axes.lines[0].get_ydata()[-1] == height
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


def test_panels_of_different_policies_have_legends_of_their_own():
    runs = runs_of({one: [[1.0, 2.0, 3.0]] for one in (("s1", "a"), ("s1", "b"), ("s2", "c"))})
    figure = draw(Figure("panels", "round", "sum"), runs, title="two")
    assert figure.legends == []
    shown = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in figure.axes]
    assert shown == [["a", "b"], ["c"]]
