# A stack of docker compose: each launch is a project of its own. Debian's program is docker-compose, that of Docker's
# packages is docker compose.

variable "image" { type = string }

variable "owner" {
  type        = string
  description = "Value of the label owner of what is made."
  default     = "nobody"
}

server "stack" "sut" {
  for_each = { base = "4", head = var.head }

  up = ["sh", "-ec", <<-EOT
    docker-compose -p "$PIPELINE_STACK" up -d
    echo "url=http://$(docker-compose -p "$PIPELINE_STACK" port server 8000)" >>"$PIPELINE_OUTPUT"
    EOT
  ]
  down   = ["sh", "-c", "exec docker-compose -p \"$PIPELINE_STACK\" down --volumes --timeout 2"]
  render = ["docker-compose", "config"]
  logs   = ["sh", "-c", "exec docker-compose -p \"$PIPELINE_STACK\" logs --follow --no-color"]
  lost = ["sh", "-ec", <<-EOT
    id=$(docker-compose -p "$PIPELINE_STACK" ps -q server)
    if [ -z "$id" ]; then
      echo "somebody removed the container of $PIPELINE_STACK"
      exit 1
    fi
    EOT
  ]
  model = "tiny"
  env   = { IMAGE = var.image, SLOWDOWN = each.value, OWNER = var.owner, SIDE = each.key } # both sides are servers of their own

  ready { interval = "50ms" }
}
