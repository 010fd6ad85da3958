# Base against head, from source.sh (a command line).
# The source describes no load: dataset and load below are a start. Replace them by your own.
#
#   pipeline run gate.pipeline.hcl --simulate=virtual --var rehearsal=10%   # a rehearsal without a GPU
#   pipeline plan gate.pipeline.hcl --launch   # the command lines
#   pipeline run gate.pipeline.hcl --var head=PROGRAM
#
# 8 parts were not carried over: see the end.

variable "base" {
  description = "Program from before the change."
  default     = "vllm"
}

variable "head" {
  description = "Program with the change. The default only holds its place."
  default     = "head/bin/vllm"
}

variable "rehearsal" {
  description = "With --simulate only: how much slower the head is."
  default     = "0%"
}

variable "x1" {
  description = "$1, which the source does not set."
  default     = "x1"
}

server "vllm" "sut" {
  for_each   = { base = var.base, head = var.head }
  executable = each.value
  version    = "0.11.2"
  model      = var.x1
  gpus       = 1
  # Not carried over: --host $scontrol_show (the launcher chooses the address)
  # Not carried over: --port $x2 (the launcher chooses the port)
  args = { guided_decoding_backend = "lm-format-enforcer", max_num_seqs = 16 }

  simulate {
    profile  = "fast"
    slowdown = each.key == "head" ? var.rehearsal : "0%"
  }
}

dataset "random" "chat" {
  input_len  = 512
  output_len = 64
}

benchmark "chat" {
  matrix {
    side = ["base", "head"]
  }

  target  = server.vllm.sut[matrix.side]
  dataset = dataset.random.chat

  warmup {
    requests = 20
  }

  load {
    rate     = 4
    requests = 200
  }

  repeat {
    min = 4
    max = 8
  }
}

baseline "paired" "base" {
  axis  = "side"
  value = "base"
}

gate "latency" {
  benchmark = benchmark.chat
  baseline  = baseline.paired.base
  metrics   = [metric.ttft.p50, metric.tpot.p50, metric.e2el.p50]
  margin    = "5%"
}

# Not carried over:
# * $1 (the source does not set it: set the variable x1)
# * $2 (the source does not set it: set the variable x2)
# * $(conda shell.bash hook) (the shell computes it: set the variable conda_shell)
# * $(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1) (the shell computes it: set the variable
#   scontrol_show)
# * eval $conda_shell (only commands that start a server or load it are read)
# * conda activate vllm (only commands that start a server or load it are read)
# * server sut: --host $scontrol_show (the launcher chooses the address)
# * server sut: --port $x2 (the launcher chooses the port)
