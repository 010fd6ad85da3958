package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// volatile matches parameters in which repetitions of a measurement differ: time, place and name.
var volatile = lazyregexp.New(
	`^(?:server_)?(?:(?:random_|base_)?seed|date|time|datetime|timestamp|(?:benchmark_)?(?:start|end)_time(?:_unix)?|created(?:_at)?|` +
		`.*(?:_dir|_file|_filename|_path|_id|_uid)|file|filename|output|uid|uuid|id|host|hostname|node|ip|url|(?:.*_)?port|base_url|(?:.*_)?addr|pid|tip|request_id_prefix|version|cli_command|` +
		`launch|repeat|run|run_number|pass|iteration|iter|trial|attempt|rep|round|h[1-6])$`)

// launchLike matches parameters that may number the starts of a server.
var launchLike = lazyregexp.New(`^(?:launch|repeat|run|trial|attempt|rep|round|iteration|iter)$`)

// undeclared returns parameters, besides those given, in which results differ although repetitions
// do not differ in them.
func undeclared(runs []*Run, given []string) []string {
	var out []string
	for _, key := range differing(runs) {
		loose := func(r *Run) bool { _, has := r.Params[key]; return !has || r.loose[key] }
		if !isGiven(given, key) && !volatile.MatchString(key) && slices.ContainsFunc(runs, func(r *Run) bool { return !loose(r) }) {
			out = append(out, key)
		}
	}
	return out
}

// differing returns the parameters that differ between results, sorted.
func differing(runs []*Run) []string {
	keys := map[string]bool{}
	for _, r := range runs[1:] {
		for key, v := range r.Params {
			if w, ok := runs[0].Params[key]; !ok || v != w {
				keys[key] = true
			}
		}
		for key := range runs[0].Params {
			if _, ok := r.Params[key]; !ok {
				keys[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// aliases reports whether a parameter requested under one name is stored under the other: a length
// under that of its dataset, a heading under its level.
func aliases(asked, kept string) bool {
	asked = canonicalKey(asked)
	return asked == kept || isDatasetKey(asked) && strings.HasSuffix(kept, "_"+asked) || kept == "heading" &&
		strings.HasPrefix(asked, "h") && len(asked) == 2
}

// isGiven reports whether a parameter is requested, under one of its names.
func isGiven(given []string, key string) bool {
	return slices.ContainsFunc(given, func(g string) bool { return aliases(g, key) })
}

// refuse returns the error for results of one cell that differ in parameters that were not named.
func (d *document) refuse(c *cell, keys []string) error {
	first := c.runs[0]
	other := c.runs[max(1, slices.IndexFunc(c.runs, func(r *Run) bool { return r.Params[keys[0]] != first.Params[keys[0]] }))]
	same := d.by // so that the cells stay the same
	if len(same) == 0 {
		same = []string{"tool"}
	}
	by := strings.Join(append(slices.Clone(d.by), keys[0]), ",")
	return &Error{other.Source, other.Line, fmt.Errorf("it would be one cell with %s, but they differ in %s: say --by %s if that "+
		"distinguishes cells, --launch-by %s if it distinguishes launches of the server, or --by %s to take them together",
		first.At(), differences(c.runs, keys), by, keys[0], strings.Join(same, ","))}
}

// differences returns some parameters with some of their values.
func differences(runs []*Run, keys []string) string {
	const most = 4
	var parts []string
	for _, key := range keys[:min(len(keys), most)] {
		var values []string
		for _, r := range runs {
			v, ok := r.Params[key]
			if v = clip(v); !ok {
				v = "nothing"
			}
			if !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if len(values) > most {
			values = append(values[:most], "…")
		}
		parts = append(parts, key+" ("+strings.Join(values, ", ")+")")
	}
	if len(keys) > most {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

// launchKeyOf returns a parameter that may number the launches of some results, "" for none.
func launchKeyOf(runs []*Run) string {
	keys := differing(runs)
	if i := slices.IndexFunc(keys, launchLike.MatchString); i >= 0 {
		return keys[i]
	}
	return ""
}
