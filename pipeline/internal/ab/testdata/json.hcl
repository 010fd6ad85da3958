# Is speculative_config slower than defaults? Written by
#
#   pipeline ab …

server "vllm" "sut" {
  for_each = {
    defaults           = null
    speculative_config = { method = "ngram", num_speculative_tokens = 4 }
  }

  image = "vllm/vllm-openai:v0.11.0"
  model = "Qwen/Qwen2.5-7B-Instruct"
  args  = { speculative_config = each.value }

  container {
    volumes = { hf-cache = "/root/.cache/huggingface" } # the model is downloaded once
  }
}

dataset "random" "prompts" {
  input_len  = 512
  output_len = 64
}

benchmark "serving" {
  matrix {
    side = ["defaults", "speculative_config"]
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
  value = "defaults"
}

gate "latency" {
  benchmark = benchmark.serving
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50]
  margin    = "5%"
}
