"""Has vLLM's own classes parse requests, one JSON object a line: {"name": …, "path": …, "body": …}.

    python parse.py < requests.jsonl

Prints a line for each that is refused, or that has a member which vLLM does not know.
"""

import json
import sys

from pydantic import TypeAdapter, ValidationError
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.completion.protocol import CompletionRequest
from vllm.entrypoints.pooling.embed.protocol import EmbeddingCompletionRequest
from vllm.entrypoints.pooling.scoring.protocol import RerankRequest
from vllm.exceptions import VLLMValidationError

CLASSES = {
    "/v1/completions": CompletionRequest,
    "/v1/chat/completions": ChatCompletionRequest,
    "/v1/embeddings": EmbeddingCompletionRequest,
    "/v1/rerank": RerankRequest,
}

for line in sys.stdin:
    request = json.loads(line)
    try:
        parsed = TypeAdapter(CLASSES[request["path"]]).validate_python(request["body"])
        # A message is a typed dict, whose lists are read as they are asked for.
        for message in getattr(parsed, "messages", []):
            if not isinstance(message.get("content"), str):
                list(message["content"])
        unknown = sorted(parsed.model_extra or {})
    except (ValidationError, VLLMValidationError) as error:
        print(f"{request['name']}: {error}".replace("\n", " "))
        continue
    if unknown:
        print(f"{request['name']}: vLLM does not know {', '.join(unknown)}")
