package plan

import (
	"cmp"
	"fmt"
	"io"
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
	tw := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "%s: %s, %s, %s\n", term.Escape(p.File), humanize.Count(len(p.Benchmarks), "benchmark"),
		humanize.Count(p.cellCount(), "cell"), humanize.Count(len(p.Gates), "gate"))
	if p.Title != "" {
		fmt.Fprintf(tw, "%s\n", term.Escape(p.Title))
	}
	switch {
	case p.Simulated == result.SimulatedVirtual:
		fmt.Fprintln(tw, "virtual time: the model of the servers alone; the times below are those that the file would take")
	case p.Simulated != "":
		fmt.Fprintf(tw, "simulated: every vLLM and SGLang server is replaced by a simulated one, time scale %g\n", p.TimeScale)
	}
	fmt.Fprintln(tw)
	for i, s := range p.Steps {
		fmt.Fprintf(tw, "step %d\t%s\n", i+1, term.Escape(s.Addr))
	}
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
	for _, warning := range p.Warnings {
		fmt.Fprintf(tw, "\nwarning: %s\n", term.Escape(warning))
	}
	return tw.Flush()
}

func (p *Plan) cellCount() int {
	n := 0
	for _, b := range p.Benchmarks {
		n += len(b.Cells)
	}
	return n
}

func (p *Plan) writeTargets(w io.Writer) {
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
	long := Duration(p.Estimate.Seconds)
	if least := p.least(); len(p.Looks) > 1 && least < len(p.Repeats) {
		long += fmt.Sprintf(" at most, %s if all is decided after %s", Duration(p.Estimate.Seconds*float64(least)/float64(len(p.Repeats))),
			humanize.Count(least, "repeat"))
	}
	if p.Estimate.UnknownStarts > 0 {
		long += ", without the start of servers"
	}
	fmt.Fprintf(w, "cost\t%s, %s, about %s (%s)\n", humanize.Count(p.Estimate.Launches, "launch"), humanize.Count(p.Estimate.Runs, "run"),
		long, p.Estimate.Basis)
	if text := p.billText(); text != "" {
		fmt.Fprintf(w, "bill\t%s\n", text)
	}
	if text := p.profileText(); text != "" {
		fmt.Fprintf(w, "profile\t%s\n", text)
	}
	if text := p.budgetText(); text != "" {
		fmt.Fprintf(w, "budget\t%s\n", text)
	}
	if text := p.sideBySideText(); text != "" {
		fmt.Fprintf(w, "side by side\t%s\n", text)
	}
	if text := p.loadNodeText(); text != "" {
		fmt.Fprintf(w, "load\t%s\n", text)
	}
	fmt.Fprintln(w)
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
	for _, line := range g.unknownPower() {
		fmt.Fprintf(w, "  \t%s\n", line)
	}
	for _, loss := range g.Losses {
		fmt.Fprintf(w, "  \t%s\n", loss.text(g.Expect))
	}
	for _, power := range g.Power {
		if text := power.text(p.least(), repeats); text != "" {
			found := "a change of %s is found"
			if g.Expect == gates.ExpectImprovement {
				found = "a true improvement of %s is shown"
			}
			fmt.Fprintf(w, "  \t%s: "+found+" with %.0f %% power\n", term.Escape(power.what()), text, 100*gates.Power)
		}
	}
	for _, line := range p.suitePowers(g) {
		fmt.Fprintf(w, "  \t%s\n", term.Escape(line))
	}
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
	return fmt.Sprintf("%s spreads by %.2g %% (%s)", w.Metric, 100*w.SD, w.Basis)
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
