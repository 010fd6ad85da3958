pipeline {
  profile {
    window = "900h"
  }
}
server "vllm" "sut" {
  executable = "vllm"
  model      = "m"
  simulate {
    slow_op    = "softmax"
    corrupt    = "102%"
    divergence = -0.1
    acceptance = 7
  }
}
dataset "random" "short" {
  input_len  = 32
  output_len = 4
}
benchmark "b" {
  target  = server.vllm.sut
  dataset = dataset.random.short
  load {
    rate     = 40
    requests = 20
  }
}
