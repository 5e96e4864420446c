"""Policies as plain data."""

from __future__ import annotations

import json
import re
import tomllib

import jax
import numpy as np
import pytest

import superarm
from superarm.config import from_config, load_policy, save_policy, to_config
from superarm.errors import ConfigError
from superarm.pytree import CLASSES
from support.agent_presets import BUILDS

ORACLES = {
    "assortment": lambda: superarm.oracles.assortment([1.0, 2.0, 3.0], 2),
    "dag_path": lambda: superarm.oracles.dag_path([(0, 1), (1, 2), (0, 2)], source=0, target=2),
    "grid_path": lambda: superarm.oracles.grid_path(3),
    "knapsack": lambda: superarm.oracles.knapsack([1.0, 2.0, 3.0], 4.0),
    "greedy_knapsack": lambda: superarm.oracles.knapsack([1.0, 2.0, 3.0], 4.0, method="greedy"),
    "matching": lambda: superarm.oracles.matching([(0, 0), (1, 1)], 2, 2),
    "quota": lambda: superarm.oracles.quota([0, 0, 1, 1], size=2, at_most={0: 1}),
    "spanning_tree": lambda: superarm.oracles.spanning_tree([(0, 1), (1, 2)], 3),
}


def require_equal(one, other):
    """The same structure, and the same leaves in the same types."""
    if hasattr(one, "recipe"):
        assert one.recipe == other.recipe
        one, other = one.epochs(30)[-1].policy, other.epochs(30)[-1].policy
    (leaves, structure), (others, other_structure) = jax.tree.flatten(one), jax.tree.flatten(other)
    assert structure == other_structure
    for leaf, twin in zip(leaves, others, strict=True):
        assert np.asarray(leaf).dtype == np.asarray(twin).dtype
        np.testing.assert_array_equal(leaf, twin)


@pytest.mark.parametrize("suffix", ["json", "toml"])
@pytest.mark.parametrize("name", BUILDS)
def test_every_preset_is_read_as_it_was_written(name, suffix, tmp_path):
    policy = BUILDS[name]()
    path = save_policy(policy, tmp_path / f"policy.{suffix}")
    require_equal(policy, load_policy(path))


@pytest.mark.parametrize("name", ORACLES)
def test_every_oracle_is_read_as_it_was_written(name, tmp_path):
    policy = superarm.comb_lin_ts(ORACLES[name]())
    require_equal(policy, load_policy(save_policy(policy, tmp_path / "policy.toml")))


def test_class_names_are_unique():
    for name, cls in CLASSES.items():
        assert cls.__name__ == name
        assert sum(other.__name__ == name for other in CLASSES.values()) == 1


def test_by_hand():
    text = """
        preset = "cn_ucb"
        radius = 0.5
        width = "diagonal"

        [oracle]
        preset = "top_k"
        k = 3

        [model]
        preset = "neural"
        learn_every = 5
        network = { preset = "perceptron", width = 8 }
    """
    model = superarm.neural(superarm.perceptron(width=8), learn_every=5)
    expected = superarm.cn_ucb(superarm.top_k(3), model, radius=0.5, width="diagonal")
    require_equal(from_config(tomllib.loads(text)), expected)


def test_numbers_that_json_has_no_word_for():
    policy = superarm.lin_ucb()
    odd = to_config(policy)
    odd["model"]["noise"] = {"dtype": "float64", "words": ["inf"], "shape": []}
    assert json.loads(json.dumps(odd)) == odd
    made = from_config(odd)
    assert made.model.noise == np.inf
    assert to_config(made)["model"]["noise"] == odd["model"]["noise"]


def test_functions_need_a_name():
    def init(key, dim):
        return jax.numpy.zeros(dim)

    def apply(params, contexts):
        return contexts @ params

    policy = superarm.neural_ucb(superarm.neural(superarm.network(init, apply)))
    with pytest.raises(ConfigError, match="a function must have a name to be written down"):
        to_config(policy)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ([], "config must be a table, got list"),
        ({}, "must have one of the words preset, type, function, dtype, got none"),
        ({"preset": "lin_ucb", "type": "Policy"}, "got preset, type"),
        ({"preset": "eval"}, "preset must be a factory of superarm, got 'eval'"),
        ({"preset": "top_k", "k": 2}, "config must say a policy, got TopK"),
        ({"preset": "lin_ucb", "noise": -1.0}, "noise must be > 0, got -1.0"),
        (
            {"preset": "lin_ucb", "nose": 1.0},
            "policy: lin_ucb: an argument must be known by its name, got 'nose'",
        ),
        ({"preset": "lin_ucb", "nois": 1.0}, "got 'nois'; did you mean 'noise'?"),
        (
            {"preset": "lin_ucbb"},
            "preset must be a factory of superarm, got 'lin_ucbb'; did you mean 'lin_ucb'?",
        ),
        ({"prest": "lin_ucb"}, "must have one of the words preset, type, function, dtype, got none"),
        ({"type": "Polcy"}, "type must be a part of superarm, got 'Polcy'; did you mean 'Policy'?"),
        ({"type": "Policy", "widht": 3}, "got widht; did you mean 'width'?"),
        ({"preset": 3}, "preset must be a word, got int"),
        ({"type": "Popen"}, "type must be a part of superarm, got 'Popen'"),
        (
            {"type": "Policy", "args": 3},
            "policy: must have only model, width, explorer, chooser, name, got args",
        ),
        ({"preset": "lin_ucb", "noise": {"function": "system"}}, "must be a name given by superarm.config"),
        (
            {"preset": "lin_ucb", "noise": {"dtype": "object", "values": [1], "shape": []}},
            "dtype must be one of",
        ),
        (
            {"preset": "lin_ucb", "noise": {"dtype": "float64", "values": [1, 2], "shape": [3]}},
            "must be an array",
        ),
        ({"preset": "lin_ucb", "noise": None}, "must be a number, a word, a list or a table, got NoneType"),
    ],
)
def test_what_is_refused(config, words):
    with pytest.raises(ConfigError, match=re.escape(words)):
        from_config(config)


def test_tables_in_tables_end(tmp_path):
    deep = {"preset": "lin_ucb"}
    for _ in range(50):
        deep = {"preset": "warm_up", "policy": deep}
    with pytest.raises(ConfigError, match="tables must be at most 32 deep"):
        from_config(deep)


def test_files_that_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"must end in \.toml or \.json, got \.yaml"):
        save_policy(superarm.lin_ucb(), tmp_path / "policy.yaml")
    path = tmp_path / "policy.json"
    path.write_text("{")
    with pytest.raises(ConfigError, match=r"policy\.json: must be JSON, got: "):
        load_policy(path)
    path.write_text("[" * 100_000)
    with pytest.raises(ConfigError, match=r"policy\.json: must be JSON, got: "):
        load_policy(path)
