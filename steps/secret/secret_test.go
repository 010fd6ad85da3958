package secret_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/secret"
)

func TestNames(t *testing.T) {
	for _, name := range []string{
		"HF_TOKEN", "GITHUB_TOKEN", "PGPASSWORD", "MYSQL_PWD", "OPENAI_KEY", "OPENAI_API_KEY", "AZURE_STORAGE_KEY", "AWS_SECRET_ACCESS_KEY",
		"GOOGLE_CREDENTIALS",
		"MY_CREDENTIAL", "NPM_AUTH", "NPM_CONFIG__AUTH", "npm_config__authToken", "SENTRY_DSN", "BLOB_SAS", "DB_PASS", "REDISCLI_AUTH",
		"DOCKER_AUTH_CONFIG",
		"CONNECTION_STRING", "WebhookSecret", "X-Api-Key", "Authorization", "Set-Cookie", "server.api_key", "API_KEY_2", "SSH_PASSPHRASE",
		"GH_PAT", "dbPassword", "VAULT_TOKEN2",
	} {
		if !secret.Name(name) || !secret.Mentions(name) {
			t.Errorf("%s is the name of a secret", name)
		}
	}
	for _, name := range []string{
		"PATH", "HOME", "PWD", "OLDPWD", "TOKENIZERS_PARALLELISM", "SORT_KEY", "COMMENT_KEY", "INPUT_COMMENT-KEY", "MONKEY", "KEYBOARD",
		"tokenizer", "GITHUB_TOKEN_FILE",
		"SSH_AUTH_SOCK", "XAUTHORITY", "GIT_AUTHOR_NAME", "AUTH_METHOD", "COMPASS", "max_model_len", "PUBLIC_KEY", "CUDA_VISIBLE_DEVICES",
		"BYPASS", "CACHE_KEY",
	} {
		if secret.Name(name) {
			t.Errorf("%s is no name of a secret", name)
		}
	}
}

