"""Write a tiny Llama model with random weights, with a tokenizer and a chat template.

    python make_model.py DIR [--hidden 64] [--layers 2] [--endless]

About 0.25 million parameters in bfloat16 unless it is asked for larger. With --endless
it never ends an answer. Its text is nonsense: it exists so that a real engine does real
work (tokenising, scheduling, attention, sampling, streaming) on a machine without a GPU
and without a network. The tokenizer is trained on the sources of Python's standard
library, so nothing is downloaded.
"""

import argparse
import json
import pathlib
import sysconfig

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

VOCABULARY = 2048
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}"
    "<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|begin|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"]


def train_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE of VOCABULARY entries, trained on a fixed list of files."""
    library = pathlib.Path(sysconfig.get_paths()["stdlib"])
    sources = sorted(str(path) for path in library.glob("*.py"))[:120]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train(sources, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|begin|>", eos_token="<|end|>"
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("dir", type=pathlib.Path)
    flags.add_argument("--hidden", type=int, default=64)
    flags.add_argument("--layers", type=int, default=2)
    flags.add_argument("--endless", action="store_true")
    asked = flags.parse_args()
    target = asked.dir
    target.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    tokenizer = train_tokenizer()
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=asked.hidden,
        intermediate_size=2 * asked.hidden,
        num_hidden_layers=asked.layers,
        num_attention_heads=asked.hidden // 32,
        num_key_value_heads=asked.hidden // 32,
        max_position_embeddings=4096,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    if asked.endless:
        model.generation_config.eos_token_id = None
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    parameters = sum(p.numel() for p in model.parameters())
    print(json.dumps({"model": str(target), "parameters": parameters}))


if __name__ == "__main__":
    main()
