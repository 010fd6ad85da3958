package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// worked sets what a session of tonight records of its work.
func worked(doc *result.Document) {
	doc.Targets[0].Engine = "vllm"
	doc.Targets[0].Work = map[string]string{"revision": "main", "max_model_len": "4096", "HF_HOME": "/models"}
	cell := &doc.Benchmarks[0].Cells[0]
	cell.Work = map[string]string{"tool": "pipeline", "request_rate": "4", "temperature": "0"}
	for i := range cell.Runs {
		r := &cell.Runs[i]
		r.Audit = map[string]any{"work_hash": fmt.Sprint("requests of repeat ", i)}
		r.Transport = &result.Transport{Intent: "rdma", Status: result.TransportProved}
		r.Requests = &result.RunRequests{PromptTokens: 25_600, OutputTokens: 3_200, Characters: 12_800}
	}
}

// TestStoredBaselinesOfOtherWork: sessions that did other work than tonight's are no baseline, and tonight is invalid if
// no others are there.
func TestStoredBaselinesOfOtherWork(t *testing.T) {
	requests := func(change func(*result.RunRequests)) func(*result.Document) {
		return func(d *result.Document) {
			for i := range d.Benchmarks[0].Cells[0].Runs {
				change(d.Benchmarks[0].Cells[0].Runs[i].Requests)
			}
		}
	}
	otherSeed := func(d *result.Document) {
		for i := range d.Benchmarks[0].Cells[0].Runs {
			d.Benchmarks[0].Cells[0].Runs[i].Audit["work_hash"] = fmt.Sprint("requests of another seed ", i)
		}
	}
	both := func(changes ...func(*result.Document)) func(*result.Document) {
		return func(d *result.Document) {
			for _, change := range changes {
				change(d)
			}
		}
	}
	argument := func(name, value string) func(*result.Document) {
		return func(d *result.Document) { d.Targets[0].Work[name] = value }
	}
	for _, tt := range []struct {
		name   string
		change func(*result.Document)
		want   string // reason of the invalid decision, "" for a pass
	}{
		{"the same", func(*result.Document) {}, ""},
		{"another model", func(d *result.Document) { d.Targets[0].Model = "small" }, "model: then m, now small"},
		{"another engine", func(d *result.Document) { d.Targets[0].Engine = "sglang" }, "engine: then vllm, now sglang"},
		{"fewer layers", argument("hf_overrides.num_hidden_layers", "1"), "hf_overrides.num_hidden_layers: then not given, now 1"},
		{"another revision", argument("revision", "small"), "revision: then main, now small"},
		{"without its revision", func(d *result.Document) { delete(d.Targets[0].Work, "revision") }, "revision: then main, now not given"},
		{"models elsewhere", argument("HF_HOME", "/small"), "HF_HOME: then /models, now /small"},
		{"more GPUs", argument("tensor_parallel_size", "4"), "tensor_parallel_size: then not given, now 4"},
		{"a shorter limit", argument("max_model_len", "512"), "max_model_len: then 4096, now 512"},
		{"a longer limit", argument("max_model_len", "8192"), ""},
		{"another transport", func(d *result.Document) {
			for i := range d.Benchmarks[0].Cells[0].Runs {
				d.Benchmarks[0].Cells[0].Runs[i].Transport.Intent = "tcp"
			}
		}, "KV transport: then rdma, now tcp"},
		{"another load", func(d *result.Document) { d.Benchmarks[0].Cells[0].Work["request_rate"] = "1" }, "request rate: then 4, now 1"},
		{"another load generator", func(d *result.Document) { d.Benchmarks[0].Cells[0].Work["tool"] = "vllm" },
			"load generator: then pipeline, now vllm"},
		{"a tenth of each prompt cut", requests(func(r *result.RunRequests) { r.PromptTokens = 23_000 }),
			"prompt tokens of the same requests: then 25600, now 23000"},
		{"half prompts of another seed", both(otherSeed, requests(func(r *result.RunRequests) { r.PromptTokens /= 2 })),
			"prompt tokens per request: then 256, now 128"},
		{"prompts of another seed", both(otherSeed, requests(func(r *result.RunRequests) { r.PromptTokens = 24_000 })), ""},
		{"half answers", requests(func(r *result.RunRequests) { r.OutputTokens /= 2; r.Characters /= 2 }),
			"output tokens per request: then 32, now 16"},
		{"answers of nothing", requests(func(r *result.RunRequests) { r.Characters /= 2 }), "characters of text per token: then 4, now 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, doc := tonight(0.1)
			worked(doc)
			past := nights(12)
			for i := range past.Records {
				cell := &past.Records[i].Cells[0]
				metrics := cell.Metrics
				*cell = history.CellsOf(doc)[0]
				cell.Metrics = metrics
			}
			_, now := tonight(0.1)
			worked(now)
			tt.change(now)
			if err := judge.Judge(p, now, judge.OptionsOf(p, past)); err != nil {
				t.Fatal(err)
			}
			d := now.Gates[0].Decisions[0]
			switch {
			case tt.want == "" && d.Verdict != result.Pass:
				t.Errorf("%s: %s", d.Verdict, d.Reason)
			case tt.want != "" && (d.Verdict != result.Invalid || !strings.Contains(d.Reason, tt.want)):
				t.Errorf("%s: %q, want %q", d.Verdict, d.Reason, tt.want)
			}
			if err := judge.Verify(stored(t, now), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStoredBaselinesOfUnknownWork: sessions of earlier versions count, and the decision says what they do not state.
func TestStoredBaselinesOfUnknownWork(t *testing.T) {
	p, doc := tonight(0.1)
	worked(doc)
	if err := judge.Judge(p, doc, judge.OptionsOf(p, nights(12))); err != nil {
		t.Fatal(err)
	}
	d := doc.Gates[0].Decisions[0]
	said := slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.Contains(w, "do not state their work") })
	if d.Verdict != result.Pass || !said {
		t.Errorf("%s, warnings %q", d.Verdict, d.Warnings)
	}
}
