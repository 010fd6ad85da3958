package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// rocmGPUs queries rocm-smi.
func (p *Prober) rocmGPUs(ctx context.Context) ([]GPU, error) {
	out, err := run(ctx, p.spawner, "rocm-smi", "--showproductname", "--showuniqueid", "--showmeminfo", "vram",
		"--showuse", "--showtemp", "--showpower", "--showdriverversion", "--json")
	if err != nil {
		return nil, fmt.Errorf("rocm-smi: %w", err)
	}
	return parseROCm(out)
}

// rocmAnswer is the output of rocm-smi --json: texts by title for each card, and for the system. The case of
// titles differs between versions.
type rocmAnswer map[string]map[string]string

func readROCm(out []byte) (rocmAnswer, error) {
	// Older versions print warnings before the object.
	if i := strings.IndexByte(string(out), '{'); i > 0 {
		out = out[i:]
	}
	var raw map[string]map[string]any
	if err := json.Unmarshal(out, &raw); err != nil {
		return nil, fmt.Errorf("the answer of rocm-smi: %w", err)
	}
	a := rocmAnswer{}
	for card, titles := range raw {
		a[card] = map[string]string{}
		for title, value := range titles {
			a[card][strings.ToLower(title)] = fmt.Sprint(value)
		}
	}
	return a, nil
}

// first returns the first of several titles that is present.
func (a rocmAnswer) first(card string, titles ...string) string {
	for _, title := range titles {
		if value := told(a[card][strings.ToLower(title)]); value != "" {
			return value
		}
	}
	return ""
}

func parseROCm(out []byte) ([]GPU, error) {
	a, err := readROCm(out)
	if err != nil {
		return nil, err
	}
	var found []GPU
	for card := range a {
		digits, ok := strings.CutPrefix(card, "card")
		index, err := strconv.Atoi(digits)
		if !ok || err != nil || index < 0 {
			continue
		}
		found = append(found, GPU{
			Index: index, Vendor: AMD,
			UUID: a.first(card, "Unique ID"), Name: a.first(card, "Card Series", "Card Model"), Driver: a.first("system", "Driver version"),
			MemoryTotal: whole(a.first(card, "VRAM Total Memory (B)")), MemoryUsed: whole(a.first(card, "VRAM Total Used Memory (B)")),
			Utilization: whole(a.first(card, "GPU use (%)")),
			SMClock:     Unknown, MaxSMClock: Unknown, MemoryClock: Unknown, PowerLimit: Unknown, Errors: Unknown,
			Power:       number(a.first(card, "Current Socket Graphics Package Power (W)", "Average Graphics Package Power (W)")),
			Temperature: whole(a.first(card, "Temperature (Sensor junction) (C)", "Temperature (Sensor edge) (C)")),
		})
	}
	slices.SortFunc(found, func(x, y GPU) int { return x.Index - y.Index })
	return found, nil
}

func (p *Prober) rocmProcesses(ctx context.Context) ([]Process, error) {
	out, err := run(ctx, p.spawner, "rocm-smi", "--showpids", "--json")
	if err != nil {
		return nil, fmt.Errorf("rocm-smi: %w", err)
	}
	return parseROCmProcesses(out)
}

// parseROCmProcesses parses "PID4711": "python3, 1, 1073741824, 0, 0": name, number of GPUs, bytes of their
// memory and more. The output does not tell which GPUs.
func parseROCmProcesses(out []byte) ([]Process, error) {
	if len(strings.TrimSpace(string(out))) == 0 {
		return nil, nil // some versions print an empty text for no processes
	}
	a, err := readROCm(out)
	if err != nil {
		return nil, err
	}
	var found []Process
	for title, value := range a["system"] {
		digits, ok := strings.CutPrefix(title, "pid")
		pid, err := strconv.Atoi(strings.TrimSpace(digits))
		parts := strings.Split(value, ",")
		if !ok || err != nil || pid <= 0 || len(parts) < 3 || len(found) == maxProcesses {
			continue
		}
		// The name may contain commas; the four numbers after it do not.
		end := max(1, len(parts)-4)
		memory := int64(Unknown)
		if end+1 < len(parts) {
			memory = whole(parts[end+1])
		}
		found = append(found, Process{PID: pid, Name: told(strings.Join(parts[:end], ",")), Memory: memory})
	}
	slices.SortFunc(found, func(x, y Process) int { return x.PID - y.PID })
	return found, nil
}
