variable "slo" {
  default = "300ms"
}

server "vllm" "x" {
  executable = "vllm"
  model      = "m"
}

dataset "random" "d" {
  input_len  = 128
  output_len = 16
}

benchmark "b" {
  target  = server.vllm.x
  dataset = dataset.random.d
  load {
    rate     = 4
    requests = 2000
  }
}

gate "text" {
  benchmark = benchmark.b
  assert {
    condition     = self.ttft.p99 < "500ms"
    error_message = "Slow."
  }
}

gate "variable" {
  benchmark = benchmark.b
  assert {
    condition     = self.ttft.p99 < var.slo && self.success.rate > "99%"
    error_message = "Slow."
  }
}
