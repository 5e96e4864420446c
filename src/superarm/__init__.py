"""superarm: contextual bandits whose action is one arm, a set of arms, or a duel.

Public names are imported when they are first used, so that `import superarm` and the command line start at
once. What a name is and where it lives is said here for all of them but the presets, which
`superarm.policies` lists.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing
from importlib import util as _util

if _typing.TYPE_CHECKING:
    from superarm import config as config
    from superarm import contract as contract
    from superarm import datasets as datasets
    from superarm import environments as environments
    from superarm import errors as errors
    from superarm import evaluate as evaluate
    from superarm import policies as policies
    from superarm import rewards as rewards
    from superarm import types as types
    from superarm.agent.agent import Agent as Agent
    from superarm.agent.selection import Selection as Selection
    from superarm.agent.store.recorder import Store as Store
    from superarm.choosers import oracles as oracles
    from superarm.choosers.oracles import top_k as top_k
    from superarm.compiler import keep_compiled as keep_compiled
    from superarm.compiler import low_latency as low_latency
    from superarm.models import design as design
    from superarm.models import glm as glm
    from superarm.models import network as network
    from superarm.models import perceptron as perceptron
    from superarm.models import shallow_model as shallow_model
    from superarm.models.factory import neural as neural
    from superarm.policies import *  # noqa: F403 (a preset is named in its own file)
    from superarm.policies import anytime as anytime
    from superarm.policies.combine import combine as combine
    from superarm.policy import Policy as Policy
    from superarm.schedules import bernstein as bernstein
    from superarm.schedules import lemma1_radius as lemma1_radius
    from superarm.schedules import lemma7_radius as lemma7_radius
    from superarm.schedules import optimistic_draws as optimistic_draws
    from superarm.schedules import shallow_radius as shallow_radius
    from superarm.schedules import tail_bound as tail_bound
    from superarm.simulation.ensemble_fit import learn_members as learn_members
    from superarm.simulation.round import SimulationError as SimulationError
    from superarm.simulation.simulate import compare as compare
    from superarm.simulation.simulate import simulate as simulate
    from superarm.simulation.tune import tune as tune
    from superarm.theory import bounds as bounds
    from superarm.theory import ntk as ntk
    from superarm.types import Choice as Choice
    from superarm.types import Decision as Decision
    from superarm.types import Event as Event
    from superarm.types import Spec as Spec
    from superarm.types import State as State

__version__ = "0.2.0.dev0"

_HOMES = {
    "agent.agent": ("Agent",),
    "agent.selection": ("Selection",),
    "agent.store.recorder": ("Store",),
    "choosers.oracles": ("top_k",),
    "compiler": ("keep_compiled", "low_latency"),
    "models": ("glm", "network", "perceptron", "shallow_model"),
    "models.factory": ("neural",),
    "policies.combine": ("combine",),
    "policy": ("Policy",),
    "schedules": (
        "bernstein",
        "lemma1_radius",
        "lemma7_radius",
        "optimistic_draws",
        "shallow_radius",
        "tail_bound",
    ),
    "simulation.ensemble_fit": ("learn_members",),
    "simulation.round": ("SimulationError",),
    "simulation.simulate": ("compare", "simulate"),
    "simulation.tune": ("tune",),
    "types": ("Choice", "Decision", "Event", "Spec", "State"),
}
_MODULES = {
    "anytime": "policies.anytime",
    "bounds": "theory.bounds",
    "config": "config",
    "contract": "contract",
    "datasets": "datasets",
    "design": "models.design",
    "environments": "environments",
    "errors": "errors",
    "evaluate": "evaluate",
    "ntk": "theory.ntk",
    "oracles": "choosers.oracles",
    "policies": "policies",
    "rewards": "rewards",
    "types": "types",
}
_RENAMED = {"policy": "combine"}  # functions whose name is a module's now
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


if not _typing.TYPE_CHECKING:  # or a type checker would take any name for a public one

    def __getattr__(name: str) -> _typing.Any:
        """Import a public name when it is first used."""
        if name == "__all__":
            return __dir__()
        if name.startswith("_") or (name not in _MODULES and _util.find_spec(f"superarm.{name}")):
            # An internal module: `from superarm import checks` asks here before it imports it. Without this
            # line it would import all presets, and JAX, first.
            close = f"; did you mean {_RENAMED[name]!r}?" if name in _RENAMED else ""
            raise AttributeError(f"module 'superarm' has no attribute {name!r}{close}")
        try:
            value = _found(name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("superarm"):
                raise
            must = f"the package {error.name} must be installed, got none; run `pip install superarm`"
            raise ModuleNotFoundError(f"superarm.{name}: {must}", name=error.name) from error
        globals()[name] = value
        return value


def _found(name: str) -> _typing.Any:
    """Return what a public name stands for."""
    if name in _MODULES:
        return _importlib.import_module(f"superarm.{_MODULES[name]}")
    if name in _HOME_OF:
        return getattr(_importlib.import_module(f"superarm.{_HOME_OF[name]}"), name)
    presets = _importlib.import_module("superarm.policies")
    if name not in presets.__all__:
        for room in ("oracles", "environments", "explorers"):
            if name in _importlib.import_module(f"superarm.{_MODULES.get(room, room)}").__all__:
                advice = f"did you mean 'superarm.{room}.{name}'?"
                raise AttributeError(f"module 'superarm' has no attribute {name!r}; {advice}")
        close = _importlib.import_module("superarm.checks").hint(name, __dir__())
        raise AttributeError(f"module 'superarm' has no attribute {name!r}{close}")
    return getattr(presets, name)


def __dir__() -> list[str]:
    """All public names, those that are not imported yet, too."""
    presets = _importlib.import_module("superarm.policies").__all__
    return sorted({*_HOME_OF, *_MODULES, *presets, "__version__"})
