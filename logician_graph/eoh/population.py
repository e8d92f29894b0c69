"""Who survives: three populations behind one protocol. Pure: individuals in, verdicts out, state as JSON.

``Single`` keeps the N best, ``Islands`` several such populations that send each other their best now and then,
``MapElites`` the best of each cell of a grid over two sizes of the code. All of them work for either direction.

Duplicates: ``objective`` as the official code does it (equal after rounding to five decimals, the first seen stays; its
only means for diversity), ``behaviour`` by the values per instance (see ``code.behaviour_key``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, get_args

from logician_graph.eoh.code import Feature, behaviour_key, measure
from logician_graph.eoh.individual import Direction, Individual, Lookup, is_better, ranked
from logician_graph.errors import UsageError

Verdict = Literal["entered", "duplicate", "behind"]
"""What became of a newcomer. ``behind``: all places are held by better ones."""
DuplicateRule = Literal["objective", "behaviour"]


@dataclass(frozen=True, slots=True)
class Survival:
    """What one survival decided."""

    verdicts: Mapping[str, Verdict]
    """For every newcomer, by id."""
    left: tuple[str, ...]
    """Ids that had a place before and have none any more."""


class Population(Protocol):
    """The individuals that can become parents."""

    @property
    def islands(self) -> int:
        """How many parts breed apart; 1 when there are none."""
        ...

    def admit(self, newcomers: Sequence[Individual]) -> Survival:
        """One survival among the members and ``newcomers``; the order of ``newcomers`` decides between equals."""
        ...

    def members(self) -> list[Individual]:
        """Everyone, each once, best first."""
        ...

    def breeding(self, island: int) -> list[Individual]:
        """Who can be drawn as a parent on ``island``, best first."""
        ...

    def bar(self, code: str, island: int) -> float | None:
        """The objective that ``code`` must not be worse than to get a place; None while anything valid gets one.

        Stays true until the next survival: a candidate that is strictly worse can be given up.
        """
        ...

    def to_json(self) -> dict[str, Any]:
        """Settings and ids of the members, for :func:`load_population`."""
        ...


class Single:
    """The ``size`` best without duplicates."""

    islands = 1

    def __init__(self, size: int, direction: Direction, duplicates: DuplicateRule = "objective") -> None:
        if size < 1:
            raise UsageError(f"a population needs at least one place, not {size!r}")
        self._size = size
        self._direction: Direction = direction
        self._duplicates: DuplicateRule = duplicates
        self._members: list[Individual] = []

    def admit(self, newcomers: Sequence[Individual]) -> Survival:
        """See :class:`Population`."""
        before = [one.id for one in self._members]
        seen = {self._key(one) for one in self._members}
        pool = list(self._members)
        verdicts: dict[str, Verdict] = {}
        for one in newcomers:
            key = self._key(one)
            verdicts[one.id] = "duplicate" if key in seen else "entered"
            if key not in seen:
                pool.append(one)
                seen.add(key)
        self._members = ranked(pool, self._direction)[: self._size]
        kept = {one.id for one in self._members}
        verdicts = {
            name: "behind" if verdict == "entered" and name not in kept else verdict
            for name, verdict in verdicts.items()
        }
        return Survival(verdicts, tuple(name for name in before if name not in kept))

    def members(self) -> list[Individual]:
        """See :class:`Population`."""
        return list(self._members)

    def breeding(self, island: int) -> list[Individual]:
        """See :class:`Population`."""
        return list(self._members)

    def bar(self, code: str, island: int) -> float | None:
        """See :class:`Population`."""
        return self._members[-1].objective if len(self._members) == self._size else None

    def to_json(self) -> dict[str, Any]:
        """See :class:`Population`."""
        return {
            "kind": "single",
            "size": self._size,
            "direction": self._direction,
            "duplicates": self._duplicates,
            "members": [one.id for one in self._members],
        }

    def restore(self, ids: Iterable[str], lookup: Lookup) -> None:
        """Put back the members that :meth:`to_json` named."""
        self._members = ranked([lookup(name) for name in ids], self._direction)

    def _key(self, one: Individual) -> str:
        if self._duplicates == "objective":
            return f"{round(one.objective, 5) + 0.0:.5f}"
        return behaviour_key(one.objective, one.per_instance)


class Islands:
    """``count`` populations in a ring. After every ``interval`` newcomers each sends on its best ``migrants``.

    A newcomer belongs to the island that its ``island`` names: the one that its parents were drawn on.
    """

    def __init__(
        self,
        count: int,
        size: int,
        direction: Direction,
        duplicates: DuplicateRule = "objective",
        *,
        interval: int,
        migrants: int = 1,
    ) -> None:
        if count < 1 or interval < 1 or migrants < 0:
            raise UsageError("islands need a count and an interval of at least 1 and no negative number of migrants")
        self._parts = [Single(size, direction, duplicates) for _ in range(count)]
        self._direction: Direction = direction
        self._size, self._duplicates = size, duplicates
        self._interval, self._migrants = interval, migrants
        self._since = 0

    @property
    def islands(self) -> int:
        """See :class:`Population`."""
        return len(self._parts)

    def admit(self, newcomers: Sequence[Individual]) -> Survival:
        """See :class:`Population`."""
        before = [one.id for one in self.members()]
        verdicts: dict[str, Verdict] = {}
        for number, part in enumerate(self._parts):
            arrived = [one for one in newcomers if one.island % len(self._parts) == number]
            verdicts.update(part.admit(arrived).verdicts)
        self._since += len(newcomers)
        if self._since >= self._interval:
            self._since %= self._interval
            self._migrate()
        now = {one.id for one in self.members()}
        entered = [name for name, verdict in verdicts.items() if verdict == "entered"]
        return Survival(verdicts, tuple(name for name in [*before, *entered] if name not in now))

    def _migrate(self) -> None:
        sent = [part.members()[: self._migrants] for part in self._parts]
        for number, travellers in enumerate(sent):
            target = self._parts[(number + 1) % len(self._parts)]
            there = {one.id for one in target.members()}
            target.admit([one for one in travellers if one.id not in there])

    def members(self) -> list[Individual]:
        """See :class:`Population`."""
        return ranked({one.id: one for part in self._parts for one in part.members()}.values(), self._direction)

    def breeding(self, island: int) -> list[Individual]:
        """See :class:`Population`."""
        return self._parts[island % len(self._parts)].members()

    def bar(self, code: str, island: int) -> float | None:
        """See :class:`Population`."""
        return self._parts[island % len(self._parts)].bar(code, 0)

    def to_json(self) -> dict[str, Any]:
        """See :class:`Population`."""
        return {
            "kind": "islands",
            "count": len(self._parts),
            "size": self._size,
            "direction": self._direction,
            "duplicates": self._duplicates,
            "interval": self._interval,
            "migrants": self._migrants,
            "since": self._since,
            "members": [[one.id for one in part.members()] for part in self._parts],
        }

    def restore(self, ids: Sequence[Sequence[str]], since: int, lookup: Lookup) -> None:
        """Put back the members that :meth:`to_json` named."""
        self._since = since
        for part, names in zip(self._parts, ids, strict=True):
            part.restore(names, lookup)


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a grid: a size of the code, cut at ``cuts`` (ascending); a value equal to a cut is above it."""

    feature: Feature
    cuts: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.feature not in get_args(Feature) or list(self.cuts) != sorted(set(self.cuts)):
            raise UsageError(
                f"an axis needs a known feature and ascending cuts, not {self.feature!r} and {self.cuts!r}"
            )


