# Is v0.11.0 enable_prefix_caching=false slower than v0.10.2? Written by
#
#   pipeline ab …

variable "hf_token" {
  description = "Token of the model hub."
  default     = ""
  sensitive   = true
}

server "vllm" "sut" {
  for_each = {
    "v0.10.2" = { image = "vllm/vllm-openai:v0.10.2", enable_prefix_caching = null }
    "v0.11.0 enable_prefix_caching=false" = {
      image                 = "vllm/vllm-openai:v0.11.0"
      enable_prefix_caching = false
    }
  }

  image = each.value.image
  model = "Qwen/Qwen2.5-7B-Instruct"
  gpus  = 2
  env   = { HF_TOKEN = var.hf_token }

  args = {
    tensor_parallel_size  = 2
    max_model_len         = 8192
    enable_prefix_caching = each.value.enable_prefix_caching
  }

  container {
    ipc     = "host"                                    # the processes of a server share memory
    volumes = { hf-cache = "/root/.cache/huggingface" } # the model is downloaded once
  }
}

dataset "random" "prompts" {
  input_len  = 512
  output_len = 64
}

benchmark "serving" {
  matrix {
    side = ["v0.10.2", "v0.11.0 enable_prefix_caching=false"]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.prompts

  warmup {
    requests = 20
  }

  load {
    arrival         = "closed"
    max_concurrency = 8
    requests        = 200
  }

  repeat {
    min = 4
    max = 12
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "v0.10.2"
}

gate "latency" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50]
  margin    = "5%"
}
