package convert

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// maxBlockLines bounds a block. The longest of vLLM has about 60 lines.
const maxBlockLines = 1000

// openBlock is a printed block while its lines are read.
type openBlock struct {
	line    int
	prefix  *regexp.Regexp // matches what precedes the rule, such as the prefix of a container log, with any digits
	section string
	// words and unit of the times whose statistics follow, one a line.
	words, unit string
	// foreign marks a bare block whose times are not in the form of vLLM or SGLang.
	foreign bool
	// title is the line before a bare block, if it ends with a colon.
	title   string
	entries []entry
	noise   int
	// bare marks a block without its opening rule. Its contents decide whether it is a block.
	bare bool
	// inside marks a block that began before the previous one ended.
	inside bool
}

// newBlock returns a block whose lines have this prefix, in which times and other numbers may
// differ.
func newBlock(line int, prefix string) *openBlock {
	const limit = 200
	b := &openBlock{line: line}
	if prefix != "" && len(prefix) <= limit && utf8.ValidString(prefix) {
		b.prefix = regexp.MustCompile("^" + digits.ReplaceAllString(regexp.QuoteMeta(prefix), `\d+`))
	}
	return b
}

var digits = lazyregexp.New(`\d+`)

// figureNeedles are parts of the labels and units of all figures that can open a bare block.
var figureNeedles = newNeedles(
	"(ms)", "(s)", "(us)", "(sec", "hroughput", "HROUGHPUT", "atency", "ATENCY", "TTFT", "ttft", "TPOT", "tpot", "ITL", "itl", "E2E", "e2e",
	"equests", "EQUESTS", "oken", "OKEN",
)

// startsBare reports whether a line outside any block is a figure with its unit in the form of a
// block. It then opens a block without its rule. The line has one of figureNeedles.
func startsBare(line string) bool {
	e, ok := splitEntry((&openBlock{}).strip(line))
	if !ok {
		return false
	}
	label, value := unitInValue(e.label, e.value)
	if label == e.label && !strings.Contains(label, " ") {
		return false
	}
	if _, _, ok := sectionOf(e); ok {
		return true
	}
	if _, _, share := successesOf(value); !isNumber(value) && !share {
		return false
	}
	f, ok := figureOf(label)
	_, unit := labelWords(label)
	return ok && (f.name == "succeeded" || unit != "" && (f.kind == latency || f.kind == rate))
}

// isBlock reports whether a bare block has enough figures. A sentence or a summary has fewer.
func (b *openBlock) isBlock() bool {
	const enough = 4
	figures := 0
	for _, e := range b.entries {
		if f, ok := e.figure(); ok && f.kind != param {
			figures++
		}
	}
	return figures >= enough
}

// labels returns the labels of a block in order: blocks of one tool with the same labels are whole.
func (b *openBlock) labels() []string {
	out := make([]string, len(b.entries))
	for i, e := range b.entries {
		out[i] = e.label
	}
	return out
}

// figure returns the figure of an entry, whose unit may follow its value.
func (e entry) figure() (figure, bool) {
	label, _ := unitInValue(e.label, e.value)
	return figureOf(label)
}

// sectionOf reports whether a line opens a group of times with one statistic a line: "Time to First
// Token (ms):".
func sectionOf(e entry) (words, unit string, ok bool) {
	if e.value != "" {
		return "", "", false
	}
	words, unit = labelWords(e.label)
	for _, end := range []string{" statistics", " stats", " distribution", " percentiles"} {
		words = strings.TrimSuffix(words, end)
	}
	return words, unit, latencyNames[words] != "" && unit != ""
}

// linePrefix matches what logs and pages put before a line: quotes, comments, names of containers
// and processes, times.
var linePrefix = lazyregexp.New(
	`^(?:\s+|>|#+ |//|\[\d+(?:,\d+)?\]<std(?:out|err)>:|\([A-Za-z][\w ]*pid=[^)]*\)|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?\s|[\w.-]+\s+\|\s|\[[a-z]+/[\w./-]+\]\s|•\s)`)

