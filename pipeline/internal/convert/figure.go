package convert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
)

// figure is the meaning of a label of a block, a column of a table or a key of a JSON file,
// whatever the tool.
type figure struct {
	kind kind
	// group and stat of a metric ("ttft", "p99"), before the tool's definition applies.
	group, stat string
	// name of a count or a parameter.
	name string
	// shift is the power of ten from the printed unit to the stored one (ms: -3).
	shift int
}

type kind int

const (
	unknown  kind = iota
	latency       // a statistic of a group of times
	rate          // one number of the run
	count         // requests or tokens
	duration      // of the run
	param         // a setting printed among the figures
	each          // mean tokens of a request
)

// unstated is the statistic of a time whose label names none. Such a time is not compared with
// named statistics.
const unstated = "value"

// unitPattern finds the unit at the end of a label: "Mean TTFT (ms)".
var unitPattern = lazyregexp.New(`^(.*?)\s*[(\[]([^()\[\]]*)[)\]]$`)

// unitWithin finds a unit elsewhere in a label: "TTFT (ms) p50", "ttft_ms_p50", "TTFT p99, ms", "TTFT p99 / ms".
var unitWithin = []*lazyregexp.Regexp{
	lazyregexp.New(`^(.+?)\s*[(\[]([^()\[\]]*)[)\]]\s*(.+)$`),
	lazyregexp.New(`^(.+)_(ms|us|ns|s|sec|seconds)_((?:mean|avg|average|median|std|stddev|min|max|p\d{1,2})(?:_.*)?)$`),
	lazyregexp.New(`^(.+?)(?:,\s*|\s[-/|]\s?)(\S+)()$`),
	lazyregexp.New(`^(.*\b(?:\w*[^r\W]|p\d+))\s(ms|us|µs|s|sec|secs|seconds)()$`), // "P50 TTFT ms", and not "tokens per s"
}

// statPattern splits "p99 ttft" and "mean e2e latency".
var statPattern = lazyregexp.New(`^(mean|avg|average|median|std|stddev|min|max|minimum|maximum|p\d{1,2}(?:\.\d{1,3})?)\s+(.+)$`)

// figureOf returns the figure of a label ("Mean TTFT (ms)"), a heading of a table ("P99 ITL (ms)")
// or a key ("p99_itl_ms").
func figureOf(label string) (figure, bool) {
	words, unit := labelWords(label)
	if f, ok := singles[words]; ok && (words != "request count" || unit != "") { // without a unit it counts failures, too
		return f.withUnit(unit)
	}
	if f, ok := workFigures()[words]; ok {
		return f.withUnit(unit)
	}
	// The latency stands last or first: "p99 ttft", and in tables "ttft p99".
	m := statPattern.FindStringSubmatch(words)
	if m == nil {
		if i := strings.LastIndexByte(words, ' '); i > 0 {
			m = statPattern.FindStringSubmatch(words[i+1:] + " " + words[:i])
		}
	}
	shift, ok := timeShift[unit]
	if group := latencyNames[words]; m == nil && group != "" && ok && unit != "" {
		return figure{kind: latency, group: group, stat: unstated, shift: shift}, true
	}
	if m == nil {
		return throughputOf(words, unit)
	}
	group := latencyNames[m[2]]
	if rateUnits[unit] != "" {
		if f, known := singles[m[2]]; known && canonicalStat(m[1]) == "mean" {
			return f.withUnit(unit)
		}
		return throughputOf(words, unit)
	}
	if group == "" && ok && unit != "" {
		group = idSlug(m[2]) // an unknown latency keeps its name
	}
	if group == "" || !ok {
		return figure{}, false
	}
	return figure{kind: latency, group: group, stat: canonicalStat(m[1]), shift: shift}, true
}

