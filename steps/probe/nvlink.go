package probe

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

var (
	nvlinkGPU  = lazyregexp.New(`^GPU \d+: .*\(UUID: ([^)\s]+)\)`)
	nvlinkData = lazyregexp.New(`^Link \d+: Data (Tx|Rx): (\d+) KiB`)
)

// Links lists the network devices of this machine and, if NVIDIA's GPUs were found, their NVLinks, provided the
// driver counts them.
func (p *Prober) Links(ctx context.Context) []NIC {
	found := NICs(os.DirFS("/sys"))
	if p.seen() != NVIDIA {
		return found
	}
	out, err := run(ctx, p.spawner, "nvidia-smi", "nvlink", "-gt", "d")
	if err != nil {
		return found
	}
	byGPU := parseNVLink(out)
	for _, gpu := range slices.Sorted(maps.Keys(byGPU)) {
		c := byGPU[gpu]
		found = append(found, NIC{Name: "nvlink/" + gpu, NVLink: true, Physical: true, Active: true, Rate: Unknown, Tx: c.Tx, Rx: c.Rx})
	}
	return found
}

// carried holds the bytes that a GPU sent and received over its NVLinks.
type carried struct{ Tx, Rx uint64 }

// parseNVLink sums the links below each heading "GPU 0: NAME (UUID: GPU-...)".
func parseNVLink(out []byte) map[string]carried {
	found := map[string]carried{}
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
			continue // too large for the counter of a link
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
