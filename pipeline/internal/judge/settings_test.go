package judge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// column returns the name of the column on a side: "base|head", or one for both.
func column(names, side string) string {
	base, head, two := strings.Cut(names, "|")
	if two && side == "head" {
		return head
	}
	return base
}

// TestUnknownSettings: a column of unknown meaning that has one value on each side, and not the same,
// may be other work. What varies within a side was measured.
func TestUnknownSettings(t *testing.T) {
	const launches = 4
	same := func(v string) func(int) string { return func(int) string { return v } }
	measured := func(v float64) func(int) string {
		return func(i int) string { return fmt.Sprint(v + float64(i)/8) }
	}
	for name, tt := range map[string]struct {
		column     string
		base, head func(launch int) string
		differ     string
		verdict    result.Verdict
	}{
		"equal":                            {"Batch", same("8"), same("8.0"), "", result.Pass},
		"a number":                         {"Batch", same("8"), same("16"), "", result.Invalid},
		"a number with a unit":             {"Chunk (tok)", same("8"), same("16"), "", result.Invalid},
		"a text":                           {"Scenario", same("short"), same("long"), "", result.Invalid},
		"another script":                   {"批大小", same("8"), same("16"), "", result.Invalid},
		"a line above a table":             {"", same("8"), same("16"), "", result.Invalid},
		"declared":                         {"Batch", same("8"), same("16"), `differ = ["parameter.batch"]`, result.Pass},
		"another declared":                 {"Batch", same("8"), same("16"), `differ = ["parameter.threads"]`, result.Invalid},
		"measured":                         {"Blocks", measured(8), measured(16), "", result.Pass},
		"measured, constant once":          {"Blocks", same("0"), measured(16), "", result.Pass},
		"a mean by its name":               {"Mean batch", same("8"), same("9"), "", result.Pass},
		"a commit":                         {"Commit", same("1e8f2"), same("77aa1"), "", result.Pass},
		"the parallelism of a server":      {"TP", same("1"), same("2"), "", result.Pass},
		"what the axis names":              {"side", same("base"), same("head"), "", result.Pass},
		"a known one of one side alone":    {"Batch", same("8"), same(""), "", result.Invalid},
		"an unknown one of one side alone": {"Chunk (tok)", same("8"), same(""), "", result.Pass},
		"two names of a known one":         {"Batch|Batch size", same("8"), same("16"), "", result.Invalid},
		"two names of an equal one":        {"Batch|Batch size", same("8"), same("8"), "", result.Pass},
		"two abbreviations":                {"n_threads|Threads", same("8"), same("16"), "", result.Invalid},
		"two names of an unknown one":      {"Chunk|Chunk size", same("8"), same("16"), "", result.Invalid},
		"two names of it declared":         {"Chunk|Chunk size", same("8"), same("16"), `differ = ["parameter.chunk"]`, result.Pass},
		"two names of an equal unknown":    {"Chunks|chunk_size", same("8"), same("8.0"), "", result.Pass},
		"two unknown ones":                 {"Chunk|Shard", same("8"), same("16"), "", result.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := judgedFile(t, "vllm", "", fmt.Sprintf(
				"baseline \"paired\" \"base\" {\n  axis  = \"side\"\n  value = \"base\"\n  %s\n}\n", tt.differ),
				"metric.ttft.p50")
			var runs []convert.Run
			for i := range launches {
				for side, value := range map[string]func(int) string{"base": tt.base, "head": tt.head} {
					text := fmt.Sprintf("side,launch,qps,num_prompts,completed,median_ttft_ms,%s\n%s,%d,2,200,200,20.%d,%s\n",
						column(tt.column, side), side, i+1, i, value(i))
					if tt.column == "" {
						text = fmt.Sprintf("Threads: %s\n\n| side | launch | qps | completed | Median TTFT (ms) |\n|---|---|---|---|---|\n"+
							"| %s | %d | 2 | 200 | 20.%d |\n", value(i), side, i+1, i)
					}
					if tt.column == "side" {
						text = fmt.Sprintf("side,launch,qps,num_prompts,completed,median_ttft_ms\n%s,%d,2,200,200,20.%d\n", side, i+1, i)
					}
					more, err := convert.Read(strings.NewReader(text), fmt.Sprintf("%s-%d.csv", side, i+1), convert.ReadOptions{})
					if err != nil {
						t.Fatal(err)
					}
					runs = append(runs, more...)
				}
			}
			doc, err := judge.Imported(cfg, runs, convert.FitOptions{Options: convert.Options{LaunchBy: "launch"}, BlockOrder: true}, nil,
				time.Unix(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			if d := doc.Gates[0].Decisions[0]; d.Verdict != tt.verdict {
				t.Errorf("%s (%s), want %s", d.Verdict, d.Reason, tt.verdict)
			}
		})
	}
}
