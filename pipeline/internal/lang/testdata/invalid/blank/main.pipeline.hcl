# An empty variable must not turn a container into a process of this machine.
variable "base" {
  default = ""
}

server "vllm" "image" {
  image = var.base
  model = "m"
}

server "vllm" "both" {
  image      = var.base
  executable = "vllm"
  model      = "m"
}

server "vllm" "model" {
  executable = "vllm"
  model      = "  "
}

server "vllm" "executable" {
  executable = ["", "serve"]
  model      = "m"
  dir        = ""
}

server "vllm" "url" {
  url = trimspace(" ")
  ready {
    path = ""
  }
}

server "vllm" "null" {
  image = null
  model = "m"
}

step "exec" "x" {
  command = [""]
}

dataset "trace" "t" {
  path = var.base
}

baseline "file" "f" {
  path = var.base
}

baseline "stored" "s" {
  branch = ""
}
