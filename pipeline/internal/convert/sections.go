package convert

import (
	"cmp"
	"fmt"
	"strings"
)

// The CSV files of GenAI-Perf and aiperf have sections: a header that begins with Metric and names
// statistics, a row for each quantity, an empty line, and another section with Value instead of
// statistics. From the exporters of GenAI-Perf 0.0.16 and aiperf 0.13.

// sectionFigures map the quantities of these files, in lower case and without unit, to labels of
// figureOf.
var sectionFigures = map[string]string{
	"time to first token": "ttft", "request latency": "e2e latency", "inter token latency": "itl", "inter chunk latency": "icl",
	"output token throughput": "output throughput", "input token throughput": "input throughput", "total token throughput": "total throughput",
	"request throughput": "request throughput", "request count": "completed", "error request count": "failed",
	"request goodput": "request goodput", "goodput": "request goodput",
	"benchmark duration": "duration", "total isl": "total input tokens", "total input sequence length": "total input tokens",
	"total osl":                    "total output tokens",
	"total output sequence length": "total output tokens", "total output tokens": "total output tokens",
	"input sequence length": "mean input tokens", "output sequence length": "mean output tokens",
}

// isSections reports whether a header opens a section.
func isSections(header []string) bool {
	return len(header) > 1 && header[0] == "Metric" && (header[1] == "Value" || aiperfStats()[header[1]] != "")
}

// readSections reads such a file, which has one result.
func readSections(s *sheet, opt ReadOptions) ([]Run, error) {
	s.FieldsPerRecord = -1
	tool := toolOfSections(s.name)
	var e entryList
	var unread []string
	for s.next() {
		switch {
		case isSections(s.cells):
			s.header = s.cells
			continue
		case len(s.cells) != len(s.header):
			return nil, &Error{s.name, s.line, fmt.Errorf("a row of %d cells in a section of %d columns", len(s.cells), len(s.header))}
		}
		if strings.HasSuffix(s.cells[0], "(per sec)") || strings.HasSuffix(s.cells[0], "(count)") {
			tool = "genai-perf" // aiperf writes (tokens/sec) and (requests)
		}
		if !e.section(s.header, s.cells, s.line) {
			unread = append(unread, s.cells[0])
		}
	}
	if s.err != nil {
		return nil, s.err
	}
	run := opt.newRun(FormatCSV, cmp.Or(opt.Tool, tool, "aiperf"), s.name, 1)
	if err := run.fill(e.entries); err != nil {
		return nil, err
	}
	if len(unread) > 0 {
		run.infof("rows that are not known here are not read: %s", quoted(unread))
	}
	return []Run{*run}, nil
}

// toolOfSections returns the tool by the usual name of its file, "" for another name.
func toolOfSections(name string) string {
	switch {
	case strings.Contains(name, "genai_perf"):
		return "genai-perf"
	case strings.Contains(name, "aiperf"):
		return "aiperf"
	}
	return ""
}

// section adds the figures of a row under labels of figureOf, and reports whether it knows the row.
func (e *entryList) section(header, cells []string, line int) bool {
	words, unit := cells[0], ""
	if m := unitPattern.FindStringSubmatch(words); m != nil {
		words, unit = m[1], m[2]
	}
	label, ok := sectionFigures[strings.ToLower(strings.TrimSpace(words))]
	if !ok {
		return false
	}
	f, _ := figureOf(label)
	_, isTime := timeShift[unit]
	for i, h := range header[1:] {
		value := strings.ReplaceAll(cells[i+1], ",", "") // 1,146.31
		if value == "" || strings.EqualFold(value, "n/a") {
			continue
		}
		single := h == "Value" || h == "avg" && !isTime
		switch {
		case single && f.kind == count:
			e.text(label, strings.TrimSuffix(strings.TrimSuffix(value, "0"), ".0"), line) // 40.00
		case single && f.kind == duration:
			e.text(label+" ("+unit+")", value, line)
		case single:
			e.text(label, value, line)
		case aiperfStats()[h] != "" && isTime:
			e.text(aiperfStats()[h]+" "+label+" ("+unit+")", value, line)
		}
	}
	return true
}
