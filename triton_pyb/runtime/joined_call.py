"""The modes in which one call takes the items of several requests: ``stack``, ``list``, ``pad``, ``request``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple

from .arrays import is_torch
from .batching import Segment, cut, fresh, halves, join, split, spread_default, stack_pictures
from .errors import OutputError
from .outputs import joined_column, named_values
from .padding import pad_rows, unpad, variable_axes
from .received import Received, item_words
from .refusals import AUTHOR_ERRORS
from .state import injected_values

if TYPE_CHECKING:
    from .execution import Execution, Served


class JoinedCalls:
    """Runs calls of a joined mode and hands the rows back to their requests."""

    def __init__(self, execution: Execution, served: Mapping[int, Served]) -> None:
        self.execution = execution
        self.served = served
        self.signature = execution.signature
        self.where = execution.refusals.where

    def run_all(self, calls: Sequence[Sequence[Segment]]) -> None:
        """Serve every call; with several, rows are copied out before the next one may overwrite its buffer."""
        for segments in calls:
            self.run(segments, copies=len(calls) > 1)

    def run(self, segments: Sequence[Segment], copies: bool = False) -> None:
        """Serve one call; an exception fails its requests, or, with ``fallback="split"``, is searched for."""
        n_rows = sum(segment.n_items for segment in segments)
        if self.execution.fatal is not None:
            for segment in segments:
                self.served[segment.request].refusal = self.execution.stopped()
            return
        try:
            columns, failed, padded = self._call(segments, n_rows)
            self._scatter(segments, columns, failed, padded, copies)
        except AUTHOR_ERRORS as error:
            divisible = n_rows > 1 or (n_rows == 1 and len(segments) > 1)
            if self.signature.options.get("fallback") == "split" and divisible and self.execution.fatal is None:
                for half in halves(segments):
                    self.run(half, copies=True)
            else:
                self._fail(segments, error)

    def _call(
        self, segments: Sequence[Segment], n_rows: int
    ) -> Tuple[Dict[str, Any], Dict[int, Exception], Sequence[str]]:
        """The outputs of one call as columns, the items that failed in it, and the named axes that were padded."""
        received = [self.served[segment.request].received for segment in segments]
        arguments, sizes = self._arguments(segments, received)
        execution = self.execution
        context = execution.context(received, _rows(segments) if execution.asks_context else ())
        arguments.update(injected_values(self.signature.injected, context, execution.state, execution.sequences))
        for name, what in self.signature.injected.items():
            lengths = sizes.get(what.get("input", ""))
            if lengths is not None:  # without its optional input the argument keeps its default
                arguments[name] = lengths[:, 0] if lengths.shape[1] == 1 else lengths
        try:
            value = execution.invoke(arguments)
        finally:
            if execution.sequences is not None:
                execution.sequences.served(context.request)
        named = named_values(self.signature, value, self.where)
        failed: Dict[int, Exception] = {}
        if context.rejected:
            failed.update(context.rejected)
        padded = self._padded_symbols(arguments, sizes)
        symbols = {**_common_symbols(received), **padded}
        per_row: List[Dict[str, int]] = []
        for segment, request in zip(segments, received):
            per_row += [request.symbols] * segment.n_items
        needed = {field.name for segment in segments for field in self.served[segment.request].assembly.fields}
        columns = {
            field.name: joined_column(field, named[field.name], n_rows, self.where, failed, symbols, per_row)
            for field in self.signature.item_outputs
            if field.name in needed
        }
        return columns, failed, list(padded)

    def _arguments(
        self, segments: Sequence[Segment], received: Sequence[Received]
    ) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        """Joined inputs by argument, and in pad mode the true sizes by input name."""
        arguments: Dict[str, Any] = {}
        sizes: Dict[str, Any] = {}
        for field in self.signature.inputs:
            if field.argument not in received[0].columns or field.argument in arguments:
                continue  # absent, or the second form of a picture
            parts = [
                cut(request.columns[field.argument], segment.start, segment.stop)
                for segment, request in zip(segments, received)
            ]
            if self.signature.batch == "pad" and not field.listed and variable_axes(field):
                arguments[field.argument], sizes[field.name] = pad_rows(field, parts, self.signature.options)
            elif field.kind == "image" and not field.listed and isinstance(parts[0], list):
                arguments[field.argument] = stack_pictures(field, [item for part in parts for item in part])
            else:
                arguments[field.argument] = join(parts)
            if self.signature.options.get("fallback") == "split":  # the function may have worked in place before
                arguments[field.argument] = fresh(arguments[field.argument], parts)
        for field in self.signature.inputs:
            if field.argument not in arguments and field.argument in self.execution.defaults:
                n_rows = sum(segment.n_items for segment in segments)
                arguments[field.argument] = spread_default(field, self.execution.defaults[field.argument], n_rows)
        return arguments, sizes

    def _padded_symbols(self, arguments: Mapping[str, Any], sizes: Mapping[str, Any]) -> Dict[str, int]:
        """What the named axes of the padded inputs are in this call's arrays."""
        return {
            str(field.shape[axis]): int(arguments[field.argument].shape[1 + axis])
            for field in self.signature.inputs
            if field.name in sizes and field.kind == "tensor"
            for axis in variable_axes(field)
            if isinstance(field.shape[axis], str)
        }

    def _scatter(
        self,
        segments: Sequence[Segment],
        columns: Dict[str, Any],
        failed: Dict[int, Exception],
        padded: Sequence[str],
        copies: bool,
    ) -> None:
        """Every segment's rows to its request, without padding, and every failed item to its own."""
        counts = [segment.n_items for segment in segments]
        parts = {name: split(column, counts) for name, column in columns.items()}
        offset = 0
        for position, segment in enumerate(segments):
            request = self.served[segment.request]
            for row in sorted(row for row in failed if offset <= row < offset + segment.n_items):
                item = segment.start + row - offset
                words = item_words(item, request.received.n_items)
                request.failed[item] = self.execution.refuse(failed[row], words)
            offset += segment.n_items
            try:
                rows = {name: column[position] for name, column in parts.items()}
                if padded:
                    rows = self._unpadded(rows, {name: request.received.symbols[name] for name in padded})
                request.assembly.put_rows(segment.start, segment.stop, rows, copies)
                self._blank(request, segment)
            except OutputError as error:
                request.refusal = self.execution.refuse(error)

    def _unpadded(self, rows: Mapping[str, Any], symbols: Mapping[str, int]) -> Dict[str, Any]:
        """One request's rows, cut back where they share a named axis with a padded input."""
        cut_back = dict(rows)
        for field in self.signature.item_outputs:
            column = rows.get(field.name)
            if column is None or field.listed:
                continue
            if isinstance(column, list):  # there are ItemErrors among the rows
                column = [row if row is None else unpad(field, row[None], symbols)[0] for row in column]
                cut_back[field.name] = column
            else:
                cut_back[field.name] = unpad(field, column, symbols)
        return cut_back

    def _blank(self, request: Served, segment: Segment) -> None:
        """Zeros in place of masked items that a stacked output holds values for."""
        masked = [item for item in request.failed if segment.start <= item < segment.stop]
        if not masked or not self.signature.masks_items:
            return
        for field in request.assembly.fields:
            array = request.assembly.arrays.get(field.name)
            if array is None:
                continue
            array = array.clone() if is_torch(array) else array.copy()  # never write into what the author returned
            for item in masked:
                array[item] = b"" if field.dtype == "BYTES" else 0
            request.assembly.arrays[field.name] = array

    def _fail(self, segments: Sequence[Segment], error: BaseException) -> None:
        """Refuse the items of one call; one error, one traceback in the log."""
        members = sorted({segment.request for segment in segments})
        n_rows = sum(segment.n_items for segment in segments)
        detail = ""
        if n_rows == 1:
            one = next(segment for segment in segments if segment.n_items)
            detail = item_words(one.start, self.served[one.request].received.n_items)
        elif len(members) > 1:
            detail = (
                f'in a call that joined {n_rows} items of {len(members)} requests (fallback="split" fails only the bad)'
            )
        refusal = self.execution.refuse(error, detail)
        for segment in segments:
            request = self.served[segment.request]
            if self.signature.masks_items:
                request.failed.update({item: refusal for item in range(segment.start, segment.stop)})
            elif n_rows == 1 and segment.n_items:
                request.failed[segment.start] = refusal
            else:
                request.refusal = refusal


def _common_symbols(received: Sequence[Received]) -> Dict[str, int]:
    """The named sizes that are the same in all requests of a call."""
    return {
        name: size
        for name, size in received[0].symbols.items()
        if all(request.symbols.get(name) == size for request in received)
    }


def _rows(segments: Sequence[Segment]) -> List[Tuple[int, int]]:
    """(position of the segment's request in the call, item) for every row."""
    return [
        (position, item) for position, segment in enumerate(segments) for item in range(segment.start, segment.stop)
    ]
