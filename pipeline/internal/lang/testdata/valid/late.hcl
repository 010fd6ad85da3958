# Values that exist only once steps have run.

step "exec" "tag" {
  command = ["git", "rev-parse", "HEAD"]
  outputs = ["sha"]
}

step "exec" "build" {
  for_each = toset(["base", "head"])
  command  = ["make", "image", "TAG=${step.exec.tag.outputs.sha}", each.key]
  outputs  = ["image", "seed"]
  timeout  = "1h"
}

locals {
  image = { for side, step in step.exec.build : side => step.outputs.image }
}

server "vllm" "sut" {
  for_each   = toset(["base", "head"])
  depends_on = [step.exec.weights]
  image      = local.image[each.key]
  model      = "m"
  args       = { seed = step.exec.build["head"].outputs.seed, dtype = "auto" }
  env        = { IMAGE = "x-${local.image[each.key]}" }
}

server "vllm" "running" {
  url   = "http://127.0.0.1:8000/"
  model = "m"
}

server "vllm" "proxy" {
  executable = "proxy"
  model      = server.vllm.running.model
  env        = { UPSTREAM = server.vllm.running.url }
}

step "exec" "weights" {
  command = ["huggingface-cli", "download", "m"]
}

dataset "trace" "t" {
  path       = "trace.jsonl"
  time_scale = 0.5
}

benchmark "closed" {
  matrix {
    target = values(server.vllm.sut)
  }

  target  = matrix.target
  dataset = dataset.trace.t

  load {
    arrival         = "closed"
    max_concurrency = 8
    duration        = "1m"
  }
}

benchmark "burst" {
  target   = server.vllm.running
  dataset  = dataset.trace.t
  endpoint = "chat"

  load {
    requests = 100
  }
}
