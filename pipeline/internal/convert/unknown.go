package convert

import (
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// identity matches parameters that name what was measured, and not how.
var identity = lazyregexp.New(`^(?:(?:.*_)?(?:name|label|title|description|comment|notes?|commit|sha|hash|revision|rev|branch|ref|` +
	`build|image|tag|variant|release|version|job|user|author)|side|arm|group|benchmark|source|backend_setting|column|section|subsection|` +
	`heading|framework|engine|server)$`)

// ofSetup matches names that people give to the column of what they compare.
var ofSetup = lazyregexp.New(`^(?:config(?:uration)?|setup|method|approach|impl(?:ementation)?)$`)

// ofServer matches settings of the server beside its arguments: its parallelism and its numbers.
var ofServer = lazyregexp.New(`^(?:` + serverPrefix + `|server_|engine_|machine_|world_).*|^(?:[tpdec]p|dcp|pcp)(?:_size)?$|` +
	`(?:^|_)parallel(?:ism)?(?:_size)?$|^(?:kv_cache_)?(?:dtype|quant|quantization|precision)$`)

// ofFigure matches names of what was measured, and figures that compare others.
var ofFigure = lazyregexp.New(`(?:^|_)(?:mean|avg|average|median|std|stddev|p\d{1,2}|percentile|latency|latencies|throughput|util|` +
	`utili[sz]ation|usage|used|power|energy|score|accuracy|fail(?:ed|ures?)|errors?|retries|preemptions?|hit_rate|acceptance|cost|speedup|` +
	`speed_up|delta|diff|difference|change|improvement|rank|measured|observed|achieved|actual|elapsed|completed|succeeded|successful|` +
	`peak|total|sum|goodput|tput|prefill|decode|response_time|rtf|interactivity|gib|mib|vram)(?:_|$)|^[\d_]+$`)

// timed matches names that end in a unit of time, and timeSetting those of them that are set and not measured.
var (
	timed       = lazyregexp.New(`_(?:ms|us|ns|s|secs?|seconds)$`)
	timeSetting = lazyregexp.New(`timeout|duration|interval|delay|window|warm_?up|ramp|sleep|think|deadline|slo|limit|budget|target|max|min`)
)

// unknown returns the parameters of unknown meaning. It leaves out given, the parameters that a format understands,
// and every name that identifies the result, describes the server or denotes a figure.
func (r *Run) unknown(given []string) map[string]string {
	out := map[string]string{}
	add := func(key, value string) {
		switch {
		case key == "" || value == "" || isKnownParam(key) || secretKey.MatchString(key):
		case identity.MatchString(key) || ofServer.MatchString(key) || ofFigure.MatchString(key) ||
			ofSetup.MatchString(key) || timed.MatchString(key) && !timeSetting.MatchString(key):
		case isGiven(given, key):
		default:
			out[key] = value
		}
	}
	for key, value := range r.Params {
		add(key, value)
	}
	for label, value := range r.Other {
		if key := canonicalKey(label); r.Params[key] == "" {
			add(key, canonicalValue(strings.Trim(value, "`*")))
		}
	}
	return out
}
