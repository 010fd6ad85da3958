package convert

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// entry is a label and its value, as printed.
type entry struct {
	label, value string
	line         int
}

// fill reads the entries of one result into r. The tool and the parameters must be set before,
// because definitions depend on them. The error has the line of the first figure that cannot be
// read.
func (r *Run) fill(entries []entry) error {
	for _, e := range entries {
		if err := r.add(e); err != nil {
			return &Error{Source: r.Source, Line: e.line, Err: fmt.Errorf("%s: %w", strings.TrimSuffix(e.label, ":"), err)}
		}
	}
	return r.finish()
}

// add reads one figure.
func (r *Run) add(e entry) error {
	if plain := plainValue(e.value); plain != e.value {
		r.annotated = append(r.annotated, strings.TrimSuffix(e.label, ":"))
	}
	label, value := unitInValue(e.label, e.value)
	if _, named := labelWords(e.label); label != e.label && isTimeUnit(named) {
		r.infof("%s is read as %s: the value states another unit than its name", strings.TrimSuffix(e.label, ":"), e.value)
	}
	e.label, e.value = label, value
	f, ok := figureOf(e.label)
	if !ok {
		return r.addOther(e)
	}
	switch f.kind {
	case param:
		if measuredRate(e.label, e.value) {
			return r.addMetric(singles["request throughput"], e)
		}
		r.setParam(f.name, e.value)
		return nil
	case each:
		return r.addEach(f.name, e.value)
	case count:
		return r.addCount(f, e.value)
	case duration:
		v, err := parseNumber(e.value, f.shift)
		if err == nil {
			err = plausible("duration.mean", v, e.value)
		}
		r.Duration = v
		return cmp.Or(err, r.once("duration", v))
	}
	return r.addMetric(f, e)
}

// addOther keeps an entry with an unknown label, but not as a figure. A label without a value is the heading of the lines below it,
// unless it names a time.
func (r *Run) addOther(e entry) error {
	const limit = 100
	switch {
	case e.value == "" && looksLikeTime.MatchString(e.label):
		return errors.New("a label without a value")
	case e.value == "":
		return nil
	}
	if len(r.Other) < limit {
		put(&r.Other, strings.TrimSuffix(e.label, ":"), e.value)
	}
	return nil
}

