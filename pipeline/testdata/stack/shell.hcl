# A stack that a shell script starts and removes.

variable "program" { type = string }

server "stack" "sut" {
  for_each = { base = "4", head = var.head }
  up       = ["./stack.sh", "up", each.value]
  down     = ["./stack.sh", "down"]
  render   = ["./stack.sh", "render", each.value]
  logs     = ["./stack.sh", "logs"]
  lost     = ["./stack.sh", "lost"]
  model    = "tiny"
  env      = { PROGRAM = var.program, SIDE = each.key } # both sides are servers of their own

  ready { interval = "50ms" }
}
