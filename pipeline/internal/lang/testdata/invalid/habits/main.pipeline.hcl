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
}

server "vllm" "x" {
  count      = 2
  inherits   = ["y"]
  executable = "vllm"
  model      = "m"
  dynamic "env" {}
  lifecycle {}
}
