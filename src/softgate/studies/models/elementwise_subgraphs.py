"""Elementwise functions inside the graph of a model: where they start, where they end.

A graph is a list of operations in the order of their execution. An elementwise operation whose
other inputs are scalar constants is a function of one value; so is a composition of them that
starts from one value. `cut` returns the largest such compositions: x/sqrt(2), erf, + 1, times x,
times 0.5 is one function of x, however it is written.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass

Value = Hashable


@dataclass(frozen=True)
class Operation:
    """One operation: the values that it depends on, without constants, and its results."""

    kind: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    elementwise: bool
    """Whether it is elementwise, has one result, and its constants are scalars."""
    reduction: bool = False
    """Whether each result is computed from many elements, as a mean is."""
    rearranges: bool = False
    """Whether it only moves, selects or repeats elements of its first input, as a reshape does."""
    divisors: tuple[Value, ...] = ()
    """Inputs by which it divides, or of which it computes a root, a power or a logarithm."""


@dataclass(frozen=True)
class Subgraph:
    """Elementwise operations that compute `output` from `input` alone.

    `between` are the values from the input to the output through which every path passes, both
    included: the function can be divided there into functions of one value.
    """

    input: Value
    output: Value
    operations: tuple[int, ...]
    between: tuple[Value, ...]


class ElementwiseGraph:
    """The values of a graph that are functions of one other value.

    Parameters
    ----------
    operations : sequence of Operation
        In the order of execution.
    results : collection
        The values that the model returns.
    """

    def __init__(self, operations: Sequence[Operation], results: Collection[Value]) -> None:
        self._operations = operations
        self._producer: dict[Value, int] = {}
        self._source: dict[Value, Value] = {}
        """The nearest value that all paths to a value pass, if it is a function of one."""
        self._depth: dict[Value, int] = {}
        self._statistics: set[Value] = set()
        """Reductions, and what is computed from them alone without a layer between: a variance."""
        for i, operation in enumerate(operations):
            # Other inputs of a reshape are a shape.
            data = operation.inputs[:1] if operation.rearranges else operation.inputs
            passes = (operation.elementwise or operation.rearranges) and data
            if operation.reduction or (passes and self._statistics.issuperset(data)):
                self._statistics.update(operation.outputs)
            source = self._common_source(operation) if operation.elementwise else None
            for output in operation.outputs:
                self._producer[output] = i
                if source is not None:
                    self._source[output] = source
                    self._depth[output] = self._depth.get(source, 0) + 1
        self._ends = self._used_outside(results)
        self._used = {*results, *(value for op in operations for value in op.inputs)}
        self._not_divisors = self._used_beyond_divisions(results)

    def _common_source(self, operation: Operation) -> Value | None:
        """Return the nearest value that all inputs are functions of, or None."""
        if not operation.inputs:
            return None
        common, *others = operation.inputs
        for value in others:
            nearest = self._nearest(common, value)
            if nearest is None:
                return None
            common = nearest
        return common

    def _nearest(self, a: Value, b: Value) -> Value | None:
        """Return the nearest value that both are functions of, or None."""
        while a != b:
            if self._depth.get(a, 0) < self._depth.get(b, 0):
                a, b = b, a
            if a not in self._source:  # the deeper one: both have no source
                return None
            a = self._source[a]
        return a

    def _used_outside(self, results: Collection[Value]) -> set[Value]:
        """Return the values that are functions of one value and used by other operations."""
        used = set(results)
        for operation in self._operations:
            if not any(output in self._source for output in operation.outputs):
                used.update(operation.inputs)
        return {value for value in used if value in self._source}

    def _used_beyond_divisions(self, results: Collection[Value]) -> set[Value]:
        """Return the values that have another use than, as statistics, to divide other values."""
        used = set(results)
        for operation in reversed(self._operations):
            if used.isdisjoint(operation.outputs) and self._statistics.issuperset(
                operation.outputs
            ):
                continue
            used.update(value for value in operation.inputs if value not in operation.divisors)
        return used

    def cut(self) -> Iterator[Subgraph]:
        """Yield the largest functions of one value, in the order of execution.

        A function starts at a value that is not itself a function of one, or at the end of another.
        """
        for value in self._source:
            if value in self._ends:
                start = self._source[value]
                while start in self._source and start not in self._ends:
                    start = self._source[start]
                yield self.between(start, value)

    def is_function(self, value: Value) -> bool:
        """Return whether a value is a function of one other value."""
        return value in self._source

    def is_used(self, value: Value) -> bool:
        """Return whether a value is a result, or an operation depends on it."""
        return value in self._used

    def is_in_divisor(self, subgraph: Subgraph) -> bool:
        """Return whether a function is a step from a mean or another reduction to a divisor.

        Such a function is computed from reductions alone, without a layer between, and its result
        is used only in divisions, roots, powers and logarithms. A clamp there limits a variance or
        a norm. The functions after global pooling and in squeeze-and-excitation are used otherwise.
        """
        return subgraph.input in self._statistics and subgraph.output not in self._not_divisors

    def between(self, start: Value, end: Value) -> Subgraph:
        """Return the function that computes `end` from `start`, one of its sources."""
        chain = [end]
        while chain[-1] != start:
            chain.append(self._source[chain[-1]])
        indices, pending = set[int](), [end]
        while pending:
            value = pending.pop()
            if value != start and self._producer[value] not in indices:
                indices.add(self._producer[value])
                pending.extend(self._operations[self._producer[value]].inputs)
        return Subgraph(start, end, tuple(sorted(indices)), tuple(reversed(chain)))
