dataset "random" "chat" {
  input_len  = var.len
  output_len = 64
}

benchmark "serving" {
  target  = server.vllm.other
  dataset = dataset.random.chat

  load {
    rate     = 4
    requests = 200.5
  }

  repeat {
    count = 6
  }
}

benchmark "other" {
  target  = server.vllm.other
  dataset = dataset.random.other

  load {
    rate     = 4
    requests = 200
  }
}

server "vllm" "other" {
  image = "vllm/vllm-openai:v0.11.0"
  model = "Qwen/Qwen2.5-7B-Instruct"

  container {
    volumes = ["/weights:/weights"]
  }
}

dataset "random" "other" {
  input_len  = 64
  output_len = 64
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "list" {
  benchmark = benchmark.other
  baseline  = [baseline.paired.base]
  metrics   = [metric.ttft.p50]
  margin    = "5%"
}

gate "negative" {
  benchmark = benchmark.other
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50]
  margin    = "-5%"
  fail_on   = "regression"
}
