package steps

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// LanesSpec divides one machine into parts on which repeats are measured at once.
type LanesSpec struct {
	Lanes []LaneSpec
	// Interference is by how much a lane may be slower for what the others do, as a share; 0 means
	// half of the margin of each gate.
	Interference float64
	// OnInterference is what becomes of the run where that is not shown: InterferenceFails or InterferenceOneLane.
	OnInterference string
	// Passes of the check of that at most; 0 means that their number follows from that of the lanes.
	Passes int
}

// What becomes of a run whose lanes are not shown to leave each other alone.
const (
	InterferenceFails   = "fail"
	InterferenceOneLane = "one_lane"
)

// LaneSpec is one part of a machine.
type LaneSpec struct {
	// Cores and Memory are lists of cores and memory nodes such as 0-15,32, "" for all.
	Cores, Memory string
	GPUs          []string // indices or UUIDs
	NICs          []string // RDMA devices
}

// Bounds of the lanes block.
const (
	mostInterference = 0.2
	mostLanePasses   = 128
	mostLanes        = 64
)

// LanesSchema describes the lanes block.
func LanesSchema() Schema {
	return Schema{Attrs: []Attr{
		{Name: "interference", Type: cty.Number, Unit: UnitPercent, Doc: "How much slower a lane may be while the others are busy; half of the margin of each gate unless set. It is measured before the first repeat, by what each lane begins with and the metrics of the gates; on_interference says what becomes of a run in which it is not shown to be less."},
		{Name: "on_interference", Type: cty.String, Default: cty.StringVal(InterferenceFails), Enum: enum.Values{
			{Name: InterferenceFails, Doc: "the run ends there, with exit status 4"}, {Name: InterferenceOneLane, Doc: "repeats come one after another, each in its lane, with the others idle"},
		}, Doc: "What becomes of a run whose lanes are not shown to leave each other alone."},
		{Name: "passes", Type: cty.Number, Rule: Whole(1, mostLanePasses), Doc: "How often each cell is measured for that at most, in one lane alone and in all of them at once, the lanes in turn. Twice as often as is the least unless set; the least is 4, and one for each lane that begins with the same side."},
	}, Blocks: []BlockSchema{
		{Type: "lane", Min: 2, Max: mostLanes, Doc: "A part of the machine. No two have a core, a GPU or a network device in common.", Schema: Schema{Attrs: []Attr{
			{Name: "cores", Type: cty.String, Rule: coreList, Doc: "Cores that its servers run on, such as \"0-15\"; executables are started by taskset, containers get a cpuset. Leave some for the load generator."},
			{Name: "memory", Type: cty.String, Rule: coreList, Doc: "NUMA nodes whose memory its servers use; executables are started by numactl then."},
			{Name: "gpus", Type: cty.List(cty.String), Doc: "GPUs of its servers, by index or UUID. A server that states how many it takes gets the first of them, any other all."},
			{Name: "nics", Type: cty.List(cty.String), Doc: "RDMA devices of its servers, such as [\"mlx5_0\"]: NCCL_IB_HCA and UCX_NET_DEVICES in their environment."},
		}}},
	}}
}

// ReadLanes reads a lanes block and finds what is wrong with it beyond types.
func ReadLanes(o Object) (*LanesSpec, []Problem) {
	s := &LanesSpec{Interference: o.Float("interference"), OnInterference: o.Text("on_interference"), Passes: o.Int("passes")}
	found := LanesSchema().Check(o)
	if o.Known("interference") && (s.Interference <= 0 || s.Interference > mostInterference) {
		found = append(found, Problem{Path: []string{"interference"}, Summary: "interference must be above 0 and at most 20 %",
			Detail: fmt.Sprintf("It is %g %%. It is how much slower a lane may be while the others are busy.", 100*s.Interference)})
	}
	claims := claims{owner: map[claim]int{}}
	for i, lane := range o.Blocks["lane"] {
		l := LaneSpec{Cores: lane.Text("cores"), Memory: lane.Text("memory")}
		l.GPUs, _ = lane.Texts("gpus") // the schema's types let nothing else through
		l.NICs, _ = lane.Texts("nics")
		s.Lanes = append(s.Lanes, l)
		if l.Cores == "" && len(l.GPUs) == 0 {
			found = append(found, Problem{Path: []string{"lane"}, Block: i, Summary: fmt.Sprintf("lane %d has nothing of its own", i),
				Detail: "Give it cores, gpus or both, so that its servers do not run on those of another lane."})
		}
		cores, err := CoreList(l.Cores)
		if err != nil && !refused(found, i, "cores") {
			found = append(found, Problem{Path: []string{"lane", "cores"}, Block: i, Summary: "cores cannot be read", Detail: sentence(err.Error())})
		}
		found = append(found, claims.of(i, "core", "cores", numbered(cores))...)
		found = append(found, claims.of(i, "GPU", "gpus", l.GPUs)...)
		found = append(found, unnamed(i, "gpus", l.GPUs)...)
		found = append(found, unnamed(i, "nics", l.NICs)...)
		found = append(found, claims.of(i, "network device", "nics", l.NICs)...)
	}
	return s, append(found, uneven(s.Lanes)...)
}

