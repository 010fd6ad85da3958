package convert

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The CSV files of GenAI-Perf and aiperf have sections: a header that begins with Metric and
// names statistics, a row for each quantity, an empty line, and another section with Value in
// the place of the statistics. Read from the exporters of GenAI-Perf 0.0.16 and aiperf 0.13.

// sectionFigures are the quantities of these files, in lower case and without their unit, by
// the label that figureOf knows.
var sectionFigures = map[string]string{
	"time to first token": "ttft", "request latency": "e2e latency", "inter token latency": "itl", "inter chunk latency": "icl",
	"output token throughput": "output throughput", "input token throughput": "input throughput", "total token throughput": "total throughput",
	"request throughput": "request throughput", "request count": "completed", "error request count": "failed", "request goodput": "request goodput", "goodput": "request goodput",
	"benchmark duration": "duration", "total isl": "total input tokens", "total input sequence length": "total input tokens", "total osl": "total output tokens",
	"total output sequence length": "total output tokens", "total output tokens": "total output tokens",
}

// isSections reports that a header is that of a section.
func isSections(header []string) bool {
	return len(header) > 1 && header[0] == "Metric" && (header[1] == "Value" || aiperfStats[header[1]] != "")
}

// readSections reads such a file, one result.
func readSections(r *csv.Reader, header []string, name string, opt ReadOptions) ([]Run, error) {
	run := Run{Source: name, Line: 1, Format: FormatCSV, Tool: opt.Tool}
	r.FieldsPerRecord = -1
	tool := toolOfSections(name)
	var entries []entry
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, csvError(name, err) // which knows its line
		}
		line, _ := r.FieldPos(0)
		switch {
		case isSections(cells):
			header = cells
			continue
		case len(cells) != len(header):
			return nil, &Error{name, line, fmt.Errorf("a row of %d cells in a section of %d columns", len(cells), len(header))}
		}
		if strings.HasSuffix(cells[0], "(per sec)") || strings.HasSuffix(cells[0], "(count)") {
			tool = toolGenAIPerf // aiperf writes (tokens/sec) and (requests)
		}
		entries = append(entries, sectionEntries(header, cells, line)...)
	}
	if run.Tool == "" {
		if run.Tool = tool; tool == "" {
			run.Tool = toolAiperf
		}
	}
	if err := run.fill(entries); err != nil {
		return nil, err
	}
	return []Run{run}, nil
}

// toolOfSections tells the tool by the name that it gives its file, "" if it is another one.
func toolOfSections(name string) string {
	switch {
	case strings.Contains(name, "genai_perf"):
		return toolGenAIPerf
	case strings.Contains(name, "aiperf"):
		return toolAiperf
	}
	return ""
}

// sectionEntries are the figures of a row under labels that figureOf knows.
func sectionEntries(header, cells []string, line int) []entry {
	words, unit := cells[0], ""
	if m := unitPattern.FindStringSubmatch(words); m != nil {
		words, unit = m[1], m[2]
	}
	label, ok := sectionFigures[strings.ToLower(strings.TrimSpace(words))]
	if !ok {
		return nil
	}
	var entries []entry
	for i, h := range header[1:] {
		value := strings.ReplaceAll(cells[i+1], ",", "") // 1,146.31
		if value == "" || strings.EqualFold(value, "n/a") {
			continue
		}
		_, isTime := timeShift[unit]
		switch f, _ := figureOf(label); {
		case h == "Value" || h == "avg" && !isTime:
			if f.kind == count {
				value = strings.TrimSuffix(strings.TrimSuffix(value, "0"), ".0") // 40.00
			}
			if f.kind == duration {
				entries = append(entries, entry{label + " (" + unit + ")", value, line})
				continue
			}
			entries = append(entries, entry{label, value, line})
		case aiperfStats[h] != "" && isTime:
			entries = append(entries, entry{aiperfStats[h] + " " + label + " (" + unit + ")", value, line})
		}
	}
	return entries
}

// noResultCSV says what a CSV file of a known tool is that is not read here, nil for others.
func noResultCSV(header []string, name string) error {
	has := func(words ...string) bool {
		for _, w := range words {
			found := false
			for _, h := range header {
				found = found || strings.EqualFold(strings.TrimSpace(h), w)
			}
			if !found {
				return false
			}
		}
		return true
	}
	var hint string
	switch {
	case has("Run Info", "Request Counts"), has("Benchmark", "Timings"), has("Run Info", "Benchmark"):
		hint = "guidellm's benchmarks.csv, whose headings are in three rows: import benchmarks.json beside it"
	case has("Endpoint", "Type", "Metric"):
		hint = "what a server said of itself while aiperf measured it (server_metrics_export.csv): import profile_export_aiperf.json beside it"
	case has("error_code", "ttft_s") || has("request_id", "ttft"):
		hint = "records of single requests: import the summary beside it"
	default:
		return nil
	}
	return &Error{name, 1, fmt.Errorf("%w: %s", ErrNoResult, hint)}
}
