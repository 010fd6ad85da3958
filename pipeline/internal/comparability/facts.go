package comparability

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
)

// Facts describe a measurement, as text by field name. Facts of the machine have their name in package probe
// after machinePrefix.
type Facts map[string]string

const machinePrefix = "machine."

// Read reads the facts from the parameters of a result; get looks one up by its name in snake case. It tries a
// field's own name first, then its others.
func Read(get func(name string) (string, bool)) Facts {
	out := Facts{}
	for _, f := range Fields {
		if f.Outcome || f.Session {
			continue
		}
		for _, name := range slices.Concat([]string{f.Name}, f.Also, f.From) {
			if v, ok := get(name); ok && v != "" {
				out.Set(f.Name, v)
				break
			}
		}
	}
	return out
}

// Set stores a fact in its normal form for comparisons; an empty value means unknown.
func (f Facts) Set(name, value string) {
	if value == "" {
		return
	}
	if field := Lookup(name); field != nil && field.read != nil {
		value = field.read(value)
	}
	f[name] = value
}

// Join merges the facts of several measurements that stand for one: a field in which they differ lists all its
// values.
func Join(parts ...Facts) Facts {
	values := map[string][]string{}
	for _, p := range parts {
		for name, v := range p {
			if !slices.Contains(values[name], v) {
				values[name] = append(values[name], v)
			}
		}
	}
	out := Facts{}
	for name, list := range values {
		slices.Sort(list)
		out[name] = strings.Join(list, ", ")
	}
	return out
}

// OfWorkload returns the facts of a workload declared in a pipeline file.
func OfWorkload(w steps.Workload) Facts {
	out := Facts{}
	if w.Driver != nil {
		out.Set("driver", strings.Join(w.Driver.Command, " "))
		if w.Driver.Runs() {
			return out
		}
		return Facts{}
	}
	out.Set(Tool, OwnTool)
	out.Set("endpoint", w.Endpoint)
	out.Set("dataset_name", w.Dataset.Kind)
	if w.Dataset.Sum == "" {
		out.Set("dataset_path", w.Dataset.Path)
	}
	out.Set("dataset_sum", w.Dataset.Sum)
	out.Set("dataset_options", jsonOf(w.Dataset.Options))
	out.Set("input_len", span(w.Dataset.InputMin, w.Dataset.InputMax))
	out.Set("output_len", span(w.Dataset.OutputMin, w.Dataset.OutputMax))
	out.Set("prefix_len", number(w.Dataset.PrefixLen))
	out.Set("arrival", w.Load.Arrival)
	out.Set("request_rate", number(w.Load.Rate))
	if w.Load.Arrival == load.Unlimited {
		out.Set("request_rate", "inf")
	}
	out.Set("burstiness", number(w.Load.Burstiness))
	out.Set(MaxConcurrency, number(w.Load.MaxConcurrency))
	out.Set("num_prompts", number(w.Load.Requests))
	out.Set("time_limit", number(w.Load.Duration.Seconds()))
	if w.Load.Ramp > 0 {
		out.Set("ramp", fmt.Sprintf("%s from %g/s", w.Load.Ramp, w.Load.RampFrom))
	}
	if w.Load.Search != nil {
		out.Set("search", searchText(w.Load))
	}
	out.Set("load_options", jsonOf(w.Load.Options))
	out.Set("think_time", number(w.Load.ThinkTime.Seconds()))
	out.Set("ignore_eos", strconv.FormatBool(w.IgnoreEOS))
	out.Set("temperature", strconv.FormatFloat(w.Temperature, 'g', -1, 64))
	out.Set("extra_body", jsonOf(w.Body))
	out.Set("warmup", number(w.Warmup))
	out.Set("request_timeout", number(w.RequestTimeout.Seconds()))
	if w.Goodput != (steps.Goodput{}) {
		out.Set(goodputLimits, fmt.Sprintf("ttft %s, tpot %s, e2el %s", w.Goodput.TTFT, w.Goodput.TPOT, w.Goodput.E2EL))
	}
	return out
}

// goodputLimits names the fact with the limits of a good request.
const goodputLimits = "goodput_slo"

// LimitsE2EL reports whether a good request of a cell has a limit on its end-to-end latency.
func LimitsE2EL(work map[string]string) bool {
	_, limit, ok := strings.Cut(work[goodputLimits], "e2el ")
	return ok && limit != "0s"
}

