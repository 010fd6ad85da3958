package plan

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/term"
	"github.com/servegate/pipeline/steps"
)

// assumedSpreads are the standard deviations of ln(head/base) over pairs for which the detectable change is
// printed: typical of idle GPUs, and of shared or small machines.
var assumedSpreads = []float64{0.01, 0.03}

// WriteText writes a plan for people.
func (p *Plan) WriteText(w io.Writer) error {
	tw := newColumns(w)
	fmt.Fprintf(tw, "%s: %s, %s, %s\n", term.Escape(p.File), humanize.Count(len(p.Benchmarks), "benchmark"),
		humanize.Count(p.cellCount(), "cell"), humanize.Count(len(p.Gates), "gate"))
	if p.Title != "" {
		fmt.Fprintf(tw, "%s\n", term.Escape(p.Title))
	}
	p.writeSimulated(tw)
	fmt.Fprintln(tw)
	p.writeTargets(tw)
	p.writeSides(tw)
	for _, b := range p.Benchmarks {
		writeBenchmark(tw, b)
	}
	p.writeSchedule(tw)
	if p.Variance != nil {
		fmt.Fprintf(tw, "variance\t%s\n", term.Escape(p.Variance.text()))
	}
	for _, g := range p.Gates {
		p.writeGate(tw, g)
	}
	p.writeWarnings(tw)
	return tw.Flush()
}

// WriteBrief writes a summary of a plan that compares two servers: what is launched, how the sides differ, what it costs,
// and which changes it finds.
func (p *Plan) WriteBrief(w io.Writer) error {
	tw := newColumns(w)
	if p.writeSimulated(tw) {
		fmt.Fprintln(tw)
	}
	p.writeTargets(tw)
	p.writeSides(tw)
	p.writeCost(tw)
	title := "finds"
	for _, g := range p.Gates {
		for _, line := range p.findsText(g) {
			fmt.Fprintf(tw, "%s\t%s\n", title, term.Escape(line))
			title = "  "
		}
	}
	p.writeWarnings(tw)
	return tw.Flush()
}

func newColumns(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 2, 0, 2, ' ', 0) }

// writeSimulated says that servers are simulated, and how, and whether they are.
func (p *Plan) writeSimulated(w io.Writer) bool {
	switch {
	case p.Simulated == result.SimulatedVirtual:
		fmt.Fprintln(w, "virtual time: the model of the servers alone; the times below are those that the file would take")
	case p.Simulated != "":
		fmt.Fprintf(w, "simulated: every vLLM and SGLang server is replaced by a simulated one, time scale %g\n", p.TimeScale)
	}
	return p.Simulated != ""
}

func (p *Plan) writeWarnings(w io.Writer) {
	for _, warning := range p.Warnings {
		fmt.Fprintf(w, "\nwarning: %s\n", term.Escape(warning))
	}
}

func (p *Plan) cellCount() int {
	n := 0
	for _, b := range p.Benchmarks {
		n += len(b.Cells)
	}
	return n
}

// writeTargets writes the steps that make servers, and the servers.
func (p *Plan) writeTargets(w io.Writer) {
	for i, s := range p.Steps {
		fmt.Fprintf(w, "step %d\t%s\n", i+1, term.Escape(s.Addr))
	}
	for _, t := range p.Targets {
		line := t.Source
		if len(t.Argv) > 0 {
			line = strings.Join(t.Argv, " ")
		}
		switch images := strings.Join(t.Images, ", "); {
		case images == "" || p.Simulated != "" || images == line:
		case len(t.Argv) > 0:
			line = images + ": " + line
		default: // a deployment
			line += ", " + strings.TrimPrefix(humanize.Count(len(t.Images), "image"), "1 ") + " " + images
		}
		fmt.Fprintf(w, "%s\t%s\n", term.Escape(t.Addr), term.Escape(line))
	}
	fmt.Fprintln(w)
}

