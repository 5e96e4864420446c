"""Every policy has a page that says its formula, its cost and when to use it."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import superarm
from superarm import explorers
from superarm.checks import unpacked
from superarm.policies.combine import combinations

DOCS = Path(__file__).parents[2] / "docs"
_spec = importlib.util.spec_from_file_location("policy_pages", DOCS / "policy_pages.py")
policy_pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(policy_pages)

SAID = policy_pages.read(DOCS)
NAMES = superarm.policies.__all__


def test_entries_are_those_of_the_presets():
    assert sorted(SAID["policies"]) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_says_all(name):
    entry = SAID["policies"][name]
    assert set(entry) == {"family", "line", "formula", "symbols", "use", "cost"}
    assert entry["family"] in SAID["families"]
    assert entry["line"].endswith(".")
    assert all(entry[part].strip() for part in ("formula", "symbols", "use"))
    assert set(entry["cost"]) == set(policy_pages.COSTS)
    assert all(entry["cost"].values())


@pytest.mark.parametrize("name", NAMES)
def test_formulas_are_whole(name):
    formula = SAID["policies"][name]["formula"]
    assert formula.count("{") == formula.count("}")
    assert formula.count(r"\big") % 2 == formula.count(r"\Big") % 2 == 0
    assert re.findall(r"\\begin{(\w+)}", formula) == re.findall(r"\\end{(\w+)}", formula)
    assert "\n\n" not in formula.strip()  # which would be two formulas
    if "cases" not in formula:  # Sphinx aligns formulas of several lines, and those alone
        rows = formula.split(r"\\")
        assert {row.count("&") for row in rows} == {1 if len(rows) > 1 else 0}


@pytest.mark.parametrize("name", NAMES)
def test_policies_that_are_named_exist(name):
    """What an entry advises in code is a preset, an argument or a word of the library."""
    entry = SAID["policies"][name]
    preset = getattr(superarm, name)
    arguments = set(inspect.signature(preset).parameters)
    arguments |= {key for one in unpacked(preset).values() for key in one.__annotations__}
    for word in entry["use"].split("`")[1::2]:
        called = word.split("(")[0]
        if "_" in called and "=" not in called and called not in arguments:
            assert called in {*superarm.__all__, "learn_every", "min_propensity", "self_duels"}, word


def test_pages_are_written_for_all(tmp_path):
    gone = tmp_path / "policies" / "gone.md"
    gone.parent.mkdir()
    gone.write_text("# gone")
    policy_pages.write(DOCS, tmp_path)
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "policies").glob("*.md")}
    assert sorted(pages) == sorted(NAMES)
    for name, text in pages.items():
        assert text.startswith(f"# {name}\n")
        assert f".. autofunction:: superarm.{name}\n" in text
    overview = (tmp_path / "overview.md").read_text(encoding="utf-8")
    assert all(f"(generated/policies/{name}.md)" in overview for name in NAMES)


def test_pages_say_the_settings_that_are_passed_on():
    text = policy_pages.policy_page("glm_ucb", SAID["policies"]["glm_ucb"], {})
    assert "`**fitting` takes, all by name:" in text
    assert '| `memory` | "all", "window", "reservoir", "arms" |' in text
    assert "| `penalty` | float, Radius, None |" in text


def test_a_page_that_is_as_it_was_is_not_written_again(tmp_path):
    policy_pages.write(DOCS, tmp_path)
    page = tmp_path / "policies" / "lin_ucb.md"
    before = page.stat().st_mtime_ns
    policy_pages.write(DOCS, tmp_path)
    assert page.stat().st_mtime_ns == before


def test_the_table_of_combinations_has_them_all():
    table = policy_pages.combination_table()
    made = [one for one in combinations() if not one.refused]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert sum(row.count("| yes ") for row in rows) == len(made)
    assert all(one.refused in table for one in combinations() if one.refused)


def test_every_environment_and_explorer_is_listed():
    """From the docstrings: a new one needs no entry."""
    reference, table = policy_pages.environment_reference(), policy_pages.explorer_table()
    for name in superarm.environments.__all__:
        if inspect.isfunction(getattr(superarm.environments, name)):
            assert f".. autofunction:: superarm.environments.{name}\n" in reference
            assert f"| `{name}` | " in reference
    for name in explorers.__all__:
        if inspect.isclass(getattr(explorers, name)):
            assert f"| `{name}` | " in table
    assert "` |  |" not in reference + table, "give it a docstring"
    pages = {page.name: page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")}
    assert "generated/environments.md" in pages["environments.md"]
    assert "generated/explorers.md" in pages["combinations.md"]
    # Sphinx refuses a function that is described twice.
    assert not [name for name, text in pages.items() if "autofunction:: superarm.environments." in text]
