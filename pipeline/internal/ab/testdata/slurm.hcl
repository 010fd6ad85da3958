# Is v0.11.0 slower than v0.10.2? Written by
#
#   pipeline ab …

pipeline {
  slurm {
    partition     = "gpu"
    gpus_per_node = 1
    runtime       = "pyxis"
  }
}

server "vllm" "sut" {
  for_each = { "v0.10.2" = "vllm/vllm-openai:v0.10.2", "v0.11.0" = "vllm/vllm-openai:v0.11.0" }
  image    = each.value
  model    = "Qwen/Qwen2.5-7B-Instruct"
  gpus     = 1

  container {
    mounts = ["/home/u/.cache/huggingface:/root/.cache/huggingface"] # the model is downloaded once
  }
}

dataset "random" "prompts" {
  input_len  = 512
  output_len = 64
}

benchmark "serving" {
  matrix {
    side = ["v0.10.2", "v0.11.0"]
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
