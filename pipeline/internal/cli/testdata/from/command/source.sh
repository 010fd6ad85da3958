VLLM_ATTENTION_BACKEND=FLASH_ATTN vllm serve meta-llama/Llama-3.1-8B-Instruct \
    -tp 2 -O3 -O.cudagraph_mode=PIECEWISE \
    --no-enable-prefix-caching --max_model_len 8192 --gpu-memory-utilization 0.90 \
    --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}' \
    --speculative-config.method ngram --allowed-origins '["*"]' \
    --host 0.0.0.0 --port 8000 --api-key sk-123 --served-model-name llama llama-8b > server.log 2>&1
