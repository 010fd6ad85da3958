"""Serve a GGUF model with llama.cpp's own HTTP server.

    serve.py MODEL --host HOST --port PORT [--NAME VALUE]...

NAME is an attribute of llama.cpp's CommonParams, with dashes or underscores: --n-parallel 4 sets the slots.
"""

import sys
import threading

import xllamacpp


def main() -> None:
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.model_alias = {"tiny"}
    params.n_ctx, params.n_parallel, params.n_threads_http = 16384, 8, 8
    params.cpuparams.n_threads = 1
    params.warmup = False
    params.endpoint_metrics = True
    words = sys.argv[2:]
    for flag, text in zip(words[::2], words[1::2], strict=True):
        name = flag.removeprefix("--").replace("-", "_")
        if name == "host":
            params.hostnames = [text]
            continue
        if name == "model_alias":
            params.model_alias = {text}
            continue
        kind = type(getattr(params, name))
        setattr(params, name, text == "true" if kind is bool else kind(text))
    server = xllamacpp.Server(params)
    print(f"serving {server.listening_address}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
