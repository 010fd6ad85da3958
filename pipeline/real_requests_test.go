package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Requests of these tests: so many of each shape, so many tokens in and out.
const (
	shapeRequests = 3
	shapeInput    = 24
	shapeOutput   = 8
)

// sent runs the load generator against a server, demands that every request is answered, and returns what
// `vllm bench serve` would write of it.
func sent(t *testing.T, url string, requests int, args ...string) (tokens struct {
	Completed int `json:"completed"`
	Input     int `json:"total_input_tokens"`
	Output    int `json:"total_output_tokens"`
}) {
	t.Helper()
	text, code := pipeline(t, t.TempDir(), append([]string{"load", "--url", url, "--vllm-json", "--requests", fmt.Sprint(requests)},
		args...)...)
	if at := strings.Index(text, "{"); code != 0 || at < 0 || json.NewDecoder(strings.NewReader(text[at:])).Decode(&tokens) != nil ||
		tokens.Completed != requests {
		t.Errorf("%q: exit status %d\n%s", args, code, text)
	}
	return tokens
}

// realRequests sends each shape of request that a text model serves to a real vLLM, and then records traffic
// in front of it and replays it.
func realRequests(t *testing.T, venv string) {
	t.Helper()
	adapter := filepath.Join(t.TempDir(), "adapter")
	script, err := filepath.Abs(filepath.Join("testdata", "make_adapter.py"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), script, filepath.Join(venv, "model"),
		adapter).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	url := startVLLM(t, venv, "--enable-lora", "--max-lora-rank", "8", "--lora-modules", "sql="+adapter, "--enable-auto-tool-choice",
		"--tool-call-parser", "hermes")
	t.Run("shapes", func(t *testing.T) { sendShapes(t, url) })
	t.Run("record", func(t *testing.T) { recordAndReplay(t, url) })
}

// sendShapes sends a request of every shape to a real vLLM, which answers it.
func sendShapes(t *testing.T, url string) {
	t.Helper()
	const (
		schema = `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`
		tools  = `{"tools":[{"type":"function","function":{"name":"weather","parameters":` + schema + `}}],"tool_choice":"auto"}`
		format = `{"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":` + schema + `}}}`
		choice = `{"structured_outputs":{"choice":["yes","no"]}}`
		// The model repeats the last token of its prompt, which chat's template makes a special one; hidden, an answer
		// would have no text.
		shown = `{"skip_special_tokens":false}`
	)
	parts := filepath.Join(t.TempDir(), "parts.jsonl")
	if err := os.WriteFile(parts, []byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"What is it?"}]}]}`+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args   []string
		output int // tokens, 0 where the answer may end before
	}{
		"completions":                      {nil, shapeOutput},
		"completions of an adapter":        {[]string{"--model", "sql"}, shapeOutput},
		"completions of one of two":        {[]string{"--body", choice, "--no-ignore-eos"}, 0},
		"completions with sampling":        {[]string{"--body", `{"top_p":0.9,"top_k":5,"seed":1}`, "--temperature", "0.7"}, shapeOutput},
		"chat":                             {[]string{"--endpoint", "chat", "--body", shown}, shapeOutput},
		"chat of an adapter":               {[]string{"--endpoint", "chat", "--model", "sql"}, shapeOutput},
		"chat with tools":                  {[]string{"--endpoint", "chat", "--body", tools}, shapeOutput},
		"chat with a response format":      {[]string{"--endpoint", "chat", "--body", format, "--no-ignore-eos"}, 0},
		"completions of a response format": {[]string{"--body", format, "--no-ignore-eos"}, 0},
		"chat of several turns": {[]string{"--endpoint", "chat", "--dataset", "chat", "--turns", "2", "--users", "2",
			"--real-answers", "--body", shown}, shapeOutput},
		"chat of parts": {[]string{"--endpoint", "chat", "--dataset", "file", "--dataset-path", parts, "--body", shown},
			shapeOutput},
	} {
		t.Run(name, func(t *testing.T) {
			given := strings.Join(tt.args, " ")
			args := []string{"--max-concurrency", "2", "--output-len", fmt.Sprint(shapeOutput)}
			if !strings.Contains(given, "--dataset-path") {
				args = append(args, "--input-len", fmt.Sprint(shapeInput))
			}
			if !strings.Contains(given, "--model") {
				args = append(args, "--model", "tiny")
			}
			got := sent(t, url, shapeRequests, append(args, tt.args...)...)
			if tt.output > 0 && got.Output != shapeRequests*tt.output {
				t.Errorf("%d output tokens, want %d", got.Output, shapeRequests*tt.output)
			}
			if name == "completions" && got.Input != shapeRequests*shapeInput {
				t.Errorf("%d input tokens, want %d", got.Input, shapeRequests*shapeInput)
			}
		})
	}
	text, code := pipeline(t, t.TempDir(), "load", "--url", url, "--model", "nobody", "--requests", "1", "--input-len", "8",
		"--output-len", "2")
	if code != 1 {
		t.Errorf("a model that is not served: exit status %d\n%s", code, text)
	}
}

// recordAndReplay records conversations in front of a server, which it names, and replays them: as many calls and
// tokens as were sent, and each conversation is a session.
func recordAndReplay(t *testing.T, url string) {
	t.Helper()
	const users, turns, requests = 2, 3, 12
	trace := filepath.Join(t.TempDir(), "trace.jsonl")
	recorder, end := startRecorder(t, url, trace)
	original := sent(t, recorder, requests, "--model", "tiny", "--endpoint", "chat", "--dataset", "chat", "--turns", fmt.Sprint(turns),
		"--users", fmt.Sprint(users),
		"--real-answers", "--body", `{"skip_special_tokens":false}`, "--input-len", "24", "--output-len", "8",
		"--max-concurrency", fmt.Sprint(users))
	if said := end(); !strings.Contains(said, fmt.Sprintf("%d calls of %d sessions recorded", requests, requests/turns)) {
		t.Errorf("the recorder says %s", said)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	input, output, lines := 0, 0, 0
	for line := range bytes.Lines(text) {
		var call struct {
			Input  int   `json:"input_length"`
			Output int   `json:"output_length"`
			Blocks []any `json:"hash_ids"`
		}
		if err := json.Unmarshal(line, &call); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if len(call.Blocks) != (call.Input+15)/16 {
			t.Errorf("%d blocks of a prompt of %d tokens", len(call.Blocks), call.Input)
		}
		input, output, lines = input+call.Input, output+call.Output, lines+1
	}
	if lines != requests || input != original.Input || output != original.Output {
		t.Errorf("recorded %d calls of %d to %d tokens, and %d of %d to %d were sent", lines, input, output, requests,
			original.Input, original.Output)
	}
	replayed := sent(t, url, requests, "--model", "tiny", "--dataset", "trace", "--dataset-path", trace, "--trace-times")
	if replayed.Input != input || replayed.Output != output {
		t.Errorf("replayed %d to %d tokens, and %d to %d are recorded", replayed.Input, replayed.Output, input, output)
	}
}

// startRecorder starts a recorder and returns its address. end interrupts it and returns what it has said.
func startRecorder(t *testing.T, target, out string) (url string, end func() string) {
	t.Helper()
	path, err := exec.LookPath("pipeline")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "record", "--target", target, "--listen", "127.0.0.1:0", "--out", out)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	said := bufio.NewReader(stderr)
	line, err := said.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, _, _ = strings.Cut(line, " ")
	return url, func() string {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		rest, err := io.ReadAll(said)
		if err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // what it has said tells
		return string(rest)
	}
}
