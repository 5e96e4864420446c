"""What can go wrong in an application.

ValueError, TypeError            an argument that does not fit; nothing was changed
    ConfigError                  a policy that cannot be written down, or read
RuntimeError
    NoChoiceError                no sound choice among what is on offer
    StoreError                   a file that cannot be used, or written
        StoreInUseError          a store that another agent has open
    EngineError                  a cluster that is not there, or lost work too often
LookupError
    UnknownDecisionError         an update of a decision that was never made
SimulationError                  a run that could not go on (`superarm.simulate`)
"""

from __future__ import annotations

from superarm import checks


class ConfigError(ValueError):
    """A policy cannot be written to a configuration, or read from one."""


class NoChoiceError(RuntimeError):
    """No sound choice among what is on offer: nothing feasible, or a score that is not finite."""


class StoreError(RuntimeError):
    """A file is damaged, of a newer version, of another policy, in use, or cannot be written."""


class StoreInUseError(StoreError):
    """Another agent, of this process or of another one, has the store open."""


class UnknownDecisionError(LookupError):
    """Feedback names a decision that was never made."""


class EngineError(RuntimeError):
    """The ray engine is not installed, its cluster does not answer or has other versions, or lost a job."""


checks.public(__name__)
