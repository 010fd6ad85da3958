package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/secret"
)

// draws draws names and secrets, the same ones in each run.
type draws struct{ *rand.Rand }

const (
	digitsAndLower = "0123456789abcdefghijklmnopqrstuvwxyz"
	capitalsToo    = digitsAndLower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

func (d draws) text(n int, from string) string {
	var b strings.Builder
	for range n {
		b.WriteByte(from[d.IntN(len(from))])
	}
	return b.String()
}

func (d draws) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(d.IntN(256))
	}
	return b
}

func (d draws) hex(n int) string { return hex.EncodeToString(d.bytes(n)) }

func (d draws) uuid() string {
	return fmt.Sprintf("%s-%s-%s-%s-%s", d.hex(4), d.hex(2), d.hex(2), d.hex(2), d.hex(6))
}

// TestDrawnPaths: temporary folders and files as runners, clusters and workstations name them are no secrets, whatever the
// variable.
func TestDrawnPaths(t *testing.T) {
	d := draws{rand.New(rand.NewPCG(1, 2))}
	for range 100 {
		for _, path := range []string{
			"/tmp/tmp." + d.text(10, capitalsToo),                                                       // mktemp
			"/tmp/" + d.text(16, capitalsToo) + "/config",                                               // others
			"/tmp/go-build" + d.text(10, "0123456789") + "/b001/kubeconfig",                             //
			"/var/folders/" + d.text(2, digitsAndLower) + "/" + d.text(30, digitsAndLower) + "/T/tmp.x", // macOS
			"/private/var/folders/" + d.text(2, digitsAndLower) + "/" + d.text(30, digitsAndLower) + "/T/" + d.text(8, capitalsToo),
			"/Users/runner/work/_temp/" + d.uuid(), "/home/runner/work/_temp/" + d.uuid(), "/__w/_temp/" + d.uuid(), // GitHub
			"/home/runner/work/r/r/gha-creds-" + d.hex(8) + ".json", "/github/workspace/gha-creds-" + d.hex(8) + ".json",
			"/actions-runner/_work/r/r/gha-creds-" + d.hex(8) + ".json", "/runner/_work/_temp/" + d.uuid(), "gha-creds-" + d.hex(8) + ".json",
			"/builds/" + d.text(9, capitalsToo) + "/0/team/project.tmp/KUBECONFIG", "/cache/" + d.hex(20), // GitLab
			"/scratch/u123/job." + d.text(7, "0123456789") + "/" + d.text(12, capitalsToo), "/lustre/fs1/" + d.hex(6) + "/kubeconfig", // Slurm
			"/p/scratch/" + d.text(9, digitsAndLower) + "/x", "/gpfs01/u/" + d.hex(8), "/fsx/runs/" + d.uuid(), "/mnt/nfs/" + d.uuid(),
			"/nix/store/" + d.text(32, digitsAndLower) + "-kubeconfig", "/var/lib/kubelet/pods/" + d.uuid() + "/volumes/token",
			"~/.kube/cfg-" + d.hex(4), "./tmp/kind-" + d.hex(4), "../" + d.hex(6) + "/admin.conf", ".kube/" + d.hex(6) + "/config",
			"build/kind-" + d.hex(3) + ".kubeconfig", "work/" + d.uuid() + "/kubeconfig", "$RUNNER_TEMP/" + d.uuid(),
			"${HOME}/.kube/" + d.hex(8), "/tmp/" + d.hex(5) + "/config:/home/u/.kube/config", "/mnt/runs/date=2026-11-28/id=" + d.hex(8),
			"/models/models--Qwen--Qwen2.5-7B-Instruct/snapshots/" + d.hex(20), "/models/" + d.hex(20) + "/model.safetensors",
			"sha256:" + d.hex(32), "ghcr.io/o/r@sha256:" + d.hex(32),
		} {
			for _, name := range []string{"KUBECONFIG", "GOOGLE_APPLICATION_CREDENTIALS", "MODEL_KEY", "XDG_SESSION", "VLLM_CACHE_KEY", "HF_HOME"} {
				if got := secret.Values(name, path); len(got) > 0 {
					t.Fatalf("%s=%s holds no secret, got %q", name, path, got)
				}
			}
		}
	}
}

// TestDrawnNames: images, commits and names of models in arguments are no secrets.
func TestDrawnNames(t *testing.T) {
	d := draws{rand.New(rand.NewPCG(3, 4))}
	for range 100 {
		argv := []string{
			"python:3.12-slim@sha256:" + d.hex(32), "vllm-openai:v0.11.0@sha256:" + d.hex(32), "--image=docker://vllm:v0.11.0@sha256:" + d.hex(32),
			"registry:5000/team/vllm:v0.11.0@sha256:" + d.hex(32), "--revision", d.hex(20), "--code-revision=" + d.hex(20), "--tokenizer", d.hex(20),
			"--served-model-name", "qwen-" + d.hex(4), "--lora-modules", "sql=/loras/" + d.hex(8), "keys=/loras/" + d.uuid(),
			`{"name": "token-lora", "path": "/loras/` + d.uuid() + `"}`, "speculative-token-map=org/Model-" + d.hex(2) + "/freq_32768.pt",
			"forward-pass-metrics-worker-id=worker-" + d.hex(4), `--speculative-config={"speculative_token_tree": "[(0,), (0, 0), (0, 1)]"}`,
			`{"boi_token": "<|begin_of_image_` + d.hex(2) + `|>", "pass_config": {"fusion": "mode-` + d.hex(3) + `"}}`,
			"HF_TOKEN=${HF_TOKEN:?set it}", "API_KEY=$(< ~/key-" + d.hex(4) + ")", "KUBECONFIG=$HOME/.kube/" + d.hex(4),
			"-H", "Authorization: Bearer $TOKEN_" + d.text(4, "ABCDEF"), "digest: sha256:" + d.hex(32), "hf_token = var.hf_token_" + d.hex(2),
			"api_key = sensitive(var.key_" + d.hex(2) + ")", "password = local.db_" + d.hex(3), "GIT_CONFIG_KEY_0=safe.directory",
		}
		if got := secret.InArguments(argv); len(got) > 0 {
			t.Fatalf("%q hold no secret, got %q", argv, got)
		}
	}
}

// TestDrawnSecrets: of secrets of the usual forms, hardly any looks like a path.
func TestDrawnSecrets(t *testing.T) {
	d := draws{rand.New(rand.NewPCG(5, 6))}
	const n = 3000
	missed := map[string]int{}
	for range n {
		for form, text := range map[string]string{
			"base64": base64.StdEncoding.EncodeToString(d.bytes(30)), "slash first": "/" + base64.StdEncoding.EncodeToString(d.bytes(30)),
			"base64url": base64.RawURLEncoding.EncodeToString(d.bytes(32)), "hex": d.hex(20), "letters": d.text(32, capitalsToo),
			"dotted": "s." + d.text(24, capitalsToo), "uuid": d.uuid(),
			"jwt": "eyJ" + d.text(30, capitalsToo) + "." + d.text(43, capitalsToo) + "." + d.text(43, capitalsToo),
		} {
			if !slices.Contains(secret.Values("API_KEY", text), text) {
				missed[form]++
			}
		}
	}
	limits := map[string]int{"slash first": n / 100} // one in 64 begins with a slash
	for form, count := range missed {
		if count > max(1, limits[form]) {
			t.Errorf("%s: %d of %d are no secrets", form, count, n)
		}
	}
}
