package convert_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/reports/result"
)

// printedBlock is a block of vLLM with its first figures; every block differs in its TTFT.
func printedBlock(requests, tokens int, ttft float64) string {
	return rule + fmt.Sprintf(`Successful requests:                     %d
Benchmark duration (s):                  %.2f
Total input tokens:                      %d
Total generated tokens:                  %d
Request throughput (req/s):              %.2f
Mean TTFT (ms):                          %.2f
P99 TTFT (ms):                           %.2f
`, requests, 10+ttft/1000, tokens, requests*120, float64(requests)/10, ttft, 2*ttft) + end
}

// documentOf reads a text and makes a document of it.
func documentOf(t *testing.T, text string, opt convert.Options) ([]convert.Run, *result.Document) {
	t.Helper()
	runs, err := convert.Read(strings.NewReader(text), "x.log", convert.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := convert.Document(runs, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Validate(doc); err != nil {
		t.Fatal(err)
	}
	return runs, doc
}

// perCell lists the TTFT of each valid run by cell.
func perCell(doc *result.Document) map[string][]float64 {
	out := map[string][]float64{}
	for _, c := range doc.Benchmarks[0].Cells {
		var values []string
		for _, v := range c.Values {
			values = append(values, v.Name+"="+v.Value)
		}
		for _, r := range c.Runs {
			if r.Status == result.RunOK {
				out[strings.Join(values, " ")] = append(out[strings.Join(values, " ")], r.Metrics["ttft.mean"])
			}
		}
	}
	return out
}

// TestLabelsThatEnd: blocks that follow a labelled group and did other work have an identity
// of their own, whatever the lines above them say.
func TestLabelsThatEnd(t *testing.T) {
	lengths := "num_prompts: 1, 2\nseq_length: 10000\n" + printedBlock(1, 10000, 100) + printedBlock(2, 20000, 110)
	for name, text := range map[string]string{
		"longer prompts, each alone": lengths + printedBlock(1, 128000, 9000) + printedBlock(1, 64000, 5000) +
			printedBlock(1, 32000, 3000),
		"shorter prompts": lengths + printedBlock(1, 500, 10) + printedBlock(1, 700, 12),
		"one label for all": "seq_length: 80\nnum_prompts: 4\n" + printedBlock(4, 320, 50) + printedBlock(4, 4000, 70) +
			printedBlock(2, 4000, 60),
		"a label of a heading": "## input_len=256\n" + printedBlock(4, 1024, 50) + printedBlock(4, 4096, 90),
		"no label at all":      printedBlock(4, 320, 50) + printedBlock(4, 4000, 70) + printedBlock(8, 640, 60),
		"a label for the first alone": "python3 benchmark_serving.py --request-rate 4 --num-prompts 4\n" + printedBlock(4, 320, 50) +
			printedBlock(4, 321, 70),
		"a list that is too short": "seq_length: 80\nnum_prompts: 4\n" + printedBlock(4, 320, 50) + "request_rate: 2, 4\n" +
			printedBlock(4, 322, 51) + printedBlock(4, 321, 52) + printedBlock(4, 323, 53),
		"a table that repeats its label": "| seq_length | Successful requests | Total input tokens | Mean TTFT (ms) |\n|---|---|---|---|\n| " +
			"10000 | 1 | 10000 | 5 |\n| 10000 | 1 | 64000 | 9 |\n",
		"a CSV file that repeats its label": "tool,seq_length,successful_requests,total_input_tokens,mean_ttft_ms\nvllm,10000,1,10000,5\nvllm,10000,1,64000,9\n",
	} {
		t.Run(name, func(t *testing.T) {
			runs, doc := documentOf(t, text, convert.Options{})
			cells := perCell(doc)
			if len(cells) != len(runs) {
				t.Errorf("%d results are %d cells: %v", len(runs), len(cells), cells)
			}
		})
	}
}

// TestLabelOfMeasured: a contradicted label is replaced by what was measured, and that is said.
func TestLabelOfMeasured(t *testing.T) {
	runs, doc := documentOf(t, "num_prompts: 1, 2\nseq_length: 10000\n"+printedBlock(1, 10000, 100)+printedBlock(2, 20100, 110)+
		printedBlock(1, 128000, 9000), convert.Options{})
	for i, want := range []string{"10000", "10000", "128000"} {
		if got, _ := runs[i].Param("seq_length"); got != want {
			t.Errorf("block %d: seq_length is %q, want %q", i, got, want)
		}
	}
	if runs[2].Counts.FailedKnown || !runs[1].Counts.FailedKnown {
		t.Errorf("failures of a block whose number of prompts nobody told: %+v", runs[2].Counts)
	}
	if got, _ := runs[2].Param("num_prompts"); got != "1" || len(doc.Warnings) == 0 || !strings.Contains(doc.Warnings[0],
		`seq_length = "10000" does not fit its 128000 input tokens in 1 requests`) {
		t.Errorf("num_prompts %q, warnings %q", got, doc.Warnings)
	}
}

// TestContradictedLabelsAreNamedInOneOrder: of several labels that a block contradicts, a warning always names the same one.
func TestContradictedLabelsAreNamedInOneOrder(t *testing.T) {
	for range 20 {
		_, doc := documentOf(t, "seq_length: 10000\nprompt_len: 9000\n"+printedBlock(1, 128000, 9000), convert.Options{})
		if len(doc.Warnings) == 0 || !strings.Contains(doc.Warnings[0], `prompt_len = "9000" does not fit`) {
			t.Fatalf("warnings %q", doc.Warnings)
		}
	}
}

// TestWorkByName: what was measured of the work can be named, too.
func TestWorkByName(t *testing.T) {
	_, doc := documentOf(t, printedBlock(4, 320, 50)+printedBlock(8, 640, 60), convert.Options{By: []string{"requests"}})
	if cells := perCell(doc); len(cells) != 2 || len(cells["requests=8"]) != 1 {
		t.Errorf("%v", cells)
	}
}

// TestRepeatsStayTogether: what differs by chance is one cell.
func TestRepeatsStayTogether(t *testing.T) {
	for name, text := range map[string]string{
		"tokens of a tokenizer": printedBlock(8, 640, 50) + printedBlock(8, 655, 51) + printedBlock(8, 641, 52),
		"one label":             "seq_length: 80\n" + printedBlock(8, 640, 50) + printedBlock(8, 655, 51),
		"one command each": strings.Repeat("vllm bench serve --request-rate 4 --num-prompts 8\n"+printedBlock(8, 640, 50), 1) +
			"vllm bench serve --request-rate 4 --num-prompts 8\n" + printedBlock(8, 640, 51),
	} {
		runs, doc := documentOf(t, text, convert.Options{})
		cells := perCell(doc)
		if len(cells) != 1 {
			t.Errorf("%s: %v", name, cells)
		}
		for _, values := range cells {
			if len(values) != len(runs) { // and none of them is lost in a mean
				t.Errorf("%s: %d results, %v", name, len(runs), values)
			}
		}
	}
}

// TestServerCommandIsAnAxis: blocks behind another command of the server are of another one.
func TestServerCommandIsAnAxis(t *testing.T) {
	const client = "vllm bench serve --request-rate 4 --num-prompts 8\n"
	for name, tt := range map[string]struct{ a, b, want string }{
		"tensor parallel": {"vllm serve Qwen/Qwen3-8B --port 8000", "vllm serve Qwen/Qwen3-8B --port 8001 --tensor-parallel-size 2",
			"serve_tensor_parallel_size=default"},
		"module": {"python3 -m vllm.entrypoints.openai.api_server --model m --max-num-seqs 8",
			"$ python3 -m vllm.entrypoints.openai.api_server --model m --max-num-seqs=16", "serve_max_num_seqs=8"},
		"sglang": {"python -m sglang.launch_server --model-path m --tp 1", "python -m sglang.launch_server --model-path m --tp 2",
			"serve_tp=1"},
		"a flag":     {"vllm serve m --port 1", "vllm serve m \\\n  --port 1 \\\n  --enforce-eager", "serve_enforce_eager=default"},
		"a variable": {"VLLM_USE_V1=0 vllm serve m --port 1", "VLLM_USE_V1=1 vllm serve m --port 1", "serve_vllm_use_v1=0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, doc := documentOf(t, tt.a+"\n"+client+printedBlock(8, 640, 50)+tt.b+"\n"+client+printedBlock(8, 640, 40), convert.Options{})
			cells := perCell(doc)
			if len(cells) != 2 || len(cells[tt.want]) != 1 || cells[tt.want][0] != 0.05 {
				t.Errorf("cells %v, want one of %s", cells, tt.want)
			}
		})
	}
	if runs, _ := documentOf(t, "vllm bench serve \\\n  m\n"+printedBlock(8, 640, 50), convert.Options{}); len(runs) != 1 {
		t.Errorf("a command that is none: %d results", len(runs))
	}
	if _, doc := documentOf(t, "vllm serve m --port 1\n"+client+printedBlock(8, 640, 50)+"vllm serve m --port 2\n"+client+
		printedBlock(8, 640, 40), convert.Options{}); len(doc.Benchmarks[0].Cells) != 1 {
		t.Errorf("another port is another server: %v", perCell(doc))
	}
}

// TestAttemptAndRetry: what is left of an attempt that was given up is no pass beside the one
// that was made in its place.
func TestAttemptAndRetry(t *testing.T) {
	whole := printedBlock(8, 640, 50)
	const client = "vllm bench serve --request-rate 4 --num-prompts 8\n"
	cut := rule + "Successful requests:                     8\nBenchmark duration (s):                  3.25\nMean TTFT (ms):               " +
		"           900.00\n"
	for name, text := range map[string]string{
		"cut by the next":  client + cut + client + whole,
		"cut by an error":  client + cut + "Traceback (most recent call last):\nKeyboardInterrupt\n" + client + whole,
		"cut in fences":    client + "```\n" + cut + "```\n" + client + "```\n" + whole + "```\n",
		"the retry before": client + whole + client + cut,
	} {
		runs, doc := documentOf(t, text, convert.Options{})
		if len(runs) != 2 {
			t.Errorf("%s: %d results", name, len(runs))
		}
		cells := perCell(doc)
		for _, values := range cells {
			if len(cells) != 1 || len(values) != 1 || values[0] != 0.05 {
				t.Errorf("%s: %v", name, cells)
			}
		}
		if n := len(doc.Benchmarks[0].Cells[0].Runs); n != 2 {
			t.Errorf("%s: %d runs in the document, want both", name, n)
		}
	}
	failed := strings.Replace(printedBlock(3, 240, 900), "Benchmark duration",
		"Failed requests:                         5\nBenchmark duration", 1)
	retry := strings.Replace(whole, "Benchmark duration", "Failed requests:                         0\nBenchmark duration", 1)
	if _, doc := documentOf(t, client+failed+client+retry, convert.Options{}); len(perCell(doc)) != 2 {
		t.Errorf("an attempt with 5 of 8 failures is one cell with its retry: %v", perCell(doc))
	}
}
