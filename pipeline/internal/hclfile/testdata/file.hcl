# Two images of a server.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10% --out a-long-folder-that-stays-as-it-is
# * word word word word word word word word word word word word word word word word word word word word word
#   word word word word word word word word word word word word word word word word word word word
variable "base" {
  default = "vllm/vllm-openai:v0.10.2"
}

# The server of both sides.
server "vllm" "sut" {
  for_each = { base = var.base, head = var.head }
  image    = each.value
  gpus     = 2 # tensor_parallel_size

  args = {
    tensor_parallel_size      = 2
    "compilation_config.mode" = 3
    kv_transfer_config        = { kv_connector = "NixlConnector", kv_role = "kv_both" }
    chat_template             = "$${not} a %%{template}" # a name, not a template
    gpu_memory_utilization    = 0.92
    seed                      = null
  }

  # Nothing real reads this.
  simulate {
    slowdown = "10%"
  }

  ready {
  }
}

dataset "random" "chat" {
  input_len = 512
  # In tokens.
  output_len = 64

  tall = {
    a = 1
  }

  long = [
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    "cccccccccccccccccccccccccccccccccccccccc",
  ]
}

# The end.
