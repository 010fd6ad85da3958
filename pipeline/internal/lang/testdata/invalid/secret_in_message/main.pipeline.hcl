# --var token=hunter2-hunter2
variable "token" {
  type      = number
  sensitive = true
}

variable "other" {
  type      = string
  sensitive = true
  default   = "correct-horse-battery"
}

locals {
  a = tonumber(var.other)
  b = jsondecode(var.other)
  c = server.vllm[var.other]
}