// throughputOf returns the figure of a rate that has no entry in singles. Its unit distinguishes requests from tokens, but tokens
// may be those of answers or all. An unknown rate keeps its name, so that it is never taken for a setting.
func throughputOf(words, unit string) (figure, bool) {
	if i := strings.LastIndexByte(words, ' '); unit == "" && rateUnits[words[i+1:]] != "" {
		words, unit = words[:max(0, i)], unitOfText(words[i+1:])
	}
	switch stat, rest, _ := strings.Cut(words, " "); {
	case unit == "" && words == "tok s" || unit == "" && words == "tokens per second":
		return rateOf("token_throughput", unstated), true
	case rateUnits[unit] == "" || isKnownParam(words) || comparability.Lookup(slug(words)) != nil:
		return figure{}, false
	case slices.Contains([]string{"", "throughput", "tput", "mean", "average", "avg"}, rest) &&
		(slices.Contains([]string{"", "throughput", "tput"}, stat) || rest != "" && canonicalStat(stat) == "mean"):
		if unit == "req/s" {
			return rateOf("request_throughput", "mean"), true
		}
		if unit == "tok/s" {
			return rateOf("token_throughput", unstated), true
		}
	}
	name := slices.DeleteFunc(strings.Fields(words), func(w string) bool { return w == "throughput" || w == "tput" })
	return rateOf(idSlug(strings.Join(append(name, strings.Split(unit, "/")...), " ")+" throughput"), unstated), true
}

// labelWords reduces a label or a key to lower-case words and the unit.
func labelWords(label string) (words, unit string) {
	s := strings.ToLower(strings.TrimSpace(strings.Trim(strings.TrimSpace(label), "*`:")))
	if i := strings.LastIndexByte(s, '['); i > 0 && listIndex.MatchString(s[i:]) {
		s = s[:i]
	}
	if m := unitPattern.FindStringSubmatch(s); m != nil && isUnit(m[2]) {
		s, unit = m[1], unitOfText(m[2])
	} else if body, found := strings.CutSuffix(s, "_ms"); found {
		s, unit = body, "ms"
	} else if body, u, found := cutUnitSuffix(s); found {
		s, unit = body, u
	} else {
		s, unit = cutUnitWithin(s)
	}
	s = ordinal.ReplaceAllString(translated.Replace(betweenWords.Replace(s)), "p$1 ")
	return strings.Join(strings.Fields(s), " "), unit
}

var (
	betweenWords = strings.NewReplacer("_", " ", "-", " ", "(", "", ")", "")
	// ordinal matches a percentile in words: "99.00 percentile first token latency", "99th percentile TTFT".
	ordinal = lazyregexp.New(`\b(\d{1,2})(?:\.0+)?(?:th|%)? percentile `)
	// listIndex matches the place of a figure in a list: "mean_ttft_ms[0]".
	listIndex = lazyregexp.New(`^\[\d+\]$`)
	// translated has the words of labels in Chinese.
	translated = strings.NewReplacer("平均", "mean ", "均值", "mean", "中位数", "median ", "最大", "max ", "最小", "min ",
		"首token时延", "ttft", "首字延迟", "ttft", "首token延迟", "ttft", "端到端时延", "e2el", "端到端延迟", "e2el",
		"输出吞吐", "output throughput", "输入吞吐", "input throughput",
		"总吞吐", "total throughput", "请求吞吐", "request throughput",
		"吞吐量", "throughput", "吞吐", "throughput")
)

// cutUnitWithin removes a unit of time or of a rate that is not at the end of a label as units usually are.
func cutUnitWithin(s string) (body, unit string) {
	for _, pattern := range unitWithin {
		if m := pattern.FindStringSubmatch(s); m != nil && (isTimeUnit(m[2]) || rateUnits[m[2]] != "") {
			return m[1] + " " + m[3], unitOfText(m[2])
		}
	}
	return s, ""
}

// cutUnitSuffix removes the unit of a column such as "request_throughput_req_s".
func cutUnitSuffix(s string) (body, unit string, found bool) {
	for _, u := range [][2]string{{"_req_s", "req/s"}, {"_tok_s", "tok/s"}, {"_rps", "rps"}} {
		if body, ok := strings.CutSuffix(s, u[0]); ok {
			return body, u[1], true
		}
	}
	if body, ok := strings.CutSuffix(s, "duration_s"); ok {
		return body + "duration", "s", true
	}
	for _, u := range [][2]string{{"_s", "s"}, {"_sec", "s"}, {"_seconds", "s"}, {"_us", "us"}, {"_ns", "ns"}} {
		if body, ok := strings.CutSuffix(s, u[0]); ok && isLatency(body) {
			return body, u[1], true
		}
	}
	return s, "", false
}

