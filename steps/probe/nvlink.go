package probe

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

var (
	nvlinkGPU  = regexp.MustCompile(`^GPU \d+: .*\(UUID: ([^)\s]+)\)`)
	nvlinkData = regexp.MustCompile(`^Link \d+: Data (Tx|Rx): (\d+) KiB`)
)

// NVLinkCounters counts what the NVLinks of each GPU have carried so far, by the GPU's
// UUID; see [Traffic]. It is empty where the driver keeps no such counters.
func (p *Prober) NVLinkCounters(ctx context.Context) (Counters, error) {
	out, err := run(ctx, p.spawner, "nvidia-smi", "nvlink", "-gt", "d")
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi nvlink: %w", err)
	}
	return parseNVLink(out), nil
}

// parseNVLink adds up the links below each heading "GPU 0: NAME (UUID: GPU-…)".
func parseNVLink(out []byte) Counters {
	found := Counters{}
	gpu := ""
	for text := range strings.Lines(string(out)) {
		text = strings.TrimSpace(text)
		if m := nvlinkGPU.FindStringSubmatch(text); m != nil {
			gpu = line(m[1])
			continue
		}
		m := nvlinkData.FindStringSubmatch(text)
		if m == nil || gpu == "" {
			continue
		}
		c := found[gpu]
		n := octets(m[2])
		if n > 1<<50 {
			continue // no counter of a link is that large
		}
		if m[1] == "Tx" {
			c.Tx += n << 10
		} else {
			c.Rx += n << 10
		}
		found[gpu] = c
	}
	return found
}
