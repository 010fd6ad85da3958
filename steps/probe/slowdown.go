package probe

import (
	"strconv"
	"strings"
)

// Slowdown is a set of reasons why a GPU does not run at its highest clocks, as bits of NVML's clocks event
// reasons.
type Slowdown uint64

// The reasons.
const (
	Idle              Slowdown = 1 << iota // idle
	ApplicationClocks                      // lower clocks are configured
	PowerCap                               // the power limit
	HardwareSlowdown                       // heat or power, reported by the hardware
	SyncBoost                              // another GPU of its group is slower
	SoftwareThermal                        // heat, reported by the driver
	HardwareThermal                        // heat, reported by the hardware
	PowerBrake                             // requested by the power supply
	DisplayClocks                          // settings of a display

	lastReason = DisplayClocks
	throttling = HardwareSlowdown | SoftwareThermal | HardwareThermal | PowerBrake
)

var slowdownNames = map[Slowdown]string{
	Idle: "idle", ApplicationClocks: "application clocks", PowerCap: "power cap", HardwareSlowdown: "hardware slowdown",
	SyncBoost: "sync boost", SoftwareThermal: "thermal slowdown", HardwareThermal: "hardware thermal slowdown",
	PowerBrake: "power brake", DisplayClocks: "display clocks",
}

// Throttling returns the reasons that point to a fault of the machine: heat and the power brake. The other
// reasons are normal. An idle GPU has no work. A GPU under full load reaches its power cap, alike on both
// sides. Configured clocks are a setting of the machine.
func (s Slowdown) Throttling() Slowdown { return s & throttling }

// String lists the reasons.
func (s Slowdown) String() string {
	var names []string
	for bit := Slowdown(1); bit <= lastReason; bit <<= 1 {
		if s&bit != 0 {
			names = append(names, slowdownNames[bit])
		}
	}
	if rest := s &^ (lastReason<<1 - 1); rest != 0 {
		names = append(names, "reason 0x"+strconv.FormatUint(uint64(rest), 16))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// parseSlowdown parses bits in the form of nvidia-smi, 0x0000000000000004.
func parseSlowdown(text string) (s Slowdown, known bool) {
	digits, ok := strings.CutPrefix(told(text), "0x")
	if !ok {
		return 0, false
	}
	bits, err := strconv.ParseUint(digits, 16, 64)
	return Slowdown(bits), err == nil
}
