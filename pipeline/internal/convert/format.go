package convert

import (
	"bytes"
	"strings"
)

// Format of a file or of one result in it.
type Format string

// The formats.
const (
	FormatText          Format = "text"           // a log or page with blocks and tables in it
	FormatBlock         Format = "block"          // a printed block of vLLM or SGLang
	FormatTable         Format = "table"          // a row of a markdown table
	FormatCSV           Format = "csv"            // a row of a CSV file
	FormatJSON          Format = "json"           // some JSON; its objects tell which
	FormatVLLM          Format = "vllm"           // vLLM's --save-result
	FormatSGLang        Format = "sglang"         // SGLang's --output-file
	FormatGuidellm      Format = "guidellm"       // benchmarks.json
	FormatAiperf        Format = "aiperf"         // profile_export_aiperf.json
	FormatInferencePerf Format = "inference-perf" // *_lifecycle_metrics.json
	FormatHF            Format = "hf"             // inference-benchmarker's results
	FormatYAML          Format = "yaml"           // YAML; its keys tell which
	FormatLLMD          Format = "llm-d"          // a Benchmark Report of llm-d
	FormatLLMPerf       Format = "llmperf"        // LLMPerf's summary
	FormatTRTLLM        Format = "trtllm-bench"   // trtllm-bench's --report_json
	FormatBench         Format = "bench"          // a line of our Go benchmarks
	FormatOpenMetrics   Format = "openmetrics"    // our OpenMetrics text
	FormatResult        Format = "result"         // our own result document
	FormatUnknown       Format = ""
)

// detectBytes is how much of a file Detect wants to see.
const detectBytes = 64 << 10

// Detect tells the format of a file by the beginning of its content; the name decides
// only where the content leaves a choice. Of JSON it tells FormatJSON, since the keys that
// tell more may come late, and FormatResult for our own document, which result.Decode
// reads.
func Detect(name string, head []byte) Format {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case len(trimmed) == 0:
		return FormatUnknown
	case trimmed[0] == '{' && bytes.Contains(trimmed[:min(len(trimmed), 200)], []byte(`"pipeline/result/`)):
		return FormatResult
	case trimmed[0] == '{' && looksLikeJSON(trimmed[1:]):
		return FormatJSON
	case trimmed[0] == '[' && looksLikeJSON(trimmed[1:]):
		return FormatJSON
	case bytes.IndexByte(trimmed, 0) >= 0:
		return FormatUnknown
	}
	if openMetricsHead.Match(trimmed) {
		return FormatOpenMetrics
	}
	if benchHead.Match(trimmed) {
		return FormatBench
	}
	if len(yamlHead.FindAll(trimmed, -1)) >= 2 {
		return FormatYAML
	}
	if line, _, _ := bytes.Cut(trimmed, []byte("\n")); isCSVHeader(string(line), strings.HasSuffix(name, ".csv")) {
		return FormatCSV
	}
	return FormatText
}

// looksLikeJSON tells JSON from a log line that begins with a bracket.
func looksLikeJSON(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) == 0 || bytes.IndexByte([]byte(`"{[]}`), rest[0]) >= 0
}

// isCSVHeader reports that a line names at least two figures between delimiters.
func isCSVHeader(line string, named bool) bool {
	fields := strings.Split(strings.TrimSpace(line), string(delimiter(line)))
	if isSections(fields) {
		return true
	}
	figures := 0
	for _, f := range fields {
		f = strings.Trim(f, ` "`)
		if f == "metric" || f == "value" {
			figures++
		} else if _, ok := figureOf(f); ok {
			figures++
		}
	}
	return figures >= 2 || named && len(fields) > 1
}

// delimiter is what separates the columns of a header: a comma, what spreadsheets write
// where a comma is the decimal point, or a tab.
func delimiter(header string) rune {
	for _, c := range ",;\t" {
		if strings.ContainsRune(header, c) {
			return c
		}
	}
	return ','
}
