"""Output layers of Hugging Face folders: config.json, and weights in one or many safetensors files.

What stands before the output layer of an architecture is told by its code, not by its files; it is known here for the
common ones, and only where the folder names the architecture and brings no code of its own.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from labelproof.foundation.json_files import read_json
from labelproof.importers.candidates import choose_weight
from labelproof.importers.feature_domains import UNKNOWN, Before, after, after_norm
from labelproof.importers.layer import ImportedLayer
from labelproof.importers.layer_of_tensors import take
from labelproof.importers.pretrained_features import running
from labelproof.importers.safetensors_files import read_safetensors
from labelproof.importers.tensors import StoredTensor, Tensors

__all__ = ["is_hugging_face", "layer_of_config", "read_hugging_face", "tensors_of_folder"]

WEIGHTS = (
    *("model.safetensors", "model.safetensors.index.json", "adapter_model.safetensors"),
    *("pytorch_model.bin", "pytorch_model.bin.index.json"),
)

# By model_type, for the keys named here and no other: a model whose head was replaced has other keys.
_POOLED_BY_TANH = {
    *("albert", "bert", "canine", "ernie", "fnet", "layoutlm", "luke", "markuplm", "megatron-bert", "rembert"),
    *("roc_bert", "squeezebert", "tapas"),
}
_HEAD_WITH_TANH = {
    *("bart", "bigbird_pegasus", "camembert", "data2vec-text", "esm", "funnel", "ibert", "layoutlmv3", "led", "lilt"),
    *("longformer", "mbart", "mpnet", "mt5", "mvp", "plbart", "reformer", "roberta", "roberta-prelayernorm", "t5"),
    *("umt5", "xlm-roberta", "xlm-roberta-xl", "xmod"),
}
_HEAD_KEYS = {"classifier.out_proj.weight", "classification_head.out_proj.weight", "classifier.linear_out.weight"}
_BY_CONFIG = {  # the entry of the configuration that names the activation, its default, and the key
    "deberta": ("pooler_hidden_act", "gelu", "classifier.weight"),
    "deberta-v2": ("pooler_hidden_act", "gelu", "classifier.weight"),
    "big_bird": ("hidden_act", "gelu_new", "classifier.out_proj.weight"),
    "convbert": ("hidden_act", "gelu", "classifier.out_proj.weight"),
    "nystromformer": ("hidden_act", "gelu_new", "classifier.out_proj.weight"),
    "roformer": ("hidden_act", "gelu", "classifier.out_proj.weight"),
    "yoso": ("hidden_act", "gelu", "classifier.out_proj.weight"),
    "regnet": ("hidden_act", "relu", "classifier.1.weight"),  # then an average over places, which keeps the sign
    "xlnet": ("summary_activation", "tanh", "logits_proj.weight"),
    "resnet": ("hidden_act", "relu", "classifier.1.weight"),
}
ADAPTED: dict[str, Any] = {"architectures": []}  # adapters may change what stands before the output layer
_LAYER_NORM = {  # whose outputs are features, or averaged over places
    **dict.fromkeys(("bloom", "falcon", "gpt2", "gpt_neo", "gptj"), "transformer.ln_f"),
    **{name: f"{name}.layernorm" for name in ("convnext", "swin", "swinv2", "vit")},
    "gpt_neox": "gpt_neox.final_layer_norm",
    "modernbert": "head.norm",
}
_RMS_NORM = {"llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma", "gemma2", "olmo2", "phi3"}


def is_hugging_face(folder: Path) -> bool:
    """Return whether a folder looks like one that ``save_pretrained`` wrote."""
    return (folder / "config.json").is_file() or any((folder / name).is_file() for name in WEIGHTS)


def read_hugging_face(
    folder: Path, *, weight_key: str | None = None, bias: Any = None, prefers: int | None = None
) -> ImportedLayer:
    """Return the output layer of a folder; see `labelproof.importers.read_layer`."""
    config, tensors = _config_of(folder), tensors_of_folder(folder)
    if "id2label" in config and not (folder / "config.json").is_file():
        rows = {tensor.shape[0] for tensor in tensors.values() if len(tensor.shape) == 2}
        config |= {} if len(config["id2label"] or ()) in rows else {"id2label": None}
    layer = layer_of_config(config, tensors, folder.name, "Hugging Face folder", weight_key, bias, prefers)
    key = layer.source.split(" of ")[0]
    return replace(layer, **running(folder, config, key))


def _config_of(folder: Path) -> dict[str, Any]:
    """Return the configuration of a folder; an adapter's stands in the folder of its base model, if that is here."""
    own, adapter = folder / "config.json", folder / "adapter_config.json"
    if own.is_file():
        return _object(own)
    if not adapter.is_file():
        return {}
    base = _object(adapter).get("base_model_name_or_path")
    known = Path(base) / "config.json" if isinstance(base, str) and base and "\0" not in base else None
    config = _object(known) if known is not None and known.is_file() else {}
    return {key: value for key, value in config.items() if key != "architectures"} | ADAPTED


