"""Reports: figures show what the table says, and the page stands alone and escapes what it is given."""

import base64
import html.parser

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure as Drawing
from PIL import Image, ImageColor
from rich.console import Console

from superarm.experiments.claims import Verdict
from superarm.experiments.experiment import Figure
from superarm.experiments.runs import Runs
from superarm.experiments.summary import Final, SettingSummary, Summary, Times
from superarm.jobs.progress import progress_of
from superarm.report.console import claims_text
from superarm.report.curves import COLOURS, MAX_POINTS, draw, plot, save
from superarm.report.page import Panel, build_page
from superarm.statistics import interval

NASTY = "<script>alert('x')</script>\"&"


def table_of(settings=("a",), policies=("one", "other"), seeds=3, rounds=10):
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_product(
        [settings, policies, range(seeds), range(1, rounds + 1)], names=["setting", "policy", "seed", "round"]
    )
    table = index.to_frame(index=False)
    regret = rng.uniform(size=len(table))
    return table.assign(regret=regret, realized_regret=regret, value=2 - regret, best=2.0)


def lines_of(figure):
    return {line.get_label(): line for line in figure.axes[0].get_lines()}


# --- figures ---


def test_plot_draws_the_mean_of_the_cumulative_regret_and_its_band():
    table = table_of()
    figure = plot(table.drop(columns="setting"))
    line = lines_of(figure)["other"]
    wide = table[table["policy"] == "other"].pivot(index="round", columns="seed", values="regret").cumsum()
    np.testing.assert_allclose(line.get_xdata(), np.arange(1, 11))
    np.testing.assert_allclose(line.get_ydata(), wide.mean(axis=1))
    band = figure.axes[0].collections[1].get_paths()[0].get_extents()
    last = interval(wide.loc[10].to_numpy())
    np.testing.assert_allclose(band.y1, last.high)
    assert figure.axes[0].get_ylabel() == "cumulative regret"
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["one", "other"]


def test_plot_of_another_column_and_of_one_seed():
    figure = plot(table_of(seeds=1), "realized_regret", title="one seed")
    assert figure.axes[0].get_ylabel() == "cumulative realized regret"
    assert figure.axes[0].get_title(loc="left") == "one seed"


def test_long_curves_are_thinned_and_keep_their_end():
    figure = plot(table_of(rounds=3 * MAX_POINTS + 7, seeds=2, policies=("one",)))
    drawn = lines_of(figure)["one"].get_xdata()
    assert MAX_POINTS / 2 <= len(drawn) <= MAX_POINTS == 200
    assert drawn[-1] == 3 * MAX_POINTS + 7


def test_the_return_layout_draws_running_means_and_the_optimum():
    table = table_of()
    figure = draw(Figure("return", "episode", "return"), Runs(table, {"a": None}))
    lines = lines_of(figure)
    np.testing.assert_allclose(lines["optimum"].get_ydata(), 2.0)
    wide = table[table["policy"] == "one"].pivot(index="round", columns="seed", values="value")
    np.testing.assert_allclose(lines["one"].get_ydata()[-1], wide.mean(axis=None))


def test_the_sweep_layout_draws_totals_over_x():
    table = table_of(settings=("a", "b", "c"), policies=("one",))
    layout = Figure("sweep", "sigma", "regret", log_x=True)
    figure = draw(layout, Runs(table, {"a": 0.1, "b": 1.0, "c": 10.0}), note="a note")
    line = figure.axes[0].get_lines()[0]
    totals = table.groupby(["setting", "seed"])["regret"].sum().groupby("setting").mean()
    np.testing.assert_allclose(line.get_xdata(orig=False), [0.1, 1.0, 10.0])
    np.testing.assert_allclose(line.get_ydata(orig=False), totals.to_numpy())
    assert figure.axes[0].get_xscale() == "log"
    assert figure.get_supxlabel() == "a note"


def test_the_regret_layout_names_settings_when_there_are_several():
    figure = draw(Figure("regret", "n", "R"), Runs(table_of(("a", "b")), {"a": None, "b": None}))
    assert set(lines_of(figure)) == {"one, a", "other, a", "one, b", "other, b"}


def test_more_policies_than_colours_differ_by_style():
    figure = plot(table_of(policies=[f"p{index}" for index in range(len(COLOURS) + 1)]))
    looks = {(line.get_color(), line.get_linestyle()) for line in figure.axes[0].get_lines()}
    assert len(looks) == len(COLOURS) + 1


def test_saved_figures_are_the_same_bytes_every_time(tmp_path):
    contents = []
    for name in ("one", "two"):
        save(plot(table_of()), tmp_path / name)
        contents.append((tmp_path / f"{name}.png").read_bytes())
    assert contents[0] == contents[1]
    assert contents[0].startswith(b"\x89PNG")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".png", ".png"]


def test_saved_figures_have_a_palette_that_keeps_the_colours_of_the_curves(tmp_path):
    figure = plot(table_of(policies=[f"p{index}" for index in range(len(COLOURS))]))
    save(figure, tmp_path / "one")
    figure.savefig(tmp_path / "plain.png", dpi=150)
    with Image.open(tmp_path / "one.png") as drawn, Image.open(tmp_path / "plain.png") as plain:
        assert drawn.mode == "P"
        assert drawn.size == plain.size
        found, expected = (np.asarray(one.convert("RGB"), int) for one in (drawn, plain))
    for colour in ("#FFFFFF", *COLOURS):
        lines = (expected == np.array(ImageColor.getrgb(colour))).all(axis=-1)
        assert lines.any()
        assert np.abs(found - expected)[lines].max() <= 4  # of 255
    assert (tmp_path / "one.png").stat().st_size < 0.6 * (tmp_path / "plain.png").stat().st_size


