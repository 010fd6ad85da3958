package simulate

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func trtllmLaunch(t *testing.T, options string, args ...string) (*launch, error) {
	t.Helper()
	s := Settings{Version: "1.2.0", Files: map[string]string{"options.yaml": options}}
	return Simulator{}.launch(append([]string{"trtllm-serve", "serve"}, args...), s, func(string) string { return "" })
}

// TestTRTLLMOptions: settings of the file of options take precedence over flags.
func TestTRTLLMOptions(t *testing.T) {
	for _, tt := range []struct {
		args, options string
		check         func(*launch) bool
	}{
		{"m --max_batch_size 8 --max_num_tokens 512", `{}`,
			func(l *launch) bool { return l.config.MaxSeqs == 8 && l.config.Budget == 512 && !l.metrics }},
		{"m --max_batch_size 8 --config {file:options.yaml}", `{"max_batch_size":4,"return_perf_metrics":true}`,
			func(l *launch) bool { return l.config.MaxSeqs == 4 && l.metrics && !l.eager }},
		{"m --config /run/files/options.yaml", `{"tensor_parallel_size":2,"kv_cache_config":{"enable_block_reuse":false,"max_tokens":4096}}`,
			func(l *launch) bool {
				return l.config.GPUs == 2 && !l.config.PrefixCache && l.config.KVTokens() == 4096
			}},
		{"m --tp_size 4 --pp_size 2 --extra_llm_api_options options.yaml", `{"cuda_graph_config":null}`,
			func(l *launch) bool { return l.config.GPUs == 8 && l.config.Stages == 2 && l.eager }},
		{"/models/llama --max_seq_len 1024", `{}`, func(l *launch) bool { return l.served == "llama" && l.config.MaxModelLen == 1024 }},
	} {
		l, err := trtllmLaunch(t, tt.options, strings.Fields(tt.args)...)
		if err != nil || !tt.check(l) {
			t.Errorf("%s: %v %+v", tt.args, err, l)
		}
	}
}

func TestTRTLLMRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"m --foo 3":                "Error: No such option: --foo\n",
		"m --max_batch 3":          "Error: No such option: --max_batch\n",
		"m --max_batch_size many":  "Error: Invalid value for '--max_batch_size': ",
		"--max_batch_size 3":       "Error: Missing argument 'MODEL'.",
		"m --backend transformers": "Error: Invalid value for '--backend': ",
	} {
		_, err := trtllmLaunch(t, "{}", strings.Fields(args)...)
		refused, ok := errors.AsType[usageError](err)
		if !ok || !strings.Contains(refusalTRTLLM(refused), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

func TestTRTLLMRoutes(t *testing.T) {
	l, err := trtllmLaunch(t, `{"return_perf_metrics":true}`, "m", "--config", "options.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(l, Options{Env: func(string) string { return "" }})
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ts := httptest.NewServer(s.Handler())
	defer ts.Close()
	for path, want := range map[string]string{"/health": "", "/version": `"1.2.0"`, "/prometheus/metrics": "trtllm_generation_tokens_total"} {
		if status, body := fetch(t, ts, http.MethodGet, path, ""); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: status %d: %s", path, status, body)
		}
	}
}

// TestTRTLLMStart reads the lines of a simulated start with the times that they give its phases.
func TestTRTLLMStart(t *testing.T) {
	var log strings.Builder
	settings := `{"version":"1.2.0","startup_seconds":40}`
	_, err := Simulator{}.StartVirtual([]string{"trtllm-serve", "serve", "m"}, func(name string) string {
		return map[string]string{SettingsEnv: settings}[name]
	}, &log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Model init total -- 20.00s", "[TRT-LLM] [I] [Autotuner] Autotuning process starts",
		"for max tokens in paged KV cache ("} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s is missing:\n%s", want, log.String())
		}
	}
}
