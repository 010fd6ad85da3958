package cli_test

import (
	"os"
	"strings"
	"testing"
)

// Warnings of reading a file, here an image without a tag, and of planning it, here a model that is not kept, are
// counted together.
func TestValidateCountsOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	text := `server "vllm" "sut" {
  image = "vllm/vllm-openai"
  model = "Qwen/Qwen2.5-7B-Instruct"
}
dataset "random" "short" {
  input_len  = 32
  output_len = 4
}
benchmark "b" {
  target  = server.vllm.sut
  dataset = dataset.random.short
  load {
    rate     = 20
    requests = 40
  }
}
`
	if err := os.WriteFile("gate.pipeline.hcl", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := complaint(t, 0, "validate"); !strings.Contains(out, "0 errors, 2 warnings\n") || strings.Count(out, "0 errors") != 1 {
		t.Error(out)
	}
}
