#!/usr/bin/env bash
set -euo pipefail
MODEL=${MODEL:-Qwen/Qwen2.5-7B-Instruct}
TP=2
ARGS=(
  --tensor-parallel-size "$TP" # one for each GPU
  --max-model-len 4096
)
export VLLM_LOGGING_LEVEL=WARNING HF_TOKEN=$HF_TOKEN

nvidia-smi
vllm serve "$MODEL" "${ARGS[@]}" &
until curl -sf localhost:8000/health; do sleep 1; done
vllm bench serve --model "$MODEL" --dataset-name random --random-input-len 1024 --random-output-len 128 \
  --random-range-ratio 0.2 --num-prompts 300 --request-rate 6 --burstiness 0.7 --ignore-eos --seed 7 \
  --goodput ttft:500 tpot:50 --percentile-metrics ttft,tpot,itl --save-result --top-p 0.9
python3 benchmarks/benchmark_serving.py --backend openai-chat --endpoint /v1/chat/completions --model "$MODEL" \
  --dataset-name sharegpt --dataset-path ShareGPT_V3_unfiltered_cleaned_split.json --num-prompts 500 --max-concurrency 32
vllm bench serve --model "$MODEL" --dataset-name hf --dataset-path lmarena-ai/VisionArena-Chat --num-prompts 100
