# SPDX-License-Identifier: Apache-2.0
"""Modules that the documentation of version 0.1 named under another path: they can still be imported from there.

`install` is called once by `import interloq`. An earlier path gives the same module object as the new one, with a
DeprecationWarning that names the new path.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "interloq.arena.audit": "interloq.rank.audit",
    "interloq.arena.settle": "interloq.rank.settle",
    "interloq.cli.shared.installation": "interloq.cli.doctor",
    "interloq.data.convert_file": "interloq.data.records.convert_file",
    "interloq.data.corpus.pairs_file": "interloq.retrieve.corpus_pairs",
    "interloq.data.line_files": "interloq.data.records.line_files",
    "interloq.data.merge_file": "interloq.data.records.merge_file",
    "interloq.data.tokenize": "interloq.data.text.tokenize",
    "interloq.interlocutor.baselines": "interloq.scorers.interlocutor.baselines",
    "interloq.interlocutor.forget": "interloq.scorers.interlocutor.model_users",
    "interloq.interlocutor.forget_file": "interloq.scorers.interlocutor.forget_file",
    "interloq.interlocutor.samples": "interloq.scorers.interlocutor.continuity_labels",
    "interloq.interlocutor.samples_file": "interloq.scorers.interlocutor.samples_file",
    "interloq.meta.choice": "interloq.choose.choice",
    "interloq.meta.choose_file": "interloq.choose.choose_file",
    "interloq.meta.cite": "interloq.score.cite",
    "interloq.meta.compare_file": "interloq.compare.compare_file",
    "interloq.meta.compare_options": "interloq.compare.compare_options",
    "interloq.meta.comparison": "interloq.compare.comparison",
    "interloq.meta.continuity": "interloq.agree.continuity",
    "interloq.meta.dialogue_scores": "interloq.agree.dialogue_scores",
    "interloq.meta.disagreements": "interloq.agree.disagreements",
    "interloq.meta.evaluate": "interloq.agree.agreement",
    "interloq.meta.gate": "interloq.compare.gate.gate",
    "interloq.meta.gate_file": "interloq.compare.gate.gate_file",
    "interloq.meta.human_preferences": "interloq.rank.human_preferences",
    "interloq.meta.matrix": "interloq.agree.metric_similarity",
    "interloq.meta.meta_file": "interloq.agree.meta_file",
    "interloq.meta.rank": "interloq.rank.rank",
    "interloq.meta.rank_file": "interloq.rank.rank_file",
    "interloq.meta.ranking": "interloq.rank.ranking",
    "interloq.meta.table": "interloq.agree.table",
    "interloq.metrics.check_file": "interloq.score.check_file",
    "interloq.metrics.explain": "interloq.score.explain",
    "interloq.metrics.explain_file": "interloq.score.explain",
    "interloq.metrics.perturb": "interloq.score.perturb",
    "interloq.metrics.probe": "interloq.score.probe",
    "interloq.models.spending": "interloq.servers.spending",
    "interloq.pipelines.annotate_file": "interloq.reliability.annotate_file",
    "interloq.pipelines.curve_file": "interloq.reliability.curve_file",
    "interloq.pipelines.extend_file": "interloq.retrieve.extend",
    "interloq.pipelines.judge_pairs": "interloq.metrics.llm_judge.judge_pairs",
    "interloq.pipelines.rate_file": "interloq.rate.rate_file",
    "interloq.pipelines.reliability": "interloq.reliability.reliability_file",
    "interloq.pipelines.score_file": "interloq.score.score_file",
    "interloq.play.samples_file": "interloq.play.samples",
    "interloq.report.console": "interloq.terminal.console",
    "interloq.report.installation": "interloq.cli.doctor",
    "interloq.retrieve.extend_file": "interloq.retrieve.extend",
    "interloq.retrieve.folder.index_files": "interloq.retrieve.index",
    "interloq.retrieve.index_files": "interloq.retrieve.index",
    "interloq.web.backup": "interloq.web.studies.backup",
    "interloq.web.demo": "interloq.web.serve",
    "interloq.web.export": "interloq.web.studies.export",
    "interloq.web.forget": "interloq.web.studies.forget",
    "interloq.web.label_studio_answers": "interloq.web.studies.label_studio_answers",
    "interloq.web.label_studio_tasks": "interloq.web.studies.label_studio_tasks",
    "interloq.web.task_file": "interloq.web.studies.task_file",
}
FORMER_PACKAGES = {"interloq.arena", "interloq.interlocutor", "interloq.meta", "interloq.pipelines"}


class MovedModuleFinder(MetaPathFinder, Loader):
    """Find modules under their earlier paths."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return a spec if the module has moved, or if it is a package from which all modules have moved."""
        if fullname in MOVED or fullname in FORMER_PACKAGES:
            return ModuleSpec(fullname, self, is_package=fullname in FORMER_PACKAGES)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module at the new path in place of the one being imported."""
        earlier = module.__name__
        if earlier in MOVED:
            warnings.warn(f"{earlier} has moved to {MOVED[earlier]}", DeprecationWarning, stacklevel=2)
            sys.modules[earlier] = importlib.import_module(MOVED[earlier])


def install() -> None:
    """Let imports from earlier paths work in this process."""
    if not any(isinstance(finder, MovedModuleFinder) for finder in sys.meta_path):
        sys.meta_path.append(MovedModuleFinder())
