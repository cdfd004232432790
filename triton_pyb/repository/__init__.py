"""Floor 3: from a pipeline to model folders on disk."""

from .build import BuildError, build
from .graph import Graph, GraphError, resolve
from .target import load_target

__all__ = ["BuildError", "Graph", "GraphError", "build", "load_target", "resolve"]
