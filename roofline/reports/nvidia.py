"""What NVIDIA's ncu_report alone can say of a report: the only module that imports it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from roofline.errors import InputError
from roofline.foreign import printable
from roofline.model import Dim3, Note, RuleResult, is_address
from roofline.reports.metrics import ByName, Scalar, renamed, rule_result


class NvidiaReport:
    """A report as ncu_report reads it, loaded when something of it is first asked for.

    ncu_report keeps all that it has parsed until the process ends, ten times the file's bytes and
    more. All methods raise ``InputError`` where it cannot open the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[type[NvidiaReport], tuple[Path]]:
        return NvidiaReport, (self.path,)

    @cached_property
    def _places(self) -> list[tuple[Any, int]]:
        import ncu_report

        what = f"cannot read {self.path} with ncu_report"
        try:
            context = ncu_report.load_report(str(self.path))
        except UnicodeEncodeError as error:
            why = "it opens only names that are UTF-8"
            raise InputError(what, why=why, hint="rename the file") from error
        except Exception as error:
            hint = "without --reader ncu-report"
            raise InputError(what, why=str(error), hint=hint) from error
        ranges = [context.range_by_idx(number) for number in range(context.num_ranges())]
        return [(one, number) for one in ranges for number in range(one.num_actions())]

    def __len__(self) -> int:
        return len(self._places)

    def action(self, index: int) -> Any:
        """The result of that number as ncu_report gives it."""
        found, number = self._places[index]
        return found.action_by_idx(number)


class NvidiaMetrics(ByName):
    """The metrics of one result as ncu_report gives them.

    Their pickles hold the path of the file and the result's number in it, not the values: the file
    must still be there.
    """

    def __init__(self, report: NvidiaReport, index: int, notes: tuple[Note, ...] = ()) -> None:
        super().__init__()
        self._report, self._index, self._notes = report, index, notes

    def __reduce__(self) -> tuple[type[NvidiaMetrics], tuple[Any, ...]]:
        return NvidiaMetrics, (self._report, self._index, self._notes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NvidiaMetrics):
            return NotImplemented
        return (self._report.path, self._index) == (other._report.path, other._index)

    @cached_property
    def _action(self) -> Any:
        return self._report.action(self._index)

    @property
    def name(self) -> str:
        """The function's name."""
        return printable(self._action.name() or "")

    @property
    def demangled(self) -> str:
        """The function's signature."""
        return printable(self._action.name(self._action.NameBase_DEMANGLED) or "")

    def nvtx(self) -> Iterable[tuple[str, str]]:
        """The open NVTX ranges, outermost first, each with its domain."""
        state = self._action.nvtx_state()
        for number in state.domains() if state is not None else ():
            domain = state.domain_by_id(number)
            for name in (*domain.start_end_ranges(), *domain.push_pop_ranges()):
                yield printable(domain.name()), printable(name)

    def dim3(self, what: str) -> Dim3 | None:
        """It does not give what stands beside the metrics."""
        return None

    @cached_property
    def _old(self) -> dict[str, str]:
        names = list(self._action.metric_names())
        return {new: old for new, old in zip(renamed(names), names, strict=True) if new != old}

    def _metric(self, name: str) -> Any:
        return self._action.metric_by_name(self._old.get(name, name))

    def _value(self, name: str) -> Scalar | None:
        metric = self._metric(name)
        if metric is None:
            return None
        value = metric.value()  # none for NaN
        return math.nan if value is None else value

    def _rows(self, name: str) -> Iterable[tuple[Scalar | None, Scalar | None]]:
        metric = self._metric(name)
        if metric is None or not metric.has_correlation_ids():
            return []
        ids = metric.correlation_ids()
        return [(ids.value(i), metric.value(i)) for i in range(metric.num_instances())]

    def has(self, name: str) -> bool:
        """See ``Metrics``."""
        return self._metric(name) is not None

    def any_of(self, names: frozenset[str]) -> bool:
        """See ``Metrics``."""
        return any(map(self.has, names))

    def names(self) -> Collection[str]:
        """See ``Metrics``."""
        return frozenset(renamed(list(self._action.metric_names())))

    def sass(self, address: str) -> str | None:
        """See ``Metrics``."""
        if not is_address(address) or self._index >= len(self._report):
            return None
        return self._action.sass_by_pc(int(address)) or None

    def line(self, address: str) -> tuple[str, int] | None:
        """See ``Metrics``."""
        if not is_address(address) or self._index >= len(self._report):
            return None
        found = self._action.source_info(int(address))
        return (found.file_name(), int(found.line())) if found and found.file_name() else None

    def source(self, file: str) -> str:
        """See ``Metrics``."""
        return str(dict(self._action.source_files()).get(file, ""))

    @property
    def rules(self) -> tuple[RuleResult, ...]:
        """See ``Metrics``."""
        found = []
        for rule in self._action.rule_results_as_dicts():
            said, gain = rule.get("rule_message", {}), rule.get("speedup_estimation", {})
            words = (rule["name"], said.get("title", ""), said.get("message", ""))
            told = gain.get("type"), gain.get("speedup")
            name, title, text = map(printable, words)
            found.append(rule_result(rule["rule_identifier"], name, title, text, *told))
        return tuple(rule for rule in found if rule is not None)

    def notes(self) -> tuple[Note, ...]:
        """See ``Metrics``."""
        return (*super().notes(), *self._notes)
