package convert

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Format of a file or of one result in it. The format of an object in JSON or YAML is the name of
// its tool.
type Format string

// The formats that do not belong to a tool.
const (
	FormatBlock Format = "block" // a printed block of vLLM or SGLang
	FormatTable Format = "table" // a row of a markdown table
	FormatCSV   Format = "csv"   // a row of a CSV file
	FormatLLMD  Format = "llm-d" // a Benchmark Report of llm-d
)

// fileFormat is a format of whole files: a test of name and first bytes, and a reader.
type fileFormat struct {
	is   func(name string, head []byte) bool
	read func(in *bufio.Reader, name string, opt ReadOptions) ([]Run, error)
}

// fileFormats returns the formats in the order of their tests. The name of a file matters only if
// its content leaves a choice. Any text may contain results.
func fileFormats() []fileFormat {
	return []fileFormat{
		{isResult, func(_ *bufio.Reader, name string, _ ReadOptions) ([]Run, error) {
			return nil, fmt.Errorf("%s: %w: use it as it is", name, ErrOurs)
		}},
		{isJSON, readJSON},
		{isBinary, func(_ *bufio.Reader, name string, _ ReadOptions) ([]Run, error) {
			return nil, fmt.Errorf("%s: %w: it is empty or not text", name, ErrNoResult)
		}},
		{func(_ string, head []byte) bool { return len(yamlHead.Get().FindAll(head, 2)) == 2 }, readYAML},
		{isCSV, readCSV},
		{func(string, []byte) bool { return true }, readText},
	}
}

// detectBytes is how many bytes of a file determine its format.
const detectBytes = 64 << 10

// formatOf returns the format of a file by its name and first bytes.
func formatOf(name string, head []byte) fileFormat {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	formats := fileFormats()
	return formats[slices.IndexFunc(formats, func(f fileFormat) bool { return f.is(name, head) })]
}

func isResult(_ string, head []byte) bool {
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head[:min(len(head), 200)], []byte(`"pipeline/result/`))
}

// isJSON distinguishes JSON from a log line that begins with a bracket.
func isJSON(_ string, head []byte) bool {
	if len(head) == 0 || head[0] != '{' && head[0] != '[' {
		return false
	}
	rest := bytes.TrimLeft(head[1:], " \t\r\n")
	return len(rest) == 0 || bytes.IndexByte([]byte(`"{[]}`), rest[0]) >= 0
}

func isBinary(_ string, head []byte) bool { return len(head) == 0 || bytes.IndexByte(head, 0) >= 0 }

// isCSV reports whether the first line names at least two figures between delimiters.
func isCSV(name string, head []byte) bool {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	line := string(first)
	columns := strings.Split(strings.TrimSpace(line), string(delimiter(line)))
	if isSections(columns) {
		return true
	}
	figures := 0
	for _, c := range columns {
		c = strings.Trim(c, ` "`)
		if _, ok := figureOf(c); ok {
			figures++
		}
	}
	return figures >= 2 || slices.Contains([]string{".csv", ".tsv"}, filepath.Ext(name)) && len(columns) > 1
}

// delimiter returns the separator of a header's columns, which it has most of: a comma, a semicolon (from spreadsheets
// with decimal commas) or a tab. A label may contain one of the others.
func delimiter(header string) rune {
	most, at := 0, ','
	for _, c := range ",;\t" {
		if n := strings.Count(header, string(c)); n > most {
			most, at = n, c
		}
	}
	return at
}
