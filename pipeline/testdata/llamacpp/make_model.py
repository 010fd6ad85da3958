"""Write a random Llama as GGUF, with a tokenizer whose words are one token each. With two layers it has 0.6 MB.

    python make_model.py FILE LAYERS

Its text is nonsense. It exists so that a real engine does real work on a machine without a GPU and a network.
"""

import sys

import gguf
import numpy

VOCABULARY, WIDTH, FORWARD, HEADS, CONTEXT = 512, 64, 128, 4, 4096


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: make_model.py FILE LAYERS")
    layers = int(sys.argv[2])
    model = gguf.GGUFWriter(sys.argv[1], "llama")
    model.add_context_length(CONTEXT)
    model.add_embedding_length(WIDTH)
    model.add_block_count(layers)
    model.add_feed_forward_length(FORWARD)
    model.add_head_count(HEADS)
    model.add_head_count_kv(HEADS)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_rope_dimension_count(WIDTH // HEADS)
    model.add_vocab_size(VOCABULARY)

    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256
    # A word is merged from its characters, so that each beginning of one is a token as well.
    words = ["\u2581", "\u2581w"] + [f"\u2581w{number}" for number in range(VOCABULARY - len(tokens) - 2)]
    tokens += words
    kinds += [gguf.TokenType.NORMAL] * len(words)
    model.add_tokenizer_model("llama")
    model.add_token_list(tokens)
    model.add_token_scores([-float(number) for number in range(VOCABULARY)])
    model.add_token_types(kinds)
    model.add_unk_token_id(0)
    model.add_bos_token_id(1)
    model.add_eos_token_id(2)

    draw = numpy.random.default_rng(0)

    def tensor(name: str, *shape: int) -> None:
        model.add_tensor(name, (0.05 * draw.standard_normal(shape)).astype(numpy.float32))

    def norm(name: str) -> None:
        model.add_tensor(name, numpy.ones(WIDTH, numpy.float32))

    tensor("token_embd.weight", VOCABULARY, WIDTH)
    tensor("output.weight", VOCABULARY, WIDTH)
    norm("output_norm.weight")
    for layer in range(layers):
        block = f"blk.{layer}."
        norm(block + "attn_norm.weight")
        norm(block + "ffn_norm.weight")
        for part in ("q", "k", "v", "output"):
            tensor(f"{block}attn_{part}.weight", WIDTH, WIDTH)
        tensor(block + "ffn_gate.weight", FORWARD, WIDTH)
        tensor(block + "ffn_up.weight", FORWARD, WIDTH)
        tensor(block + "ffn_down.weight", WIDTH, FORWARD)
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


if __name__ == "__main__":
    main()
