"""The stages of `python recipes`: which recipe measures what, with which arguments."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """One recipe with its arguments, in which {data} and {work} stand for the folders."""

    name: str  # of its result, recipes/measured/NAME.json
    papers: tuple[str, ...]
    arguments: str
    minutes: int  # about, on two cores
    file: str = ""  # of the recipe, if it is not named as the stage
    needs: str = ""  # what else than data, such as a GPU

    @property
    def recipe(self) -> str:
        return self.file or f"{self.name}.py"


STAGES = (Stage("corpus_statistics", ("000", "001", "004"), "--data {data}", 1),)
