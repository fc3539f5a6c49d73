"""Refuses configs that can't be converted: those of draft heads, and those whose fields contradict their model_type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from planner.errors import UserError
from planner.hf.config import Config

# Classes of draft heads; NVIDIA's Eagle 2.5 VL isn't one but a vision model.
_DRAFT_CLASS = re.compile(r"(?:Eagle|EAGLE)(?!.*VL)|Medusa(?!.*ForCausalLM)|Speculator|DFlash|MTP(?:Model)?$")
_DRAFT_TYPE = re.compile(r"eagle3?|medusa|mlp_speculator|\w+_(?:mtp|assistant)")
_DRAFT_FIELDS = ("draft_vocab_size", "speculators_model_type")

_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
# The columns that such a field is read into, and the least value that has an effect.
_MEANT = {
    **dict.fromkeys(_EXPERTS, ({"moe_experts", "n_experts"}, 2)),
    **{name: ({name}, 1) for name in ("index_topk", "kv_lora_rank")},
}
_WRONG = "correct the one that is wrong"


def refuse_draft(config: Config) -> None:
    """Raise UserError for a draft head's config (EAGLE, Medusa, MTP, assistants), which lacks its input's size."""
    fields = config.fields
    names = fields.get("architectures")
    is_said = {
        **{name: fields.get(name) is not None for name in _DRAFT_FIELDS},
        "model_type": bool(_DRAFT_TYPE.fullmatch(str(fields.get("model_type")))),
        "architectures": isinstance(names, list) and any(_DRAFT_CLASS.search(str(name)) for name in names),
    }
    if field := next((name for name, said in is_said.items() if said), ""):
        what = "is a draft head's, whose input another model computes: it has no row"
        raise config.fault(field, what, "give the config.json of the model that it drafts for")


def refuse_unread(config: Config, known: Iterable[str]) -> None:
    """Raise UserError for experts, an indexer or latent attention that no column accounts for.

    `known` are the columns that the family has or that were typed.
    """
    for field, (columns, least) in _MEANT.items():
        number = config.fields.get(field)
        if isinstance(number, int) and number >= least and columns.isdisjoint(known):
            raise config.fault(field, f'contradicts model_type "{config.model_type}", which has none', _WRONG)


def refuse_other_class(config: Config, own: Mapping[str, Any], other: Callable[[], Mapping[str, Any]]) -> None:
    """Raise UserError if the class in `architectures` is another model's and gives a different row, or none."""
    try:
        is_same = own == other()
    except UserError:
        is_same = False
    if not is_same:
        what = f'contradicts model_type "{config.model_type}": each makes another row'
        raise config.fault("architectures", what, _WRONG)
