"""Published sets of dialogues, from tiny files in their layouts."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

from interloq.data.sets.registry import read_parts
from interloq.records import Dialogue
from tests.made_files import put
from tests.published_layouts import packed


def both(folder: Path, name: str) -> list[tuple[str, Dialogue]]:
    """The dialogues of a folder, which must be those of its archive."""
    found = list(read_parts(name, folder))
    assert found == list(read_parts(name, packed(folder)))
    return found


TIERS = {
    "TC_F1": ["4", "5.", "E"],
    "TC_F1_（自由記述）": ["どこかお体で？"],
    "UI_F1": [" 5", "E", "(e)"],
    "UI_M2": ["3", "4", "6"],
    "sys_utterance": [" 始めます。", "お元気ですか？", "*"],
    "user_utterance": ["(F はい)|(D そ)そうです", "", "(F うん)"],
    "UI_self": ["6", "6 delete", " "],
}


def write_hazumi(folder: Path, tiers: dict[str, list[str]] = TIERS, name: str = "1902F2001") -> Path:
    values = {
        tier: "".join(
            '<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1">'
            f"<ANNOTATION_VALUE>{escape(value)}</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>"
            for value in found
        )
        for tier, found in tiers.items()
    }
    inner = "".join(f'<TIER TIER_ID="{tier}">{found}</TIER>' for tier, found in values.items())
    xml = f'<?xml version="1.0" encoding="UTF-8"?>\n<ANNOTATION_DOCUMENT>{inner}</ANNOTATION_DOCUMENT>'
    put(folder / "elan" / f"{name}.eaf", xml)
    return folder
