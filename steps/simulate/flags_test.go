package simulate

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// TestRefusals is what the parsers print for arguments that they do not take.
func TestRefusals(t *testing.T) {
	var out bytes.Buffer
	sglang := []string{"python3", "-m", "sglang.launch_server"}
	for _, c := range []struct {
		version string
		argv    []string
	}{
		{"0.11.0", []string{"vllm", "serve", "m", "--foo", "3", "--bar=1"}},
		{"0.11.0", []string{"vllm", "serve", "m", "n"}},
		{"0.11.0", []string{"vllm", "serve", "m", "--max-num-seqs", "many"}},
		{"0.11.0", []string{"vllm", "serve", "m", "--max-num-seqs"}},
		{"0.11.0", []string{"vllm", "serve", "m", "--dtype", "int3"}},
		{"0.11.0", []string{"vllm", "serve", "m", "--kv-transfer-config", "{"}},
		{"0.11.0", []string{"vllm", "serve", "m", "--enforce-eager=1"}},
		{"0.6.4", []string{"vllm", "serve", "m", "--enable-chunked-prefill=maybe"}},
		{"0.6.4", []string{"vllm", "serve", "m", "--no-enable-prefix-caching"}},
		{"0.11.0", []string{"python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m", "--num-scheduler-steps", "8"}},
		{"0.5.23", sglang},
		{"0.5.23", append(sglang, "--model-path", "m", "--mem_fraction_static", "0.8")},
	} {
		l, err := Simulator{}.launch(c.argv, Settings{Version: c.version}, func(string) string { return "" })
		refused := usageError{}
		if !errors.As(err, &refused) {
			t.Errorf("%v was accepted: %v", c.argv, err)
			continue
		}
		fmt.Fprintf(&out, "$ %s  # %s\n%s\n", strings.Join(c.argv, " "), c.version, usage(l.engine, c.argv, refused))
	}
	golden.Equal(t, "testdata/refusals.golden", out.Bytes())
	p := runMain(t, "", "vllm", "serve", "m", "--foo")
	if code := <-p.exit; code != 2 || !strings.Contains(p.log.String(), "vllm: error: unrecognized arguments: --foo\n") {
		t.Errorf("exit status %d: %s", code, p.log)
	}
}

func TestAcceptedForms(t *testing.T) {
	for _, c := range []struct {
		version string
		args    []string
		check   func(model.Config) bool
	}{
		{"0.11.0", []string{"--max_num_seqs", "7"}, func(c model.Config) bool { return c.MaxSeqs == 7 }},
		{"0.11.0", []string{"--max-num-batched-tokens=4k"}, func(c model.Config) bool { return c.Budget == 4000 }},
		{"0.11.0", []string{"--max-num-batched-tokens", "4K"}, func(c model.Config) bool { return c.Budget == 4096 }},
		{"0.11.0", []string{"--no-enable-prefix-caching"}, func(c model.Config) bool { return !c.PrefixCache }},
		{"0.11.0", []string{"--no-enable-chunked-prefill", "--enable-chunked-prefill"}, func(c model.Config) bool { return c.Chunked }},
		{"0.11.0", []string{"--compilation-config.level", "3", "-O3", "--max-model-len", "2048"},
			func(c model.Config) bool { return c.MaxModelLen == 2048 }},
		{"0.11.0", []string{"-tp", "2"}, func(c model.Config) bool { return c.GPUs == 2 }},
		{"0.11.0", []string{"--served-model-name", "a", "b", "--seed", "-1"}, func(c model.Config) bool {
			return c.Mixed && c.PrefixCache &&
				c.Budget == 2048
		}},
		{"0.6.4", nil, func(c model.Config) bool { return !c.Chunked && !c.Mixed && !c.PrefixCache && c.Budget == 32768 }},
		{"0.6.4", []string{"--enable-chunked-prefill"}, func(c model.Config) bool { return c.Chunked && c.Budget == 512 }},
		{"0.6.4", []string{"--enable-chunked-prefill", "false"}, func(c model.Config) bool { return !c.Chunked }},
	} {
		l, err := Simulator{}.launch(append([]string{"vllm", "serve", "m"}, c.args...), Settings{Version: c.version},
			func(string) string { return "" })
		if err != nil || !c.check(l.config) {
			t.Errorf("%v: %v %+v", c.args, err, l.config)
		}
	}
	l, err := Simulator{}.launch([]string{"sglang", "serve", "--model", "m", "--chunked-prefill-size", "-1", "--disable-radix-cache"},
		Settings{}, func(string) string { return "" })
	if err != nil || l.config.Chunked || l.config.PrefixCache || l.config.Mixed {
		t.Errorf("sglang: %v %+v", err, l.config)
	}
}

func FuzzParseArgs(f *testing.F) {
	f.Add("serve m --max-num-seqs 8 --kv-transfer-config={} --served-model-name a b -O3")
	f.Fuzz(func(t *testing.T, line string) {
		parser, err := parserOf(vllm{}, "0.11.0")
		if err != nil {
			t.Fatal(err)
		}
		args, err := parser.parse(strings.Fields(line))
		if (args == nil) == (err == nil) {
			t.Fatalf("%v %v", args, err)
		}
	})
}
