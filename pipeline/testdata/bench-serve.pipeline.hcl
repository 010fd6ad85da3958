# The same load twice, in one launch of a simulated server: by vLLM's own client and by ours.
variable "venv" {
  type        = string
  description = "Folder that examples/vllm-cpu/setup.sh filled."
}

server "vllm" "sut" {
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "theirs" {
  target  = server.vllm.sut
  timeout = "10m"
  driver "exec" {
    command = [
      "${var.venv}/bin/vllm", "bench", "serve", "--backend", "openai", "--base-url", driver.base_url,
      "--model", driver.model, "--tokenizer", "${var.venv}/model", "--seed", driver.seed,
      "--dataset-name", "random", "--random-input-len", 64, "--random-output-len", 16, "--ignore-eos",
      "--num-prompts", 40, "--request-rate", 10, "--percentile-metrics", "ttft,tpot,itl,e2el",
      "--save-result", "--save-detailed", "--result-filename", driver.output,
    ]
    env = { HF_HUB_OFFLINE = "1" }
  }
  repeat {
    max = 1
  }
}

benchmark "ours" {
  target  = server.vllm.sut
  dataset = dataset.random.short
  load {
    rate     = 10
    requests = 40
  }
  repeat {
    max = 1
  }
}
