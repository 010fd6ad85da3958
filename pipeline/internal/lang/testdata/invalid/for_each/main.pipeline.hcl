server "vllm" "list" {
  for_each   = ["a", "b"]
  executable = "vllm"
}

server "vllm" "null" {
  for_each   = null
  executable = "vllm"
}

server "vllm" "number" {
  for_each   = 3
  executable = "vllm"
}

server "vllm" "self" {
  for_each   = { a = each.key }
  executable = "vllm"
}

server "vllm" "sides" {
  for_each   = { base = 1, head = 2 }
  executable = "vllm"
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "serving" {
  target  = server.vllm.sides
  dataset = dataset.random.short

  load {
    rate     = 4
    requests = 10
  }
}

benchmark "key" {
  matrix {
    side = ["base", "haed"]
  }

  target  = server.vllm.sides[matrix.side]
  dataset = dataset.random.short

  load {
    rate     = 4
    requests = 10
  }
}
