"""Train a small Llama model that answers in words, and write altered copies of it.

    python train_model.py DIR

The model of ../vllm-cpu has random weights, and its greedy answers repeat one token. This
one has about a million parameters and has read the topics of Python's own help for a few
minutes. What it says of Python is wrong, but each word depends on those before it, which is
what a comparison of answers needs. Nothing is downloaded.

DIR gets the folders

    model           what the base serves, in bfloat16
    weight          the same with one of its 1,536 neurons taken out
    template.jinja  another chat template: a line break after the role
"""

import importlib.util
import json
import pathlib
import pydoc_data.topics
import re
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 900
BATCH = 4
LENGTH = 128


def load_make_model():
    """The script of ../vllm-cpu, which has the tokenizer and its chat template."""
    path = HERE.parent / "vllm-cpu" / "make_model.py"
    spec = importlib.util.spec_from_file_location("make_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def samples(tokenizer) -> torch.Tensor:
    """Topics without their markup, cut into pieces that each answer a question for the topic."""
    rows = []
    for topic, text in sorted(pydoc_data.topics.topics.items()):
        question = tokenizer.apply_chat_template(
            [{"role": "user", "content": f"What is {topic}?"}],
            add_generation_prompt=True,
            tokenize=False,
        )
        head = tokenizer(question, add_special_tokens=False)["input_ids"]
        prose = " ".join(re.sub(r"[^\w\s.,:;()']", " ", text).split())
        body = tokenizer(prose, add_special_tokens=False)["input_ids"]
        step = LENGTH - len(head)
        for start in range(0, len(body) - step, step // 2):
            rows.append(head + body[start : start + step])
    return torch.tensor(rows)


def train(model, data: torch.Tensor) -> float:
    """Train with a fixed seed, and return the loss of the last steps."""
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=STEPS)
    losses = []
    for step in range(STEPS):
        rows = data[torch.randint(len(data), (BATCH,), generator=generator)]
        loss = model(input_ids=rows, labels=rows).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 100 == 99:
            print(f"step {step + 1} of {STEPS}: loss {sum(losses[-50:]) / 50:.2f}", flush=True)
    return sum(losses[-50:]) / 50


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: train_model.py DIR")
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    make_model = load_make_model()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    tokenizer = make_model.train_tokenizer()
    config = LlamaConfig(
        vocab_size=make_model.VOCABULARY,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config)
    loss = train(model, samples(tokenizer))

    model.to(torch.bfloat16)
    for folder in ("model", "weight"):
        if folder == "weight":
            with torch.no_grad():
                model.model.layers[2].mlp.down_proj.weight[:, 7] = 0
        model.save_pretrained(target / folder)
        tokenizer.save_pretrained(target / folder)
    template = make_model.CHAT_TEMPLATE.replace("|>{{ message['content']", "|>\n{{ message['content']")
    (target / "template.jinja").write_text(template)
    parameters = sum(p.numel() for p in model.parameters())
    print(json.dumps({"folder": str(target), "parameters": parameters, "loss": round(loss, 2)}))


if __name__ == "__main__":
    main()
