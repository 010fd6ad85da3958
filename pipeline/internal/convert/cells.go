package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
)

// usualKeys returns the parameters that may distinguish cells if none are declared.
var usualKeys = sync.OnceValue(func() []string {
	return slices.Concat([]string{comparability.Model}, comparability.Load(),
		[]string{"backend_setting", "column", "h2", "h3", "section", "subsection", "heading", "label"})
})

// group chooses the parameters that distinguish cells, unless they were given, and groups the
// results into cells in the order of their first result. Other differences within a cell are an
// error, or a warning if a person named the parameters.
func (d *document) group() error {
	for _, r := range d.runs {
		if _, err := d.opt.launchKey(r); err != nil {
			return err
		}
	}
	declared := len(d.opt.By) > 0 && !d.opt.Chosen
	if d.by = d.opt.By; !declared && !d.opt.Chosen {
		d.by = cellKeys(d.opt, [][]*Run{d.runs})
	}
	if declared {
		assignAsked(d.by, d.runs)
	}
	index := map[string]*cell{}
	for _, r := range d.runs {
		lacks := func(key string) bool { _, ok := r.Param(key); return !ok }
		if i := slices.IndexFunc(d.by, lacks); declared && i >= 0 {
			return missing(r, d.by[i])
		}
		values := valuesOf(r, d.by)
		hash := cellHash(values)
		c := index[hash]
		if c == nil {
			c = &cell{values: values, hash: hash, given: append([]string{d.opt.LaunchBy}, d.by...)}
			index[hash] = c
			d.cells = append(d.cells, c)
		}
		c.runs = append(c.runs, r)
	}
	for _, c := range d.cells {
		if err := d.checkCell(c, declared); err != nil {
			return err
		}
	}
	return nil
}

// checkCell refuses results of a cell that differ, or warns of them if a person declared the parameters.
func (d *document) checkCell(c *cell, declared bool) error {
	keys := undeclared(c.runs, c.given)
	switch differs := differentWork(c.runs); {
	case !declared && len(keys) > 0:
		return d.refuse(c, keys)
	case !declared:
		return nil
	case differs != "":
		d.notef(serious, "results of the cell %s did different work, which --by does not name (%s)", name(c.values), differs)
	}
	if len(keys) > 0 {
		d.notef(serious, "results of the cell %s differ in %s, which --by does not name", name(c.values), differences(c.runs, keys))
	}
	return nil
}

// CellKeys returns the parameters that distinguish cells if none are named: the usual ones that
// differ between results, the arguments of server commands, and measured work if results with equal
// parameters did different work. Rows that repeat a block of their text do not count. The sides are
// the groups of results to compare.
func CellKeys(opt Options, sides ...[]Run) []string {
	own := make([][]*Run, len(sides))
	for i := range sides {
		for j := range sides[i] {
			if sides[i][j].SameAs == 0 {
				own[i] = append(own[i], &sides[i][j])
			}
		}
	}
	return cellKeys(opt, own)
}

func cellKeys(opt Options, sides [][]*Run) []string {
	keys := varying(slices.Concat(sides...))
	launch := func(r *Run) string {
		key, _ := opt.launchKey(r)
		return key
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return opt.LaunchBy != "" && aliases(opt.LaunchBy, key) })
	return append(keys, separateByWork(keys, launch, sides)...)
}

// varying returns the usual parameters and server arguments that differ between results. A
// parameter that some results lack distinguishes cells only if it is part of the load: a result
// without a label is not one with the label of another. Parameters that add nothing to an earlier
// one are omitted.
func varying(runs []*Run) []string {
	var keys []string
	seen := map[string]bool{}
	for _, key := range append(slices.Clone(usualKeys()), serverKeys(runs)...) {
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
		if !complete && !isLoad(key) && !strings.HasPrefix(key, serverPrefix) {
			continue
		}
		if p := pattern.String(); len(numbers) > 1 && !seen[p] {
			seen[p] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// valuesOf returns the coordinates of a result.
func valuesOf(r *Run, keys []string) []result.AxisValue {
	values := make([]result.AxisValue, 0, len(keys))
	for _, key := range keys {
		v, ok := r.Param(key)
		if !ok {
			v = unsaid
		}
		values = append(values, result.AxisValue{Name: key, Value: v})
	}
	return values
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

// cellHash returns the identity of a cell: its parameters under canonical names, in any order.
func cellHash(values []result.AxisValue) string {
	lines := make([]string, len(values))
	for i, v := range values {
		lines[i] = fmt.Sprintf("%q=%q", canonicalKey(v.Name), v.Value)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte("import/1\n" + strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])[:16]
}

// name returns the text of a cell for people.
func name(values []result.AxisValue) string {
	if len(values) == 0 {
		return "(only one)"
	}
	return result.Coordinates(values, ", ")
}

// workloadText returns the load of a result as one line for people.
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
