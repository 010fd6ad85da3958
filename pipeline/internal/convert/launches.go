package convert

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// serverStart matches parameters with the start time of a server, and serverName those that
// identify its process.
var (
	serverStart = lazyregexp.New(
		`^(?:server|engine|process|container|pod)_(?:\w+_)?start(?:ed|up)?(?:_(?:time|at|ts|timestamp|seconds|unix))*$`)
	serverName = lazyregexp.New(`^(?:\w+_)?(?:container_id|pod_uid|boot_id|instance_uuid)$`)
	uptime     = lazyregexp.New(`^(?:server|engine|process|container|pod)_uptime(?:_s|_sec|_seconds)?$`)
	counter    = lazyregexp.New(`(?:requests?|tokens?|success)(?:_\w+)?_total$`)
)

// quickestStart is less than a server that imports torch and loads a model needs between the last
// request of a measurement and the first of the next, including the starts of server and load generator.
const quickestStart = 3 * time.Second

// slowServer matches the names of servers that need at least quickestStart, and quickServer those of
// servers that start in a tenth of a second.
var (
	slowServer  = lazyregexp.New(`(?i)vllm|sglang|tensorrt|trt-?llm|\btgi\b|lmdeploy|dynamo`)
	quickServer = lazyregexp.New(`(?i)llama[._ -]?cpp|llama-server|llamafile|ollama|lm-?studio|gguf`)
)

// startsSlowly reports whether the server is known to need quickestStart. If nothing names it, it is
// assumed to be the engine that the load generator belongs to.
func (r *Run) startsSlowly() bool {
	all := []string{r.Tool}
	for _, key := range []string{"backend", "engine", "server", "runtime", "framework", "model", "served_model_name"} {
		all = append(all, r.Params[key])
	}
	names := strings.Join(all, " ")
	return !quickServer.MatchString(names) && (r.served || len(r.Engine) > 0 || slowServer.MatchString(names))
}

// SharedLaunch returns why results declared as different launches are one, "" if nothing shows it:
// their server has the same start, its counters continue, or there was no time to start another.
func SharedLaunch(runs []Run, opt Options) string {
	byLaunch := map[string]string{}
	for i := range runs {
		r := &runs[i]
		launch, err := opt.launchKey(r)
		if err != nil || r.SameAs != 0 {
			continue
		}
		for _, id := range r.serverIDs() {
			if other, seen := byLaunch[id]; seen && other != launch {
				return fmt.Sprintf("%s and %s are of one launch of the server: %s", other, launch, id)
			}
			byLaunch[id] = launch
		}
	}
	return consecutive(runs, opt)
}

// serverIDs returns what identifies the launch of a result.
func (r *Run) serverIDs() []string {
	var out []string
	for key, v := range r.Params {
		switch {
		case serverName.MatchString(key), (serverStart.MatchString(key) || key == "process_start_time_seconds") && !parseTime(v).IsZero():
			out = append(out, key+" is "+v)
		case uptime.MatchString(key):
			up, err := parseNumber(v, 0)
			if at := r.Measured(); err == nil && !at.IsZero() {
				const apart = 10 // seconds that may lie between the result and the uptime
				out = append(out, fmt.Sprintf("by its uptime it was started at %s",
					at.Add(-time.Duration(up*float64(time.Second))).Round(apart*time.Second).Format(time.RFC3339)))
			}
		}
	}
	slices.Sort(out)
	return out
}

// consecutive compares each two successive results of one side.
func consecutive(runs []Run, opt Options) string {
	var timed []*Run
	for i := range runs {
		if r := &runs[i]; r.SameAs == 0 && !r.Measured().IsZero() {
			timed = append(timed, r)
		}
	}
	slices.SortStableFunc(timed, func(a, b *Run) int { return cmp.Compare(a.Measured().UnixNano(), b.Measured().UnixNano()) })
	for i, b := range timed {
		for j := i - 1; j >= 0; j-- {
			a := timed[j]
			if !sameButRepeated(a, b) {
				continue
			}
			first, errA := opt.launchKey(a)
			second, errB := opt.launchKey(b)
			if errA != nil || errB != nil || first == second {
				break
			}
			if why := goesOn(a, b); why != "" {
				return fmt.Sprintf("%s and %s are of one launch of the server: %s", first, second, why)
			}
			break
		}
	}
	return ""
}

// sameButRepeated reports whether two results differ only in what repetitions may differ in.
func sameButRepeated(a, b *Run) bool {
	return a.Tool == b.Tool && !slices.ContainsFunc(differing([]*Run{a, b}), func(key string) bool {
		return !volatile.MatchString(key) && !counter.MatchString(key) && !uptime.MatchString(key) && !serverStart.MatchString(key)
	})
}

// goesOn returns why a result was measured on the server of the previous one.
func goesOn(a, b *Run) string {
	for key, text := range b.Params {
		after, errB := parseNumber(text, 0)
		before, errA := parseNumber(a.Params[key], 0)
		if !counter.MatchString(key) || errA != nil || errB != nil || before <= 0 {
			continue
		}
		done := []float64{float64(b.Counts.Succeeded), float64(b.Counts.Sent), float64(b.Counts.InputTokens), float64(b.Counts.OutputTokens)}
		if slices.ContainsFunc(done, func(n float64) bool { return n > 0 && math.Abs(after-before-n) <= 0.01*n }) {
			return fmt.Sprintf("its counter %s goes on from %s to %s", key, a.Params[key], text)
		}
	}
	if a.Duration <= 0 || b.Duration <= 0 || !b.startsSlowly() {
		return ""
	}
	// A time may be that of the start or of the end.
	longest := time.Duration(min(a.Duration, b.Duration) * float64(time.Second))
	const unsure = 2 * time.Second // a longer overlap means another server, for example on another machine
	if gap := b.Measured().Sub(a.Measured()) - longest; gap > -unsure && gap < quickestStart {
		return fmt.Sprintf("the second began %s after the first ended, and no server starts in that",
			strings.TrimPrefix(gap.Round(time.Second).String(), "-"))
	}
	return ""
}
