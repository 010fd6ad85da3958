package convert_test

import (
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/reports/result"
)

// TestUnitsBesideValues: a value with its unit is a value, in tables of either direction and in
// blocks; a unit in the cell is nearer than one in the heading.
func TestUnitsBesideValues(t *testing.T) {
	for name, text := range map[string]string{
		"columns": "| model | Mean TTFT | P99 TTFT | Output throughput |\n|---|---|---|---|\n| m | 20 ms | 0.045 s | 1200 " +
			"tok/s |\n",
		"columns without ruler": "| model | Mean TTFT | P99 TTFT | Output throughput |\n|---|---|---|---|\n| m | 20ms | 45 ms | 1,200 tok/s " +
			"|\n| n | 21.5ms | 46 ms | 1,201 tok/s |\n",
		"rows": "| metric | m |\n|---|---|\n| Mean TTFT | 20 ms |\n| P99 TTFT | 45000 µs |\n| Output throughput | 1200 " +
			"tokens/s |\n",
		"in both": "| model | Mean TTFT (ms) | P99 TTFT (ms) | Output throughput (tok/s) |\n|---|---|---|---|\n| m | 20 ms | " +
			"0.045 s | 1200 tok/s |\n",
		"bold and code": "| model | Mean TTFT | P99 TTFT | Output throughput |\n|---|---|---|---|\n| m | **20 ms** | `45 ms` | 1200 " +
			"tok/s |\n",
		"a block": rule +
			"Successful requests: 10\nMean TTFT: 20 ms\nP99 TTFT (ms): 45 ms\nOutput token throughput: 1200 tok/s\n" + end,
	} {
		runs, err := convert.Read(strings.NewReader(text), "x.md", convert.ReadOptions{})
		if err != nil || len(runs) == 0 {
			t.Errorf("%s: %d results, %v", name, len(runs), err)
			continue
		}
		for id, want := range map[string]float64{"ttft.mean": 0.02, "ttft.p99": 0.045, "output_throughput.mean": 1200} {
			if got := runs[0].Metrics[id]; got != want {
				t.Errorf("%s: %s is %v, want %v: %+v", name, id, got, want, runs[0].Params)
			}
		}
		for key, value := range runs[0].Params {
			if strings.Contains(value, "20") {
				t.Errorf("%s: %s = %q is a parameter", name, key, value)
			}
		}
	}
	for text, want := range map[string]string{
		"| model | Mean TTFT | P99 TTFT (ms) | Mean ITL (ms) |\n|---|---|---|---|\n| m | -20 ms | 1 | 2 |\n": "is negative",
		"| model | Mean TTFT (ms) | P99 TTFT (ms) |\n|---|---|---|\n| m | 20 parsec | 1 |\n":                 "is not a number",
	} {
		if _, err := convert.Read(strings.NewReader(text), "x.md", convert.ReadOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestStatisticsOfOneColumn splits a column with several statistics into one column each, in markdown tables and in CSV. A
// cell with a different number of values is reported and not read.
func TestStatisticsOfOneColumn(t *testing.T) {
	for name, text := range map[string]string{
		"x.md": "| max concurrency | TTFT (ms) p50/p90/p99 | Mean TPOT (ms) |\n|---|---|---|\n" +
			"| 1 | 10 / 20 / 30 | 5 |\n| 2 | 12/22 | 6 |\n",
		"x.csv": "max concurrency,TTFT (ms) p50/p90/p99,Mean TPOT (ms)\n1,10/20/30,5\n2,12/22,6\n",
		"x.tsv": "max concurrency, users\tp50/p90/p99 TTFT\tMean TPOT (ms)\n1\t10 ms/20 ms/0.03 s\t5\n2\t12 ms/22 ms\t6\n",
	} {
		runs, err := convert.Read(strings.NewReader(text), name, convert.ReadOptions{})
		if err != nil || len(runs) != 2 {
			t.Fatalf("%s: %d results, %v", name, len(runs), err)
		}
		for id, want := range map[string]float64{"ttft.p50": 0.01, "ttft.p90": 0.02, "ttft.p99": 0.03, "tpot.mean": 0.005} {
			if got := runs[0].Metrics[id]; got != want {
				t.Errorf("%s: %s is %v, want %v: %+v", name, id, got, want, runs[0].Params)
			}
		}
		if _, ok := runs[1].Metrics["ttft.p50"]; ok || len(runs[1].Metrics) != 1 {
			t.Errorf("%s: two values of three statistics are %v", name, runs[1].Metrics)
		}
	}
}

// TestUnitsWithinLabels: a unit of time is read wherever a label has it.
func TestUnitsWithinLabels(t *testing.T) {
	for _, label := range []string{"TTFT (ms) p50", "P50 [ms] TTFT", "ttft_ms_p50", "TTFT p50, ms", "TTFT p50 / ms", "TTFT p50 - ms",
		"p50 TTFT (ms)", "ttft_p50_ms"} {
		text := "| model | " + label + " | P99 TTFT (ms) |\n|---|---|---|\n| m | 101.5 | 200 |\n"
		runs, err := convert.Read(strings.NewReader(text), "x.md", convert.ReadOptions{})
		if err != nil || len(runs) != 1 || runs[0].Metrics["ttft.p50"] != 0.1015 {
			t.Errorf("%s: %+v, %v", label, runs, err)
		}
	}
}

// TestLogInAComment: a log that was pasted into a script as comments states its work as it does elsewhere.
func TestLogInAComment(t *testing.T) {
	text := "Traffic request rate: 4.0\nBurstiness factor: 1.0 (Poisson process)\nMaximum request concurrency: 32\n" +
		"100%|######| 32/32 [02:30<00:00,  4.71s/it]\n============ Serving Benchmark Result ============\nSuccessful requests: 32\n" +
		"Benchmark duration (s): 150.87\nMean TTFT (ms): 7279.56\nP99 TTFT (ms): 10999.46\n" +
		"==================================================\n"
	for _, prefix := range []string{"", "# ", "#  "} {
		log := prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix) + "\n"
		runs, err := convert.Read(strings.NewReader(log), "x.sh", convert.ReadOptions{})
		if err != nil || len(runs) != 1 {
			t.Errorf("%q: %d results, %v", prefix, len(runs), err)
			continue
		}
		for key, want := range map[string]string{"request_rate": "4", "max_concurrency": "32", "burstiness": "1"} {
			if got, _ := runs[0].Param(key); got != want {
				t.Errorf("%q: %s is %q, want %q", prefix, key, got, want)
			}
		}
	}
}

// TestNoneSucceeded: a result that counts no success and has no figure failed as a whole, also if its tool counts no failures.
func TestNoneSucceeded(t *testing.T) {
	for text, failed := range map[string]int{
		`{"completed": 0, "total_output_tokens_retokenized": 0, "mean_ttft_ms": 0, "mean_e2e_latency_ms": 0, "request_throughput": 0}`: 0,
		`{"aiperf_version": "0.13.0", "time_to_first_token": null, "request_count": null, "error_request_count": {"avg": 50}}`:         50,
	} {
		runs, err := convert.Read(strings.NewReader(text), "x.json", convert.ReadOptions{})
		if err != nil || len(runs) != 1 || runs[0].Counts.Failed != failed {
			t.Errorf("%s: %+v, %v", text, runs, err)
			continue
		}
		if run, err := convert.Single(&runs[0]); err != nil || run.Status != result.RunFailed || run.Reason != "no request succeeded" {
			t.Errorf("%s: %s (%s), %v", text, run.Status, run.Reason, err)
		}
	}
}

// TestFailuresAlone: results that state how many requests were asked for and how many failed had the rest succeed.
func TestFailuresAlone(t *testing.T) {
	for text, want := range map[string]convert.Counts{
		"Requests,Failed,P50 TTFT (ms)\n200,0,20\n":   {Sent: 200, Succeeded: 200, FailedKnown: true},
		"Requests,Failed,P50 TTFT (ms)\n200,50,20\n":  {Sent: 200, Succeeded: 150, Failed: 50, FailedKnown: true},
		"Requests,Failed,P50 TTFT (ms)\n200,200,0\n":  {Sent: 200, Failed: 200, FailedKnown: true},
		"Model,Failed,P50 TTFT (ms)\nm,0,20\n":        {},
		"Model,Failed,P50 TTFT (ms)\nm,3,20\n":        {}, // of more than 3: there is a time
		"Model,Failed,P50 TTFT (ms)\nm,200,0\n":       {Sent: 200, Failed: 200, FailedKnown: true},
		"Completed,Failed,P50 TTFT (ms)\n150,50,20\n": {Sent: 200, Succeeded: 150, Failed: 50, FailedKnown: true},
	} {
		runs, err := convert.Read(strings.NewReader(text), "x.csv", convert.ReadOptions{})
		if err != nil || len(runs) != 1 {
			t.Errorf("%s: %d results, %v", text, len(runs), err)
			continue
		}
		if got := runs[0].Counts; got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
		if _, has := runs[0].Metrics["ttft.p50"]; has != (want.Failed < 200) {
			t.Errorf("%s: %v", text, runs[0].Metrics)
		}
	}
}

// TestNativeCSV: the CSV files that GenAI-Perf and aiperf write are results, and those of which
// only the JSON is read say so.
func TestNativeCSV(t *testing.T) {
	for file, want := range map[string]struct {
		tool    string
		metrics map[string]float64
		counts  convert.Counts
	}{
		"tools/profile_export_genai_perf.csv": {"genai-perf", map[string]float64{
			"genai_perf_ttft.mean": 1.14631, "genai_perf_ttft.p99": 3.45723, "genai_perf_e2el.p50": 5.69023, "genai_perf_itl.mean": 0.03035,
			"genai_perf_output_throughput.mean": 261.25, "request_throughput.mean": 1.5,
		}, convert.Counts{Succeeded: 40, InputTokens: 120002, OutputTokens: 6978}},
		"tools/profile_export_aiperf.csv": {"aiperf", map[string]float64{
			"ttft.mean": 0.04987, "ttft.max": 0.09991, "aiperf_itl.mean": 0.00283, "e2el.p99": 1.5021, "aiperf_output_throughput.mean": 1274.6,
			"request_throughput.mean": 13.16,
		}, convert.Counts{Sent: 203, Succeeded: 200, Failed: 3, FailedKnown: true, OutputTokens: 99612}},
	} {
		runs := readFile(t, file, convert.ReadOptions{})
		if len(runs) != 1 {
			t.Fatalf("%s: %d results", file, len(runs))
		}
		checkDefined(t, &runs[0])
		if runs[0].Tool != want.tool || runs[0].Counts != want.counts {
			t.Errorf("%s: %s, %+v", file, runs[0].Tool, runs[0].Counts)
		}
		for id, v := range want.metrics {
			if got := runs[0].Metrics[id]; got != v {
				t.Errorf("%s: %s is %v, want %v: %v", file, id, got, v, runs[0].Metrics)
			}
		}
	}
	for text, want := range map[string]string{
		"Run Info,Run Info,Benchmark,Timings,Request Counts\nRun ID,Profile,Strategy,Duration,Successful\n,,,Sec,\nx,y,constant,30,100\n": "import benchmarks.json beside it",
		"Endpoint,Type,Metric,Unit,avg,min,max\nlocalhost:8000,gauge,vllm:num_requests_running,count,3,1,5\n":                             "import profile_export_aiperf.json beside it",
		"Metric,avg,min\nTime to First Token (ms),fast,1\n":                                                                               "x.csv:2: ",
		"Metric,avg,min\nTime to First Token (ms),1\n":                                                                                    "x.csv:2: a row of 2 cells in a section of 3 columns",
	} {
		if _, err := convert.Read(strings.NewReader(text), "x.csv", convert.ReadOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
