"""Labels and draws: the same question about the same snapshot has the same noise, whoever asks and however often."""

import hashlib
import hmac
from collections.abc import Sequence

import numpy as np

from errorfloor.checks import Array
from errorfloor.identity import Key, Label, Part, encode
from errorfloor.identity.labels import Encoded
from errorfloor.random import SAMPLER, RowBits
from errorfloor.service.noises import Added
from errorfloor.sql.layout import Layout
from errorfloor.sql.plan import Call, Output, Question, walk
from errorfloor.vault import Snapshot

ARITHMETIC = 2  # the version of how values are computed and rounded; a change of it is a change of every answer


def function_of(question: Question, output: Output, layout: Layout, snapshots: Sequence[Snapshot]) -> Encoded:
    """Give what decides the exact value of one output, as parts of a label.

    How the columns are named, ordered and cut off afterwards is no part of it. Nor are the other outputs, except that
    they may decide with how many bits a function of a row is stored, which is. The identity of every snapshot that is
    read is a part of it: other rows under the same names are another function.
    """
    calls = {node.encoded: layout.bits[node] for node in walk(output.formula) if isinstance(node, Call)}
    bits = tuple(bits for _, bits in sorted(calls.items()))
    read = tuple(one.whose for one in snapshots)
    return Encoded.of((("arithmetic", ARITHMETIC, "sampler", SAMPLER), read, *question.function_of(output), bits))


def label_of(function: Encoded, added: Added) -> Label:
    """Give the label of one output: equal labels are the same function of the same snapshots, with the same noise."""
    return Label("answer", (function, added.law))


def release_id(key: Key, label: Label) -> str:
    """Give the name under which the ledger knows a release; it changes with the key, as the noise does."""
    return hashlib.sha256(Label("release", (key.id, label.encoded)).encoded).hexdigest()


def draw(key: Key, label: Label, groups: Sequence[tuple[Part, ...]], added: Added) -> Array:
    """Draw the noise of each group's cell from the key, the label and the group's own key values."""
    tagging = key.derive(Label("answer groups", (label.encoded,)))
    digests = b"".join(hmac.digest(tagging, encode(group), "sha256")[:16] for group in groups)
    tags = np.frombuffer(digests, dtype="<u8").reshape(-1, 2)
    return added.noise.sample(len(groups), rng=RowBits(key.derive(label), tags))


__all__ = ["ARITHMETIC", "draw", "function_of", "label_of", "release_id"]
