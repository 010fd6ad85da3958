# transformers serve: a base, the same again, and one that waits a known time before each token.

variable "python" {
  type        = string
  description = "Python with torch and transformers[serving]."
  default     = "python3"
}

variable "model" {
  type        = string
  description = "Folder of the model that acceptance.py made."
  default     = "model"
}

variable "plant_ms" {
  type        = number
  description = "Delay of each token of the planted side."
  default     = 10
}

server "transformers" "sut" {
  for_each   = { base = 0, again = 0, planted = var.plant_ms }
  executable = [var.python, "serve.py", "--plant-ms", each.value, "--", "serve"]
  model      = var.model
  gpus       = 1

  ready {
    timeout = "5m"
  }
}

locals {
  sut = server.transformers.sut
}