func writeBenchmark(w io.Writer, b Benchmark) {
	if len(b.Cells) > 0 && b.Cells[0].handedOver() {
		fmt.Fprintf(w, "%s\t%s, measured elsewhere: pipeline gate FILE --results\n", term.Escape(b.Addr), humanize.Count(len(b.Cells), "cell"))
	} else {
		passes := ""
		if b.Passes > 1 {
			passes = " × " + humanize.Count(b.Passes, "pass")
		}
		fmt.Fprintf(w, "%s\t%s × %s%s = %s\n", term.Escape(b.Addr), humanize.Count(len(b.Cells), "cell"),
			humanize.Count(b.RepeatMax, "repeat"), passes, humanize.Count(len(b.Cells)*b.RepeatMax*max(b.Passes, 1), "run"))
	}
	for _, a := range b.Axes {
		fmt.Fprintf(w, "  %s\t%s\n", term.Escape(a.Name), term.Escape(strings.Join(a.Values, "  ")))
	}
	written := map[string]bool{}
	for _, c := range b.Cells {
		line := ""
		if d := c.Workload.Driver; d != nil && d.Kind == steps.DriverOffline {
			line = "  {command}\t" + term.Escape(strings.Join(d.Command, " "))
		} else if c.Workload.Load.Search != nil {
			line = "  search\t" + searchText(c.Workload.Load)
		}
		if line != "" && !written[line] {
			written[line] = true
			fmt.Fprintln(w, line)
		}
	}
	if b.Excluded > 0 {
		fmt.Fprintf(w, "  excluded\t%s\n", humanize.Count(b.Excluded, "cell"))
	}
	fmt.Fprintln(w)
}

func (p *Plan) writeSchedule(w io.Writer) {
	if text := p.orderText(); text != "" {
		fmt.Fprintf(w, "order\t%s\n", text)
	}
	if text := p.residentText(); text != "" {
		fmt.Fprintf(w, "resident\t%s\n", term.Escape(text))
	}
	if text := p.machinesText(); text != "" {
		fmt.Fprintf(w, "machines\t%s\n", text)
	}
	p.writeCost(w)
	if text := p.profileText(); text != "" {
		fmt.Fprintf(w, "profile\t%s\n", text)
	}
	if text := p.sideBySideText(); text != "" {
		fmt.Fprintf(w, "side by side\t%s\n", text)
	}
	if text := p.loadNodeText(); text != "" {
		fmt.Fprintf(w, "load\t%s\n", text)
	}
	fmt.Fprintln(w)
}

// writeCost writes the time of a plan, what its machines cost, and the budget that bounds it.
func (p *Plan) writeCost(w io.Writer) {
	long := Duration(p.Estimate.Seconds)
	if least := p.least(); len(p.Looks) > 1 && least < len(p.Repeats) {
		long += fmt.Sprintf(" at most, %s if all is decided after %s", Duration(p.Estimate.Seconds*float64(least)/float64(len(p.Repeats))),
			humanize.Count(least, "repeat"))
	}
	if p.Estimate.UnknownStarts > 0 {
		long += ", without the start of servers"
	}
	counts := humanize.Count(p.Estimate.Runs, "run")
	if len(p.Targets) == 0 || slices.ContainsFunc(p.Targets, func(t Target) bool { return !t.Attached }) {
		counts = humanize.Count(p.Estimate.Launches, "launch") + ", " + counts
	}
	fmt.Fprintf(w, "cost\t%s, about %s (%s)\n", counts, long, p.Estimate.Basis)
	if text := p.billText(); text != "" {
		fmt.Fprintf(w, "bill\t%s\n", text)
	}
	if text := p.budgetText(); text != "" {
		fmt.Fprintf(w, "budget\t%s\n", text)
	}
}

