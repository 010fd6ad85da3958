# Arguments of a run on a Kubernetes cluster.
pipeline {
  kubernetes {
    image              = "registry.example.com/pipeline:1.0"
    context            = "gpu-cluster"
    kubeconfig         = "kubeconfig.yaml"
    nodes              = 2
    queue              = "team-a"
    priority_class     = "high"
    service_account    = "reader"
    pull_secrets       = ["registry"]
    labels             = { "sidecar.istio.io/inject" = "false" }
    annotations        = { team = "serving" }
    server_annotations = { "k8s.v1.cni.cncf.io/networks" = "roce" }
    gpu_resource       = "amd.com/gpu"
    load_resources     = { cpu = "8", memory = "8Gi" }
  }

  machines {
    between = "3%"
  }
}

server "vllm" "sut" {
  image = "vllm/vllm-openai:v0.11.0"
  model = "Qwen/Qwen2.5-7B-Instruct"
  gpus  = 1

  container {
    volumes   = { hf-cache = "/root/.cache/huggingface" }
    resources = { cpu = "16", memory = "64Gi" }
    requests  = { cpu = "8" }
  }
}
