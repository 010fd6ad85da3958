package reports_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// billed is a session of which one gate was decided before the other.
func billed() *result.Document {
	doc := passing()
	doc.Price = &result.Price{GPUHour: 2.5, Currency: "USD"}
	for i := range doc.Targets {
		doc.Targets[i].GPUs = 8
	}
	for i := range doc.Launches {
		doc.Launches[i].Held = 600
	}
	early := doc.Gates[0]
	early.Addr, early.Decisions = "gate.early", append([]result.Decision{}, early.Decisions...)
	for i := range early.Decisions {
		early.Decisions[i].ID, early.Decisions[i].Look = "early "+early.Decisions[i].ID, 1
	}
	doc.Gates = append(doc.Gates, early)
	doc.Bill = result.NewBill(doc)
	return doc
}

func TestReportsSayWhatAVerdictCost(t *testing.T) {
	doc := billed()
	whole := reportText(t, doc, reports.Text)
	for _, want := range []string{"Cost: 11 GPU-hours, 26.67 USD; 84 % of it measuring, 7 % starting servers; early (pass) took 2.7 " +
		"GPU-hours, 6.67 USD"} {
		if !strings.Contains(whole, want) {
			t.Errorf("the report does not say %q:\n%s", want, whole)
		}
	}
	markdown := reportText(t, doc, reports.Markdown)
	for _, want := range []string{"Cost: 11 GPU-hours, 26.67 USD", "| decided after | cost until then |",
		"| 1 repeat | 2.7 GPU-hours, 6.67 USD |"} {
		if !strings.Contains(strings.ReplaceAll(markdown, "\u00a0", " "), want) {
			t.Errorf("markdown does not say %q:\n%s", want, markdown)
		}
	}
	doc.Images = []result.Image{
		{Image: "engine:v1", For: "base", Nodes: "gpu1", Seconds: 90}, {Image: "engine:v2", For: "head", Nodes: "gpu1", Seconds: 120},
		{Image: "engine:v1", For: "base", Nodes: "gpu2", Seconds: 150},
	}
	doc.Bill = result.NewBill(doc)
	if got := reportText(t, doc, reports.Text); !strings.Contains(got, "; images took 4 min before the first launch, which is not in it") {
		t.Errorf("how long images took is not stated:\n%s", got)
	}
	doc.Simulated = result.SimulatedVirtual
	if got := reportText(t, doc, reports.Text); !strings.Contains(got, "Cost in the model: 11 GPU-hours") {
		t.Errorf("a bill of virtual time does not say so:\n%s", got)
	}
	amount := 0.5
	doc.Profile = &result.Profile{Reason: "none", Spent: &result.Spent{MachineHours: 0.025, GPUHours: 0.2, Amount: &amount}}
	if got := reportText(t, doc, reports.Text); !strings.Contains(got, "; the profile took 0.20 GPU-hours, 0.50 USD more") {
		t.Errorf("the cost of a profile is not stated:\n%s", got)
	}
	doc.Bill = nil
	if got := reportText(t, doc, reports.Text); strings.Contains(got, "Cost") {
		t.Errorf("there is a cost although nothing is known of it:\n%s", got)
	}
}

// reportText is a document in a format.
func reportText(t *testing.T, doc *result.Document, write func(io.Writer, *result.Document, reports.Options) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out, doc, reports.Options{Width: 400}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
