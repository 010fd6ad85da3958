package interchange

import (
	"regexp"
	"strings"
)

// EngineSample is one line of an engine's log about its load: a point of a time series.
type EngineSample struct {
	Line int `json:"line"`
	// Time as the engine printed it ("09-02 13:08:10"), and the Engine of several ("000").
	Time   string `json:"time,omitempty"`
	Engine string `json:"engine,omitempty"`
	// Values by name: prompt_throughput and generation_throughput in tok/s, running,
	// waiting and swapped requests, kv_cache_usage and prefix_hit_rate as fractions.
	Values map[string]float64 `json:"values"`
}

// enginePatterns find the figures in lines of vLLM ("Avg prompt throughput: 0.0 tokens/s,
// …, Running: 10 reqs") and SGLang ("Decode batch. #running-req: 1, …").
var enginePatterns = []struct {
	name    string
	pattern *regexp.Regexp
	shift   int
}{
	{"prompt_throughput", regexp.MustCompile(`Avg prompt throughput: (\S+) tokens/s`), 0},
	{"generation_throughput", regexp.MustCompile(`(?:Avg generation throughput: |gen throughput \(token/s\): )([\d.]+)`), 0},
	{"running", regexp.MustCompile(`(?:Running: |#running-req: )(\d+)`), 0},
	{"waiting", regexp.MustCompile(`(?:Waiting: |Pending: |#queue-req: )(\d+)`), 0},
	{"swapped", regexp.MustCompile(`Swapped: (\d+)`), 0},
	{"kv_cache_usage", regexp.MustCompile(`GPU KV cache usage: ([\d.]+)%`), -2},
	{"kv_cache_usage", regexp.MustCompile(`token usage: ([\d.]+)`), 0},
	{"prefix_hit_rate", regexp.MustCompile(`[Pp]refix cache hit rate: (?:GPU: )?([\d.]+)%`), -2},
}

var (
	engineLine = regexp.MustCompile(`Avg prompt throughput: |(?:Decode|Prefill) batch[.,]`)
	engineName = regexp.MustCompile(`Engine (\d{1,6}):`)
	engineTime = regexp.MustCompile(`\d{2,4}-\d{2}(?:-\d{2})? \d{2}:\d{2}:\d{2}`)
)

// ParseEngineLine reads a line of an engine's log about its load. It reports false for
// any other line.
func ParseEngineLine(line string) (EngineSample, bool) {
	if !strings.Contains(line, "throughput") && !strings.Contains(line, " batch") || !engineLine.MatchString(line) {
		return EngineSample{}, false
	}
	s := EngineSample{Time: engineTime.FindString(line), Values: map[string]float64{}}
	if m := engineName.FindStringSubmatch(line); m != nil {
		s.Engine = m[1]
	}
	for _, p := range enginePatterns {
		m := p.pattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if v, err := parseNumber(m[1], p.shift); err == nil {
			s.Values[p.name] = v
		}
	}
	return s, len(s.Values) > 0
}