func (p *Plan) writeGate(w io.Writer, g Gate) {
	if g.Assert {
		fmt.Fprintf(w, "%s\tlimit on %s of %s\n", term.Escape(g.Addr), humanize.Count(len(g.Comparisons), "cell"), term.Escape(g.Benchmark))
		return
	}
	fmt.Fprintf(w, "%s\t%s in %s, margin %s\n", term.Escape(g.Addr), strings.Join(g.Metrics, ", "),
		humanize.Count(len(g.Comparisons), "cell"), p.marginText(g))
	if !g.paired() {
		what := "described, not decided"
		if g.Stored != nil {
			what = fmt.Sprintf("the last %s of %s on machines like this one; judged from %d on", humanize.Count(g.Stored.Sessions, "session"),
				g.Stored.Branch, gates.MinSessions)
		}
		fmt.Fprintf(w, "  \tagainst %s: %s\n", term.Escape(g.Baseline), what)
		return
	}
	repeats := p.repeatsOf(g.Benchmark)
	p.writeLevel(w, g, repeats)
	if n := p.earliest(g); g.Expect == gates.ExpectImprovement && n > 0 {
		fmt.Fprintf(w, "  \texpects an improvement by more than the margin, which is shown after %s at the earliest\n",
			humanize.Count(n, "repeat"))
	}
	if text := p.suiteText(g); text != "" {
		fmt.Fprintf(w, "  \t%s\n", text)
	}
	for _, line := range p.findsText(g) {
		fmt.Fprintf(w, "  \t%s\n", term.Escape(line))
	}
}

// findsText returns lines that say which changes a gate finds, or why nothing is said of it.
func (p *Plan) findsText(g Gate) []string {
	if p.described(g) {
		return []string{"no change is decided: servers that run already are not launched anew, so the spread between launches is unknown"}
	}
	lines := g.unknownPower()
	for _, loss := range g.Losses {
		lines = append(lines, loss.text(g.Expect))
	}
	for _, power := range g.Power {
		if text := power.text(p.least(), p.repeatsOf(g.Benchmark)); text != "" {
			found := "a change of %s is found"
			if g.Expect == gates.ExpectImprovement {
				found = "a true improvement of %s is shown"
			}
			lines = append(lines, fmt.Sprintf("%s: "+found+" with %.0f %% power", power.what(), text, 100*gates.Power))
		}
	}
	return append(lines, p.suitePowers(g)...)
}

// marginText returns the margin in the form of the file: a time for metrics that have no ratio.
func (p *Plan) marginText(g Gate) string {
	m, _ := p.Metric(g.Metrics[0])
	return g.Margin.Text(m)
}

// what describes the metric and spread of a power.
func (w Power) what() string {
	if w.Metric == "" {
		return w.Basis
	}
	return fmt.Sprintf("%s spreads by %s (%s)", w.Metric, humanize.Spread(w.SD), w.Basis)
}

// writeLevel writes over what the comparisons of a gate are corrected, and when they are judged.
func (p *Plan) writeLevel(w io.Writer, g Gate, repeats int) {
	pairs := fmt.Sprintf("%d pairs each", repeats)
	if len(p.Looks) > 1 {
		looks := strings.Fields(strings.Trim(fmt.Sprint(p.Looks), "[]"))
		pairs = fmt.Sprintf("%d to %d pairs each, judged after %s", p.least(), repeats, humanize.List(looks))
	}
	if !g.CanFail() {
		fmt.Fprintf(w, "  \t%s, at %.3g one-sided without correction: a regression does not fail the file\n", pairs, cmp.Or(g.Alpha, p.Alpha))
		return
	}
	fmt.Fprintf(w, "  \t%s, Holm over a family of %d, success rates included, at %.3g one-sided\n", pairs, p.families()[g.group()], p.share(g))
	if n := gates.LaunchFailures(nil, nil, p.LaunchLevel()); repeats > 1 && repeats < n && len(p.sides(g)) > 0 {
		fmt.Fprintf(w, "  \ta head that never starts is a regression from %s on; with %d its metrics are missing\n",
			humanize.Count(n, "repeat"), repeats)
	}
}

// Duration writes seconds for people, to about two digits: "45 s", "12 min", "3 h 10 min".
func Duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	default:
		d = d.Round(10 * time.Minute)
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
}