// refused reports whether something is said of an argument of a lane already.
func refused(found []Problem, lane int, argument string) bool {
	return slices.ContainsFunc(found, func(p Problem) bool { return p.Block == lane && slices.Equal(p.Path, []string{"lane", argument}) })
}

// deviceName is what a GPU or a network device is called: its name becomes one of a list in the
// environment of servers, in which a comma would begin another.
var deviceName = regexp.MustCompile(`^[A-Za-z0-9._:/-]+$`)

// unnamed finds devices of a lane whose names are none.
func unnamed(lane int, argument string, ids []string) []Problem {
	var found []Problem
	for _, id := range ids {
		if !deviceName.MatchString(id) {
			found = append(found, Problem{Path: []string{"lane", argument}, Block: lane, Summary: fmt.Sprintf("%q names no device", id),
				Detail: "Write each device as one element of the list, such as [\"mlx5_0\", \"mlx5_1\"]."})
		}
	}
	return found
}

// uneven finds lanes of which some have cores or GPUs of their own and others do not.
func uneven(lanes []LaneSpec) []Problem {
	var found []Problem
	for _, kind := range []struct {
		name string
		has  func(LaneSpec) bool
	}{
		{"cores", func(l LaneSpec) bool { return l.Cores != "" }},
		{"gpus", func(l LaneSpec) bool { return len(l.GPUs) > 0 }},
		{"nics", func(l LaneSpec) bool { return len(l.NICs) > 0 }},
	} {
		without := slices.IndexFunc(lanes, func(l LaneSpec) bool { return !kind.has(l) })
		if without >= 0 && slices.ContainsFunc(lanes, kind.has) {
			found = append(found, Problem{Path: []string{"lane"}, Block: without, Summary: fmt.Sprintf("lane %d has no %s, and others have", without, kind.name),
				Detail: "Its servers would run on those of the others. Give it " + kind.name + " of its own, or none to any."})
		}
	}
	return found
}

// claims are the parts of a machine that lanes have.
type claims struct{ owner map[claim]int }

type claim struct{ kind, id string }

// of finds what a lane claims that another has, or twice.
func (c claims) of(lane int, kind, argument string, ids []string) []Problem {
	var found []Problem
	for _, id := range ids {
		other, taken := c.owner[claim{kind, id}]
		if taken && other == lane {
			return append(found, Problem{Path: []string{"lane", argument}, Block: lane, Summary: fmt.Sprintf("lane %d names %s %s twice", lane, kind, id)})
		}
		if taken {
			return append(found, Problem{
				Path: []string{"lane", argument}, Block: lane, Summary: fmt.Sprintf("lanes %d and %d both have %s %s", other, lane, kind, id),
				Detail: "What they share slows both. Give each its own.",
			})
		}
		c.owner[claim{kind, id}] = lane
	}
	return found
}

// CoreList reads a list of cores such as "0-3,8".
func CoreList(text string) ([]int, error) {
	var out []int
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		low, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("%q is no list of cores", text)
		}
		high := low
		if isRange {
			if high, err = strconv.Atoi(last); err != nil || high < low {
				return nil, fmt.Errorf("%q is no range of cores", part)
			}
		}
		const most = 1 << 14
		if high >= most {
			return nil, fmt.Errorf("core %d is beyond what any machine has", high)
		}
		for core := low; core <= high; core++ {
			out = append(out, core)
		}
	}
	return out, nil
}

func numbered(numbers []int) []string {
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = strconv.Itoa(n)
	}
	return out
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
