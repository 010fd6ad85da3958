package reports

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/text"
)

// The elements of the JUnit format, as Jenkins and GitLab read it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr,omitempty"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Timestamp  string          `xml:"timestamp,attr,omitempty"`
		Properties []junitProperty `xml:"properties>property,omitempty"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitOutcome `xml:"failure"`
		Error   *junitOutcome `xml:"error"`
		Skipped *junitOutcome `xml:"skipped"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitOutcome struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes one test suite for each gate with one test case for each decision. A verdict that fails the file is a
// failure if it is a regression, otherwise an error (not decided). A verdict that only warns or is ignored is skipped
// with its reason. A run that did not complete adds an error in a suite named "run". JUnit ignores the options.
func JUnit(w io.Writer, doc *result.Document, _ Options) error {
	v := newView(doc, Options{})
	suites := junitSuites{Name: escape.Text(doc.File, model.MaxCell)}
	if d := doc.Ended.Sub(doc.Started); !doc.Started.IsZero() && d > 0 {
		suites.Time = fmt.Sprintf("%.3f", d.Seconds())
	}
	if s := junitRun(doc); s != nil {
		suites.Suites = append(suites.Suites, *s)
	}
	for _, g := range v.gates {
		suites.Suites = append(suites.Suites, v.junitGate(g))
	}
	for i := range suites.Suites {
		s := &suites.Suites[i]
		s.total()
		if !doc.Started.IsZero() {
			s.Timestamp = doc.Started.UTC().Format("2006-01-02T15:04:05")
		}
		suites.Tests += s.Tests
		suites.Failures += s.Failures
		suites.Errors += s.Errors
		suites.Skipped += s.Skipped
	}
	data, err := xml.MarshalIndent(suites, "", "  ")
	if err != nil {
		return fmt.Errorf("render junit: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, data); err != nil {
		return fmt.Errorf("write junit: %w", err)
	}
	return nil
}

func (s *junitSuite) total() {
	for _, c := range s.Cases {
		s.Tests++
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
}

// junitRun reports that the run as a whole did not complete.
func junitRun(doc *result.Document) *junitSuite {
	if doc.Status == result.StatusComplete {
		return nil
	}
	return &junitSuite{Name: "run", Cases: []junitCase{{
		Class: "run", Name: "completes",
		Error: &junitOutcome{Type: string(doc.Status), Message: escape.Text(doc.StatusReason, model.MaxLine)},
	}}}
}

func (v *view) junitGate(g *result.Gate) junitSuite {
	s := junitSuite{Name: escape.Text(g.Addr, model.MaxCell)}
	s.Properties = []junitProperty{{"benchmark", escape.Text(g.Benchmark, model.MaxCell)}, {"run_id", escape.Text(v.doc.RunID, model.MaxCell)}}
	if v.doc.Simulated != "" {
		s.Properties = append(s.Properties, junitProperty{"simulated", escape.Text(v.doc.Simulated, model.MaxCell)})
	}
	for _, o := range v.objectives() {
		if o.at.benchmark.Addr == g.Benchmark {
			load, value, limit, headroom := o.texts()
			s.Properties = append(s.Properties, junitProperty{
				escape.Text("slo "+o.metric.ID+" "+result.Coordinates(o.at.cell.Values, " "), model.MaxCell),
				fmt.Sprintf("value %s, limit %s, headroom %s, at %s", value, limit, headroom, load),
			})
		}
	}
	for i := range g.Decisions {
		s.Cases = append(s.Cases, v.junitDecision(verdictRow{g, &g.Decisions[i]}))
	}
	if len(g.Decisions) == 0 {
		c := junitCase{Class: s.Name, Name: "gate"}
		c.outcome(g, g.Verdict, "no comparison was judged", "")
		s.Cases = append(s.Cases, c)
	}
	return s
}

func (v *view) junitDecision(r verdictRow) junitCase {
	d := r.d
	name := metricLabel(d) + " at " + v.cellName(r).String()
	c := junitCase{
		Class: escape.Text(r.gate.Addr, model.MaxCell), Name: escape.Text(name, model.MaxLine),
		File: escape.Text(r.gate.Range.File, model.MaxCell), Line: max(0, r.gate.Range.Line),
	}
	sc := scaleOf(d)
	detail := humanize.None
	if value, limit, headroom := limitTexts(d); d.Kind == result.KindAssert {
		detail = fmt.Sprintf("value %s, limit %s, headroom %s", value, limit, headroom)
	} else if d.N > 0 {
		base, head := valueTexts(d)
		names := v.names(r)
		detail = fmt.Sprintf("%s %s, %s %s, change %s, interval %s, p (Holm) %s, margin %s",
			names.Base, base, names.Head, head, changeText(d, sc), intervalText(d, sc), humanize.Probability(d.PHolm), marginText(d, sc))
	}
	c.outcome(r.gate, d.Verdict, text.Line(verdictText(r), model.MaxLine), escape.Text(detail, model.MaxLine))
	return c
}

// outcome sets the JUnit outcome for a verdict, depending on the gate's action.
func (c *junitCase) outcome(g *result.Gate, verdict result.Verdict, message, detail string) {
	o := &junitOutcome{Type: string(verdict), Message: message, Text: detail}
	switch {
	case verdict == result.Pass || verdict == result.Improvement:
		c.Output = detail
	case g.On(verdict) != result.Fail:
		c.Skipped = o
	case verdict == result.Regression:
		c.Failure = o
	default:
		c.Error = o
	}
}
