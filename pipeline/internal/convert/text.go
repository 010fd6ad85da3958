package convert

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/foreign"
	"github.com/servegate/pipeline/internal/lazyregexp"
)

// readText finds the printed blocks and the tables in a log or a page.
func readText(r *bufio.Reader, name string, opt ReadOptions) ([]Run, error) {
	t := &textReader{source: name, opt: opt, commands: opt.Tools.commands(), engine: newEngineLog(opt.Tools)}
	t.needles = needlesOf(t.commands.String(), serverPattern.String())
	for {
		line, complete, err := readLine(r, opt.Limits.Line)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if line == "" && err != nil {
			break
		}
		t.line++
		// Progress bars overwrite themselves with carriage returns, so that a line may hold
		// several.
		for part := range strings.SplitSeq(cleanLine(line), "\r") {
			t.part(part, complete)
		}
		if len(t.runs) > opt.Limits.Runs {
			return nil, fmt.Errorf("%s: more than %d results: %w", name, opt.Limits.Runs, ErrLimit)
		}
		if err != nil {
			break
		}
	}
	t.closeBlock("the text ends")
	t.closeTable()
	t.closePage()
	if len(t.errs) > 0 {
		return nil, errors.Join(t.errs...)
	}
	if err := t.noResult(); err != nil {
		return nil, err
	}
	t.adoptTool()
	markCut(t.runs)
	levelServers(t.runs)
	markRepetitions(t.runs)
	return t.runs, nil
}

