package interchange

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/result"
)

// usualKeys are the parameters that may tell cells apart when none are declared.
var usualKeys = []string{
	"model", "dataset_name", "input_len", "output_len", "seq_length", "request_rate", "max_concurrency",
	"num_prompts", "backend_setting", "column", "h2", "h3", "section", "subsection", "heading", "label",
}

// group chooses the parameters that tell cells apart, if nobody did, and sorts the results
// into cells, in the order of their first result. What else results of a cell differ in is
// an error, or a warning where a person named the parameters.
func (d *document) group() error {
	declared := len(d.opt.By) > 0 && !d.opt.Chosen
	if d.by = d.opt.By; !declared && !d.opt.Chosen {
		d.by = varying(d.runs)
	}
	index := map[string]*cell{}
	for _, r := range d.runs {
		if _, err := d.launchKey(r); err != nil {
			return err
		}
		values := make([]result.AxisValue, 0, len(d.by))
		for _, key := range d.by {
			v, ok := r.Param(key)
			if !ok {
				return missing(r, key)
			}
			values = append(values, result.AxisValue{Name: key, Value: v})
		}
		hash := cellHash(values)
		c := index[hash]
		if c == nil {
			c = &cell{values: values, hash: hash}
			index[hash] = c
			d.cells = append(d.cells, c)
		}
		c.runs = append(c.runs, r)
	}
	for _, c := range d.cells {
		keys := undeclared(c.runs, append([]string{d.opt.LaunchBy}, d.by...))
		switch {
		case len(keys) == 0:
		case declared:
			d.warnf("results of the cell %s differ in %s, which --by does not name", name(c.values), differences(c.runs, keys))
		default:
			return d.refuse(c, keys)
		}
	}
	return nil
}

// CellKeys are the parameters that tell cells apart where nobody names any: those of the
// usual ones that every result has and that are not the same in all. Rows that repeat a
// block of their text do not count.
func CellKeys(runs []Run) []string {
	var own []*Run
	for i := range runs {
		if runs[i].SameAs == 0 {
			own = append(own, &runs[i])
		}
	}
	return varying(own)
}

// varying are the usual parameters that every result has and that are not the same in all.
// A parameter that says no more than one before it is left out.
func varying(runs []*Run) []string {
	var keys []string
	seen := map[string]bool{}
	for _, key := range usualKeys {
		var pattern strings.Builder
		numbers := map[string]int{}
		complete := true
		for _, r := range runs {
			v, ok := r.Param(key)
			complete = complete && ok
			if _, ok := numbers[v]; !ok {
				numbers[v] = len(numbers)
			}
			fmt.Fprintf(&pattern, "%d ", numbers[v])
		}
		if p := pattern.String(); complete && len(numbers) > 1 && !seen[p] {
			seen[p] = true
			keys = append(keys, key)
		}
	}
	return keys
}

func missing(r *Run, key string) error {
	const limit = 30
	known := slices.Sorted(maps.Keys(r.Params))
	more := ""
	if len(known) > limit {
		known, more = known[:limit], ", …"
	}
	return &Error{r.Source, r.Line, fmt.Errorf("the result has no %s: it has %s%s", clip(key), strings.Join(known, ", "), more)}
}

// cellHash is the identity of a cell: its parameters under their canonical names, in any
// order.
func cellHash(values []result.AxisValue) string {
	lines := make([]string, len(values))
	for i, v := range values {
		lines[i] = fmt.Sprintf("%q=%q", canonicalKey(v.Name), v.Value)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte("import/1\n" + strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])[:16]
}

// name is a cell for people.
func name(values []result.AxisValue) string {
	if len(values) == 0 {
		return "(only one)"
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = v.Name + "=" + v.Value
	}
	return strings.Join(parts, ", ")
}

// workloadText is the load of a result in one line for people.
func workloadText(r *Run) string {
	var parts []string
	add := func(format, key string) {
		if v, ok := r.Param(key); ok {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	add("%s req/s", "request_rate")
	if n := max(r.Counts.Sent, r.Counts.Succeeded); n > 0 {
		parts = append(parts, fmt.Sprintf("%d requests", n))
	}
	add("at most %s at once", "max_concurrency")
	data, _ := r.Param("dataset_name")
	in, okIn := r.Param("input_len")
	out, okOut := r.Param("output_len")
	if okIn && okOut {
		data = strings.TrimSpace(data + " " + in + "→" + out)
	}
	if data != "" {
		parts = append(parts, data)
	}
	return strings.Join(parts, ", ")
}
