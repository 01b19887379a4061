"""The states of an automaton and the transitions between them: what a pattern is compiled to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from penstock.core.pattern.conditions import Condition
from penstock.core.pattern.pattern import STATE_NAME_DELIMITER


class StateKind(Enum):
    """What reaching a state means."""

    START = "start"
    NORMAL = "normal"
    #: The match is complete.
    FINAL = "final"
    #: The match is complete if it is still here when its time is up.
    PENDING = "pending"
    #: The match is given up.
    STOP = "stop"


class Action(Enum):
    """What a transition does with the event."""

    TAKE = "take"
    IGNORE = "ignore"
    #: Look at the event from the next state.
    PROCEED = "proceed"


@dataclass(eq=False)
class Transition:
    """A way out of a state, open to events that the condition accepts."""

    action: Action
    source: State
    target: State
    condition: Condition


@dataclass(eq=False)
class State:
    """One state. Names are unique; the part up to the delimiter is that of the stage."""

    name: str
    kind: StateKind
    transitions: list[Transition] = field(default_factory=list)

    @property
    def stage(self) -> str:
        """Return the name of the stage whose events this state takes."""
        return self.name.split(STATE_NAME_DELIMITER)[0]

    def add(self, action: Action, target: State, condition: Condition) -> None:
        """Add a transition behind those that are there: their order decides about versions."""
        self.transitions.append(Transition(action, self, target, condition))

    def take(self, target: State, condition: Condition) -> None:
        """Add a transition that takes the event."""
        self.add(Action.TAKE, target, condition)

    def ignore(self, target: State, condition: Condition) -> None:
        """Add a transition that passes the event over."""
        self.add(Action.IGNORE, target, condition)

    def proceed(self, target: State, condition: Condition) -> None:
        """Add a transition that leaves the event to another state."""
        self.add(Action.PROCEED, target, condition)


@dataclass(frozen=True)
class Automaton:
    """A compiled pattern.

    :param states: by name; the first one is the end, one is the start.
    :param window: milliseconds between the first and the last event; 0 for any time.
    :param state_windows: milliseconds between the event before and the one of a state, by name.
    """

    states: dict[str, State]
    start: State
    window: int
    state_windows: dict[str, int]
