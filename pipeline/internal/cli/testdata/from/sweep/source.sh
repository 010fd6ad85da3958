vllm bench sweep serve \
    --serve-cmd 'vllm serve meta-llama/Llama-2-7b-chat-hf' \
    --bench-cmd 'vllm bench serve --model meta-llama/Llama-2-7b-chat-hf --backend vllm --endpoint /v1/completions --dataset-name random' \
    --serve-params serve_hparams.json \
    --bench-params bench_hparams.json \
    -o benchmarks/results
