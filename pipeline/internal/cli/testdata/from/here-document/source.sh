# adapted from https://docs.vllm.ai/en/latest/deployment/k8s.html

cat <<EOF >>vllm-meta-llama.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: vllm-meta-llama-server
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: vllm-meta-llama
        image: ${AWS_ACCOUNT_ID}.dkr.ecr.${AWS_REGION}.amazonaws.com/vllm:arm64
        command: ["/bin/sh", "-c"]
        args: [
          "vllm serve meta-llama/Llama-3.2-1B-Instruct --max_num_batched_tokens 2048 --max_model_len 2048"
        ]
        ports:
          - containerPort: 8000
EOF

kubectl apply -f vllm-meta-llama.yaml