DEFAULT_AXES = (Axis("nodes", (30, 45, 60, 80, 110, 150)), Axis("branches", (1, 2, 3, 5)))

Cell = tuple[int, int]


class MapElites:
    """The best of each cell of a grid. A newcomer competes only with the one that holds its cell."""

    islands = 1

    def __init__(self, direction: Direction, axes: tuple[Axis, Axis] = DEFAULT_AXES) -> None:
        self._direction: Direction = direction
        self._axes = axes
        self._cells: dict[Cell, Individual] = {}

    def cell(self, code: str) -> Cell:
        """The cell of a candidate, by its code alone."""
        sizes = measure(code)
        first, second = (bisect_right(axis.cuts, sizes.get(axis.feature)) for axis in self._axes)
        return first, second

    def cells(self) -> dict[Cell, Individual]:
        """Who holds which cell."""
        return dict(self._cells)

    def admit(self, newcomers: Sequence[Individual]) -> Survival:
        """See :class:`Population`. A newcomer that another one of the same survival pushes out counts as ``behind``."""
        before = [one.id for one in self.members()]
        verdicts: dict[str, Verdict] = {}
        for one in newcomers:
            cell = self.cell(one.code)
            holder = self._cells.get(cell)
            if holder is None or is_better(one.objective, holder.objective, self._direction):
                self._cells[cell] = one
                verdicts[one.id] = "entered"
                if holder is not None and holder.id in verdicts:
                    verdicts[holder.id] = "behind"
            else:
                same = behaviour_key(one.objective, one.per_instance) == behaviour_key(
                    holder.objective, holder.per_instance
                )
                verdicts[one.id] = "duplicate" if same else "behind"
        now = {one.id for one in self._cells.values()}
        return Survival(verdicts, tuple(name for name in before if name not in now))

    def members(self) -> list[Individual]:
        """See :class:`Population`."""
        return ranked(self._cells.values(), self._direction)

    def breeding(self, island: int) -> list[Individual]:
        """See :class:`Population`."""
        return self.members()

    def bar(self, code: str, island: int) -> float | None:
        """See :class:`Population`."""
        holder = self._cells.get(self.cell(code))
        return holder.objective if holder else None

    def to_json(self) -> dict[str, Any]:
        """See :class:`Population`."""
        return {
            "kind": "map_elites",
            "direction": self._direction,
            "axes": [asdict(axis) | {"cuts": list(axis.cuts)} for axis in self._axes],
            "members": [[*cell, one.id] for cell, one in sorted(self._cells.items())],
        }

    def restore(self, cells: Iterable[tuple[int, int, str]], lookup: Lookup) -> None:
        """Put back the members that :meth:`to_json` named."""
        self._cells = {(first, second): lookup(name) for first, second, name in cells}


def load_population(state: Mapping[str, Any], lookup: Lookup) -> Single | Islands | MapElites:
    """A population from its JSON. Without ``members`` it is a description and gives an empty one."""
    match state.get("kind"):
        case "single":
            single = Single(state["size"], state["direction"], state.get("duplicates", "objective"))
            single.restore(state.get("members", ()), lookup)
            return single
        case "islands":
            islands = Islands(
                state["count"],
                state["size"],
                state["direction"],
                state.get("duplicates", "objective"),
                interval=state["interval"],
                migrants=state.get("migrants", 1),
            )
            if "members" in state:
                islands.restore(state["members"], state["since"], lookup)
            return islands
        case "map_elites":
            axes = [Axis(axis["feature"], tuple(axis["cuts"])) for axis in state.get("axes", ())]
            grid = MapElites(state["direction"], (axes[0], axes[1])) if axes else MapElites(state["direction"])
            grid.restore([(first, second, name) for first, second, name in state.get("members", ())], lookup)
            return grid
        case kind:
            raise UsageError(f"there is no population of the kind {kind!r}; there are single, islands and map_elites")
