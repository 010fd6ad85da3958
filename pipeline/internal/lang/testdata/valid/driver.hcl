# Other load generators: one that is run, and results that are handed over.
variable "token" {
  type      = string
  sensitive = true
  default   = "hf_secret"
}

server "vllm" "sut" {
  for_each   = toset(["base", "head"])
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

benchmark "bench_serve" {
  target = server.vllm.sut[matrix.side]
  matrix {
    side = ["base", "head"]
    rate = [2, 4]
  }
  driver "exec" {
    command = [
      "vllm", "bench", "serve", "--base-url", driver.base_url, "--model", driver.model, "--seed", driver.seed,
      "--request-rate", matrix.rate, "--num-prompts", 200, "--save-result", "--result-filename", driver.output,
    ]
    env    = { HF_TOKEN = var.token }
    output = "bench.json"
  }
}

benchmark "nightly" {
  matrix {
    side = ["base", "head"]
    qps  = [2, 4, 6, 8]
  }
  driver "results" {
    tool = "vllm"
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "bench" {
  benchmark = benchmark.bench_serve
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50]
  margin    = "5%"
}

gate "night" {
  benchmark = benchmark.nightly
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50]
  margin    = "5%"
}
