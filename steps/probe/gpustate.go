package probe

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// Unknown is the value of a figure that the driver does not report.
const Unknown = -1

// The vendors of GPUs.
const (
	NVIDIA = "nvidia"
	AMD    = "amd"
)

// GPU is the state of one GPU at one moment. Figures that the driver does not report are Unknown, texts empty.
type GPU struct {
	Index  int    `json:"index"`
	UUID   string `json:"uuid"`
	Name   string `json:"name"`
	Vendor string `json:"vendor"`
	Driver string `json:"driver"`
	// Memory in bytes.
	MemoryTotal int64 `json:"memory_total"`
	MemoryUsed  int64 `json:"memory_used"`
	// Utilization in percent of the last sampling period.
	Utilization int64 `json:"utilization"`
	// Clocks in MHz, power in watts, temperature in degrees Celsius.
	SMClock     int64   `json:"sm_clock"`
	MaxSMClock  int64   `json:"max_sm_clock"`
	MemoryClock int64   `json:"memory_clock"`
	Power       float64 `json:"power"`
	PowerLimit  float64 `json:"power_limit"`
	Temperature int64   `json:"temperature"`
	Persistence string  `json:"persistence"`
	MIG         string  `json:"mig"`
	// Errors counts uncorrected memory errors since the driver was loaded.
	Errors int64 `json:"errors"`
	// Slowdown holds the reasons for reduced clocks; SlowdownKnown means that the driver reports them.
	Slowdown      Slowdown `json:"slowdown"`
	SlowdownKnown bool     `json:"slowdown_known"`
}

// String formats a GPU for people.
func (g GPU) String() string {
	if g.UUID == "" {
		return fmt.Sprintf("GPU %d", g.Index)
	}
	return fmt.Sprintf("GPU %d (%s)", g.Index, g.UUID)
}

// stateFields are the fields to query from nvidia-smi, in the order of parseState's columns.
var stateFields = []string{
	"index", "uuid", "name", "driver_version", "memory.total", "memory.used", "utilization.gpu",
	"clocks.sm", "clocks.max.sm", "clocks.mem", "power.draw", "power.limit", "temperature.gpu", "persistence_mode",
	"ecc.errors.uncorrected.volatile.total",
}

// variants lists further fields, the newest first. A driver rejects the whole query because of one unknown
// field. clocks_throttle_reasons was renamed in driver 535, and MIG came with 450.
var variants = [][]string{
	{"mig.mode.current", "clocks_event_reasons.active"},
	{"mig.mode.current", "clocks_throttle_reasons.active"},
	{},
}

// nvidiaGPUs queries nvidia-smi, starting with the variant that this driver accepted before.
func (p *Prober) nvidiaGPUs(ctx context.Context) ([]GPU, error) {
	p.mu.Lock()
	first := p.variant
	p.mu.Unlock()
	var errs []error
	for i := first; i < len(variants); i++ {
		fields := append(append([]string(nil), stateFields...), variants[i]...)
		out, err := run(ctx, p.spawner, "nvidia-smi", "--query-gpu="+strings.Join(fields, ","), "--format=csv,noheader,nounits")
		if errors.Is(err, steps.ErrNotStarted) || ctx.Err() != nil {
			return nil, fmt.Errorf("nvidia-smi: %w", err)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found, err := parseState(out, len(variants[i]) > 0)
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		p.variant = i
		p.mu.Unlock()
		return found, nil
	}
	return nil, fmt.Errorf("nvidia-smi: %w", errors.Join(errs...))
}

// parseState parses a line per GPU: stateFields and, if extended, the MIG mode and the bits of the slowdown
// reasons.
func parseState(out []byte, extended bool) ([]GPU, error) {
	r := csv.NewReader(bytes.NewReader(out))
	r.TrimLeadingSpace = true
	r.LazyQuotes = true // nvidia-smi quotes nothing
	r.FieldsPerRecord = len(stateFields)
	if extended {
		r.FieldsPerRecord += 2
	}
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("the answer of nvidia-smi: %w", err)
	}
	var found []GPU
	for _, row := range rows {
		index, err := strconv.Atoi(told(row[0]))
		if err != nil || index < 0 {
			return nil, fmt.Errorf("the answer of nvidia-smi: %q is not the index of a GPU", line(row[0]))
		}
		g := GPU{
			Index: index, UUID: told(row[1]), Name: told(row[2]), Vendor: NVIDIA, Driver: told(row[3]),
			MemoryTotal: mebibytes(row[4]), MemoryUsed: mebibytes(row[5]), Utilization: whole(row[6]),
			SMClock: whole(row[7]), MaxSMClock: whole(row[8]), MemoryClock: whole(row[9]),
			Power: number(row[10]), PowerLimit: number(row[11]), Temperature: whole(row[12]),
			Persistence: told(row[13]), Errors: whole(row[14]),
		}
		if extended {
			g.MIG = told(row[15])
			g.Slowdown, g.SlowdownKnown = parseSlowdown(row[16])
		}
		found = append(found, g)
	}
	return found, nil
}
