variable "key" {
  type      = string
  sensitive = true
  default   = "s3cret"
}

server "vllm" "sut" {
  executable = "vllm"
  model      = "Qwen/Qwen2.5-7B-Instruct"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "two_generators" {
  target  = server.vllm.sut
  dataset = dataset.random.short
  load {
    requests = 10
  }
  driver "exec" {
    command = ["bench"]
  }
}

benchmark "no_command" {
  target = server.vllm.sut
  driver "exec" {}
}

benchmark "nothing_to_run" {
  target = server.vllm.sut
  driver "exec" {
    command = []
  }
}

benchmark "no_target" {
  driver "exec" {
    command = ["bench", driver.base_url]
  }
}

benchmark "unknown_kind" {
  driver "vegeta" {}
}

benchmark "unknown_name" {
  target = server.vllm.sut
  driver "exec" {
    command = ["bench", driver.base_uri]
  }
}

benchmark "elsewhere" {
  target      = server.vllm.sut
  description = driver.model
  driver "exec" {
    command = ["bench"]
  }
}

benchmark "outside" {
  target = server.vllm.sut
  driver "exec" {
    command = ["bench"]
    output  = "../other.json"
  }
}

benchmark "secret" {
  target = server.vllm.sut
  driver "exec" {
    command = ["bench", "--key", var.key]
  }
}

benchmark "results" {
  driver "results" {
    command = ["bench"]
  }
}

benchmark "sides" {
  target = server.vllm.sut
  matrix {
    side = ["base", "head"]
  }
  driver "exec" {
    command = ["bench", "--rate", matrix.side == "base" ? "2" : "4"]
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "sides" {
  benchmark = benchmark.sides
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50]
  margin    = "5%"
}
