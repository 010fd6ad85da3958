package result

// Machines are those that repeats took in turn, each with all its sides on one of them. Runs name theirs.
type Machines struct {
	Count int `json:"count" bounds:"2,"`
	// Between is how much what a change does was taken to differ from machine to machine, as the standard
	// deviation of a share: decisions are then about all machines like these. Absent where they are about
	// the mean over these.
	Between float64 `json:"between,omitempty" bounds:"0,1"`
	// Confirm says that all repeats ran on the first of two machines, and that a comparison is a regression
	// only if it regressed on the second, too.
	Confirm bool `json:"confirm,omitempty"`
}

// Confirmation is what a second machine showed of the comparisons that regressed on the first: both sides
// of each were run again there, with as many repeats and looks as were planned, and judged by themselves.
type Confirmation struct {
	Status       Status `json:"status"`
	StatusReason string `json:"status_reason,omitempty"` // why it is not complete
	// StoppedBy is "budget" where the next repeat would have exceeded what the budget had left.
	StoppedBy  StoppedBy `json:"stopped_by,omitempty"`
	Seed       uint64    `json:"seed"`        // of the tests that draw
	FamilySize int       `json:"family_size"` // comparisons that p values are adjusted for
	// RepeatsPlanned and RepeatsDone count launches of every side on the second machine.
	RepeatsPlanned int   `json:"repeats_planned"`
	RepeatsDone    int   `json:"repeats_done"`
	Looks          []int `json:"looks,omitempty"`       // numbers of repeats after which it was planned to be judged
	LooksTaken     []int `json:"looks_taken,omitempty"` // those that were taken
	// Benchmarks hold the cells that were run again, and Launches what was launched on the second machine.
	Benchmarks []Benchmark `json:"benchmarks"`
	Launches   []Launch    `json:"launches"`
	Gates      []Gate      `json:"gates"`              // with what the second machine decided alone
	Warnings   []string    `json:"warnings,omitempty"` // in sentences
}

// Confirmed is a document of the session on the second machine alone, nil where nothing was run again.
func (doc *Document) Confirmed() *Document {
	c := doc.Confirmation
	if c == nil {
		return nil
	}
	out := *doc
	out.Machines, out.Confirmation, out.Profile, out.Lanes, out.Bill = nil, nil, nil, nil, nil
	out.LooksBefore, out.Answers, out.Evaluations, out.NotSelected, out.Sides, out.Images = nil, nil, nil, nil, nil, nil
	out.Status, out.StatusReason, out.StoppedBy, out.Seed, out.FamilySize = c.Status, c.StatusReason, c.StoppedBy, c.Seed, c.FamilySize
	out.RepeatsPlanned, out.RepeatsDone, out.Looks, out.LooksTaken = c.RepeatsPlanned, c.RepeatsDone, c.Looks, c.LooksTaken
	out.Benchmarks, out.Launches, out.Gates, out.Warnings = c.Benchmarks, c.Launches, c.Gates, c.Warnings
	out.Verdict = Overall(out.Gates)
	out.ExitCode, out.Bill = Exit(&out), NewBill(&out)
	return &out
}

// NewConfirmation keeps of a document of the session on the second machine what is its own.
func NewConfirmation(doc *Document) *Confirmation {
	return &Confirmation{
		Status: doc.Status, StatusReason: doc.StatusReason, StoppedBy: doc.StoppedBy, Seed: doc.Seed, FamilySize: doc.FamilySize,
		RepeatsPlanned: doc.RepeatsPlanned, RepeatsDone: doc.RepeatsDone, Looks: doc.Looks, LooksTaken: doc.LooksTaken,
		Benchmarks: doc.Benchmarks, Launches: doc.Launches, Gates: doc.Gates, Warnings: doc.Warnings,
	}
}

// Decision finds that of the second machine on a comparison; nil where it was not run again.
func (c *Confirmation) Decision(gate, id string) *Decision {
	for i := range c.Gates {
		for k := range c.Gates[i].Decisions {
			if d := &c.Gates[i].Decisions[k]; c.Gates[i].Addr == gate && d.ID == id {
				return d
			}
		}
	}
	return nil
}

// Nodes names the machine that a document's runs were on, "" where none has a name.
func (doc *Document) Nodes() string {
	for _, b := range doc.Benchmarks {
		for _, c := range b.Cells {
			for _, r := range c.Runs {
				if r.Nodes != "" {
					return r.Nodes
				}
			}
		}
	}
	return ""
}
