package convert_test

import (
	"fmt"
	"html"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/servegate/pipeline/pipeline/internal/convert"
)

// unseen is a whole block with its command, as many ways to carry it around take it.
const unseen = "vllm bench serve --backend openai --model m --request-rate 2 --num-prompts 10\n" +
	"============ Serving Benchmark Result ============\n" +
	"Successful requests:                     10        \n" +
	"Failed requests:                         0         \n" +
	"Benchmark duration (s):                  4.25      \n" +
	"Total input tokens:                      10240     \n" +
	"Total generated tokens:                  1280      \n" +
	"Request throughput (req/s):              2.35      \n" +
	"---------------Time to First Token----------------\n" +
	"Mean TTFT (ms):                          12.50     \n" +
	"Median TTFT (ms):                        11.25     \n" +
	"P99 TTFT (ms):                           19.75     \n" +
	"==================================================\n"

// eachLine changes every line of a text; n counts them.
func eachLine(text string, change func(line string, n int) string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		b.WriteString(change(strings.TrimSuffix(line, "\n"), n) + "\n")
		n++
	}
	return b.String()
}

func behind(format string) func(string, int) string {
	return func(line string, n int) string { return fmt.Sprintf(format, n) + line }
}

// TestUnseenTexts: a block is read wherever people have put it, with its parameters, and
// no figure is another one for it.
func TestUnseenTexts(t *testing.T) {
	utf16LE := func(s string) string {
		b := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(s)) {
			b = append(b, byte(u), byte(u>>8))
		}
		return string(b)
	}
	tests := map[string]string{
		"as it is":                  unseen,
		"windows":                   strings.ReplaceAll(unseen, "\n", "\r\n"),
		"PowerShell's redirection":  utf16LE(strings.ReplaceAll(unseen, "\n", "\r\n")),
		"tabs":                      strings.ReplaceAll(unseen, "  ", "\t"),
		"kubectl logs --prefix":     eachLine(unseen, behind("[pod/bench-7d4f-x2/client] ")),
		"kubectl logs --timestamps": eachLine(unseen, behind("2026-01-02T03:04:%02d.123456789Z ")),
		"both":                      eachLine(unseen, behind("[pod/bench-7d4f-x2/client] 2026-01-02T03:04:%02d.123456789Z ")),
		"stern":                     eachLine(unseen, behind("bench-7d4f-x2 client ")),
		"docker compose":            eachLine(unseen, behind("bench-1  | ")),
		"gh run view --log":         eachLine(unseen, behind("bench\tRun client\t2026-01-02T03:04:%02d.1234567Z ")),
		"journalctl":                eachLine(unseen, behind("Jan 02 03:04:%02d gpu-7 bench[4711]: ")),
		"ts":                        eachLine(unseen, behind("Jan 02 03:04:%02d ")),
		"mpirun":                    eachLine(unseen, behind("[1,0]<stdout>:")),
		"mail":                      eachLine(unseen, behind("> > ")),
		"Slack":                     eachLine(unseen, func(line string, _ int) string { return "&gt; " + html.EscapeString(line) }),
		"a wiki's spaces":           strings.ReplaceAll(unseen, "  ", "\u00a0\u00a0"),
		"a page's source": "<pre><code class=\"x\">" + strings.ReplaceAll(html.EscapeString(unseen), "  ", "&nbsp; ") +
			"</code></pre>\n",
		"with breaks":        strings.ReplaceAll(unseen, "\n", "<br/>\n"),
		"a shell's comment":  eachLine(unseen, behind("# ")),
		"colours":            eachLine(unseen, func(line string, _ int) string { return "\x1b[1;32m" + line + "\x1b[0m\x1b[K" }),
		"a terminal's title": "\x1b]0;bench@gpu-7\x07" + unseen,
		"script":             "Script started on 2026-01-02\n\x1b[?2004h$ " + unseen + "\x1b[?2004l\r\nScript done\n",
		"tee of a tee":       eachLine(unseen, func(line string, _ int) string { return line + "\n" + line }),
		"twice in one log":   unseen + "collecting results\n" + unseen,
		"behind a progress bar": strings.Replace(unseen, "============ S", "100%|██████████| 10/10 [00:04<00:00,  2.35it/s]============ S",
			1),
		"a warning within": strings.Replace(unseen, "Mean TTFT",
			"/usr/lib/python3/x.py:12: UserWarning: something\n  warnings.warn(\nMean TTFT", 1),
		"an engine within": strings.Replace(unseen, "Mean TTFT",
			"INFO 01-02 03:04:05 [loggers.py:123] Engine 000: Avg prompt throughput: 0.0 tokens/s, Running: 1 reqs\nMean TTFT", 1),
		"GitHub's details": "<details><summary>log</summary>\n\n```text\n" + unseen + "```\n</details>\n",
		"a list": eachLine(strings.SplitAfterN(unseen, "\n", 2)[0], behind("")) +
			eachLine(strings.SplitAfterN(unseen, "\n", 2)[1], behind("• ")),
		"a wrapped command in a pod": eachLine(strings.Replace(unseen, " --model m", " \\\n  --model m \\\n ", 1), behind("[pod/b/c] ")),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			runs, err := convert.Read(strings.NewReader(text), "x.log", convert.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			doc, err := convert.Document(runs, convert.Options{})
			if err != nil || len(doc.Benchmarks[0].Cells) != 1 || len(doc.Benchmarks[0].Cells[0].Runs) != 1 {
				t.Fatalf("%d results, %v", len(runs), err)
			}
			r := &runs[0]
			checkDefined(t, r)
			if r.Counts != (convert.Counts{Sent: 10, Succeeded: 10, FailedKnown: true, InputTokens: 10240, OutputTokens: 1280}) ||
				r.Duration != 4.25 {
				t.Errorf("counts %+v in %v s", r.Counts, r.Duration)
			}
			for id, want := range map[string]float64{"ttft.mean": 0.0125, "ttft.p50": 0.01125, "ttft.p99": 0.01975,
				"request_throughput.mean": 2.35} {
				if r.Metrics[id] != want {
					t.Errorf("%s = %v, want %v", id, r.Metrics[id], want)
				}
			}
			if r.Params["model"] != "m" || r.Params["request_rate"] != "2" {
				t.Errorf("parameters %v", r.Params)
			}
		})
	}
}

