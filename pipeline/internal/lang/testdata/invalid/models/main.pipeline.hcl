server "vllm" "sut" {
  for_each   = { old = 1, new = 2, other = 3 }
  executable = "vllm"
  version    = "0.11.0"
  model      = "m"
}

dataset "random" "short" {
  input_len  = 16
  output_len = 16
}

benchmark "weight" {
  target  = server.vllm.sut["old"]
  dataset = dataset.random.short
  models  = { base = 1, sql = 0 }
  load {
    rate     = 1
    requests = 10
  }
}

benchmark "list" {
  target  = server.vllm.sut["new"]
  dataset = dataset.random.short
  models  = ["base", "sql"]
  load {
    rate     = 1
    requests = 10
  }
}

benchmark "text" {
  target  = server.vllm.sut["other"]
  dataset = dataset.random.short
  models  = { base = "often" }
  load {
    rate     = 1
    requests = 10
  }
}