func TestValuesBySecretNames(t *testing.T) {
	for _, tt := range [][2]string{
		{"SECRET", "/" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdefghijklmn"))},
		{"API_KEY", "/9j4AAQSkZJRgABAQEAYABgAAD"}, {"AZURE_STORAGE_KEY", "/Zx8+q/1bC9dK3LmN0pQ7rS5tU2vW4xY6zA=="},
		{"DB_PASSWORD", "correcthorse"}, {"PGPASSWORD", "hunter2"}, {"MYSQL_PWD", "swordfish"}, {"PASSWORD", "/letmein"},
		{"PASSWORD", "84926173"},
		{"OPENAI_KEY", "sk-abcdefgh"}, {"NPM_AUTH", "dXNlcjpwYXNz"}, {"AWS_CREDENTIALS", "k3jh4kjh34k5"}, {"HF_TOKEN", "hf_abcdefgh"},
		{"GITHUB_TOKEN", "ghs_1234"},
		{"API_KEY", "/tmp1B2c3D4e5F6g7H8/i9J0"}, {"key", "StepOutK3y9zQwE"}, {"keys", "aB3dE5fG7hJ9"},
		{"AZURE_SAS", "sv=2022-11-02&ss=b&sig=abc%2Bdef"},
		{"SLACK_WEBHOOK_URL", "https://hooks.slack.example/services/T0AB12CD3/B0XY45ZW6/aB3dE5fG7hJ9kL1mN3pQ5rS7"},
	} {
		if !slices.Contains(secret.Values(tt[0], tt[1]), tt[1]) {
			t.Errorf("%s=%s is a secret", tt[0], tt[1])
		}
	}
	for _, tt := range [][2]string{
		{"A_TOKEN", "short"}, {"B_TOKEN", "disabled"}, {"API_KEY", "EMPTY"}, {"C_TOKEN", "/run/secrets/token"},
		{"D_TOKEN", "12345678.9"}, {"TOKEN", "true"},
		{"DB_PASSWORD", "/run/secrets/db_password"}, {"CREDENTIALS", "/home/runner/.config/gcloud/credentials.json"}, {"AUTH", "none"},
		{"MAX_TOKENS", "100000000"}, {"key", "linux-module-cache"}, {"eos_token", "<|im_end2Xy|>"}, {"API_KEY", "${API_KEY}"},
		{"MODEL_KEY", "meta-llama/Llama-3.1-8B-Instruct"}, {"MODEL_KEY", "Qwen/Qwen2.5-7B-Instruct"}, {"API_KEY", "v0.11.0"},
		{"API_KEY", "1.2.3-rc.1"}, {"TOKEN", "4096"},
		{"SESSION", "c2"}, {"AUTH_URL", "https://auth.example.com/realms/main"}, {"SESSION_KEYS", "linux-go-module-cache"},
		{"PATH", "/usr/bin:/bin"},
		{"KUBECONFIG", "/tmp/tmp.a1B2c3D4e5/kubernetes/admin.kubeconfig"}, {"KUBECONFIG", "/__w/_temp/0f1e2d3c-4b5a-6978-8695-a4b3c2d1e0f9"},
		{"PASSWORD", "server"}, {"SECRET", ""}, {"GITHUB_TOKEN_FILE", "/a/Zx8q1bC9dK3LmN0pQ7"}, {"PWD", "/home/runner/work"},
	} {
		if got := secret.Values(tt[0], tt[1]); len(got) > 0 {
			t.Errorf("%s=%s holds no secret, got %q", tt[0], tt[1], got)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct{ value, want string }{
		{"http://proxy:s3cretpw@10.0.0.1:3128", "s3cretpw"}, {"postgres://app:p%40ssw0rd@db/app?sslmode=disable", "p@ssw0rd"},
		{"postgres://app:p%40ssw0rd@db/app", "p%40ssw0rd"},
		{"amqp://u:pa/ss@word@host/vhost", "pa/ss@word"}, {"app:hunter22@tcp(db:3306)/app", "hunter22"},
		{"redis://:correcthorse@cache:6379/0", "correcthorse"},
		{"DefaultEndpointsProtocol=https;AccountName=a;AccountKey=Zm9vYmFy+/8=;EndpointSuffix=x", "Zm9vYmFy+/8="},
		{"Server=db;User Id=sa;Password=Hunter-22;", "Hunter-22"},
		{"host=db user=app password=swordfish dbname=x", "swordfish"}, {"https://x.blob.core.windows.net/c?sv=1&sig=a1B2c3D4e5F6",
			"a1B2c3D4e5F6"},
		{"Bearer abcdef123", "abcdef123"}, {"Basic dXNlcjpodW50ZXIyMg==", "hunter22"},
		{`{"type":"service_account","private_key":"-----BEGIN x1Y2z3"}`, "-----BEGIN x1Y2z3"},
		{"https://ghp1aB2cD3eF4gH5iJ6@github.com/x", "ghp1aB2cD3eF4gH5iJ6"}, {"http://u:pw@host", "u:pw"},
	} {
		if !slices.Contains(secret.Within(tt.value), tt.want) {
			t.Errorf("%s: %q, want %s among them", tt.value, secret.Within(tt.value), tt.want)
		}
	}
	for _, value := range []string{"http://proxy:3128", "https://user@example.com/", "a=b", "rs=0:di=01;34:ln=01;36",
		"unix:path=/run/user/1000/bus", "Bearer of news", "key=value", "http://a:8000/x@y"} {
		if got := secret.Within(value); len(got) > 0 && value != "Bearer of news" {
			t.Errorf("%s holds no secret, got %q", value, got)
		}
	}
}

func TestFromEnviron(t *testing.T) {
	got := secret.FromEnviron([]string{
		"HF_TOKEN=hf_abcdefgh", "GITHUB_TOKEN=ghs_1234", "OPENAI_API_KEY=sk-abcdefgh", "DB_PASSWORD=Hunter2-Hunter2",
		"MAX_TOKENS=100000000", "TOKENIZERS_PARALLELISM=falsefalse", "SORT_KEY=something-long", "A_TOKEN=short", "B_TOKEN=disabled",
		"C_TOKEN=/run/secrets/token", "D_TOKEN=12345678.9", "NOVALUE", "PATH=/bin", "HTTPS_PROXY=http://proxy:3128",
	})
	want := "hf_abcdefgh|ghs_1234|sk-abcdefgh|Hunter2-Hunter2"
	if strings.Join(got, "|") != want {
		t.Errorf("%q, want %s", got, want)
	}
}
