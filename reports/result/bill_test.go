package result_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/servegate/pipeline/reports/result"
)

// billed is a session of two sides on two GPUs each: 60 s of start, 100 s of load and 20 s of the
// rest a launch, with a failed start in the second repeat and a run that was measured again.
func billed() *result.Document {
	doc := &result.Document{
		RepeatsPlanned: 4, RepeatsDone: 2, Price: &result.Price{GPUHour: 3.6, Currency: "USD"},
		Targets: []result.Target{{Addr: "base", GPUs: 2}, {Addr: "head", GPUs: 2}},
	}
	cell := result.Cell{Hash: "c"}
	launch := func(id string, repeat int, target string) {
		doc.Launches = append(doc.Launches, result.Launch{ID: id, Repeat: repeat, Target: target, Startup: 60, Held: 180})
		cell.Runs = append(cell.Runs, result.Run{Launch: id, Repeat: repeat, Duration: 100})
	}
	launch("1b", 1, "base")
	launch("1h", 1, "head")
	launch("again", 5, "base") // measures void runs of the first repeat again
	doc.Launches = append(doc.Launches, result.Launch{ID: "2h", Repeat: 2, Target: "head", Held: 90, Failure: &result.Failure{}})
	launch("2h~2", 2, "head")
	doc.Benchmarks = []result.Benchmark{{Cells: []result.Cell{cell}}}
	doc.Gates = []result.Gate{
		{Addr: "gate.early", Decisions: []result.Decision{{Look: 1}, {Look: 1}}},
		{Addr: "gate.late", Decisions: []result.Decision{{Look: 1}, {Look: 2}}},
		{Addr: "gate.limit", Decisions: []result.Decision{{}}},
	}
	return doc
}

func TestNewBill(t *testing.T) {
	amount := func(x float64) *float64 { return &x }
	early := result.Spent{MachineHours: 3 * 180 / 3600., GPUHours: 2 * 3 * 180 / 3600., Amount: amount(2 * 3 * 0.18)}
	all := result.Spent{MachineHours: (4*180 + 90) / 3600., GPUHours: 2 * (4*180 + 90) / 3600., Amount: amount(2 * (4*0.18 + 0.09))}
	want := &result.Bill{
		Spent: all, StartShare: (4*60 + 90) / 810., MeasuredShare: 4 * 100 / 810.,
		Gates: []result.GateBill{{"gate.early", 1, early}, {"gate.late", 2, all}, {"gate.limit", 2, all}},
	}
	if diff := cmp.Diff(want, result.NewBill(billed()), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("bill (-want +got):\n%s", diff)
	}
}

// Nothing was spent where nothing was held: on servers that were there before, and on doubles.
func TestNoBill(t *testing.T) {
	attached, simulated := billed(), billed()
	for i := range attached.Launches {
		attached.Launches[i].Held = 0
	}
	simulated.Simulated = "process"
	for name, doc := range map[string]*result.Document{"attached": attached, "simulated": simulated} {
		if bill := result.NewBill(doc); bill != nil {
			t.Errorf("%s: %+v", name, bill)
		}
	}
	virtual := billed()
	virtual.Simulated = result.SimulatedVirtual
	if bill := result.NewBill(virtual); bill == nil || math.Abs(bill.Spent.GPUHours-0.45) > 1e-12 {
		t.Errorf("virtual time: %+v", bill)
	}
}
