"""Clients held in and held out, with made sessions."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import kokoro
import numpy as np
import pytest
from interlocutor_arms import Plan

from interloq.scorers.interlocutor.continuity_labels import judge_of


def write_sessions(folder: Path, clients: int = 12, each: int = 10) -> None:
    rows = []
    for i in range(clients * each):
        review = {
            "evaluation_id": i,
            "evaluation_created_at": f"2020-01-01T{i // 60:02}:{i % 60:02}:00",
            "score": i % 7,
        }
        review |= {"client_id": i % clients, "counselor_id": i % 3}
        turns = [{"speaker": "AB"[k % 2], "text": f"turn {k} of {i}"} for k in range(4 + i % 3)]
        rows.append({"id": str(i), "turns": turns, "review_by_client_en": review})
    folder.mkdir(parents=True)
    (folder / "kokorochat_ja.jsonl").write_text("\n".join(map(json.dumps, rows)))


def test_both_splits_and_their_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sessions(tmp_path / "data" / "logs")
    out, rng = tmp_path / "out", np.random.default_rng(0)
    args = argparse.Namespace(data=str(tmp_path / "data"), out=str(out), quick=False, resamples=20)
    kokoro.prepare(args)
    plan = Plan(out, seeds=(0, 1), rates=(1e-3,))
    users = {}
    for arm in kokoro.arms():
        users[arm.samples] = [{judge_of(s) for s in plan.samples(arm, part)} for part in ("train", "test")]
        for seed in plan.seeds:
            (out / "predictions").mkdir(exist_ok=True)
            parts: dict[str, Any] = {part: rng.normal(size=len(plan.samples(arm, part))) for part in arm.parts}
            np.savez(out / "predictions" / f"{arm.name}-rate0.001-seed{seed}.npz", dev_loss=np.array(1.0), **parts)
    assert users["known_clients"][1] <= users["known_clients"][0]
    assert users["new_clients"][1].isdisjoint(users["new_clients"][0])
    kokoro.tables(args, plan, kokoro.arms())
    shown = capsys.readouterr().out
    rows = "known clients, user mean", "new clients, number of turns", "new clients, aware above new clients, unaware"
    for words in rows:
        assert words in shown
    for seed in plan.seeds:
        (out / "predictions" / f"new_clients-aware-rate0.001-seed{seed}.npz").unlink()
    kokoro.tables(args, plan, kokoro.arms())
    assert "new clients, aware: not trained" in capsys.readouterr().out
    verdicts = [claim["verdict"] for claim in json.loads((out / "results.json").read_text())["claims"]]
    assert len(verdicts) == 6
    assert verdicts[-1] == "undecided: new clients, aware was not trained"
