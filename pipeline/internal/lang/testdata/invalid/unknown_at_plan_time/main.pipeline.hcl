step "exec" "build" {
  command = ["make", "image"]
  outputs = ["rate"]
}

locals {
  late = step.exec.build.outputs.rate
}
server "vllm" "sut" {
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "serving" {
  matrix {
    target = [server.vllm.sut.url]
  }

  target  = matrix.target
  dataset = dataset.random.short

  load {
    rate     = 4
    requests = 10
  }
}

benchmark "late_rate" {
  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    rate     = local.late
    requests = 10
  }
}

server "vllm" "copies" {
  for_each   = toset([step.exec.build.outputs.rate])
  executable = "vllm"
  model      = "m"
}

server "vllm" "neighbour" {
  executable = "vllm"
  model      = "m"
  env        = { NEIGHBOUR = server.vllm.sut.url }
}
