"""Tests of recipes, which are imported by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "recipes"))
