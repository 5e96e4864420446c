"""Compiled code is kept by version and processor, and used by the next process."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata

import pytest

from superarm import compiler as compile_cache

RUN = ["run", "wen2015/longest-path", "--scale", "smoke", "--seeds", "1", "--workers", "0"]
CODE = """
import sys
import numpy as np, superarm
superarm.low_latency()
print(superarm.keep_compiled(sys.argv[1]))
agent = superarm.Agent(superarm.lin_ucb())
agent.update(agent.select(np.eye(3)), 1.0)
"""


def test_the_next_process_compiles_nothing(tmp_path):
    def files():
        # Beside the programs lie files that say when each was used.
        return {path.name for path in tmp_path.rglob("*") if not path.name.endswith("-atime")}

    def decide():
        command = [sys.executable, "-c", CODE, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        assert done.stdout.strip() == str(tmp_path)

    decide()
    kept = files()
    assert kept
    decide()
    assert files() == kept


@pytest.mark.parametrize(("arguments", "kept"), [(["list"], False), (["run", "--help"], False), (RUN, True)])
def test_the_command_line_keeps_what_it_compiles_itself(tmp_path, arguments, kept):
    folder = tmp_path / "compiled"
    code = "import superarm.compiler as kept; kept.SECONDS = 0.0; from superarm.cli import main; main()"
    command = [sys.executable, "-c", code, *arguments]
    settings = os.environ | {"JAX_COMPILATION_CACHE_DIR": str(folder)}
    settings.pop("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", None)
    done = subprocess.run(command, env=settings, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert any(folder.rglob("*-cache")) == kept


def test_the_folder_is_the_user_s_or_one_per_version_and_processor(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    folder = compile_cache.cache_folder()
    assert folder.parent == tmp_path / "superarm" / "compiled"
    assert metadata.version("jaxlib") in folder.name
    monkeypatch.setattr(compile_cache, "_processor", lambda: "another")
    assert compile_cache.cache_folder() != folder
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert compile_cache.cache_folder().parent == tmp_path / ".cache" / "superarm" / "compiled"
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "mine"))
    assert compile_cache.cache_folder() == tmp_path / "mine"
    assert compile_cache.cache_settings()["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "mine")


@pytest.mark.parametrize("told", ["flags : avx2", "Features : asimd"])
def test_processors_that_can_do_other_things_have_other_words(monkeypatch, told):
    words = set()
    for text in (told, told + " more"):
        monkeypatch.setattr(compile_cache.Path, "read_text", lambda *_, text=text, **__: text)
        words.add(compile_cache._processor())
    assert len(words) == 2