// searchText formats what a search varies, its range and its limits.
func searchText(l steps.Load) string {
	in := l.Search
	var text strings.Builder
	fmt.Fprintf(&text, "%s from %g to %g within %g by %d probes", l.Searches(), in.Min, in.Max, in.Resolution, in.Probes)
	for _, o := range in.SLO {
		fmt.Fprintf(&text, ", %s %g", o.Metric, o.Limit)
	}
	return text.String()
}

// number formats a number, "" for 0, which means not set.
func number[T int | float64](v T) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(v), 'f', -1, 64)
}

func span(low, high int) string {
	if low == high {
		return number(high)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

// jsonOf formats a map as JSON with sorted keys, "" for an empty one.
func jsonOf(m map[string]any) string {
	if len(m) == 0 {
		return ""
	}
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Sprint(m)
	}
	return string(text)
}

// OfMachine converts the facts of package probe.
func OfMachine(machine map[string]string) Facts {
	out := Facts{}
	for name, v := range machine {
		out.Set(machinePrefix+name, v)
	}
	return out
}

func (f Facts) machine() map[string]string {
	out := map[string]string{}
	for name, v := range f {
		if rest, ok := strings.CutPrefix(name, machinePrefix); ok {
			out[rest] = v
		}
	}
	return out
}

// OfRun returns the facts of one run of a cell: what the cell and the run requested, and the outcome.
func OfRun(cell *result.Cell, r result.Run) Facts {
	out := Facts{}
	maps.Copy(out, cell.Work)
	maps.Copy(out, r.Work)
	out.Set(Nodes, r.Nodes)
	if r.Transport != nil {
		out.Set(Transport, r.Transport.Intent)
	}
	hashed := false
	for _, name := range []string{"schedule_hash", "work_hash"} {
		if v := r.Audit[name]; v != nil {
			out.Set(name, fmt.Sprint(v))
			hashed = true
		}
	}
	if !hashed && r.Search == nil { // the number of probes is an outcome
		out.amounts(r)
	}
	return out
}

// amounts adds the work in one pass of a run. Tokens are those of successful requests, because no tool counts
// others.
func (f Facts) amounts(r result.Run) {
	figure := func(name string) float64 { v, _ := r.Audit[name].(float64); return v }
	succeeded := float64(r.Sent - r.Failed)
	if succeeded <= 0 {
		return
	}
	if f["time_limit"] == "" { // in a run with a time limit, the number of requests is an outcome
		f.Set("requests", significant(float64(r.Sent)/max(figure("passes"), 1)))
	}
	for _, name := range []string{"input_tokens", "output_tokens"} {
		if v := figure(name); v > 0 {
			f.Set(name, significant(v/succeeded))
		}
	}
}

func significant(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// OfCell returns the facts of a cell as a whole, with those of its session.
func OfCell(doc *result.Document, cell *result.Cell) Facts {
	var runs []Facts
	for _, r := range cell.Current() {
		if r.Status == result.RunOK {
			runs = append(runs, OfRun(cell, r))
		}
	}
	out := Join(runs...)
	if len(runs) == 0 {
		maps.Copy(out, cell.Work)
	}
	for _, name := range []string{"requests", "input_tokens", "output_tokens"} {
		if first, err := mean(runs, name); err {
			out[name] = first
		}
	}
	for _, name := range []string{"schedule_hash", "work_hash", Nodes} { // differ between sessions
		delete(out, name)
	}
	maps.Copy(out, ofSession(doc))
	out.target(doc.Target(cell.Target))
	return out
}

// mean returns the mean of an amount over runs, false if no run has it.
func mean(runs []Facts, name string) (string, bool) {
	sum, n := 0.0, 0.0
	for _, r := range runs {
		if v, err := strconv.ParseFloat(r[name], 64); err == nil {
			sum, n = sum+v, n+1
		}
	}
	if n == 0 {
		return "", false
	}
	return significant(sum / n), true
}

// ofSession returns the facts that all cells of a document share.
func ofSession(doc *result.Document) Facts {
	out := OfMachine(doc.Machine)
	out.Set(Simulated, doc.Simulated)
	if doc.Simulated != "" && doc.TimeScale != 0 && doc.TimeScale != 1 {
		out.Set(Simulated, fmt.Sprintf("%s×%g", doc.Simulated, doc.TimeScale))
	}
	return out
}

// target adds the document's facts about the server. Imported results name the engine and model themselves.
func (f Facts) target(t result.Target) {
	if _, imported := f[Tool]; !imported || f[Tool] == OwnTool {
		f.Set(Engine, t.Engine)
	}
	if f[Model] == "" {
		f.Set(Model, t.Model)
	}
}
