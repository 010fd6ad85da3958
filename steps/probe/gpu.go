package probe

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
)

// query maps fields of nvidia-smi to facts, in column order.
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

// gpus stores the answers of nvidia-smi, Unavailable without an answer.
func gpus(ctx context.Context, sp steps.Spawner, f facts) {
	fields := make([]string, len(query))
	for i, q := range query {
		fields[i] = q.field
		f.set(q.fact, "")
	}
	f.set("gpu_count", "")
	f.set("gpu_topology", "")
	f.set("gpu_links", "")
	out, err := run(ctx, sp, "nvidia-smi", "--query-gpu="+strings.Join(fields, ","), "--format=csv,noheader,nounits")
	if err != nil || parseGPUs(out, f) != nil {
		amdFacts(ctx, sp, f)
		return
	}
	if topo, err := run(ctx, sp, "nvidia-smi", "topo", "-m"); err == nil {
		f.set("gpu_topology", topologyHash(topo))
		f.set("gpu_links", strings.Join(gpuLinks(topo), "; "))
	}
}

// amdFacts stores the facts that rocm-smi reports on a machine without NVIDIA's GPUs.
func amdFacts(ctx context.Context, sp steps.Spawner, f facts) {
	found, err := New(sp).rocmGPUs(ctx)
	if err != nil || len(found) == 0 {
		return
	}
	var names, memory, drivers []string
	for _, g := range found {
		names, drivers = append(names, g.Name), append(drivers, g.Driver)
		mib := ""
		if g.MemoryTotal != Unknown {
			mib = strconv.FormatInt(g.MemoryTotal>>20, 10)
		}
		memory = append(memory, mib)
	}
	f.set("gpu_count", count(len(found)))
	f.set("gpu_name", joinEqual(names))
	f.set("gpu_memory_mib", joinEqual(memory))
	f.set("gpu_driver", joinEqual(drivers))
}

// parseGPUs parses the CSV output: a line per GPU, a column per field of query. Old drivers write [N/A] or [Not
// Supported] for unknown values.
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

// joinEqual returns the common value, or all values in order if they differ.
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

var escapes = lazyregexp.New("\x1b\\[[0-9;]*m")

// topologyHash hashes the matrix of nvidia-smi topo -m without colours, legend and column widths.
func topologyHash(out []byte) string {
	var lines []string
	for _, words := range topologyRows(out) {
		lines = append(lines, strings.Join(words, " "))
	}
	return hash(strings.Join(lines, "\n"))
}

// topologyRows returns the words of each line of the matrix, starting with its heading.
func topologyRows(out []byte) [][]string {
	matrix, _, _ := strings.Cut(escapes.ReplaceAllString(string(out), ""), "Legend:")
	var rows [][]string
	for text := range strings.Lines(matrix) {
		if words := strings.Fields(text); len(words) > 0 {
			rows = append(rows, words)
		}
	}
	return rows
}

var gpuLabel = lazyregexp.New(`^GPU\d+$`)

// gpuLinks lists the kinds of connections between GPUs, such as NV18 or SYS, each once. The columns of GPUs
// come first in every line.
func gpuLinks(out []byte) []string {
	rows := topologyRows(out)
	if len(rows) == 0 {
		return nil
	}
	gpus := 0
	for gpus < len(rows[0]) && gpuLabel.MatchString(rows[0][gpus]) {
		gpus++
	}
	var kinds []string
	for _, row := range rows[1:] {
		if !gpuLabel.MatchString(row[0]) || len(row) <= gpus {
			continue
		}
		for _, kind := range row[1 : gpus+1] {
			if kind != "X" && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}
