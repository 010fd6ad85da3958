# One quote is missing, and that is one problem.
server "vllm" "x" {
  executable = "vllm
  model      = "m"
  args       = { a = "1", b = "2" }
}

locals {
  a = "x"
  b = "${local.a}y"
}
