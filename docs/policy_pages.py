"""Pages that are written when the documentation is built: one per policy, and the tables of all of them.

What docstrings do not say (formula, cost, when to use it) is in `policies.toml`. Environments and explorers
are listed from their docstrings alone.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from superarm import checks, environments, explorers, policies
from superarm.contract import Explorer
from superarm.policies.combine import CHOOSERS, combinations

COSTS = {"decision": "a decision", "update": "an update", "fit": "a fit", "memory": "numbers kept"}


def read(docs: Path) -> dict[str, Any]:
    """Return what `policies.toml` says: families, papers and policies."""
    return tomllib.loads((docs / "policies.toml").read_text(encoding="utf-8"))


def policy_page(name: str, entry: dict[str, Any], papers: dict[str, str]) -> str:
    """Return the page of a policy."""
    cost = [(words, entry["cost"][key]) for key, words in COSTS.items()]
    module = getattr(policies, name).__module__
    paper = papers.get(module.rsplit(".", 1)[-1].split("_")[0])
    reference = f"Its module, `{module}`, follows {paper}." if paper else ""
    parts = [
        f"# {name}",
        entry["line"],
        "## Formula",
        f"```{{math}}\n{entry['formula'].strip()}\n```",
        entry["symbols"].strip(),
        "## When to use it",
        _linked(name, entry["use"].strip()),
        "## Cost",
        _table(["", "cost"], cost),
        "The letters are those of [the overview](../../policies.md#costs).",
        "## Arguments, example, reference",
        f"```{{eval-rst}}\n.. autofunction:: superarm.{name}\n```",
        *_settings(name),
        reference,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _settings(name: str) -> list[str]:
    """What stands behind `**settings` in the signature of a policy: names and types."""
    return [
        f"`**{given}` takes, all by name:\n\n"
        + _table(["", "type"], [(f"`{key}`", _typed(one)) for key, one in get_type_hints(settings).items()])
        for given, settings in checks.unpacked(getattr(policies, name)).items()
    ]


def _typed(hint: Any) -> str:
    """Write a type: the words that it allows, otherwise its name."""
    if get_origin(hint) is Literal:
        return ", ".join(f'"{word}"' for word in get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return ", ".join(_typed(one) for one in get_args(hint))
    return "None" if hint is NoneType else str(hint.__name__)


def overview(entries: dict[str, Any], families: dict[str, str]) -> str:
    """Return a table of policies for every family, to include in `policies.md`."""
    parts = []
    for family, title in families.items():
        rows = [
            (f"[`{name}`](generated/policies/{name}.md)", entry["line"])
            for name, entry in entries.items()
            if entry["family"] == family
        ]
        parts += [f"## {title}", _table(["policy", ""], rows)]
    return "\n\n".join(parts) + "\n"


def combination_table() -> str:
    """Return the table of all combinations, and why some are refused, to include in `combinations.md`."""
    reasons: list[str] = []
    rows: dict[tuple[str, str], dict[str, str]] = {}
    widths: dict[tuple[str, str], str] = {}
    for one in combinations():
        key = (one.model, one.explorer)
        if one.refused and one.refused not in reasons:
            reasons.append(one.refused)
        answer = f"no ({reasons.index(one.refused) + 1})" if one.refused else "yes"
        rows.setdefault(key, {})[one.chooser] = answer
        widths[key] = ", ".join(one.widths) or widths.get(key, "")
    table = _table(
        ["model", "explorer", *CHOOSERS, "widths"],
        [(*key, *(row[chooser] for chooser in CHOOSERS), widths[key]) for key, row in rows.items()],
    )
    listed = "\n".join(f"{number}. `{reason}`" for number, reason in enumerate(reasons, 1))
    return f"{table}\n\nWhat `no` says:\n\n{listed}\n"


def environment_reference() -> str:
    """Return the table of all environments and their docstrings, to include in `environments.md`."""
    functions = {name: getattr(environments, name) for name in environments.__all__}
    named = {name: value for name, value in functions.items() if inspect.isfunction(value)}
    rows = [(f"`{name}`", _first_line(value)) for name, value in named.items()]
    entries = [f".. autofunction:: superarm.environments.{name}" for name in named]
    return _table(["environment", ""], rows) + "\n\n```{eval-rst}\n" + "\n".join(entries) + "\n```\n"


def explorer_table() -> str:
    """Return the table of all explorers, to include in `combinations.md`."""
    classes = {name: getattr(explorers, name) for name in explorers.__all__}
    rows = [
        (f"`{name}`", _first_line(value))
        for name, value in classes.items()
        if inspect.isclass(value) and issubclass(value, Explorer)
    ]
    return _table(["explorer", ""], rows) + "\n"


def _first_line(thing: Any) -> str:
    """The first line of a docstring, as a cell of a table."""
    return (inspect.getdoc(thing) or "").split("\n")[0].replace("|", "\\|")


def write(docs: Path, out: Path) -> None:
    """Write all pages to the folder `out`, and remove those of policies that are gone."""
    said = read(docs)
    entries = said["policies"]
    pages = {
        f"policies/{name}.md": policy_page(name, entries[name], said["papers"]) for name in policies.__all__
    }
    pages |= {"overview.md": overview(entries, said["families"]), "combinations.md": combination_table()}
    pages |= {"environments.md": environment_reference(), "explorers.md": explorer_table()}
    for old in (out / "policies").glob("*.md"):
        if f"policies/{old.name}" not in pages:
            old.unlink()
    (out / "policies").mkdir(parents=True, exist_ok=True)
    for path, text in pages.items():
        target = out / path
        # A page that is as it was keeps its time, so that it is not built again.
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def _linked(name: str, text: str) -> str:
    """Link the other policies that are named."""

    def link(found: re.Match[str]) -> str:
        other = found[1]
        return f"[{found[0]}]({other}.md)" if other in policies.__all__ and other != name else found[0]

    return re.sub(r"`(\w+)`", link, text)


def _table(head: list[str], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
