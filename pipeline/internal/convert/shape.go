package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/foreign"
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
	if also := readers[s.Reader]; also != nil {
		if err := also(root, item, r, &e); err != nil {
			return err
		}
	}
	return r.fill(e.entries)
}

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
		f, ok := figureOf(key)
		if ok && f.kind == latency && v.is('n') {
			put(&r.noData, f.group, true)
		}
		switch {
		case ok && f.kind == param && measuredRate(key, v.str()):
			e.add("request throughput", v)
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
	if text := v.str(); text != "" {
		e.text(label, text, v.line)
	}
}

func (e *entryList) text(label, value string, line int) {
	e.entries = append(e.entries, entry{label, value, line})
}

// times adds the statistics of a distribution.
func (e *entryList) times(v *value, t foreign.Times, stats map[string]string, source string) error {
	if v == nil {
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
