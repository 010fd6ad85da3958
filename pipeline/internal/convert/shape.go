package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/foreign"
	"github.com/servegate/pipeline/internal/lazyregexp"
)

// recognise returns the tool and the shape of an object, nil for none.
func (t Tools) recognise(o *value) (*foreign.Tool, *foreign.Shape) {
	for _, knows := range []func(*foreign.Shape) bool{
		func(s *foreign.Shape) bool { return slices.ContainsFunc(s.Keys, o.has) },
		func(s *foreign.Shape) bool { return s.Keys == nil && s.Reader == "vllm" && isVLLM(o) },
	} {
		for i := range t {
			for k := range t[i].Shapes {
				if s := &t[i].Shapes[k]; knows(s) {
					return &t[i], s
				}
			}
		}
	}
	return nil, nil
}

// runs returns the results of an object.
func (opt ReadOptions) runs(o *value, q *requests, source string) ([]Run, error) {
	if isLLMD(o) {
		r := opt.newRun(FormatLLMD, "", source, o.line)
		if err := r.readLLMD(o); err != nil {
			return nil, err
		}
		return []Run{*r}, nil
	}
	tool, shape := opt.Tools.recognise(o)
	if tool == nil {
		keys := o.keys[:min(len(o.keys), 8)]
		return nil, &Error{source, o.line, fmt.Errorf("%w: no load generator is known that writes the keys %s; known are %s", ErrNoResult,
			clip(strings.Join(keys, ", ")), strings.Join(opt.Tools.Names(), ", "))}
	}
	if shape.Instead != "" {
		return nil, &Error{source, o.line, fmt.Errorf("%w: %s", ErrNoResult, shape.Instead)}
	}
	items := []*value{o}
	if shape.Each != "" {
		list := o.at(shape.Each)
		if !list.is('[') {
			return nil, &Error{source, o.line, fmt.Errorf("%s is not a list", shape.Each)}
		}
		items = list.items
	}
	var runs []Run
	for _, item := range items {
		if shape.But != "" && item.has(shape.But) {
			continue
		}
		r := opt.newRun(Format(tool.Name), tool.Name, source, item.line)
		if err := r.readShape(shape, o, item); err != nil {
			return nil, err
		}
		if shape.Flat {
			if err := r.useRequests(q, opt); err != nil {
				return nil, err
			}
		}
		runs = append(runs, *r)
	}
	return runs, nil
}

// readShape reads the figures of a result in an object.
func (r *Run) readShape(s *foreign.Shape, root, item *value) error {
	const most = 300 // a server's information must leave room for the settings of the run
	var e entryList
	at := func(path string) *value {
		if path == "" {
			return item
		}
		if whole, ok := strings.CutPrefix(path, "/"); ok {
			return root.at(whole)
		}
		return item.at(path)
	}
	for _, f := range s.Settings {
		r.fields(at(f.Path), f.Name, most)
	}
	for _, f := range s.Params {
		r.setParam(f.Name, at(f.Path).str())
	}
	for _, f := range s.Audit {
		if v, ok := at(f.Path).number(); ok {
			r.audit(f.Name, v)
		}
	}
	if s.Flat {
		r.scalars(item, &e)
	}
	for _, f := range s.Figures {
		e.add(f.Name, at(f.Path))
	}
	for _, t := range s.Times {
		if err := e.times(at(t.Path), t, s.Stats, r.Source); err != nil {
			return err
		}
	}
	if others := unreadTimes(s, at); len(others) > 0 {
		r.infof("what is not known here is not read: %s", quoted(others))
	}
	if also := readers[s.Reader]; also != nil {
		if err := also(root, item, r, &e); err != nil {
			return err
		}
	}
	return r.fill(e.entries)
}

var (
	// looksLikeTime matches keys that name a time, whatever else they say.
	looksLikeTime = lazyregexp.New(`(?i)ttft|tpot|itl|e2el|latency|latencies|time_to_|time_per_`)
	// upperPercentile matches names of percentiles from the median on.
	upperPercentile = lazyregexp.New(`^(?:.*_)?p[5-9]\d(?:\.?\d+)?$`)
)

