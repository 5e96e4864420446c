"""What is published: the library alone, and words about it that are true."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import superarm

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BESIDE = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "pyproject.toml"}
# What the builder adds by itself.
ADDED = {"PKG-INFO", ".gitignore"}
LARGEST = 2 * 2**20  # bytes of an archive; both have less than half a megabyte


def test_the_archives_are_told_to_hold_the_library_alone():
    targets = PROJECT["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"] == {"packages": ["src/superarm"]}
    assert set(targets["sdist"]["only-include"]) == BESIDE | {"src/superarm"}
    assert all((ROOT / name).exists() for name in targets["sdist"]["only-include"])


def test_the_library_is_code_alone():
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {path.suffix for path in files} == {".py", ".typed"}
    assert sum(path.stat().st_size for path in files) < LARGEST


def test_versions_are_one():
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited.group(1) == superarm.__version__


def test_the_python_that_is_asked_for_is_the_first_that_is_named():
    project = PROJECT["project"]
    named = [one.rsplit(" ", 1)[1] for one in project["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert project["requires-python"] == f">={named[0]}"
    assert "Private :: Do Not Upload" not in project["classifiers"]


def test_every_paper_is_cited():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for paper in re.findall(r"^## ([a-z]+)(\d{4})$", (ROOT / "docs/papers.md").read_text(), re.MULTILINE):
        name, year = paper
        assert re.search(rf"family-names: {name.title()}\b.*?year: {year}", cited, re.DOTALL), paper


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """A wheel and an sdist, as `pip` makes them: by the builder that pyproject names."""
    place = tmp_path_factory.mktemp("dist")
    for target in ("wheel", "sdist"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", place]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)  # noqa: S603
    return {path.suffix: path for path in place.iterdir()}


@pytest.mark.full
def test_the_wheel_holds_the_library_and_its_metadata(archives):
    with zipfile.ZipFile(archives[".whl"]) as wheel:
        names = wheel.namelist()
        (told,) = (wheel.read(name).decode() for name in names if name.endswith("/METADATA"))
    info = f"superarm-{superarm.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"superarm", info}
    assert {f"{info}/licenses/LICENSE", f"{info}/entry_points.txt", "superarm/py.typed"} <= set(names)
    assert archives[".whl"].stat().st_size < LARGEST
    for line in (
        f"Version: {superarm.__version__}",
        "License-Expression: Apache-2.0",
        "Author: The superarm",
    ):
        assert f"\n{line}" in told
    needed = re.findall(r"^Requires-Dist: ([^;\n]*)$", told, re.MULTILINE)
    assert sorted(needed) == sorted(PROJECT["project"]["dependencies"])


@pytest.mark.full
def test_the_sdist_holds_the_library_and_what_is_beside_it(archives):
    with tarfile.open(archives[".gz"]) as sdist:
        names = [name.partition("/")[2] for name in sdist.getnames()]
    assert {name for name in names if not name.startswith("src/superarm/")} <= BESIDE | ADDED
    assert set(names) >= BESIDE
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "src/superarm").rglob("*.py")}
    assert files <= set(names)
    assert archives[".gz"].stat().st_size < LARGEST


@pytest.mark.full
def test_the_wheel_can_be_used(archives):
    """Beside the packages that are here: the library comes from the wheel, and finds all of itself."""
    wheel = archives[".whl"]
    code = f"import sys, json; sys.path.insert(0, {str(wheel)!r})\n" + (
        "import superarm\n"
        "from superarm.reproduce.registry import EXPERIMENTS\n"
        "[getattr(superarm, name) for name in superarm.__all__]\n"
        "print(json.dumps([superarm.__file__, len(EXPERIMENTS)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    file, experiments = json.loads(done.stdout)
    assert Path(file).is_relative_to(wheel)
    assert experiments > 50