// isLatency reports whether a key without its unit names a time, with a statistic or without.
func isLatency(key string) bool {
	words := strings.Join(strings.FieldsFunc(key, func(c rune) bool { return c == '_' || c == '-' || c == ' ' }), " ")
	if latencyNames[words] != "" {
		return true
	}
	m := statPattern.FindStringSubmatch(words)
	if m == nil {
		if i := strings.LastIndexByte(words, ' '); i > 0 {
			m = statPattern.FindStringSubmatch(words[i+1:] + " " + words[:i])
		}
	}
	return m != nil && latencyNames[m[2]] != ""
}

func canonicalStat(s string) string {
	switch s {
	case "avg", "average":
		return "mean"
	case "minimum", "maximum":
		return s[:3]
	case "median":
		return "p50"
	case "stddev":
		return "std"
	}
	if digits, ok := strings.CutPrefix(s, "p"); ok {
		if x, err := strconv.ParseFloat(digits, 64); err == nil {
			return "p" + strconv.FormatFloat(x, 'f', -1, 64)
		}
	}
	return s
}

// timeShift is the power of ten of a unit of time. A missing unit means seconds only in some
// places.
var timeShift = map[string]int{
	"s": 0, "sec": 0, "secs": 0, "second": 0, "seconds": 0, "ms": -3, "msec": -3, "millisecond": -3, "milliseconds": -3,
	"us": -6, "µs": -6, "usec": -6, "microseconds": -6, "ns": -9, "nanoseconds": -9,
}

// rateUnits are the names of units of rates, by the unit that they mean.
var rateUnits = map[string]string{
	"req/s": "req/s", "reqs/s": "req/s", "req/sec": "req/s", "reqs/sec": "req/s", "requests/s": "req/s", "requests/sec": "req/s",
	"requests/second": "req/s", "request/s": "req/s", "rps": "req/s",
	"tok/s": "tok/s", "toks/s": "tok/s", "tok/sec": "tok/s", "token/s": "tok/s", "token/sec": "tok/s", "tokens/s": "tok/s",
	"tokens/sec": "tok/s", "tokens/second": "tok/s", "tps": "tok/s", "t/s": "tok/s",
	"tok/s/user": "tok/s/user", "tokens/s/user": "tok/s/user", "tokens/sec/user": "tok/s/user", "tps/user": "tok/s/user",
	"tok/s/gpu": "tok/s/gpu", "tokens/s/gpu": "tok/s/gpu", "tokens/sec/gpu": "tok/s/gpu", "tps/gpu": "tok/s/gpu",
}