// strip removes the prefixes and the white space of a line.
func (b *openBlock) strip(line string) string {
	if b.prefix != nil {
		line = line[len(b.prefix.FindString(line)):]
	}
	for {
		at := linePrefix.FindStringIndex(line)
		if at == nil || at[1] == 0 {
			return strings.TrimSpace(line)
		}
		line = line[at[1]:]
	}
}

// splitEntry splits "Mean TTFT (ms):     12.3" at its first colon.
func splitEntry(text string) (entry, bool) {
	const limit = 80
	label, value, ok := strings.Cut(text, ":")
	if !ok || len(label) > limit || strings.TrimSpace(label) == "" {
		return entry{}, false
	}
	if value != "" && value[0] != ' ' && value[0] != '\t' {
		return entry{}, false // "12:30:05", "http://"
	}
	return entry{label: strings.Join(strings.Fields(label), " "), value: strings.TrimSpace(value)}, true
}

// inBrackets matches the name of its group before a label: "[Latency] P50".
var inBrackets = lazyregexp.New(`^\[[A-Za-z]+\]\s+`)

// qualify completes a label that is ambiguous alone: a statistic with its group of times, a figure
// of the probe requests with their name.
func (b *openBlock) qualify(e entry) entry {
	e.label = inBrackets.ReplaceAllString(e.label, "")
	if words, unit, ok := sectionOf(entry{label: strings.Replace(b.section, " Breakdown", "", 1)}); ok && b.words == "" {
		b.words, b.unit = words, unit
	}
	if stat := statOf(e.label); stat != "" && b.words != "" {
		e.label = stat + " " + b.words + " (" + b.unit + ")"
	}
	if b.section == "Probe Requests" && !strings.Contains(strings.ToLower(e.label), "probe") {
		e.label = "Probe " + e.label
	}
	return e
}

var figureWord = lazyregexp.New(
	`(?i)^(?:mean|median|std|p\d{1,2}(?:\.\d+)?|max|min|successful|failed|total|request|output|input|peak|benchmark)\s+\S`)

// beginsLikeFigure reports whether a line without a readable value looks like a damaged figure,
// which must not be skipped.
func beginsLikeFigure(text string) bool {
	if !figureWord.MatchString(text) {
		return false
	}
	words := strings.Fields(text)
	for n := min(len(words), 8); n > 1; n-- {
		if _, ok := figureOf(strings.Join(words[:n], " ")); ok {
			return true
		}
	}
	return false
}

// beginsLikeLabel reports whether a line begins with the name of a latency but lacks the unit or
// value: it was cut, or wrapped by a narrow terminal.
func beginsLikeLabel(text string) bool {
	words := strings.Fields(strings.ToLower(text))
	for n := 2; n <= min(len(words), 6); n++ {
		if m := statPattern.FindStringSubmatch(strings.ReplaceAll(strings.Join(words[:n], " "), "-", " ")); m != nil &&
			latencyNames[m[2]] != "" {
			return true
		}
	}
	return false
}

// tool returns the tool that alone prints some label of the block, "" for a bare block without the first label of vLLM's, and
// otherwise vLLM.
func (b *openBlock) tool(tools Tools) string {
	for _, row := range tools {
		for _, words := range row.Prints {
			if slices.ContainsFunc(b.entries, func(e entry) bool { return strings.Contains(e.label, words) }) {
				return row.Name
			}
		}
	}
	if b.bare && b.succeeded() < 0 {
		return ""
	}
	return "vllm"
}

// setBackend sets the backend from the block, because definitions depend on it.
func (b *openBlock) setBackend(r *Run) {
	for _, e := range b.entries {
		if e.label == "Backend" {
			r.setParam("backend", e.value)
		}
	}
}