// TestUnseenDamage: what cannot be read is an error with its line, never a zero and never
// another figure.
func TestUnseenDamage(t *testing.T) {
	replace := func(old, by string) string { return strings.Replace(unseen, old, by, 1) }
	interleaved := func() string { // two clients that wrote one log
		a, b := strings.SplitAfter(unseen, "\n"), strings.SplitAfter(strings.ReplaceAll(unseen, "12.50", "99.00"), "\n")
		return strings.Join(a[:5], "") + strings.Join(b[:2], "") + strings.Join(a[5:], "") + strings.Join(b[2:], "")
	}
	tests := []struct{ name, text, want string }{
		{"German decimals", strings.ReplaceAll(strings.ReplaceAll(unseen, ".50", ",50"), ".25", ",25"),
			`x.log:5: Benchmark duration (s): "4,25" is not a number: is its comma a decimal point?`},
		{"German thousands", replace("12.50", "1.012,50"), `x.log:10: Mean TTFT (ms): "1.012,50" is not a number: is its comma a decimal point?`},
		{"German tokens", replace("10240", "10.240"), `x.log:6: Total input tokens: "10.240" is not a count`},
		{"Swiss thousands", replace("12.50 ", "1'012.50"), `x.log:10: `},
		{"digits of another script", replace("12.50", "１２.５０"), `x.log:10: `},
		{"hidden character", replace("12.50", "12\u00ad.50"), `x.log:10: `},
		{"letter for digit", replace("12.50", "l2.50"), `x.log:10: `},
		{"wrapped by tmux", replace("Mean TTFT (ms):                          12.50", "Mean TTFT (ms):                         \n 12.50"),
			`x.log:10: Mean TTFT (ms): "" is not a number`},
		{"wrapped in the label", replace("Mean TTFT (ms):  ", "Mean TTFT (m\ns):  "), `x.log:10: "Mean TTFT (m" is not a label and a value`},
		{"cut in a figure", unseen[:strings.Index(unseen, "12.50")+3], "x.log:10: the file ends in the middle of a figure"},
		{"cut in a label", unseen[:strings.Index(unseen, "Mean TTFT")+9], "x.log:10: "},
		{"two clients line by line", eachLine(unseen, func(line string, _ int) string {
			return line + "\n" + strings.ReplaceAll(line, "12.50",
				"99.00")
		}), "is there twice, with different values"},
		{"two clients, other counts", eachLine(unseen, func(line string, _ int) string {
			return line + "\n" + strings.ReplaceAll(line, "10240",
				"20480")
		}), "Total input tokens: is there twice, with different values"},
		{"one within the other", interleaved(),
			"this block begins inside another one and has no number of requests: two logs are mixed, or one is cut"},
		{"a log line in a figure", replace("12.50", "12INFO 01-02 03:04:05 x"), "x.log:10: "},
		{"Excel's semicolons", "request_rate;completed;mean_ttft_ms\n2;10;12,5\n",
			`x.csv:2: mean_ttft_ms: "12,5" is not a number: is its comma a decimal point?`},
		{"a short row", "request_rate,completed,mean_ttft_ms\n2,10\n", "x.csv:2: wrong number of fields"},
	}
	for _, tt := range tests {
		name := "x.log"
		if strings.HasPrefix(tt.want, "x.csv") {
			name = "x.csv"
		}
		runs, err := convert.Read(strings.NewReader(tt.text), name, convert.ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v (%d runs), want %q", tt.name, err, len(runs), tt.want)
		}
	}
}

// TestSpreadsheets: columns between semicolons and tabs are columns.
func TestSpreadsheets(t *testing.T) {
	for _, comma := range []string{",", ";", "\t"} {
		text := strings.ReplaceAll("request_rate,completed,mean_ttft_ms\n2,10,12.5\n4,10,13.5\n", ",", comma)
		runs, err := convert.Read(strings.NewReader(text), "x.csv", convert.ReadOptions{Tool: "vllm"})
		if err != nil || len(runs) != 2 || runs[1].Metrics["ttft.mean"] != 0.0135 || runs[1].Params["request_rate"] != "4" {
			t.Errorf("%q: %+v, %v", comma, runs, err)
		}
	}
}
