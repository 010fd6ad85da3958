package convert_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
)

// TestUndeclaredKeys: rows that differ in something that was not declared are not one cell
// without a word; what repetitions differ in keeps nothing apart.
func TestUndeclaredKeys(t *testing.T) {
	const figures = "completed,median_ttft_ms\n"
	tests := []struct {
		name, csv string
		opt       convert.Options
		cells     int
		err       string
		warn      string
	}{
		{"a column of people", "qps,tp," + figures + "2,1,10,50\n2,2,10,40\n4,1,10,60\n4,2,10,45\n", convert.Options{}, 0,
			`x.csv:3: it would be one cell with x.csv:2, but they differ in tp ("1", "2"): say --by request_rate,tp if that distinguishes cells, --launch-by tp if it distinguishes launches of the server, or --by request_rate to take them together`, ""},
		{"declared", "qps,tp," + figures + "2,1,10,50\n2,2,10,40\n", convert.Options{By: []string{"qps", "tp"}}, 2, "", ""},
		{"taken together", "qps,tp," + figures + "2,1,10,50\n2,2,10,40\n", convert.Options{By: []string{"qps"}}, 1, "",
			`results of the cell qps=2 differ in tp ("1", "2"), which --by does not name`},
		{"launches", "qps,tp," + figures + "2,1,10,50\n2,2,10,40\n", convert.Options{LaunchBy: "tp"}, 1, "", ""},
		{"in some only", "qps,gpu," + figures + "2,A10,10,50\n2,,10,40\n", convert.Options{}, 0, `they differ in gpu ("A10", nothing)`, ""},
		{"nothing else", "tp," + figures + "1,10,50\n2,10,40\n", convert.Options{}, 0, "say --by tp if", ""},
		{"when and where", "qps,date,seed,port,result_filename,repeat," + figures +
			"2,20260102-101112,1,8000,a.json,1,10,50\n2,20260102-111112,2,8001,b.json,2,10,40\n", convert.Options{}, 1, "",
			"say --launch-by repeat, or --one-launch-per-file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runs, err := convert.Read(strings.NewReader(tt.csv), "x.csv", convert.ReadOptions{Tool: "vllm"})
			if err != nil {
				t.Fatal(err)
			}
			doc, err := convert.Document(runs, tt.opt)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("%v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := len(doc.Benchmarks[0].Cells); n != tt.cells || !strings.Contains(strings.Join(doc.Warnings, "\n"), tt.warn) {
				t.Errorf("%d cells, warnings %q", n, doc.Warnings)
			}
		})
	}
}

// TestLooseLines: a line of a log that looks like a setting keeps no two blocks apart.
func TestLooseLines(t *testing.T) {
	block := func(elapsed, ttft string) string {
		return "Elapsed: " + elapsed + "\n" + rule + "Successful requests:  10\nMean TTFT (ms):  " + ttft + "\n" + end
	}
	runs, err := convert.Read(strings.NewReader(block("12 s", "20.00")+block("13 s", "21.00")), "x.log", convert.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := convert.Document(runs, convert.Options{})
	if err != nil || len(doc.Benchmarks[0].Cells) != 1 {
		t.Errorf("%v", err)
	}
}

func TestFitTellsUndeclaredKeys(t *testing.T) {
	at := func(tp string, ttft float64) convert.Run {
		return measured("a", map[string]string{"side": "base", "request_rate": "2", "tp": tp}, ttft)
	}
	doc, err := convert.Fit([]convert.Run{at("1", 1), at("2", 2)}, grid([]string{"base"}, 2), convert.FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if w := strings.Join(doc.Warnings, "\n"); !strings.Contains(w, `differ in tp ("1", "2"), which is not an axis of benchmark.nightly`) {
		t.Errorf("warnings %q", w)
	}
}