// readLine reads a line without its end, and at most limit bytes of it. It reports whether the line
// ended with a newline; the last line comes with io.EOF.
func readLine(r *bufio.Reader, limit int) (line string, complete bool, err error) {
	var b []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := limit - len(b); room > 0 {
			b = append(b, part[:min(len(part), room)]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		n := len(b)
		for n > 0 && (b[n-1] == '\n' || b[n-1] == '\r') {
			n--
		}
		if err == nil && n == 0 {
			return "", true, nil
		}
		return string(b[:n]), err == nil, err
	}
}

// textReader reads a text line by line.
type textReader struct {
	source string
	opt    ReadOptions
	line   int
	runs   []Run
	errs   []error

	commands *regexp.Regexp // of the tools
	needles  *needles       // of commands, those of servers too
	around   surroundings
	engine   *engineLog
	block    *openBlock
	table    *openTable
	command  string     // a command that continues on the next line
	before   string     // the previous line
	within   bool       // a command ended the previous block, which had no last line
	fence    int        // line of the last fence
	report   []string   // lines of a YAML report in a fence
	page     *pageTable // of HTML
	previous []string   // labels of the last block
	caption  string     // the last line that may name the next result, see captionOf
	titled   string     // tool of the last title
	near     []string   // why something that looks like a result is none
}

// maxNear is the most reasons for a text without a result.
const maxNear = 3

// missed records why labels with values are not a result.
func (t *textReader) missed(labels, values []string) {
	for i, label := range labels {
		if i < len(values) && len(t.near) < maxNear {
			if why := whyNot(label, values[i]); why != "" {
				t.near = append(t.near, fmt.Sprintf("line %d: %s", t.line, why))
			}
		}
	}
}

// whyNot returns why a label that looks like a measured figure is none, "" if it does not look like
// one.
func whyNot(label, value string) string {
	if !isNumberLike(value) {
		return ""
	}
	label, _ = unitInValue(strings.TrimSpace(label), strings.TrimSpace(value))
	switch f, ok := figureOf(label); {
	case ok && f.kind != latency && f.kind != rate:
		return ""
	case ok:
		return clip(label) + " stands alone: a table of results has two figures at least, such as a second time or the completed requests"
	}
	words, unit := labelWords(label)
	switch {
	case isLatency(words) && unit == "":
		return clip(label) + " has no unit of time: write it behind the name, as in \"Mean TTFT (ms)\", or behind the value"
	case strings.Contains(words, "throughput") || strings.Contains(words, "tput"):
		return clip(label) + " does not say what it counts: write \"Request throughput (req/s)\", or output, input or total in place of request"
	case strings.Contains(words, "latency") || strings.Contains(words, "ttft") || strings.Contains(words, "tpot"):
		return clip(label) + " is not a known time: write a statistic, a name and a unit, as in \"P99 TTFT (ms)\""
	}
	return ""
}

// noResult returns an error for a text without a result if something in it looks like one.
func (t *textReader) noResult() error {
	if len(t.runs) == 0 && t.titled != "" {
		t.near = append(t.near, "a table that "+t.titled+" prints is not read: import the file that it writes")
	}
	if len(t.runs) > 0 || len(t.near) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w: %s", t.source, ErrNoResult, strings.Join(t.near, "; "))
}

const maxErrors = 10

// fail keeps the first errors. Reading continues, so that one message names all of them.
func (t *textReader) fail(err error) {
	if err != nil && len(t.errs) < maxErrors {
		t.errs = append(t.errs, err)
	}
}

// failAt records what is wrong with a line.
func (t *textReader) failAt(line int, text string) { t.fail(&Error{t.source, line, errors.New(text)}) }

var (
	blockStart  = lazyregexp.New(`={3,} *Serving Benchmark Result *={3,}`)
	blockEnd    = lazyregexp.New(`^={10,}$`)
	sectionRule = lazyregexp.New(`^-{2,}[^-].*-{2,}$|^-{10,}$`)
	fence       = lazyregexp.New("^\\s*(?:```|~~~)")
	heading     = lazyregexp.New(`^(#{1,6})\s+(\S.*?)\s*#*$`)
	logLine     = lazyregexp.New(
		`^(?:\([^)]*\)\s*)?(?:\[?(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)\b|\[\d{4}-\d\d-\d\d|Traceback |\s*File "|\s+warnings\.warn|\s*\d{1,3}%\|)`)
)

// part reads a line.
func (t *textReader) part(line string, complete bool) {
	defer func() { t.before = line }()
	if t.inReport(line) || t.inPage(line) {
		return
	}
	if at := blockStartOf(line); at != nil {
		t.closeTable()
		inside := t.block != nil && len(t.block.entries) > 0
		if inside || t.block == nil || t.block.bare { // a repeated rule begins one block
			t.closeBlock("another block begins")
		}
		t.block = newBlock(t.line, line[:at[0]])
		t.block.title = t.caption
		t.block.inside = inside || t.within
		t.within = false
		return
	}
	if t.engine.take(line, t.line) {
		return
	}
	if t.block != nil {
		t.inBlock(line, complete)
		return
	}
	if t.inTable(line) {
		return
	}
	figures := strings.IndexByte(line, ':') >= 0 && figureNeedles.in(line)
	if figures && startsBare(line) {
		t.block = &openBlock{line: t.line, bare: true, title: t.caption}
		t.inBlock(line, complete)
		return
	}
	if figures && len(t.runs) == 0 && len(t.near) < maxNear {
		if e, ok := splitEntry(line); ok {
			t.missed([]string{e.label}, []string{e.value})
		}
	}
	t.outside(line)
	t.caption = captionOf(line, t.before, t.caption)
}

// captionOf returns the line that names the next result. It ends with a colon, or it is some words in a paragraph of their own or
// before a fence ("main", "this PR"). Blank lines, fences and hints may follow it.
func captionOf(line, before, caption string) string {
	switch text := strings.TrimSpace(line); {
	case isFence(line):
		return cmp.Or(caption, captionIn(before, false))
	case text == "" || strings.HasPrefix(text, "tip:"):
		return caption
	}
	return captionIn(line, strings.TrimSpace(before) != "")
}

// captionIn returns the name that a line is, "" for another line. A line without a colon at its end is only a name if no sentence
// goes on in it.
func captionIn(line string, goesOn bool) string {
	const longest, words = 60, 4
	if len(line) > 2*longest {
		return ""
	}
	body, colon := strings.CutSuffix(strings.Trim(strings.TrimSpace(line), "*_"), ":")
	body = strings.Trim(body, "*_() ")
	if body == "" || len(body) > longest || !colon && goesOn || strings.ContainsAny(body, ":=|<>{}$") ||
		!colon && (len(strings.Fields(body)) > words || strings.ContainsAny(body[len(body)-1:], ".!?`~")) ||
		heading.MatchString(line) || logLine.MatchString(line) {
		return ""
	}
	return body
}

// reportStart matches the first line of a Benchmark Report of llm-d in YAML.
var reportStart = lazyregexp.New(`^\s*(?:metrics|results|scenario|run|version):`)

// inReport takes the line if it belongs to a YAML report between two fences.
func (t *textReader) inReport(line string) bool {
	switch {
	case t.report == nil && (t.fence == 0 || t.fence != t.line-1 || !reportStart.MatchString(line)):
		return false
	case len(t.report) > 0 && fence.MatchString(line):
		t.closeReport()
	case len(t.report) > maxReportLines:
		t.report = nil
	default:
		t.report = append(t.report, line)
	}
	return true
}

// maxReportLines bounds a report between fences.
const maxReportLines = 100_000

// closeReport reads the report before the closing fence.
func (t *textReader) closeReport() {
	lines, end := t.report, t.line
	t.report, t.fence = nil, 0
	first := lines[0]
	indent := first[:len(first)-len(strings.TrimLeft(first, " "))]
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimPrefix(line, indent) + "\n")
	}
	text := b.String()
	if len(yamlHead.FindAllString(text, 2)) < 2 { // no report: read it as text
		for i, line := range lines {
			t.line = end - len(lines) + i
			t.part(line, true)
		}
		t.line = end
		return
	}
	runs, err := readYAML(bufio.NewReader(strings.NewReader(text)), t.source, t.opt)
	for i := range runs {
		runs[i].Line += t.line - len(lines) - 1
	}
	t.fail(err)
	t.runs = append(t.runs, runs...)
}

