package result

// Price is what machines cost.
type Price struct {
	GPUHour     float64 `json:"gpu_hour,omitempty" bounds:"0,"`     // of one GPU for an hour
	MachineHour float64 `json:"machine_hour,omitempty" bounds:"0,"` // of one machine for an hour
	Currency    string  `json:"currency"`                           // code of ISO 4217: "USD"
}

// Of is what hours of machines and of GPUs cost.
func (p Price) Of(machineHours, gpuHours float64) float64 {
	return p.MachineHour*machineHours + p.GPUHour*gpuHours
}

// Spent is what was held, with its price.
type Spent struct {
	// MachineHours and GPUHours from the start of servers to their end; GPUs are those that the
	// file states.
	MachineHours float64 `json:"machine_hours" bounds:"0,"`
	GPUHours     float64 `json:"gpu_hours,omitempty" bounds:"0,"`
	// Amount is their price, in the currency of Price; absent where the file has no price.
	Amount *float64 `json:"amount,omitempty" bounds:"0,"`
}

// Spent is that of hours of machines and of GPUs. The price may be nil.
func (p *Price) Spent(machineHours, gpuHours float64) Spent {
	s := Spent{MachineHours: machineHours, GPUHours: gpuHours}
	if p != nil {
		amount := p.Of(machineHours, gpuHours)
		s.Amount = &amount
	}
	return s
}

// Bill is what a session held machines for.
type Bill struct {
	Spent Spent `json:"spent"` // by all launches
	// MeasuredShare is the part of what launches held in which a load was measured, StartShare that until servers
	// were ready. The rest is warm-up, what lies between runs, and the end of servers.
	StartShare    float64 `json:"start_share" bounds:"0,1"`
	MeasuredShare float64 `json:"measured_share" bounds:"0,1"`
	// ImagesSeconds is how long images took to be there before the first launch. Nothing of it is in Spent,
	// since the next session finds them.
	ImagesSeconds float64 `json:"images_s,omitempty" bounds:"0,"`
	// Gates lists what was held until each gate had its verdict.
	Gates []GateBill `json:"gates,omitempty"`
}

// GateBill is what a gate's verdict cost.
type GateBill struct {
	Gate string `json:"gate"` // address
	// Repeats after which the last of its comparisons was decided or given up.
	Repeats int   `json:"repeats"`
	Spent   Spent `json:"spent"` // until then
}

// HasCost reports whether the launches of a document cost what they state: replacements of
// servers hold no GPU, but virtual time states what the servers themselves would hold.
func (doc *Document) HasCost() bool {
	return doc.Simulated == "" || doc.Simulated == SimulatedVirtual
}

// NewBill adds up what the launches of a judged document held; nil where nothing is known of
// them, or servers were replaced by processes that hold no machine of their own.
func NewBill(doc *Document) *Bill {
	if !doc.HasCost() {
		return nil
	}
	all := spentUntil(doc, doc.RepeatsPlanned)
	if all.machines == 0 {
		return nil
	}
	bill := &Bill{Spent: all.spent(doc.Price), ImagesSeconds: doc.imagesSeconds()}
	bill.StartShare, bill.MeasuredShare = min(1, all.start/all.held), min(1, all.measured/all.held)
	for _, g := range doc.Gates {
		n := decidedAfter(doc, g)
		bill.Gates = append(bill.Gates, GateBill{Gate: g.Addr, Repeats: n, Spent: spentUntil(doc, n).spent(doc.Price)})
	}
	return bill
}

// imagesSeconds is how long images took: machines got theirs at the same time.
func (doc *Document) imagesSeconds() float64 {
	longest, sums := 0.0, map[string]float64{}
	for _, image := range doc.Images {
		sums[image.Nodes] += image.Seconds
		longest = max(longest, sums[image.Nodes])
	}
	return longest
}

// decidedAfter is the number of repeats that the decisions of a gate rest on.
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

// holding adds up launches, in seconds: of machines, of GPUs, and of the weight that says what
// the time went by with.
type holding struct{ machines, gpus, held, start, measured float64 }

// spentUntil is what was held until a repeat and all that was measured again before the next.
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
		sum.machines += l.Held * float64(max(t.Machines, 1))
		sum.gpus += l.Held * float64(t.GPUs)
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

func (h holding) spent(price *Price) Spent { return price.Spent(h.machines/3600, h.gpus/3600) }
