"""Write a LoRA adapter with random weights for a model of make_model.py.

    python make_adapter.py MODEL DIR
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file

RANK = 8


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: make_adapter.py MODEL DIR")
    model, target = map(pathlib.Path, sys.argv[1:])
    config = json.loads((model / "config.json").read_text())
    target.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    size = config["hidden_size"]
    weights = {}
    for layer in range(config["num_hidden_layers"]):
        for projection in ("q_proj", "v_proj"):
            name = f"base_model.model.model.layers.{layer}.self_attn.{projection}"
            weights[f"{name}.lora_A.weight"] = torch.randn(RANK, size)
            weights[f"{name}.lora_B.weight"] = torch.randn(size, RANK)
    save_file(weights, target / "adapter_model.safetensors")
    (target / "adapter_config.json").write_text(
        json.dumps(
            {
                "peft_type": "LORA",
                "task_type": "CAUSAL_LM",
                "base_model_name_or_path": str(model),
                "r": RANK,
                "lora_alpha": RANK,
                "lora_dropout": 0.0,
                "bias": "none",
                "target_modules": ["q_proj", "v_proj"],
            }
        )
    )


if __name__ == "__main__":
    main()