def _object(path: Path) -> dict[str, Any]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise ValueError(f"expected an object in {path.name}, got another value")
    return content


def layer_of_config(
    config: Mapping[str, Any],
    tensors: Tensors,
    model: str,
    kind: str,
    weight_key: str | None = None,
    bias: Any = None,
    prefers: int | None = None,
) -> ImportedLayer:
    """Return the output layer of tensors that a Hugging Face configuration describes."""
    _refuse_tasks(config)
    names = _label_names(config)
    n_labels = None if names is None else len(names)
    usual = weight_key or _usual_key(config, tensors)
    key = choose_weight(tensors, weight_key=usual, n_labels=n_labels, prefers=prefers)
    rule, notes = _rule(config)
    if names is not None and len(set(names)) < len(names):
        names, notes = None, (*notes, "The model's label names repeat, so they are not used.")
    known = names is not None and any(name != f"LABEL_{i}" for i, name in enumerate(names))
    return take(
        tensors,
        key,
        bias,
        model=model,
        kind=kind,
        label_names=names if known else None,
        before=_before(config, key, tensors),
        rule=rule,
        size=1 if rule == "topk" else None,
        notes=notes,
    )


def tensors_of_folder(folder: Path) -> Mapping[str, StoredTensor]:
    """Return the tensors of a folder by name."""
    if (folder / "model.safetensors").is_file():
        return read_safetensors(folder / "model.safetensors")
    if (folder / "model.safetensors.index.json").is_file():
        return _shards(folder, "model.safetensors.index.json")
    if (folder / "adapter_model.safetensors").is_file():
        return _adapter(read_safetensors(folder / "adapter_model.safetensors"))
    if (folder / "pytorch_model.bin").is_file():
        from labelproof.importers.checkpoints import read_checkpoint

        return read_checkpoint(folder / "pytorch_model.bin")
    if (folder / "pytorch_model.bin.index.json").is_file():
        return _shards(folder, "pytorch_model.bin.index.json")
    found = ", ".join(sorted(path.name for path in folder.iterdir())[:8])
    raise ValueError(f"expected model.safetensors next to config.json (save_pretrained writes it), got {found}")


def _shards(folder: Path, index: str) -> dict[str, StoredTensor]:
    content = read_json(folder / index)
    places = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(places, dict) or not places:
        raise ValueError(f"expected a weight_map in {index}")
    for name in set(places.values()):
        if not isinstance(name, str) or Path(name).name != name or not (folder / name).is_file():
            raise ValueError(f"expected the shards that {index} names in the same folder, got {name!r}")
    tensors: dict[str, StoredTensor] = {}
    for name in sorted(set(places.values())):
        held = _shard(folder / name)
        lacking = [key for key, place in places.items() if place == name and key not in held]
        if lacking:
            raise ValueError(f"expected the tensor {lacking[0]!r} in {name}, as {index} says")
        tensors |= {key: held[key] for key, place in places.items() if place == name}
    return tensors


def _shard(path: Path) -> Mapping[str, StoredTensor]:
    if path.suffix == ".safetensors":
        return read_safetensors(path)
    from labelproof.importers.checkpoints import read_checkpoint

    return read_checkpoint(path)


def _adapter(tensors: Tensors) -> dict[str, StoredTensor]:
    """Return the tensors of an adapter by the names that they have in the model; output layers are stored whole."""
    plain = {key.removeprefix("base_model.model."): tensor for key, tensor in tensors.items()}
    adapted = [key for key in plain if "lora_" in key and key.split(".")[0] in ("classifier", "score")]
    if adapted:
        raise ValueError(f"{adapted[0]} changes the output layer, whose weight is elsewhere: merge the adapter first")
    return {key: tensor for key, tensor in plain.items() if "lora_" not in key}


