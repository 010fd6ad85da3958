pipeline {
  bisect {
    good       = "before"
    candidate  = "before"
    candidates = ["a", "b", "a"]
    repository = "."
    build {
      command = []
      timeout = "0s"
      disk    = "0GiB"
    }
  }
}

variable "base" {
  type    = string
  default = "a"
}

server "vllm" "sut" {
  executable = var.base
  model      = "Qwen/Qwen2.5-7B-Instruct"
}
