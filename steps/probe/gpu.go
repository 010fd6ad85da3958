package probe

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
)

// query maps the fields asked of nvidia-smi to facts, in the order of the columns.
var query = []struct{ field, fact string }{
	{"name", "gpu_name"},
	{"memory.total", "gpu_memory_mib"},
	{"driver_version", "gpu_driver"},
	{"power.limit", "gpu_power_limit_w"},
	{"clocks.max.sm", "gpu_max_clock_mhz"},
	{"pcie.link.gen.max", "gpu_pcie_gen"},
	{"pcie.link.width.max", "gpu_pcie_width"},
	{"mig.mode.current", "gpu_mig"},
	{"ecc.mode.current", "gpu_ecc"},
	{"persistence_mode", "gpu_persistence"},
}

const (
	smiTimeout = 20 * time.Second // without persistence mode the driver loads first
	maxOutput  = 1 << 20
)

// gpus stores what nvidia-smi says, Unavailable for everything where it says nothing.
func gpus(ctx context.Context, sp steps.Spawner, f facts) {
	fields := make([]string, len(query))
	for i, q := range query {
		fields[i] = q.field
		f.set(q.fact, "")
	}
	f.set("gpu_count", "")
	f.set("gpu_topology", "")
	out, err := run(ctx, sp, "nvidia-smi", "--query-gpu="+strings.Join(fields, ","), "--format=csv,noheader,nounits")
	if err != nil {
		return
	}
	if err := parseGPUs(out, f); err != nil {
		return
	}
	if topo, err := run(ctx, sp, "nvidia-smi", "topo", "-m"); err == nil {
		f.set("gpu_topology", topologyHash(topo))
	}
}

// parseGPUs reads the CSV answer: a line for each GPU, a column for each field of query.
// Old drivers write [N/A] or [Not Supported] for what they do not know.
func parseGPUs(out []byte, f facts) error {
	r := csv.NewReader(bytes.NewReader(out))
	r.TrimLeadingSpace = true
	r.FieldsPerRecord = len(query)
	rows, err := r.ReadAll()
	if err != nil {
		return fmt.Errorf("the answer of nvidia-smi: %w", err)
	}
	if len(rows) == 0 {
		return errors.New("nvidia-smi lists no GPU")
	}
	f.set("gpu_count", count(len(rows)))
	for i, q := range query {
		column := make([]string, len(rows))
		for j, row := range rows {
			column[j] = strings.TrimSpace(row[i])
			if strings.HasPrefix(column[j], "[") {
				column[j] = ""
			}
		}
		f.set(q.fact, joinEqual(column))
	}
	return nil
}

// joinEqual is the one value that all have, or all of them in order.
func joinEqual(values []string) string {
	if len(slices.Compact(slices.Clone(values))) == 1 {
		return values[0]
	}
	for i, v := range values {
		if v == "" {
			values[i] = Unavailable
		}
	}
	return strings.Join(values, "; ")
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// topologyHash hashes the matrix of nvidia-smi topo -m without its colours, its legend
// and the widths of its columns.
func topologyHash(out []byte) string {
	matrix, _, _ := strings.Cut(string(escapes.ReplaceAll(out, nil)), "Legend:")
	var lines []string
	for line := range strings.Lines(matrix) {
		if words := strings.Fields(line); len(words) > 0 {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	return hash(strings.Join(lines, "\n"))
}

// run returns the output of a program that ended well within the timeout.
func run(ctx context.Context, sp steps.Spawner, argv ...string) ([]byte, error) {
	if sp == nil {
		return nil, errors.New("no spawner")
	}
	ctx, cancel := context.WithTimeout(ctx, smiTimeout)
	defer cancel()
	var out limitedBuffer
	child, err := sp.Spawn(ctx, steps.Command{Argv: argv, Stdout: &out})
	if err != nil {
		return nil, err
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		if err := child.Signal("KILL"); err != nil {
			return nil, err // it is left to the spawner's own end
		}
		<-child.Done()
		return nil, ctx.Err()
	}
	if err := child.Wait(); err != nil {
		return nil, err
	}
	return out.kept, nil
}

// limitedBuffer keeps the first maxOutput bytes and drops the rest.
// It is no bytes.Buffer, whose ReadFrom would take everything.
type limitedBuffer struct{ kept []byte }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := maxOutput - len(b.kept)
	b.kept = append(b.kept, p[:min(room, len(p))]...)
	return len(p), nil
}
