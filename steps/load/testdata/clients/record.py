"""Records the requests that vLLM's and SGLang's own benchmark clients build, without sending them.

    python record.py vllm > vllm.json        # in an environment with vLLM
    python record.py sglang > sglang.json    # in one with SGLang

Each is what the client hands to its HTTP session: path and JSON body.
"""

import argparse
import asyncio
import json
import sys
from urllib.parse import urlparse

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9j/4AAQ"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}
FORMAT = {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}}
TOOLS = {"tools": [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}], "tool_choice": "auto"}


class Captured(Exception):
    pass


class Session:
    """Stands in for aiohttp's: keeps the request and goes no further."""

    def post(self, url, json=None, **_):
        self.request = {"path": urlparse(url).path, "body": json}
        raise Captured

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return False


async def capture(call, session):
    try:
        await call
    except Captured:
        pass
    return session.request


def vllm():
    import vllm
    from vllm.benchmarks.lib import endpoint_request_func as client

    paths = {
        "vllm": "/v1/completions",
        "openai-chat": "/v1/chat/completions",
        "openai-embeddings": "/v1/embeddings",
        "vllm-rerank": "/v1/rerank",
    }
    cases = {
        "completions": ("vllm", {"prompt": "What?"}),
        "completions of token ids": ("vllm", {"prompt": [5, 6, 7]}),
        "completions of a LoRA adapter": ("vllm", {"prompt": "What?", "model_name": "sql"}),
        "completions with a body": ("vllm", {"prompt": "What?", "extra_body": FORMAT}),
        "chat": ("openai-chat", {"prompt": "What?"}),
        "chat of a LoRA adapter": ("openai-chat", {"prompt": "What?", "model_name": "sql"}),
        "chat with a response format": ("openai-chat", {"prompt": "What?", "extra_body": FORMAT}),
        "chat with tools": ("openai-chat", {"prompt": "What?", "extra_body": TOOLS}),
        "chat with a picture": ("openai-chat", {"prompt": "What?", "multi_modal_content": PICTURE}),
        "chat with a sound": ("openai-chat", {"prompt": "What?", "multi_modal_content": SOUND}),
        "embeddings": ("openai-embeddings", {"prompt": "What?"}),
        "rerank": ("vllm-rerank", {"prompt": ["What?", "This.", "That."]}),
    }
    out = {}
    for name, (backend, more) in cases.items():
        session = Session()
        request = client.RequestFuncInput(
            api_url="http://h" + paths[backend], prompt_len=1, output_len=4, model="m", ignore_eos=True, **more
        )
        out[name] = asyncio.run(capture(client.ASYNC_REQUEST_FUNCS[backend](request, session), session))
    return vllm.__version__, out


def sglang():
    import sglang
    from sglang.benchmark import serving as client

    client.set_global_args(
        argparse.Namespace(
            temperature=0.0, top_p=1.0, disable_stream=False, disable_ignore_eos=False, return_logprob=False, return_routed_experts=False,
            top_logprobs_num=0, token_ids_logprob=None, logprob_start_len=-1, header=None, print_requests=False,
        )
    )
    cases = {
        "generate": ("async_request_sglang_generate", "/generate", {"prompt": "What?"}),
        "generate of token ids": ("async_request_sglang_generate", "/generate", {"prompt": [5, 6, 7]}),
        "generate of a LoRA adapter": ("async_request_sglang_generate", "/generate", {"prompt": "What?", "lora_name": "sql"}),
        "completions": ("async_request_openai_completions", "/v1/completions", {"prompt": "What?"}),
        "chat": ("async_request_openai_chat_completions", "/v1/chat/completions", {"prompt": "What?"}),
        "chat with tools": ("async_request_openai_chat_completions", "/v1/chat/completions", {"prompt": "What?", "extra_request_body": TOOLS}),
        "chat with a picture": (
            "async_request_openai_chat_completions", "/v1/chat/completions",
            {"prompt": "What?", "image_data": [PICTURE["image_url"]["url"]]},
        ),
        "embeddings": ("async_request_openai_embeddings", "/v1/embeddings", {"prompt": "What?"}),
    }
    out = {}
    for name, (func, path, more) in cases.items():
        session = Session()
        client._create_bench_client_session = lambda: session
        fields = {"lora_name": "", "image_data": None, "extra_request_body": {}, **more}
        request = client.RequestFuncInput(api_url="http://h" + path, prompt_len=1, output_len=4, model="m", **fields)
        out[name] = asyncio.run(capture(getattr(client, func)(request), session))
    return sglang.__version__, out


out = sys.stdout
sys.stdout = sys.stderr  # what the clients print is not the record
version, requests = {"vllm": vllm, "sglang": sglang}[sys.argv[1]]()
json.dump({"client": sys.argv[1], "version": version, "requests": requests}, out, indent=1, sort_keys=True)
print(file=out)
