package result

import "github.com/servegate/pipeline/reports/humanize"

// Price is the price of machines.
type Price struct {
	GPUHour     float64 `json:"gpu_hour,omitempty" bounds:"0,"`     // per GPU and hour
	MachineHour float64 `json:"machine_hour,omitempty" bounds:"0,"` // per machine and hour
	Currency    string  `json:"currency"`                           // ISO 4217 code: "USD"
}

// Hours holds the time of machines and GPUs from the start of servers to their end.
type Hours struct {
	MachineHours float64 `json:"machine_hours,omitempty"`
	GPUHours     float64 `json:"gpu_hours,omitempty"`
}

// HeldFor returns the hours of a launch that holds machines and GPUs for a time. A launch holds one machine at least.
func HeldFor(seconds float64, machines, gpus int) Hours {
	return Hours{MachineHours: seconds * float64(max(machines, 1)) / 3600, GPUHours: seconds * float64(gpus) / 3600}
}

// Plus returns the sum of both.
func (h Hours) Plus(more Hours) Hours {
	return Hours{h.MachineHours + more.MachineHours, h.GPUHours + more.GPUHours}
}

// Times returns a share of the hours.
func (h Hours) Times(share float64) Hours { return Hours{share * h.MachineHours, share * h.GPUHours} }

// Main returns the hours of GPUs with their unit, or the hours of machines if there are no GPUs.
func (h Hours) Main() (hours float64, unit string) {
	if h.GPUHours > 0 {
		return h.GPUHours, "GPU-hours"
	}
	return h.MachineHours, "machine-hours"
}

// Text returns "1.3 GPU-hours".
func (h Hours) Text() string {
	hours, unit := h.Main()
	return humanize.Hours(hours) + " " + unit
}

// Of returns the price of hours.
func (p Price) Of(h Hours) float64 { return p.MachineHour*h.MachineHours + p.GPUHour*h.GPUHours }

// Spent is the machine time that was used, with its price.
type Spent struct {
	// MachineHours and GPUHours from the start of servers to their end. The number of GPUs is the
	// one in the file.
	MachineHours float64 `json:"machine_hours" bounds:"0,"`
	GPUHours     float64 `json:"gpu_hours,omitempty" bounds:"0,"`
	// Amount is the price, in the currency of Price; absent if the file has no price.
	Amount *float64 `json:"amount,omitempty" bounds:"0,"`
}

// Hours returns the time without its price.
func (s Spent) Hours() Hours { return Hours{s.MachineHours, s.GPUHours} }

// Spent returns the hours with their price. The receiver may be nil.
func (p *Price) Spent(h Hours) Spent {
	s := Spent{MachineHours: h.MachineHours, GPUHours: h.GPUHours}
	if p != nil {
		amount := p.Of(h)
		s.Amount = &amount
	}
	return s
}

// Bill is the machine time that a session used.
type Bill struct {
	Spent Spent `json:"spent"` // by all launches
	// StartShare is the share of the launches' time until servers were ready, MeasuredShare the
	// share in which a load was measured. The rest is warm-up, time between runs, and the end of
	// servers.
	StartShare    float64 `json:"start_share" bounds:"0,1"`
	MeasuredShare float64 `json:"measured_share" bounds:"0,1"`
	// ImagesSeconds is the time until images were present before the first launch. It is not part
	// of Spent, because the next session finds them.
	ImagesSeconds float64 `json:"images_s,omitempty" bounds:"0,"`
	// Gates lists the use until each gate had its verdict.
	Gates []GateBill `json:"gates,omitempty"`
}

// GateBill is the machine time until a gate had its verdict.
type GateBill struct {
	Gate string `json:"gate"` // address
	// Repeats after which the last of its comparisons was decided or given up.
	Repeats int   `json:"repeats"`
	Spent   Spent `json:"spent"` // until then
}

// HasCost reports whether the launches of a document have a cost. Servers replaced by simulated
// processes hold no GPU; in virtual time the document states what real servers would hold.
func (doc *Document) HasCost() bool {
	return doc.Simulated == "" || doc.Virtual()
}

// NewBill adds up the use of the launches of a judged document. It returns nil if there are none,
// or if servers were replaced by processes that hold no machine.
func NewBill(doc *Document) *Bill {
	if !doc.HasCost() {
		return nil
	}
	all := spentUntil(doc, doc.RepeatsPlanned)
	if all.MachineHours == 0 {
		return nil
	}
	bill := &Bill{Spent: doc.Price.Spent(all.Hours), ImagesSeconds: doc.imagesSeconds()}
	bill.StartShare, bill.MeasuredShare = min(1, all.start/all.held), min(1, all.measured/all.held)
	for _, g := range doc.Gates {
		n := decidedAfter(doc, g)
		bill.Gates = append(bill.Gates, GateBill{Gate: g.Addr, Repeats: n, Spent: doc.Price.Spent(spentUntil(doc, n).Hours)})
	}
	return bill
}

// imagesSeconds returns the time until images were present. Machines got theirs at the same time.
func (doc *Document) imagesSeconds() float64 {
	longest, sums := 0.0, map[string]float64{}
	for _, image := range doc.Images {
		sums[image.Nodes] += image.Seconds
		longest = max(longest, sums[image.Nodes])
	}
	return longest
}

// decidedAfter returns the number of repeats that the decisions of a gate used.
func decidedAfter(doc *Document, g Gate) int {
	n := 0
	for _, d := range g.Decisions {
		if d.Look == 0 {
			return doc.RepeatsDone
		}
		n = max(n, d.Look)
	}
	return n
}

// holding adds up launches: the hours that they held, and, in seconds weighted by GPUs, the time held in total, until
// servers were ready, and while measuring.
type holding struct {
	Hours
	held, start, measured float64
}

// spentUntil returns the use until a repeat, including all that was measured again before the next
// one.
func spentUntil(doc *Document, repeat int) holding {
	var sum holding
	measured := map[string]float64{}
	for _, b := range doc.Benchmarks {
		for _, c := range b.Cells {
			for _, r := range c.Runs {
				measured[r.Launch] += r.Duration
			}
		}
	}
	targets := map[string]Target{}
	for _, t := range doc.Targets {
		targets[t.Addr] = t
	}
	reached := 0
	for _, l := range doc.Launches {
		if l.Repeat <= doc.RepeatsPlanned {
			reached = l.Repeat
		}
		if reached > repeat { // or measured again after it
			continue
		}
		t := targets[l.Target]
		sum.Hours = sum.Plus(HeldFor(l.Held, t.Machines, t.GPUs))
		weight := float64(max(t.GPUs, 1))
		start := l.Startup
		if l.Failure != nil && start == 0 {
			start = l.Held
		}
		sum.held += weight * l.Held
		sum.start += weight * start
		sum.measured += weight * min(measured[l.ID], l.Held)
	}
	return sum
}