// unitsPattern returns a pattern of all rateUnits, the longest first.
func unitsPattern() string {
	names := slices.SortedFunc(maps.Keys(rateUnits), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return strings.Join(names, "|")
}

// unitOfText returns the one name of a unit.
func unitOfText(unit string) string {
	return strings.Replace(cmp.Or(rateUnits[unit], unit), "μs", "us", 1)
}

// knownUnits may end a label beside units of time and of rates. Other text in parentheses belongs to the label: "Total
// generated tokens (retokenized)".
var knownUnits = map[string]bool{"%": true, "tokens": true, "requests": true, "per sec": true, "count": true}

// isUnit reports whether a text is a unit that labels have.
func isUnit(text string) bool { return knownUnits[text] || rateUnits[text] != "" || isTimeUnit(text) }

// latencyNames are the names of groups of times in what tools print and store.
var latencyNames = map[string]string{
	"ttft": "ttft", "time to first token": "ttft", "first token latency": "ttft", "time to 1st token": "ttft",
	"tpot": "tpot", "time per output token": "tpot", "time/output token": "tpot",
	"itl": "itl", "inter token latency": "itl", "intertoken latency": "itl",
	"request latency": "e2el", "e2e request latency": "e2el",
	"e2el": "e2el", "e2e latency": "e2el", "e2e": "e2el", "end to end latency": "e2el", "latency": "e2el",
	"client queue time": "queue", "client queue": "queue",
	"e2el incl. client queue": "e2el_from_schedule", "e2el including client queue": "e2el_from_schedule",
	"token latency": "token_latency", "probe e2el": "probe_e2el",
}

// singles are the figures with a single number, by the words of their label or key.
var singles = map[string]figure{
	"successful requests": {kind: count, name: "succeeded"}, "completed": {kind: count, name: "succeeded"},
	"completed requests": {kind: count, name: "succeeded"}, "succeed requests": {kind: count, name: "succeeded"},
	"request count":   {kind: count, name: "succeeded"},
	"failed requests": {kind: count, name: "failed"}, "failed": {kind: count, name: "failed"},
	"total input tokens": {kind: count, name: "input"}, "total input": {kind: count, name: "input"},
	"total generated tokens": {kind: count, name: "output"}, "total output tokens": {kind: count, name: "output"},
	"total generated tokens retokenized": {kind: count, name: "retokenized"}, "total output tokens retokenized": {kind: count,
		name: "retokenized"},
	"total input text tokens": {kind: count, name: "input_text"}, "total input vision tokens": {kind: count, name: "input_vision"},
	"total input sequences": {kind: count, name: "input_sequences"},

	"benchmark duration": {kind: duration}, "duration": {kind: duration}, "time taken for tests": {kind: duration},

	"request throughput": rateOf("request_throughput", "mean"), "req throughput": rateOf("request_throughput", "mean"),
	"req tput": rateOf("request_throughput", "mean"), "completed samples per second": rateOf("request_throughput", "mean"),
	"prompt throughput": rateOf("input_throughput", "mean"), "generation throughput": rateOf("output_throughput", "mean"),
	"total output throughput": rateOf("output_throughput", "mean"), "completed tokens per second": rateOf("output_throughput", "mean"),
	"input token throughput": rateOf("input_throughput", "mean"), "input throughput": rateOf("input_throughput", "mean"),
	"output token throughput": rateOf("output_throughput", "mean"), "output throughput": rateOf("output_throughput", "mean"),
	"total token throughput": rateOf("total_throughput", "mean"), "total throughput": rateOf("total_throughput", "mean"),
	"request goodput":              rateOf("goodput", "rate"),
	"peak output token throughput": rateOf("output_throughput", "peak_second"),
	"max output tokens per s":      rateOf("output_throughput", "peak_second"),
	"peak concurrent requests":     rateOf("concurrency", "peak_second"), "max concurrent requests": rateOf("concurrency", "peak_second"),
	// Headings of tables that people write.
	"req/s": rateOf("request_throughput", "mean"), "requests/s": rateOf("request_throughput", "mean"),
	"requests/sec": rateOf("request_throughput", "mean"),
	"input tok/s":  rateOf("input_throughput", "mean"), "input tokens/s": rateOf("input_throughput", "mean"),
	"input tokens/sec": rateOf("input_throughput", "mean"),
	"output tok/s":     rateOf("output_throughput", "mean"), "output tokens/s": rateOf("output_throughput", "mean"),
	"output tokens/sec": rateOf("output_throughput", "mean"),
	"total tok/s":       rateOf("total_throughput", "mean"), "total tokens/s": rateOf("total_throughput", "mean"),
	"total tokens/sec": rateOf("total_throughput", "mean"),
	"output tput":      rateOf("output_throughput", "mean"), "input tput": rateOf("input_throughput", "mean"),
	"total tput":        rateOf("total_throughput", "mean"),
	"peak output tok/s": rateOf("output_throughput", "peak_second"),

	"concurrency":                   rateOf("concurrency", "mean"),
	"number of concurrent requests": rateOf("concurrency", "mean"),
	"concur":                        rateOf("concurrency", "mean"), "conc": rateOf("concurrency", "mean"),
	"mean concurrency": rateOf("concurrency", "mean"),
	"rtfx":             rateOf("rtfx", "mean"),
	"accept length":    rateOf("spec_decode", "acceptance_length"),
	"acceptance rate":  {kind: rate, group: "spec_decode", stat: "acceptance_rate"}, "acceptance length": rateOf("spec_decode",
		"acceptance_length"),
	"spec decode acceptance rate":   {kind: rate, group: "spec_decode", stat: "acceptance_rate", shift: -2},
	"spec decode acceptance length": rateOf("spec_decode", "acceptance_length"),
	"drafts":                        rateOf("spec_decode", "drafts"), "spec decode num drafts": rateOf("spec_decode", "drafts"),
	"draft tokens": rateOf("spec_decode", "draft_tokens"), "spec decode draft tokens": rateOf("spec_decode", "draft_tokens"),
	"accepted tokens": rateOf("spec_decode", "accepted_tokens"), "spec decode accepted tokens": rateOf("spec_decode", "accepted_tokens"),
	"input sequence throughput": rateOf("input_sequence_throughput", "mean"),

	"backend": {kind: param, name: "backend"}, "traffic request rate": {kind: param, name: "request_rate"},
	"request rate configured": {kind: param, name: "request_rate"}, "maximum request concurrency": {kind: param, name: "max_concurrency"},
	"max request concurrency": {kind: param, name: "max_concurrency"}, "max reqeuest concurrency": {kind: param, name: "max_concurrency"},
	"num prompts": {kind: param, name: "num_prompts"}, "request rate": {kind: param, name: "request_rate"},
	"max concurrency": {kind: param, name: "max_concurrency"}, "qps": {kind: param, name: "request_rate"},
	"rps": {kind: param, name: "request_rate"},
}

func rateOf(group, stat string) figure { return figure{kind: rate, group: group, stat: stat} }

// withUnit applies the printed unit of a single figure. A unit of another kind of figure makes it
// unknown rather than wrong.
func (f figure) withUnit(unit string) (figure, bool) {
	switch {
	case f.kind == duration:
		shift, ok := timeShift[unit]
		f.shift = shift
		return f, ok || unit == ""
	case unit == "%":
		f.shift = -2
		return f, f.kind == rate
	case f.kind == count || f.kind == each:
		return f, unit == "" || unit == "tokens" || unit == "requests" || unit == "count"
	case f.kind == latency:
		return f, unit == ""
	}
	_, isTime := timeShift[unit]
	return f, !isTime || unit == ""
}

// numberPattern matches a decimal number as Python prints it, without thousands separators, hex
// digits or units.
var numberPattern = lazyregexp.New(`^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?$`)

func isNumber(s string) bool { return numberPattern.MatchString(s) }

// decimalComma matches a number with a decimal comma, as many countries write it.
var decimalComma = lazyregexp.New(`^-?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+$`)

// errNoData is returned for a figure printed without a value (nan).
var errNoData = fmt.Errorf("no data")

// parseNumber parses text times ten to the power of shift. It shifts the text, so that the value is
// the float64 nearest to the printed one.
func parseNumber(text string, shift int) (float64, error) {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "nan", "-nan", "n/a", "none", "null", "-", "—", "–", "...", "…":
		return 0, errNoData
	}
	if decimalComma.MatchString(text) {
		return 0, fmt.Errorf("%s is not a number: is its comma a decimal point?", clip(text))
	}
	if !isNumber(text) {
		return 0, fmt.Errorf("%s is not a number", clip(text))
	}
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		exponent, _ = strconv.Atoi(text[i+1:])
	}
	v, err := strconv.ParseFloat(mantissa+"e"+strconv.Itoa(exponent+shift), 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%s is out of range", clip(text))
	}
	return v, nil
}

