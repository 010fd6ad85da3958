# --var token=hunter2-hunter2
variable "token" {
  type      = string
  sensitive = true
}

locals {
  header = "Bearer ${var.token}"
}

server "vllm" "sut" {
  executable = "vllm"
  model      = "m"
  env        = { HF_TOKEN = var.token }
  args       = { max_model_len = 8192, api_key = local.header }
}

dataset "random" "short" {
  input_len  = 64
  output_len = 16
}

benchmark "serving" {
  description = "with ${var.token}"

  matrix {
    side = [var.token]

    exclude {
      when = var.token == "x"
    }
  }

  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    rate     = length(var.token)
    requests = 10
  }
}

benchmark "leaks" {
  matrix {
    side = ["a", "b"]

    exclude {
      when = var.token == matrix.side
    }
  }

  target  = server.vllm.sut
  dataset = dataset.random.short

  load {
    rate     = length(var.token)
    requests = 10
  }
}
