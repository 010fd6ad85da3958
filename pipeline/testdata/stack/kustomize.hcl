# A stack of kustomize: each launch is a namespace of its own, so that down has one thing to delete.

variable "kubeconfig" { type = string }

variable "overlays" {
  type    = map(string)
  default = { "4" = "kustomize/overlays/same", "16" = "kustomize/overlays/slow" }
}

variable "owner" {
  type        = string
  description = "Value of the label owner of the namespaces."
  default     = "nobody"
}

server "stack" "sut" {
  for_each = { base = "4", head = var.head }

  up = ["sh", "-ec", <<-EOT
    echo '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "'"$PIPELINE_STACK"'", "labels": {"owner": "${var.owner}"}}}' |
      kubectl create -f -
    kubectl --namespace "$PIPELINE_STACK" apply -k ${var.overlays[each.value]}
    kubectl --namespace "$PIPELINE_STACK" rollout status deployment/server --timeout 5m
    address=$(kubectl --namespace "$PIPELINE_STACK" get pods -l app=server -o 'jsonpath={.items[0].status.podIP}')
    echo "url=http://$address:8000" >>"$PIPELINE_OUTPUT"
    EOT
  ]
  down   = ["sh", "-c", "exec kubectl delete namespace \"$PIPELINE_STACK\" --ignore-not-found"]
  render = ["kubectl", "kustomize", var.overlays[each.value]]
  logs   = ["sh", "-c", "exec kubectl --namespace \"$PIPELINE_STACK\" logs --follow deployment/server"]
  lost = ["sh", "-ec", <<-EOT
    phase=$(kubectl get namespace "$PIPELINE_STACK" --ignore-not-found -o 'jsonpath={.status.phase}')
    if [ "$phase" != Active ]; then
      echo "somebody deleted namespace $PIPELINE_STACK"
      exit 1
    fi
    for reason in Killing Evicted Preempted TaintManagerEviction NodeNotReady; do
      said=$(kubectl --namespace "$PIPELINE_STACK" get events --field-selector "reason=$reason" -o 'jsonpath={.items[*].message}')
      if [ -n "$said" ]; then
        echo "$reason: $said"
        exit 1
      fi
    done
    EOT
  ]
  model = "tiny"
  env   = { KUBECONFIG = var.kubeconfig, SIDE = each.key } # both sides are servers of their own

  ready {
    interval = "50ms"
    timeout  = "5m"
  }
}