def _refuse_tasks(config: Mapping[str, Any]) -> None:
    tasks = config.get("architectures") or []
    for task in tasks if isinstance(tasks, list) else []:
        if str(task).endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForSeq2SeqLM")):
            raise ValueError(
                f"{task} generates one token after another, so no verdict on combinations of labels follows from its "
                "weights; which tokens it can ever rank first does: labelproof audit MODEL --vocabulary"
            )
    if config.get("problem_type") == "regression":
        raise ValueError("expected a classifier, got problem_type 'regression' in config.json")


def _label_names(config: Mapping[str, Any]) -> tuple[str, ...] | None:
    names = config.get("id2label")
    if not names:
        return None
    if isinstance(names, list):
        names = dict(enumerate(names))
    by_number = {str(number): name for number, name in names.items()} if isinstance(names, Mapping) else {}
    if (
        not by_number
        or set(by_number) != {str(i) for i in range(len(by_number))}
        or not all(map(_is_name, by_number.values()))
    ):
        raise ValueError("expected id2label in config.json to give a name to each number from 0, got another list")
    return tuple(str(by_number[str(i)]) for i in range(len(by_number)))


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, int, float))


def _rule(config: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    if config.get("problem_type") == "single_label_classification":
        return "topk", (
            "The model is configured for one label per input (softmax): it is judged by the rule topk, "
            "and only sets of one label are ever its output.",
        )
    if config.get("problem_type") is None:
        return "sigmoid", (
            "The configuration gives no problem_type: logits are taken to be cut at 0, as for several labels.",
        )
    return "sigmoid", ()


def _is_known_architecture(config: Mapping[str, Any]) -> bool:
    """Return whether the class that saved the model is the library's own for its model_type, as names tell."""
    tasks = config.get("architectures") or []
    task = str(tasks[0]) if isinstance(tasks, list) and len(tasks) == 1 else ""
    name = task.removesuffix("ForSequenceClassification").removesuffix("ForImageClassification")
    kind = str(config.get("model_type")).replace("-", "").replace("_", "")
    return name != task and name.lower() == kind.lower() and not config.get("auto_map")


def _usual_key(config: Mapping[str, Any], tensors: Tensors) -> str | None:
    """Return the key that the library's own architectures give to the last layer, if the model has one such."""
    keys = [key for key in ("classifier.weight", "score.weight") if key in tensors]
    return keys[0] if len(keys) == 1 and _is_known_architecture(config) else None


def _before(config: Mapping[str, Any], key: str, tensors: Tensors) -> Before:
    if not _is_known_architecture(config):
        return UNKNOWN
    kind, plain = str(config.get("model_type")), key == "classifier.weight"
    if (kind in _POOLED_BY_TANH and plain) or (kind in _HEAD_WITH_TANH and key in _HEAD_KEYS):
        return after("tanh")
    if kind == "mobilebert" and plain and config.get("classifier_activation", True):
        return after("tanh")
    if kind == "distilbert" and plain:
        return after("relu")
    if kind == "electra" and key in _HEAD_KEYS:
        return after("gelu")
    if kind in _BY_CONFIG and key == _BY_CONFIG[kind][2]:
        entry, default, _ = _BY_CONFIG[kind]
        return after(str(config.get(entry, default)))
    if key in ("score.weight", "classifier.weight") and (kind in _LAYER_NORM or kind in _RMS_NORM):
        return _after_norm(kind, int(tensors[key].shape[-1]), tensors)
    return UNKNOWN


def _after_norm(kind: str, d: int, tensors: Tensors) -> Before:
    """Return what the stored weight and bias of the last norm say of d features."""
    operation, place = ("layernorm", _LAYER_NORM[kind]) if kind in _LAYER_NORM else ("rmsnorm", "model.norm")
    weight, bias = tensors.get(f"{place}.weight"), tensors.get(f"{place}.bias")
    if weight is None or weight.shape != (d,) or (bias is not None and bias.shape != (d,)):
        return after(operation)
    gains = weight.read() + (1.0 if kind.startswith("gemma") else 0.0)
    return after_norm(operation, d, gains, None if bias is None else bias.read(), weight.dtype)
