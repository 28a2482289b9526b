"""The load of `web.py` on Potato and Label Studio: programs of other environments, driven over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
from _web_load import ASPECTS, REPLIES, Load, end, free_port, timed, together, wait_for

RATINGS = REPLIES * len(ASPECTS)
PASSWORD = "a password for a benchmark"  # noqa: S105


def texts(items: int) -> list[str]:
    replies = [[f"Reply {n} to question {i}." for n in range(REPLIES)] for i in range(items)]
    return [" ".join([f"What do you think of number {i}?", *found]) for i, found in enumerate(replies)]


def judged(name: str, load: Load, stored: dict[tuple[int, str], int]) -> str:
    """Acknowledged pages against stored ones; both are named by item and person, with the number of ratings."""
    lost = sum(one not in stored for one in load.acknowledged)
    repeated = len(load.acknowledged) - len(set(load.acknowledged))
    wrong = sum(stored.get(one, RATINGS) != RATINGS for one in load.acknowledged)
    failures = dict(load.failures) or "none"
    counts = f"{len(load.acknowledged):,} acknowledged, {lost:,} lost, {wrong:,} incomplete or duplicated"
    return f"{name}: {counts}, {repeated:,} items given to a person twice; failures {failures}"


# ---- Potato ----------------------------------------------------------------------------------------------------------


def potato(program: Path, folder: Path, people: int, seconds: float, items: int) -> tuple[Load, str]:
    """What annotators saw, and what was lost. Potato keeps a JSON file per person, which it writes at each answer."""
    with (folder / "data.jsonl").open("w") as file:
        file.writelines(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts(items)))
    (folder / "config.yaml").write_text(json.dumps(_potato_config()))  # JSON is YAML
    port, load = free_port(), Load()
    server = subprocess.Popen(  # noqa: S603 - given by the caller
        [program.absolute(), "start", "config.yaml", "-p", str(port), "--host", "127.0.0.1"], cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(server, port)
    until = time.monotonic() + seconds
    jobs = [_use_potato(f"http://127.0.0.1:{port}", f"person{i}", load, until) for i in range(people)]
    asyncio.run(together(jobs))
    end(server)
    stored: dict[tuple[int, str], int] = {}
    for path in (folder / "out").glob("*/user_state.json"):
        labels = json.loads(path.read_text())["instance_id_to_label_to_value"]
        stored |= {(int(item), path.parent.name): len(found) for item, found in labels.items()}
    return load, judged("Potato", load, stored)


def _potato_config() -> dict[str, Any]:
    scale = {"annotation_type": "likert", "min_label": "bad", "max_label": "good", "size": 5}
    schemes = [
        {**scale, "name": f"{aspect}{unit}", "description": f"How {aspect} is reply {unit}?"}
        for unit in range(REPLIES)
        for aspect in ASPECTS
    ]
    return {
        "annotation_task_name": "load", "task_dir": ".", "output_annotation_dir": "out",
        "output_annotation_format": "jsonl", "data_files": ["data.jsonl"], "require_password": False,
        "item_properties": {"id_key": "id", "text_key": "text"}, "user_config": {"allow_all_users": True, "users": []},
        "annotation_schemes": schemes, "max_annotations_per_user": 10_000, "max_annotations_per_item": 3,
        "assignment_strategy": "random", "alert_time_each_instance": 10**7,
    }  # fmt: skip


async def _use_potato(url: str, person: str, load: Load, until: float) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=60, follow_redirects=True) as client:
        page = await timed(load, "open", client.post("/auth", data={"email": person, "pass": ""}))
        while page is not None and time.monotonic() < until:
            found = re.search(r'id="instance_id"[^>]*value="(\d+)"', page.text)
            if found is None:
                return
            answers = {f"{aspect}{unit}:3": "3" for unit in range(REPLIES) for aspect in ASPECTS}
            body: dict[str, Any] = {"instance_id": found[1], "annotations": answers, "span_annotations": []}
            sent = await timed(load, "answer", client.post("/updateinstance", json=body))
            if sent is not None and sent.status_code == 200 and sent.json()["status"] == "success":
                load.acknowledged.append((int(found[1]), person))
            move = {"action": "next_instance", "instance_id": found[1]}
            page = await timed(load, "page", client.post("/annotate", json=move))


# ---- Label Studio ----------------------------------------------------------------------------------------------------


def label_studio(program: Path, folder: Path, people: int, seconds: float, items: int) -> tuple[Load, str]:
    """What annotators saw, and what was lost. Label Studio stores one row per page in SQLite, as it is installed."""
    port, load = free_port(), Load()
    url = f"http://127.0.0.1:{port}"
    offline = {"LATEST_VERSION_CHECK": "false", "COLLECT_ANALYTICS": "false", "SENTRY_DSN": ""}
    server = subprocess.Popen(  # noqa: S603 - given by the caller
        [program.absolute(), "start", "--no-browser", "--data-dir", folder, "--port", str(port), "--host", url,
         "--internal-host", "127.0.0.1"],
        env={**os.environ, **offline}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(server, port)
    clients = [_signed_up(url, f"person{i}@example.org") for i in range(people)]
    project = _project(clients[0], items)
    until = time.monotonic() + seconds
    asyncio.run(together([_use_label_studio(url, one, project, load, until) for one in clients]))
    exported = clients[0].get(f"/api/projects/{project}/export", params={"exportType": "JSON"}, timeout=300).json()
    end(server)
    stored = {(task["id"], str(one["id"])): len(one["result"]) for task in exported for one in task["annotations"]}
    return load, judged("Label Studio", load, stored)


def _signed_up(url: str, person: str) -> httpx.Client:
    client = httpx.Client(base_url=url, timeout=60, follow_redirects=True)
    client.get("/user/signup/")
    form = {"email": person, "password": PASSWORD, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
    client.post("/user/signup/", data=form, headers={"Referer": url}).raise_for_status()
    client.headers.update({"X-CSRFToken": client.cookies["csrftoken"], "Referer": url})
    return client


def _project(client: httpx.Client, items: int) -> int:
    asked = "".join(
        f'<Rating name="{aspect}{unit}" toName="text" maxRating="5" required="true"/>'
        for unit in range(REPLIES)
        for aspect in ASPECTS
    )
    config = f'<View><Text name="text" value="$text"/>{asked}</View>'
    made = client.post("/api/projects", json={"title": "load", "label_config": config, "maximum_annotations": 3})
    number = int(made.raise_for_status().json()["id"])
    tasks = [{"data": {"text": text}} for text in texts(items)]
    client.post(f"/api/projects/{number}/import", json=tasks, timeout=300).raise_for_status()
    return number


async def _use_label_studio(url: str, person: httpx.Client, project: int, load: Load, until: float) -> None:
    options: dict[str, Any] = {"cookies": person.cookies, "headers": person.headers, "timeout": 60}
    async with httpx.AsyncClient(base_url=url, **options) as client:
        while time.monotonic() < until:
            task = await timed(load, "page", client.get(f"/api/projects/{project}/next"))
            if task is None or task.status_code != 200:
                return
            number = task.json()["id"]
            results = [
                {"from_name": f"{aspect}{unit}", "to_name": "text", "type": "rating", "value": {"rating": 3}}
                for unit in range(REPLIES)
                for aspect in ASPECTS
            ]
            body = {"result": results, "lead_time": 1.0, "project": project}
            sent = await timed(load, "answer", client.post(f"/api/tasks/{number}/annotations", json=body))
            if sent is not None and sent.status_code == 201:
                load.acknowledged.append((number, str(sent.json()["id"])))