# --- the page ---


class Reader(html.parser.HTMLParser):
    """Collects tags, and checks that they are closed in order."""

    VOID = ("meta", "img", "br", "link")

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def summary_of(**changes):
    fields = {
        "schema": 1,
        "id": "fake/line",
        "title": "A line",
        "reference": "nobody (2026)",
        "scale": "quick",
        "reduced": "less of it",
        "note": "mind the gap",
        "rounds": 10,
        "seeds": 3,
        "settings": [SettingSummary("a", 1.0, {"m": 1})],
        "finals": [Final("a", "one", 3, 5.0, 4.0, 6.0, 1.0, None)],
        "claims": [
            Verdict("it holds", 1.5, "1.5 ± 3 %", "holds", "95 % 1.4 to 1.6 over 3 seeds"),
            Verdict("it fails", 2.0, "< 1", "fails", "by far"),
            Verdict("it is open", None, "< 1", "open", "not run at this scale"),
        ],
        "times": Times(12.0, 4.0, 1.0),
        "versions": {"jax": "0.10"},
        "commits": ["abc"],
        "cpu": "a processor",
    }
    return Summary(**(fields | changes))


@pytest.fixture
def folder(tmp_path):
    save(plot(table_of()), tmp_path / "figure")
    return tmp_path


def test_the_page_holds_every_figure_and_loads_nothing(folder):
    panel = Panel("Compare", "Some words.", folder / "figure.png", ("policy", "regret"), (("one", "5"),))
    page = build_page([(summary_of(), folder), (summary_of(id="fake/two"), folder)], panels=[panel])
    reader = read(page)
    images = [attrs["src"] for tag, attrs in reader.tags if tag == "img"]
    assert len(images) == 3
    for source in images:
        kind, content = source.split(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(content) == (folder / "figure.png").read_bytes()
    addresses = [attrs[name] for _, attrs in reader.tags for name in ("src", "href") if name in attrs]
    assert all(address.startswith(("data:", "#")) for address in addresses)
    assert not {"script", "link", "iframe"} & {tag for tag, _ in reader.tags}
    policy = next(attrs["content"] for tag, attrs in reader.tags if attrs.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "prefers-color-scheme: dark" in page


def test_the_page_says_what_came_out_and_what_was_reduced(folder):
    reader = read(build_page([(summary_of(), folder)]))
    words = " ".join(reader.texts)
    for expected in (
        "it holds",
        "1.5 ± 3 %",
        "by far",
        "less of it",
        "mind the gap",
        "a processor",
        "jax 0.10",
        "m = 1",
    ):
        assert expected in words
    badges = [attrs["class"] for tag, attrs in reader.tags if tag == "span"]
    assert badges == [f"badge {verdict}" for verdict in ("holds", "fails", "open")] * 2
    links = [attrs["href"] for tag, attrs in reader.tags if tag == "a"]
    sections = {attrs.get("id") for tag, attrs in reader.tags if tag == "section"}
    assert {link.removeprefix("#") for link in links} <= sections


def test_whatever_a_summary_says_is_text(folder):
    summary = summary_of(
        id=NASTY,
        title=NASTY,
        reference=NASTY,
        reduced=NASTY,
        note=NASTY,
        settings=[SettingSummary(NASTY, None, {NASTY: NASTY})],
        finals=[Final(NASTY, NASTY, 1, None, None, None, None, None)],
        claims=[Verdict(NASTY, None, NASTY, "open", NASTY)],
        versions={NASTY: NASTY},
        commits=[NASTY],
        cpu=NASTY,
    )
    panel = Panel(NASTY, NASTY, folder / "figure.png", (NASTY,), ((NASTY,),))
    page = build_page([(summary, folder)], title=NASTY, panels=[panel])
    reader = read(page)
    assert "<script" not in page
    assert "script" not in {tag for tag, _ in reader.tags}
    assert sum(text.count(NASTY) for text in reader.texts) >= 12


def test_a_missing_figure_is_said(tmp_path):
    page = build_page([(summary_of(), tmp_path)])
    assert "figure is missing" in page
    read(page)


# --- the terminal ---


def test_claims_are_printed_with_their_verdicts():
    text = claims_text([summary_of(title=NASTY)]).plain
    assert text.splitlines() == [
        "fake/line (quick scale)",
        "  holds it holds",
        "        measured 1.5, 95 % 1.4 to 1.6 over 3 seeds; expected 1.5 ± 3 %",
        "  fails it fails",
        "        measured 2, by far; expected < 1",
        "  open  it is open",
        "        not run at this scale; expected < 1",
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_moves_on_a_terminal_and_is_lines_elsewhere(terminal, capsys):
    console = Console(force_terminal=terminal, width=120)
    with progress_of("fake/line", console) as progress:
        for done in (0, 50, 100):
            progress(done, 100)
    shown = capsys.readouterr().out
    assert "fake/line" in shown
    assert ("\x1b[" in shown) == terminal
    assert ("100/100" in shown) if terminal else (shown == "fake/line: 100 of 100 rounds\n")


def test_figures_need_no_window_system():
    assert isinstance(plot(table_of()), Drawing)
