package kv

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
)

// Evidence holds what a run recorded about whether and how KV caches moved.
type Evidence struct {
	// Connectors to consider; nil means all of [Connectors].
	Connectors Table
	// Transfer as declared.
	Transfer steps.TransferSpec
	// Engine and Version of the members.
	Engine, Version string
	Members         []MemberEvidence
	// NICs lists the machine's devices with the bytes they carried during the run. Loopback counts as Ethernet.
	NICs []NICEvidence
	// Requests that succeeded and their prompt tokens; 0 if unknown.
	Requests     int
	PromptTokens float64
	// KVBytesPerToken of the model, 0 if unknown.
	KVBytesPerToken float64
	// Simulated servers send only part of the modelled bytes over real devices, so devices prove nothing.
	Simulated bool
}

// MemberEvidence holds what one server recorded.
type MemberEvidence struct {
	Name string
	// Role as returned by [Layout.Role].
	Role string
	// GPUs of the server, 0 if unknown.
	GPUs int
	// Before and After are its counters at the start and end of the run, under the names of [steps.Observation]
	// or the engine's own. nil if unavailable.
	Before, After map[string]float64
	// Log since the server's start; RunFrom is the index of the run's first line.
	Log     []string
	RunFrom int
	// Describe holds the server's configuration as the engine reports it.
	Describe map[string]string
}

// block returns how many tokens a block of the member holds, 0 if it reports none.
func (m MemberEvidence) block() float64 {
	for _, e := range engines {
		for _, name := range e.blockSizes {
			if n, err := strconv.Atoi(m.Describe[name]); err == nil && n > 0 {
				return float64(n)
			}
		}
	}
	return 0
}

// NICEvidence holds the bytes that a device carried during the run.
type NICEvidence struct {
	Name   string
	Kind   string // NICRDMA, NICEthernet or NICNVLink
	Rx, Tx float64
}

// The kinds of devices.
const (
	NICRDMA     = "ib"
	NICEthernet = "eth"
	NICNVLink   = "nvlink"
)

// aliases returns the engines' names of one of our counters.
func (t Table) aliases(name string) []string {
	var out []string
	for _, e := range engines {
		out = append(out, e.counters[name]...)
	}
	for _, c := range t {
		for _, f := range c.Forms {
			for _, m := range f.Play.Metrics {
				switch {
				case name == metric.CounterTransferBytes && m.Of == TransferSizes:
					out = append(out, m.Name+"_sum")
				case name == metric.CounterTransferBytes && m.Of == TransferredBytes,
					name == metric.CounterTransferFailures && (m.Of == FailedTransfers || m.Of == FailedSends || m.Of == FailedLoads):
					out = append(out, m.Name)
				}
			}
		}
	}
	return out
}

func (e Evidence) table() Table {
	if e.Connectors == nil {
		return Connectors()
	}
	return e.Connectors
}

// Signals returns a function that reports whether a log line concerns transfers, so that a collector need not
// keep whole logs. gpus is the server's number of GPUs, 0 if unknown.
func (e Evidence) Signals(gpus int) func(line string) bool {
	lines := e.table().lines()
	return func(line string) bool { return readLine(lines, line, gpus).Kind != NoSignal }
}

// read finds a counter under our name or the engine's.
func (e Evidence) read(counters map[string]float64, name string) (float64, bool) {
	if v, ok := counters[name]; ok {
		return v, true
	}
	for _, alias := range e.table().aliases(name) {
		if v, ok := counters[alias]; ok {
			return v, true
		}
	}
	return 0, false
}

// rise returns how much a counter rose on the matching members, and its total since their start. known is false
// if no such member has it. A counter that fell was reset.
func (e Evidence) rise(name string, fits func(MemberEvidence) bool) (delta, total float64, known bool) {
	for _, m := range e.Members {
		after, ok := e.read(m.After, name)
		if !ok || !fits(m) || m.Before == nil {
			continue
		}
		before, _ := e.read(m.Before, name)
		if before > after {
			before = 0
		}
		delta, total, known = delta+after-before, total+after, true
	}
	return delta, total, known
}

func all(MemberEvidence) bool { return true }

func consumes(m MemberEvidence) bool {
	return m.Role == steps.RoleConsumer || m.Role == steps.RoleBoth
}

// traces collects the signals of all logs.
type traces struct {
	carried  map[string]string   // transport → first line that shows it, with its member
	excluded map[string]string   // likewise
	devices  map[string][]string // transport → devices
	echo     string
	// During the run only:
	moved, recomputed, failed       float64
	movedAt, recomputedAt, failedAt string
}

func (e Evidence) traces() traces {
	t := traces{carried: map[string]string{}, excluded: map[string]string{}, devices: map[string][]string{}}
	lines := e.table().lines()
	for _, m := range e.Members {
		for i, line := range m.Log {
			if s := readLine(lines, line, m.GPUs); s.Kind != NoSignal {
				t.add(s, m.Name+": "+steps.Line(line, maxQuote), i >= m.RunFrom)
			}
		}
	}
	return t
}

func (t *traces) add(s Signal, where string, inRun bool) {
	keep := func(m map[string]string) {
		if m[s.Transport] == "" {
			m[s.Transport] = where
		}
	}
	count := func(n *float64, at *string) {
		if inRun {
			*n += s.Count
			if *at == "" {
				*at = where
			}
		}
	}
	switch s.Kind {
	case Carried:
		keep(t.carried)
		for _, d := range s.Devices {
			if !slices.Contains(t.devices[s.Transport], d) {
				t.devices[s.Transport] = append(t.devices[s.Transport], d)
			}
		}
	case Excluded:
		keep(t.excluded)
	case Echo:
		t.echo = where
	case Moved:
		count(&t.moved, &t.movedAt)
	case Recomputed:
		count(&t.recomputed, &t.recomputedAt)
	case Failed:
		count(&t.failed, &t.failedAt)
	}
}

// maxQuote is the largest length of a quoted line.
const maxQuote = 240

// amount formats bytes for people.
func amount(bytes float64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	i := 0
	for bytes >= 1000 && i < len(units)-1 {
		bytes /= 1000
		i++
	}
	return fmt.Sprintf("%.3g %s", bytes, units[i])
}