// outside finds parameters around the results.
func (t *textReader) outside(line string) {
	isTitle := func(row foreign.Tool) bool { return row.Title != "" && strings.Contains(line, row.Title) }
	if i := slices.IndexFunc(t.opt.Tools, isTitle); i >= 0 {
		t.titled = t.opt.Tools[i].Name
	}
	if strings.Contains(line, "oken") || strings.Contains(line, "ength") { // as the summary of an offline benchmark begins
		if e, ok := splitEntry(line); ok && isNumber(e.value) {
			if f, known := figureOf(e.label); known && f.kind == each {
				t.around.own(map[string]string{f.name + "_len": e.value})
				return
			}
		}
	}
	if t.command != "" || t.needles.in(line) && (t.isCommand(line) || isServerCommand(line)) {
		t.inCommand(line)
		return
	}
	if args := namespaceArgs(line); len(args) > 0 {
		t.around.own(args)
		return
	}
	if m := headingOf(line); m != nil {
		if name, _, _ := strings.Cut(m[2], ":"); isProgress(strings.TrimSpace(name)) { // a log in a comment
			if key, value, ok := settingOf(m[2]); ok {
				t.around.setting(key, value)
			}
			return
		}
		t.around.heading(len(m[1]), m[2])
		return
	}
	if isFence(line) {
		t.fence = t.line
		return
	}
	key, value, ok := settingOf(strings.TrimSpace(line))
	if ok && (isProgress(key) || !strings.Contains(key, " ")) && !logLine.MatchString(line) {
		t.around.setting(key, value)
	}
}

func blockStartOf(line string) []int {
	if !strings.Contains(line, "Serving Benchmark Result") {
		return nil
	}
	return blockStart.FindStringIndex(line)
}

func headingOf(line string) []string {
	if !strings.HasPrefix(line, "#") {
		return nil
	}
	return heading.FindStringSubmatch(line)
}

func isFence(line string) bool {
	return (strings.Contains(line, "```") || strings.Contains(line, "~~~")) && fence.MatchString(line)
}

// isCommand distinguishes a command from a heading that names one.
func (t *textReader) isCommand(line string) bool {
	return t.commands.MatchString(line) && !logLine.MatchString(line) && (strings.Contains(line, " --") ||
		!heading.MatchString(line))
}

