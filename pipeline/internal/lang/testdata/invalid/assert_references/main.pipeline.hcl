server "vllm" "sut" {
  for_each   = { base = false, head = true }
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
  args       = { enable_chunked_prefill = each.value }
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "serving" {
  matrix {
    side = ["base", "head"]
    rate = [4, 8]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.short

  load {
    rate     = matrix.rate
    requests = 1000
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "slo" {
  benchmark = benchmark.serving
  where     = matrix.rte <= 4

  assert {
    condition     = self.ttft.p999 < 1
    error_message = "too slow"
  }
}

gate "types" {
  benchmark = benchmark.serving
  where     = matrix.rate

  assert {
    condition     = self.ttft.p99
    error_message = ["a"]
  }
}

gate "self" {
  benchmark = benchmark.serving

  assert {
    condition     = self.eror == 0 && self.ttft < 1 && matrix.side == each.key
    error_message = "x"
  }
}

gate "nothing" {
  benchmark = benchmark.serving
  where     = matrix.rate > 100

  assert {
    condition     = self.errors == 0
    error_message = "x"
  }
}
