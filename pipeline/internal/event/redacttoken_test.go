package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// made is a token of a prefix and n characters that stands for nothing.
func made(prefix string, n int) string {
	return prefix + strings.Repeat("Xy1Zw9Qa", n/8+1)[:n]
}

func TestTokens(t *testing.T) {
	r := NewRedactor(nil)
	for name, text := range map[string]string{
		"hugging face": made("hf_", 34), "github": made("ghp_", 36), "github app": made("ghs_", 36), "fine-grained": made("github_pat_", 22) +
			"_" + made("", 59),
		"openai": made("sk-proj-", 48), "anthropic": made("sk-ant-api03-", 90), "nvidia": made("nvapi-", 64), "aws": "AKIA" + "ABCDEFGHIJ234567",
		"google": made("AIza", 35), "gitlab": made("glpat-", 20), "header": made("Bearer ", 40), "long": made("hf_", 3000),
	} {
		for _, around := range [][2]string{{"", ""}, {"HF_TOKEN=", "\n"}, {`"`, `"`}, {"https://x:", "@hub"}, {"token: ", "."}} {
			got := r.String(around[0] + text + around[1])
			want := around[0] + Mask + around[1]
			if name == "header" { // a full stop can be a part of such a token
				want = strings.TrimSuffix(want, ".")
			}
			if got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

// TestNoTokens: what only begins like a token stays.
func TestNoTokens(t *testing.T) {
	sum := sha256.Sum256([]byte("image"))
	digest := hex.EncodeToString(sum[:])
	r := NewRedactor(nil)
	for _, text := range []string{
		"sha256:" + digest, "@sha256:" + digest, digest[:40], "hf_hub_download(repo_id)", "hf_transfer", made("hf_", 12), "ghp_",
		"disk-" + made("", 60),
		"sk-learn-with-a-name-that-is-very-long-indeed", "task-0123456789012345678901234567890123456789", "AKIAB", "AKIA" + digest,
		"Bearer authentication is not configured", "Bearer ", "github_pat_", "a" + made("hf_", 40), "nvapi-short", made("AIza", 40),
		"ASIAPACIFICREGIONALS",
		base64.StdEncoding.EncodeToString(bytes.Repeat(sum[:], 20)), "VLLM_KV_CACHE_LAYOUT=HND", "meta-llama/Llama-3.1-8B-Instruct",
	} {
		if got := r.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestTokensInAStream: the pieces of a stream do not matter.
func TestTokensInAStream(t *testing.T) {
	pieces := []string{"hf_", "ghp_", "sk-", "AKIA", "Bearer ", "a", "1", "_", "-", " ", "\n", ".", made("", 16), made("", 20),
		"ABCDEFGHIJ234567", "bear", "er "}
	left := regexp.MustCompile(`\b(hf_[A-Za-z0-9]{30,}|ghp_[A-Za-z0-9]{36,})`)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		r := NewRedactor([]string{"a1a1a1"})
		whole := r.String(text)
		var out bytes.Buffer
		w := r.Writer(&out)
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "write")
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != whole {
			t.Fatalf("stream of %q = %q, want %q", text, out.String(), whole)
		}
		if m := left.FindString(whole); m != "" {
			t.Fatalf("%q is left of %q", m, text)
		}
	})
}

// Credentials that no one has declared are found by their form: in addresses, in headers, as tokens of services. What
// tells them apart stays.
func TestUndeclaredCredentials(t *testing.T) {
	r := NewRedactor(nil)
	hex64 := strings.Repeat("0f1e2d3c", 8)
	for _, tt := range [][2]string{
		{"GET https://h/x?X-Amz-Expires=60&X-Amz-Signature=" + hex64 + " 200", "GET https://h/x?X-Amz-Expires=60&X-Amz-Signature=(redacted) 200"},
		{"?se=2026&sig=aB1%2FcD2" + hex64[:40] + "%3D&sp=r", "?se=2026&sig=(redacted)&sp=r"},
		{"connecting to redis://app:hunterRedis1x@cache:6379/0", "connecting to redis://app:(redacted)@cache:6379/0"},
		{"connecting to redis://:hunterRedis1x@cache", "connecting to redis://:(redacted)@cache"},
		{"clone git+https://token:hunterGit2x9Q@h/r", "clone git+https://token:(redacted)@h/r"},
		{"login eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJodW50ZXIifQ.dBjftJeZ4CVPmB92K27", "login (redacted)"},
		{"Authorization: Basic Ym9iOmh1bnRlcjIyeHg=", "Authorization: Basic (redacted)"},
		{"docker dckr_pat_A1b2C3d4A1b2C3d4A1b2C3d4", "docker (redacted)"},
	} {
		for name, got := range map[string]string{
			"at once": r.String(tt[0]), "again": r.String(r.String(tt[0])),
			"byte by byte": stream(t, r, []byte(tt[0]), func(int) int { return 1 }),
		} {
			if got != tt[1] {
				t.Errorf("%s: %q, want %q", name, got, tt[1])
			}
		}
	}
	for _, token := range []string{made("xoxb-", 24), made("npm_", 36), made("gsk_", 52), made("glsa_", 41), "ASIA" + "ABCDEFGHIJ234567"} {
		if got := r.String("with " + token + " in it"); got != "with "+Mask+" in it" {
			t.Errorf("%s: %q", token, got)
		}
	}
	for _, kept := range []string{
		"X-Goog-Signature=", "X-Amz-Security-Token=", "http://bob:", "https://bob:", "redis://bob:", "rediss://bob:", "postgres://bob:",
		"postgresql://bob:", "mysql://bob:", "mongodb://bob:", "mongodb+srv://bob:", "amqp://bob:", "amqps://bob:", "ftp://bob:",
	} {
		if got := r.String(kept + made("", 32) + "@h"); got != kept+Mask+"@h" {
			t.Errorf("%s: %q", kept, got)
		}
	}
	// A secret that is known hides what its form would keep.
	address := "redis://app:hunterRedis1x"
	if got := NewRedactor([]string{address}).String("at " + address + "@cache"); got != "at "+Mask+"@cache" {
		t.Errorf("a known address: %q", got)
	}
	for _, text := range []string{
		"http://127.0.0.1:8000/v1/models?user=a@b", "https://user@example.com/", "Basic comparison of sides",
		"see https://a.example:8443, bob@b.example",
		"eyJtb2RlbCI6InF3ZW4iLCJwcm9tcHQiOiJoZWxsbyB3b3JsZCBhZ2FpbiJ9", "npm_config_cache=/tmp sig=SIGTERM", "http://host:8000 user@host",
	} {
		if got := r.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
