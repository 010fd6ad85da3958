# What people write who know other tools.
data "file" "x" {}

resource "server" "x" {}

output "x" {}

provider "vllm" {}

module "x" {}

include "x" {}

terraform {}

locals {
  a = env("HOME")
  b = env.HOME
  c = count.index
  d = module.x.y
  e = secrets.TOKEN
  f = path.module
  g = timestamp()
  h = sensitive("x")
  i = len("x")
  j = github.sha
  k = uper("x")
  l = inf
  m = True
}

server "vllm" "x" {
  count      = 2
  inherits   = ["y"]
  executable = "vllm"
  model      = "m"
  dynamic "env" {}
  lifecycle {}
}

benchmark "b" {
  target = server.vllm.x
  load {
    request_rate = 4
    num_prompts  = 200
    concurrency  = 8
    endpoint     = "chat"
  }
}