// unreadTimes returns the paths of distributions beside those of a shape that it does not list, and of upper percentiles
// of listed ones that it does not read.
func unreadTimes(s *foreign.Shape, at func(string) *value) (out []string) {
	known, first := map[string]bool{}, map[string]bool{} // paths, and first keys of statistics
	for _, list := range [][]foreign.Field{s.Settings, s.Params, s.Audit, s.Figures} {
		for _, f := range list {
			known[f.Path] = true
		}
	}
	for path := range s.Stats {
		key, _, _ := strings.Cut(path, "/")
		first[key] = true
	}
	parents := map[string]bool{}
	for _, t := range s.Times {
		known[t.Path] = true
		parents[parentOf(t.Path)] = true
	}
	for _, t := range s.Times {
		if v := at(t.Path); v.is('{') {
			read := map[string]bool{}
			for path, stat := range s.Stats {
				if v.at(path) != nil {
					read[stat], read[path[strings.LastIndexByte(path, '/')+1:]] = true, true
				}
			}
			out = append(out, unreadPercentiles(t.Path, v, read)...)
		}
	}
	for _, parent := range slices.Sorted(maps.Keys(parents)) {
		o := at(parent)
		if !o.is('{') {
			continue
		}
		for i, key := range o.keys {
			path := strings.TrimPrefix(parent+"/"+key, "/")
			if known[path] || !looksLikeTime.MatchString(key) || !o.items[i].is('{') ||
				!slices.ContainsFunc(o.items[i].keys, func(k string) bool { return first[k] }) {
				continue
			}
			out = append(out, path)
		}
	}
	return out
}

// unreadPercentiles returns the paths of percentiles in a distribution, from the median on, other than those read.
func unreadPercentiles(path string, v *value, read map[string]bool) (out []string) {
	for i, key := range v.keys {
		below := path + "/" + key
		switch {
		case key == "percentiles" && v.items[i].is('{'):
			out = append(out, unreadPercentiles(below, v.items[i], read)...)
		case v.items[i].scalar() && upperPercentile.MatchString(key) && !read[key[strings.LastIndexByte(key, '_')+1:]]:
			out = append(out, below)
		}
	}
	return out
}

// parentOf returns a path without its last key, "" for the root.
func parentOf(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// fields keeps scalars among the first fields of an object as parameters.
func (r *Run) fields(o *value, prefix string, most int) {
	if !o.is('{') {
		return
	}
	for i, key := range o.keys[:min(len(o.keys), most)] {
		r.setParam(prefix+key, o.items[i].str())
	}
}

// scalars splits the fields of an object into figures and parameters.
func (r *Run) scalars(o *value, e *entryList) {
	for i, key := range o.keys {
		v := o.items[i]
		label, text := unitInValue(key, v.str())
		f, ok := figureOf(label)
		if ok && f.kind == latency && text == "" && v.scalar() {
			put(&r.noData, f.group, true)
		}
		switch {
		case !v.scalar():
			if _, named := figureOf(key); named || looksLikeTime.MatchString(key) {
				r.infof("%s is not read: it is %s and not a number", key, v.structure())
			}
		case ok && f.kind == param && measuredRate(key, v.str()):
			e.add("request throughput", v)
		case !ok && isLatency(key) && isNumberLike(text):
			r.unread = append(r.unread, key)
			r.setColumn(key, text)
		case !ok || f.kind == param:
			r.setColumn(key, v.str())
		case f.group == "rtfx" && v.text == "0.0": // vLLM writes it for text too
		default:
			e.add(key, v)
		}
	}
}

// entryList collects figures under the labels of figureOf.
type entryList struct{ entries []entry }

func (e *entryList) add(label string, v *value) {
	switch {
	case v == nil:
	case !v.scalar():
		e.text(label, v.structure(), v.line) // which is not a number, and is named so
	case v.str() != "":
		e.text(label, v.str(), v.line)
	}
}

func (e *entryList) text(label, value string, line int) {
	e.entries = append(e.entries, entry{label, value, line})
}

// times adds the statistics of a distribution.
func (e *entryList) times(v *value, t foreign.Times, stats map[string]string, source string) error {
	if v == nil || v.is('n') {
		return nil
	}
	unit := t.Unit
	if unit == "" {
		unit = v.at("unit").str()
	}
	if _, ok := timeShift[unit]; !ok {
		return &Error{source, v.line, fmt.Errorf("%s has the unit %s, which is not one of time", t.Path, clip(unit))}
	}
	for _, path := range slices.Sorted(maps.Keys(stats)) {
		e.add(stats[path]+" "+t.Name+" ("+unit+")", v.at(path))
	}
	return nil
}
