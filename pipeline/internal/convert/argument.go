package convert

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// Label sets parameters of every result, as if the file contained them. It gives the side or the
// launch of files that do not report them.
func Label(runs []Run, labels map[string]string) {
	for i := range runs {
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			runs[i].Params = maps.Clone(runs[i].Params)
			runs[i].setParam(key, labels[key])
		}
	}
}

// labelPattern matches labels before a path: side=base,launch=1:
var labelPattern = lazyregexp.New(`^((?:[A-Za-z_][A-Za-z0-9_]*=[^,:=/]+)(?:,[A-Za-z_][A-Za-z0-9_]*=[^,:=/]+)*):(.+)$`)

// ParseLabels splits an argument into the labels before the path and the rest.
func ParseLabels(arg string) (labels map[string]string, rest string) {
	m := labelPattern.FindStringSubmatch(arg)
	if m == nil {
		return nil, arg
	}
	labels = map[string]string{}
	for pair := range strings.SplitSeq(m[1], ",") {
		key, value, _ := strings.Cut(pair, "=")
		labels[key] = value
	}
	return labels, m[2]
}

// Selector selects results of a file: "night.log?h3=RDMA&qps=2" selects those of night.log with
// both parameters. In "night.log?h3=*RDMA*" a star matches any text. Two sides can thus be in one
// file.
type Selector struct {
	Path  string
	Where map[string]string
}

// ParseSelector parses a selector; without a question mark it selects the whole file. Values are
// escaped as in the query of a URL, where + and %20 are spaces. In "run-?.csv" the question mark is part of a pattern.
func ParseSelector(s string) (Selector, error) {
	path, query, ok := strings.Cut(s, "?")
	sel := Selector{Path: path}
	if !ok || strings.Contains(query, ".") && !strings.Contains(query, "=") { // in a pattern of files it is any character
		return Selector{Path: s}, nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return sel, fmt.Errorf("%s: what follows the question mark is not key=value: %w", clip(s), err)
	}
	sel.Where = map[string]string{}
	for key, v := range values {
		if len(v) != 1 || v[0] == "" {
			return sel, fmt.Errorf("%s: %s needs one value", clip(s), clip(key))
		}
		sel.Where[key] = v[0]
	}
	return sel, nil
}

// SameParam reports whether two names mean the same parameter.
func SameParam(a, b string) bool { return canonicalKey(a) == canonicalKey(b) }

// Select returns the runs with the parameters of the selector, or an error if there is none.
func (s Selector) Select(runs []Run) ([]Run, error) {
	var out []Run
	for i := range runs {
		matches := true
		for key, want := range s.Where {
			got, ok := runs[i].Param(key)
			matches = matches && ok && (got == canonicalValue(want) || like(got, want))
		}
		if matches {
			out = append(out, runs[i])
		}
	}
	if len(out) > 0 || len(runs) == 0 {
		return out, nil
	}
	return nil, fmt.Errorf("%s: %w with %s: look at the parameters with import", s.Path, ErrNoResult, conditions(s.Where))
}

// like reports whether a value matches a pattern, in which a star matches any text.
func like(value, pattern string) bool {
	form, err := regexp.Compile(`(?s)^` + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`) + `$`)
	return err == nil && strings.Contains(pattern, "*") && form.MatchString(value)
}

func conditions(where map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(where)) {
		parts = append(parts, clip(key)+" = "+clip(where[key]))
	}
	return strings.Join(parts, " and ")
}
