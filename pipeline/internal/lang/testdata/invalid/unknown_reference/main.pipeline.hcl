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

locals {
  a = server.vllm.stu
  b = var.rate
  c = local.aa
  d = server.vllm.sut["bass"].model
  e = server.vllm.sut["base"].modl
  f = servr.vllm.sut
  g = base
  h = server.vllm
  i = each.key
  j = matrix.rate
  k = benchmark.servin
  l = step.exec.build.outputs.digst
}

step "exec" "build" {
  command    = ["make"]
  outputs    = ["digest"]
  depends_on = [server.vllm.sut]
}
