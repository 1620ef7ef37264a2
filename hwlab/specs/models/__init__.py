"""Language models as facts: their shape, read from a ``config.json`` or from the catalogue, and what it costs."""

from hwlab.specs.models.catalogue import model, models
from hwlab.specs.models.config import ConfigError
from hwlab.specs.models.parts import Matmul
from hwlab.specs.models.spec import ModelSpec, experts_touched

__all__ = ["ConfigError", "Matmul", "ModelSpec", "experts_touched", "model", "models"]
