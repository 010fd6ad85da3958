docker run -d -p 8080:8080 -v /srv/models:/models --gpus '"device=0"' --memory=16g ghcr.io/ggml-org/llama.cpp:server-cuda \
  -m /models/qwen2.5-7b-instruct-q4_k_m.gguf -c 8192 -np 8 --host 0.0.0.0 --port 8080 -ngl 99