func (r *Run) addCount(f figure, text string) error {
	if done, all, ok := successesOf(text); ok && f.name == "succeeded" {
		r.setParam("num_prompts", all)
		text = done
	}
	n, err := parseCount(text)
	if errors.Is(err, errNoData) && r.Format == FormatTable {
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.once(f.name, float64(n)); err != nil {
		return err
	}
	switch f.name {
	case "succeeded":
		r.Counts.Succeeded, err = parseRequests(text)
		return err
	case "failed":
		r.Counts.Failed, err = parseRequests(text)
		r.Counts.FailedKnown = true
		return err
	case "input":
		r.Counts.InputTokens = n
	case "output":
		r.Counts.OutputTokens = n
	default:
		r.audit(f.name+"_tokens", float64(n))
	}
	return nil
}

// addEach reads the mean number of tokens of a request.
func (r *Run) addEach(name, text string) error {
	v, err := parseNumber(text, 0)
	if errors.Is(err, errNoData) {
		return nil
	}
	if err == nil && (v < 0 || v > maxTokensEach) {
		err = fmt.Errorf("%s tokens of a request are not plausible", clip(text))
	}
	if err != nil {
		return err
	}
	put(&r.meanTokens, name, v)
	return r.once("mean "+name, v)
}

// maxTokensEach bounds the tokens of a request.
const maxTokensEach = 1e9

// addMetric reads a latency or a rate. Two values of one id are an error, because one would be
// lost.
func (r *Run) addMetric(f figure, e entry) error {
	v, err := parseNumber(e.value, f.shift)
	if errors.Is(err, errNoData) {
		if f.kind == latency {
			put(&r.noData, f.group, true)
		}
		if strings.EqualFold(strings.TrimSpace(e.value), "nan") {
			r.nan = append(r.nan, e)
		}
		r.infof("%s has no value (%s)", strings.TrimSuffix(e.label, ":"), clip(e.value))
		return nil
	}
	if err != nil {
		return err
	}
	id, _ := r.metricID(f.group, f.stat)
	if err := plausible(id, v, e.value); err != nil {
		return err
	}
	if old, ok := r.Metrics[id]; ok && old != v {
		return errTwice
	}
	r.set(f.group, f.stat, v)
	put(&r.steps, id, stepOf(e.value, f.shift))
	return nil
}

// stepOf returns the step of the last digit of a number as text, times ten to the power of shift.
func stepOf(text string, shift int) float64 {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	e, _ := strconv.Atoi(exponent) // 0 for ""
	return math.Pow(10, float64(shift+e-len(decimals)))
}

// once returns an error for a second value of a single figure: two results were then mixed.
func (r *Run) once(name string, v float64) error {
	if old, ok := r.seen[name]; ok && old != v {
		return errTwice
	}
	put(&r.seen, name, v)
	return nil
}

var errTwice = errors.New("is there twice, with different values")

func (r *Run) audit(name string, value any) { put(&r.Audit, name, value) }

// finish completes the counts and removes the zeros that mean "no data".
func (r *Run) finish() error {
	if len(r.unread) > 0 {
		r.infof("numbers whose meaning is not known here are kept as parameters: %s", quoted(r.unread))
	}
	if len(r.skipped) > 0 {
		r.infof("rows whose meaning or unit is not known here are not read: %s", quoted(r.skipped))
	}
	if len(r.annotated) > 0 {
		r.infof("what stands behind the numbers (a spread, a change, a remark) is not read: %s", quoted(r.annotated))
	}
	r.sumTokens()
	r.count()
	r.restoreRates()
	r.dropEmpty()
	r.disordered()
	if err := r.withoutNumber(); err != nil {
		return err
	}
	if _, counted := r.seen["succeeded"]; len(r.Metrics) == 0 && r.Counts == (Counts{}) && !counted {
		return &Error{Source: r.Source, Line: r.Line, Err: errNoFigure}
	}
	return nil
}

var errNoFigure = errors.New("a result without a figure")

// quoted lists names for a message.
func quoted(names []string) string {
	const most = 8
	var out []string
	for _, name := range names[:min(len(names), most)] {
		out = append(out, clip(name))
	}
	if len(names) > most {
		out = append(out, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(out, ", ")
}

// sumTokens computes missing sums of tokens from the means of a request.
func (r *Run) sumTokens() {
	for name, sum := range map[string]*int64{"input": &r.Counts.InputTokens, "output": &r.Counts.OutputTokens} {
		if v, ok := r.meanTokens[name]; ok && *sum == 0 && r.Counts.Succeeded > 0 {
			*sum = int64(math.Round(v * float64(r.Counts.Succeeded)))
		}
	}
}

// count computes the requests sent. A tool that reports no failures at most reports how many
// requests were asked for. An offline tool writes no result after a failure, so that a result without a count is one success.
func (r *Run) count() {
	c := &r.Counts
	if _, failures := r.seen["failed"]; failures && c.Succeeded == 0 {
		r.countSuccesses()
	}
	if t := r.tool(); t != nil && t.Offline && !c.FailedKnown {
		c.Succeeded, c.FailedKnown = max(c.Succeeded, 1), true
	}
	if c.FailedKnown {
		c.Sent = c.Succeeded + c.Failed
		return
	}
	if _, reported := r.seen["succeeded"]; !reported || r.countedPrompts {
		return // without a report nothing counts as failed
	}
	n, err := parseCount(r.Params["num_prompts"])
	if err != nil || n < int64(c.Succeeded) || n > 1<<31-1 {
		return
	}
	r.countFailures(int(n))
}

// countSuccesses computes the successes of a result that reports its failures alone: the requests that were asked for
// less those. Where their number is not stated either, the failures are a share of nothing and do not count, but for a
// result without a time or a rate, in which everything failed.
func (r *Run) countSuccesses() {
	c := &r.Counts
	if _, reported := r.seen["succeeded"]; reported {
		return
	}
	n, ok := r.countParam("num_prompts")
	switch {
	case ok && n >= c.Failed:
		c.Succeeded = n - c.Failed
	case c.Failed == 0:
		c.FailedKnown = false
	case r.measured():
		r.seriousf("%d requests failed, but the result does not say of how many: they are not counted", c.Failed)
		c.Failed, c.FailedKnown = 0, false
	}
}

// measured reports whether a figure shows that requests succeeded. Failing requests are concurrent too.
func (r *Run) measured() bool {
	for id, v := range r.Metrics {
		if v > 0 && !strings.HasPrefix(id, "concurrency.") {
			return true
		}
	}
	return false
}

// restoreRates computes rates that were rounded to 0: a single request of five minutes is printed
// as 0.00 req/s.
func (r *Run) restoreRates() {
	if r.Duration <= 0 || r.Counts.Succeeded == 0 {
		return
	}
	for _, rate := range []struct {
		group string
		n     int64
	}{
		{"request_throughput", int64(r.Counts.Succeeded)}, {"input_throughput", r.Counts.InputTokens},
		{"output_throughput", r.Counts.OutputTokens}, {"total_throughput", r.Counts.InputTokens + r.Counts.OutputTokens},
	} {
		id, definition := r.metricID(rate.group, "mean")
		if v, ok := r.Metrics[id]; ok && v == 0 && rate.n > 0 && definition == "" {
			r.Metrics[id] = float64(rate.n) / r.Duration
			delete(r.steps, id)
			r.seriousf("%s is printed as 0 and computed from the counts and the duration", id)
		}
	}
}

// dropEmpty removes figures that are 0 for lack of data. vLLM and SGLang print 0 if no request
// succeeded, and for a latency that no request had (no second token, no stream). A measured time is
// not 0 in every statistic.
func (r *Run) dropEmpty() {
	if r.Counts.Succeeded == 0 && r.Counts.FailedKnown {
		if len(r.Metrics) > 0 {
			r.seriousf("no request succeeded, so the result has no figures")
		}
		r.Metrics, r.Definitions = nil, nil
		return
	}
	zero := map[string]bool{}
	for id, v := range r.Metrics {
		group, _, _ := strings.Cut(id, ".")
		was, seen := zero[group]
		zero[group] = (was || !seen) && v == 0
	}
	for _, group := range slices.Sorted(maps.Keys(zero)) {
		of := r.derivedFrom(group)
		_, measured := zero[of]
		if of != "" && !zero[group] && (zero[of] || !measured && r.noData["ttft"]) {
			r.warnf("%s is left out: the tool works it out of %s, which was not measured", group, of)
			r.leaveOut(group)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(zero)) {
		if !zero[group] || slices.Contains(mayBeZero, group) {
			continue
		}
		r.warnf("every figure of %s is 0 and left out: no request had one, or it was rounded away", group)
		r.leaveOut(group)
	}
}

// leaveOut removes the figures of a group.
func (r *Run) leaveOut(group string) {
	maps.DeleteFunc(r.Metrics, func(id string, _ float64) bool { return strings.HasPrefix(id, group+".") })
	maps.DeleteFunc(r.Definitions, func(id string, _ string) bool { return strings.HasPrefix(id, group+".") })
}

// derivedFrom returns the group from which another is computed. A time per output token is computed
// from the time after the first token, so it is invalid without a time to the first token.
func (r *Run) derivedFrom(group string) string {
	if quantityOf(group) != "tpot" {
		return ""
	}
	id, _ := r.metricID("ttft", "mean")
	of, _, _ := strings.Cut(id, ".")
	return of
}

// mayBeZero are the groups that can be measured as 0 in every statistic: the queue of a client can
// be empty, and a goodput 0.
var mayBeZero = []string{"queue", "goodput", "spec_decode", "rtfx"}
