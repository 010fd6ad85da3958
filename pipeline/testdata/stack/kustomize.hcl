# A stack of kustomize: each launch is a namespace of its own, so that down has one thing to delete.

variable "overlays" {
  type    = map(string)
  default = { "1" = "kustomize/overlays/same", "4" = "kustomize/overlays/slow" }
}

variable "owner" {
  type        = string
  description = "Value of the label owner of the namespaces."
  default     = "nobody"
}

server "stack" "sut" {
  for_each = { base = "1", head = var.head }

  up = ["sh", "-ec", <<-EOT
    kubectl create namespace "$PIPELINE_STACK"
    kubectl label namespace "$PIPELINE_STACK" owner=${var.owner}
    kubectl --namespace "$PIPELINE_STACK" apply -k ${var.overlays[each.value]}
    kubectl --namespace "$PIPELINE_STACK" rollout status deployment/server --timeout 3m
    address=$(kubectl --namespace "$PIPELINE_STACK" get pods -l app=server -o 'jsonpath={.items[0].status.podIP}')
    echo "url=http://$address:8000" >>"$PIPELINE_OUTPUT"
    EOT
  ]
  down   = ["sh", "-c", "exec kubectl delete namespace \"$PIPELINE_STACK\" --ignore-not-found --timeout 5m"]
  render = ["kubectl", "kustomize", var.overlays[each.value]]
  logs   = ["sh", "-c", "exec kubectl --namespace \"$PIPELINE_STACK\" logs --follow deployment/server"]
  lost = ["sh", "-ec", <<-EOT
    kubectl get namespace "$PIPELINE_STACK" >/dev/null
    events=$(kubectl --namespace "$PIPELINE_STACK" get events -o 'jsonpath={range .items[*]}{.reason}: {.message}{"\n"}{end}')
    if echo "$events" | grep -m1 -E '^(Killing: Stopping|Evicted|Preempted|TaintManagerEviction|NodeNotReady)'; then exit 1; fi
    EOT
  ]
  model = "tiny"
  env   = { SIDE = each.key } # both sides are servers of their own

  ready {
    interval = "50ms"
    timeout  = "5m"
  }
}
