package probe

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Process is a process that computes on a GPU.
type Process struct {
	// GPU is the UUID of its GPU, "" if not reported.
	GPU string `json:"gpu"`
	// PID is 0 if the process has no ID in our PID namespace.
	PID int `json:"pid"`
	// Name of the program, as far as visible from here.
	Name string `json:"name"`
	// Memory in bytes or Unknown.
	Memory int64 `json:"memory"`
}

// String formats a process for people.
func (p Process) String() string {
	text := fmt.Sprintf("process %d", p.PID)
	if p.PID == 0 {
		text = "a process of another container"
	}
	if p.Name != "" {
		text += " (" + p.Name + ")"
	}
	if p.Memory != Unknown {
		text += " with " + Bytes(p.Memory)
	}
	return text
}

// Bytes formats an amount of memory for people.
func Bytes(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	if n > 0 && n < 1<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// maxProcesses is the largest number of processes kept.
const maxProcesses = 4096

func (p *Prober) nvidiaProcesses(ctx context.Context) ([]Process, error) {
	out, err := run(ctx, p.spawner, "nvidia-smi", "--query-compute-apps=gpu_uuid,pid,used_memory,process_name",
		"--format=csv,noheader,nounits")
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi: %w", err)
	}
	return parseProcesses(out), nil
}

// parseProcesses parses a line per process. The name is the last column, because it may contain commas. It
// skips malformed lines.
func parseProcesses(out []byte) []Process {
	var found []Process
	for text := range strings.Lines(string(out)) {
		parts := strings.SplitN(text, ",", 4)
		if len(parts) < 4 || len(found) == maxProcesses {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(parts[1]))
		if err != nil || pid < 0 {
			if told(parts[1]) != "" {
				continue
			}
			pid = 0
		}
		found = append(found, Process{GPU: told(parts[0]), PID: pid, Memory: mebibytes(parts[2]), Name: told(parts[3])})
	}
	slices.SortFunc(found, func(a, b Process) int {
		if c := strings.Compare(a.GPU, b.GPU); c != 0 {
			return c
		}
		return a.PID - b.PID
	})
	return found
}
