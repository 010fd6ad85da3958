"""Write a random Llama as a GGUF file, with a tokenizer whose words are one token each. With two layers it has 0.6 MB.

    python make_model.py FILE LAYERS [WIDTH]

Its text is nonsense. It exists so that a real engine does real work on a machine without a GPU and a network.
"""

import array
import random
import struct
import sys

VOCABULARY, WIDTH, HEADS, CONTEXT = 512, 64, 4, 4096
DRAWN = 1 << 20  # numbers that are drawn; larger matrices repeat them

# Types of values, of tokens and of tensors in the GGUF format (github.com/ggml-org/ggml/blob/master/docs/gguf.md).
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
F32, ALIGNMENT = 0, 32


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def scalar(kind: int, value) -> bytes:
    if kind == STRING:
        return text(value)
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f"}[kind], value)


def setting(name: str, kind: int, value) -> bytes:
    return text(name) + struct.pack("<I", kind) + scalar(kind, value)


def settings(name: str, kind: int, values: list) -> bytes:
    return text(name) + struct.pack("<IIQ", ARRAY, kind, len(values)) + b"".join(scalar(kind, v) for v in values)


def metadata(layers: int, width: int, specials: int) -> list[bytes]:
    """Returns the architecture and the tokenizer."""
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256
    assert len(tokens) == specials
    # A word is merged from its characters, so that each beginning of one is a token as well.
    words = ["\u2581", "\u2581w"] + [f"\u2581w{number}" for number in range(VOCABULARY - specials - 2)]
    tokens += words
    kinds += [NORMAL] * len(words)
    return [
        setting("general.architecture", STRING, "llama"),
        setting("llama.context_length", UINT32, CONTEXT),
        setting("llama.embedding_length", UINT32, width),
        setting("llama.block_count", UINT32, layers),
        setting("llama.feed_forward_length", UINT32, 2 * width),
        setting("llama.attention.head_count", UINT32, HEADS),
        setting("llama.attention.head_count_kv", UINT32, HEADS),
        setting("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        setting("llama.rope.dimension_count", UINT32, width // HEADS),
        setting("llama.vocab_size", UINT32, VOCABULARY),
        setting("tokenizer.ggml.model", STRING, "llama"),
        settings("tokenizer.ggml.tokens", STRING, tokens),
        settings("tokenizer.ggml.scores", FLOAT32, [-float(number) for number in range(VOCABULARY)]),
        settings("tokenizer.ggml.token_type", INT32, kinds),
        setting("tokenizer.ggml.unknown_token_id", UINT32, 0),
        setting("tokenizer.ggml.bos_token_id", UINT32, 1),
        setting("tokenizer.ggml.eos_token_id", UINT32, 2),
    ]


def tensors(layers: int, width: int, specials: int) -> list[tuple[str, tuple[int, ...], array.array]]:
    """Returns the names, shapes (rows, columns) and numbers of the weights."""
    draw = random.Random(0)

    def drawn(name: str, *shape: int) -> tuple[str, tuple[int, ...], array.array]:
        size = shape[0] * shape[1]
        numbers = array.array("f", (draw.gauss(0, 0.05) for _ in range(min(size, DRAWN))))
        return name, shape, (numbers * -(-size // DRAWN))[:size]

    def norm(name: str) -> tuple[str, tuple[int, ...], array.array]:
        return name, (width,), array.array("f", [1.0] * width)

    out = [drawn("token_embd.weight", VOCABULARY, width), drawn("output.weight", VOCABULARY, width), norm("output_norm.weight")]
    # Answers are words: the likeliest token is never a single byte, which may be no text, and never the end.
    head = out[1][2]
    head[: specials * width] = array.array("f", bytes(4 * specials * width))
    for layer in range(layers):
        block = f"blk.{layer}."
        out += [norm(block + "attn_norm.weight"), norm(block + "ffn_norm.weight")]
        out += [drawn(f"{block}attn_{part}.weight", width, width) for part in ("q", "k", "v", "output")]
        out += [drawn(block + "ffn_gate.weight", 2 * width, width), drawn(block + "ffn_up.weight", 2 * width, width)]
        out.append(drawn(block + "ffn_down.weight", width, 2 * width))
    return out


def main() -> None:
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: make_model.py FILE LAYERS [WIDTH]")
    layers, specials = int(sys.argv[2]), 3 + 256
    width = int(sys.argv[3]) if len(sys.argv) == 4 else WIDTH
    about, weights = metadata(layers, width, specials), tensors(layers, width, specials)
    head = [b"GGUF", struct.pack("<IQQ", 3, len(weights), len(about)), *about]
    offset = 0
    for name, shape, numbers in weights:
        head.append(text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", n) for n in reversed(shape)))
        head.append(struct.pack("<IQ", F32, offset))
        offset += -(-4 * len(numbers) // ALIGNMENT) * ALIGNMENT
    with open(sys.argv[1], "wb") as file:
        file.write(b"".join(head))
        for _, _, numbers in weights:
            file.write(bytes(-file.tell() % ALIGNMENT))
            if sys.byteorder == "big":
                numbers.byteswap()
            numbers.tofile(file)


if __name__ == "__main__":
    main()