// inCommand collects a command of several lines that end with a backslash.
func (t *textReader) inCommand(line string) {
	if t.command != "" {
		line = (&openBlock{}).strip(line)
	}
	body, more := strings.CutSuffix(strings.TrimRight(line, " \t"), `\`)
	if t.command += " " + body; more && len(t.command) < t.opt.Limits.Line {
		return
	}
	if serverPattern.MatchString(t.command) && !t.commands.MatchString(t.command) {
		t.around.server = serverArgs(t.command)
		t.command = ""
		return
	}
	t.around.mine = nil // of a command without a block
	t.engine.forget()   // log lines before the command belong to no run
	t.around.own(commandArgs(t.command))
	t.command = ""
}

// inBlock reads a line between the rules of a block.
func (t *textReader) inBlock(line string, complete bool) {
	b := t.block
	text := b.strip(line)
	if b.bare && !t.goesOn(text) {
		t.closeBlock("it has no first line")
		t.part(line, complete)
		return
	}
	switch {
	case text == "":
	case t.needles.in(line) && (t.isCommand(line) || isServerCommand(line)):
		t.closeBlock("a command follows")
		t.within = true
		t.outside(line)
	case blockEnd.MatchString(text):
		t.closeBlock("")
	case fence.MatchString(text):
		t.closeBlock("a fence ends it")
	case sectionRule.MatchString(text):
		b.section = strings.Trim(text, "- ")
	default:
		t.inEntry(text, complete)
	}
	if len(b.entries)+b.noise > maxBlockLines {
		t.closeBlock("it is too long")
	}
}

// inEntry reads a line of a block that should be a figure, or opens a group of them.
func (t *textReader) inEntry(text string, complete bool) {
	b := t.block
	e, ok := splitEntry(text)
	e.line = t.line
	if words, unit, section := sectionOf(e); ok && section {
		b.words, b.unit, b.foreign = words, unit, b.bare
		return
	}
	e = b.qualify(e)
	f, known := e.figure()
	if _, own := figureOf(e.label); known && !own && f.kind == latency {
		b.foreign = b.bare
	}
	switch {
	case ok && (known || !logLine.MatchString(text)):
		if !complete {
			t.failAt(t.line, "the file ends in the middle of a figure")
		}
		b.entries = append(b.entries, e)
	case beginsLikeFigure(text), !b.bare && beginsLikeLabel(text):
		t.failAt(t.line, clip(text)+" is not a label and a value")
	default:
		b.noise++
	}
}

// goesOn reports whether a line continues a block without its opening rule: only typical lines do.
func (t *textReader) goesOn(text string) bool {
	e, ok := splitEntry(text)
	_, _, section := sectionOf(e)
	_, known := t.block.qualify(e).figure()
	counts := strings.Contains(e.label, " ") && isNumberLike(e.value) // "Total time: 12 s", which is kept as text
	return text == "" || ok && (known || section || counts) || beginsLikeFigure(text) || blockEnd.MatchString(text) ||
		sectionRule.MatchString(text)
}

// closeBlock turns the open block, if any, into a run. If the block has no closing rule, why says what ended it.
func (t *textReader) closeBlock(why string) {
	b := t.block
	t.block = nil
	switch {
	case b == nil:
	case b.bare && !b.isBlock():
		if len(t.near) < maxNear {
			t.near = append(t.near, fmt.Sprintf("line %d: %d figures without the lines around a block: 4 are needed", b.line, len(b.entries)))
		}
	case b.inside && b.succeeded() < 0 && !slices.Equal(b.labels(), t.previous):
		t.failAt(b.line, "this block begins inside another one and has no number of requests: two logs are mixed, or one is cut; give each a "+
			"file of its own")
	default:
		if b.bare {
			why = "nor a first one"
		}
		run := t.runOf(b, why)
		t.readEngine(run)
		t.runs = append(t.runs, *run)
		t.around.next()
		t.engine.forget()
		t.caption, t.previous = "", b.labels()
	}
}

// runOf makes a run of a block's figures and of the parameters around it.
func (t *textReader) runOf(b *openBlock, why string) *Run {
	tool := b.tool(t.opt.Tools)
	if b.foreign {
		tool = t.opt.Tool
	}
	run := t.opt.newRun(FormatBlock, tool, t.source, b.line)
	run.bare = b.bare
	t.around.apply(run, b.succeeded())
	b.setBackend(run)
	if b.title != "" {
		run.setParam("label", b.title)
	}
	if len(t.around.mine) == 0 {
		run.checkLabels(b)
	}
	run.open = why != "" && !b.bare
	if why != "" {
		run.warnf("the block of line %d has no closing line (%s): figures may be missing", b.line, why)
	}
	if b.noise > 0 {
		run.warnf("%d lines inside the block are not figures", b.noise)
	}
	t.fail(run.fill(b.entries))
	if run.Tool == "" {
		run.assumeTool("")
	}
	if len(run.Other) > 0 {
		run.infof("labels that are not known here are kept as text: %s", clip(strings.Join(slices.Sorted(maps.Keys(run.Other)), ", ")))
	}
	return run
}

// readEngine adds what the engine's log before the end of a block says to the run of the block.
func (t *textReader) readEngine(run *Run) {
	if run.Engine = t.engine.samples(); slices.ContainsFunc(run.Engine, func(s EngineSample) bool { return s.Time.IsZero() }) {
		run.infof("lines of the engine's log have no time stamps: only the largest values are kept")
	}
	for name, v := range t.engine.peaks {
		run.audit("engine_"+name+"_max", v)
	}
	if n := t.engine.others; n > 0 {
		run.infof("the engine's log names more than %d engines: %d lines of the others are left out", maxEngines, n)
	}
}

// adoptTool gives table rows the tool of the blocks in the same text, if these agree.
func (t *textReader) adoptTool() {
	tool := t.opt.Tool
	for i := range t.runs {
		if r := &t.runs[i]; r.Format == FormatBlock && tool == "" {
			tool = r.Tool
		} else if r.Format == FormatBlock && r.Tool != tool && t.opt.Tool == "" {
			return
		}
	}
	for i := range t.runs {
		if r := &t.runs[i]; r.Format == FormatTable && r.Tool == "" {
			r.assumeTool(tool)
		}
	}
}
