"""llama.cpp's own HTTP server, from Python's xllamacpp, behind the command line of llama-server.

    llama_server.py --model FILE [--alias NAME] [--host HOST] [--port PORT] [--FLAG [VALUE]]...

It knows the flags of llama-server that are listed below.
"""

import sys
import threading

import xllamacpp

# Flags that take a value: the attribute of llama.cpp's parameters that each sets.
VALUES = {
    "--ctx-size": "n_ctx",
    "--n-gpu-layers": "n_gpu_layers",
    "--parallel": "n_parallel",
    "--batch-size": "n_batch",
    "--ubatch-size": "n_ubatch",
    "--threads-http": "n_threads_http",
    "--cache-ram": "cache_ram_mib",
    "--cache-reuse": "n_cache_reuse",
    "--verbosity": "verbosity",
}
# Flags without a value, which have a --no- form as well.
SWITCHES = {
    "--metrics": "endpoint_metrics",
    "--slots": "endpoint_slots",
    "--props": "endpoint_props",
    "--cache-prompt": "cache_prompt",
    "--cont-batching": "cont_batching",
    "--context-shift": "ctx_shift",
    "--kv-unified": "kv_unified",
    "--warmup": "warmup",
}


def parameters(words: list[str]) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.port, params.n_parallel = 8080, 4
    rest = iter(words)
    for word in rest:
        flag = word.replace("_", "-")
        positive = "--" + flag[5:] if flag.startswith("--no-") else flag
        if positive in SWITCHES:
            setattr(params, SWITCHES[positive], positive == flag)
            continue
        if flag not in VALUES and flag not in ("--model", "--alias", "--host", "--port", "--threads"):
            sys.exit(f"error: invalid argument: {word}")
        value = next(rest, None)
        if value is None:
            sys.exit(f'error while handling argument "{flag}": expected value for argument')
        try:
            if flag == "--model":
                params.model.path = value
            elif flag == "--alias":
                params.model_alias = {value}
            elif flag == "--host":
                params.hostnames = [value]
            elif flag == "--port":
                params.port = int(value)
            elif flag == "--threads":
                params.cpuparams.n_threads = int(value)
            else:
                setattr(params, VALUES[flag], int(value))
        except ValueError:
            sys.exit(f'error while handling argument "{flag}": stoi')
    if not params.model.path:
        sys.exit("error: --model is required")
    return params


def main() -> None:
    server = xllamacpp.Server(parameters(sys.argv[1:]))
    print(f"serving {server.listening_address}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
