"""The ``.ncu-rep`` container without any reader of NVIDIA's: look at, walk, write."""

from __future__ import annotations

from roofline.repfile.container import Block, ContainerError, opened, walk
from roofline.repfile.problems import Problem
from roofline.repfile.schema import Workload
from roofline.repfile.summary import Found, Summary, require_whole, summarize
from roofline.repfile.values import Capture, Launch, Metric, Process, Rule, Scalar, Section
from roofline.repfile.writer import encode, write

__all__ = [
    "Block",
    "Capture",
    "ContainerError",
    "Found",
    "Launch",
    "Metric",
    "Problem",
    "Process",
    "Rule",
    "Scalar",
    "Section",
    "Summary",
    "Workload",
    "encode",
    "opened",
    "require_whole",
    "summarize",
    "walk",
    "write",
]