// parseCount parses a number of requests or tokens.
func parseCount(text string) (int64, error) {
	v, err := parseNumber(text, 0)
	if err != nil {
		return 0, err
	}
	if v < 0 || v != math.Trunc(v) || v > 1<<53 {
		return 0, fmt.Errorf("%s is not a count", clip(text))
	}
	return int64(v), nil
}

// parseRequests parses a number of requests.
func parseRequests(text string) (int, error) {
	n, err := parseCount(text)
	if err == nil && n > 1<<31-1 {
		err = fmt.Errorf("%d requests are too many", n)
	}
	return int(n), err
}

// clip quotes at most 60 bytes of a file's text for a message.
func clip(s string) string {
	const limit = 60
	if len(s) <= limit {
		return strconv.Quote(s)
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "…"
}

// notWord separates the words of a name, in any script.
var notWord = lazyregexp.New(`[^\p{L}\p{M}\p{N}]+`)

// slug makes a parameter name of any text. Texts with different words have different names.
func slug(s string) string {
	const limit = 60
	s = strings.Trim(notWord.ReplaceAllString(strings.ToLower(s), "_"), "_")
	if len(s) <= limit {
		return s
	}
	cut := limit - digestLength - 1
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strings.TrimRight(s[:cut], "_") + "_" + digestOf(s)
}

// idSlug makes a part of an id of any text: ASCII letters, digits and underscores.
func idSlug(s string) string {
	s = slug(s)
	var b strings.Builder
	other := false
	for _, c := range s {
		if c < utf8.RuneSelf {
			b.WriteRune(c)
			continue
		}
		other = true
	}
	if !other {
		return s
	}
	name := strings.Trim(b.String(), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "x" + name
	}
	return name + "_" + digestOf(s)
}

const digestLength = 8

// digestOf distinguishes names that would otherwise be equal.
func digestOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:digestLength/2])
}
