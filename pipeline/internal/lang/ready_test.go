package lang_test

import (
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/lang"
)

// TestAServerThatIsThereIsWaitedForAMinute: a server given by its url is there already, and one that is started loads a
// model first. A timeout that the file sets holds for both.
func TestAServerThatIsThereIsWaitedForAMinute(t *testing.T) {
	for _, tt := range []struct {
		server string
		want   time.Duration
	}{
		{`url = "http://localhost:8000"`, time.Minute},
		{"url = \"http://localhost:8000\"\n  ready { interval = \"2s\" }", time.Minute},
		{"url = \"http://localhost:8000\"\n  ready { timeout = \"5m\" }", 5 * time.Minute},
		{`executable = "vllm"`, 10 * time.Minute},
		{"executable = \"vllm\"\n  ready { interval = \"2s\" }", 10 * time.Minute},
	} {
		path := write(t, "server \"vllm\" \"s\" {\n  model = \"m\"\n  "+tt.server+`
}
dataset "random" "d" {
  input_len  = 8
  output_len = 8
}
benchmark "b" {
  target  = server.vllm.s
  dataset = dataset.random.d
  load {
    rate     = 2
    requests = 20
  }
}
`)
		cfg, diags := lang.Load(lang.Options{Paths: []string{path}, Registry: testRegistry(t)})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := cfg.Servers[0].Spec.Readiness().Timeout; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.server, got, tt.want)
		}
	}
}
