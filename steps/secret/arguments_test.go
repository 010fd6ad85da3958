package secret_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/secret"
)

func TestInArguments(t *testing.T) {
	for _, tt := range []struct {
		argv []string
		want string
	}{
		{[]string{"vllm", "serve", "--api-key", "ListKeyA9xQ71"}, "ListKeyA9xQ71"},
		{[]string{"--api_key=EqKeyB8yR62"}, "EqKeyB8yR62"},
		{[]string{"--ssl-keyfile-password", "correcthorse"}, "correcthorse"},
		{[]string{"env", "HF_TOKEN=EnvArgH2eX08z", "vllm"}, "EnvArgH2eX08z"},
		{[]string{"env", "DB_PASSWORD_FOR_CI=EnvArgJ3fY19w", "vllm"}, "EnvArgJ3fY19w"},
		{[]string{"-H", "X-Api-Key: HdrKeyC7zS53"}, "HdrKeyC7zS53"},
		{[]string{"-H", "Authorization: Bearer BearG3dW17xyz"}, "BearG3dW17xyz"},
		{[]string{"-H", "Authorization: Basic dXNlcjpodW50ZXIyMg=="}, "hunter22"},
		{[]string{"--upstream", "https://bob:UrlPwE5bU35x@h/"}, "UrlPwE5bU35x"},
		{[]string{"--upstream=https://h/?token=QryTokF4cV26x"}, "QryTokF4cV26x"},
		{[]string{"--model", "https://s3.example/m?X-Amz-Expires=60&X-Amz-Signature=0f1e2d3c4b5a69788796a5b4c3d2e1f0"},
			"0f1e2d3c4b5a69788796a5b4c3d2e1f0"},
		{[]string{"--kv-transfer-config", `{"extra": {"password": "JsonPwI1fY99z"}}`}, "JsonPwI1fY99z"},
		{[]string{`--config={"list": [{"secret_key": "JsonLsJ0gZ88y"}]}`}, "JsonLsJ0gZ88y"},
		{[]string{`--config={"inner": "{\"token\": \"JsonInA7bC66d\"}"}`}, "JsonInA7bC66d"},
		{[]string{"sh", "-c", "export API_KEY='ShKeyK9hA77y'; exec vllm serve"}, "ShKeyK9hA77y"},
		{[]string{"bash", "-c", `vllm serve --api-key "ShFlagL8jB66z"`}, "ShFlagL8jB66z"},
		{[]string{"--file", "machine h\n  login bob\n  password netrcPw77xyQ\n"}, "netrcPw77xyQ"},
		{[]string{"--file", "db:\n  password: yamlPw66abQ\n"}, "yamlPw66abQ"},
	} {
		got := secret.InArguments(tt.argv)
		if !slices.Contains(got, tt.want) {
			t.Errorf("%q: got %q, want %s among them", tt.argv, got, tt.want)
		}
		for _, word := range []string{"vllm", "serve", "bob", "exec"} {
			if slices.Contains(got, word) {
				t.Errorf("%q: %s is a word of the command", tt.argv, word)
			}
		}
	}
}

// Flags about tokens of a model, and prose, hold no secrets.
func TestNotInArguments(t *testing.T) {
	for _, line := range []string{
		"vllm serve Qwen/Qwen2.5-7B-Instruct --max-num-batched-tokens 2048 --long-prefill-token-threshold 1048576 --port 8000",
		"--speculative-token-map thunlp/LLaMA3-Instruct-8B-FR-Spec/freq_32768.pt --pad-token <|endoftext|> --eos-token=<|im_end2Xy|>",
		"--enable-forward-pass-metrics --forward-pass-metrics-worker-id worker0a1b2c3d --allow-credentials --tokenizer Qwen/Qwen2.5-7B-Instruct",
		"--tokenizer-mode mistral --kv-cache-dtype fp8_e4m3 --api-key EMPTY --hf-token=$HF_TOKEN --key-cache q8_0 --partition-key rank0a1b2c3",
		"--api-key ${API_KEY} --ssl-keyfile /etc/tls/private/key.pem --token-file /run/secrets/hf_token2X",
	} {
		if got := secret.InArguments(strings.Fields(line)); len(got) > 0 {
			t.Errorf("%s: got %q", line, got)
		}
	}
	for _, prose := range []string{
		"Basic comparison of chunk sizes", "Token throughput of the change", "Token throughput", "Digest comparison", "Key: the sides differ",
		"Auth: the new scheme", "password: aB3x9", "Compare side=base with side=head", "latency: main against v0.11.0",
		`{"method": "ngram", "tokens": 4096}`,
	} {
		if got := secret.InArguments([]string{prose}); len(got) > 0 {
			t.Errorf("%q: got %q", prose, got)
		}
	}
}
