package probe

import (
	"strconv"
	"strings"
)

// Slowdown is a set of reasons for which a GPU does not run at its highest clocks, in the
// bits of NVML's clocks event reasons.
type Slowdown uint64

// The reasons.
const (
	Idle              Slowdown = 1 << iota // nothing runs
	ApplicationClocks                      // lower clocks are set
	PowerCap                               // the power limit
	HardwareSlowdown                       // heat or power, said by the hardware
	SyncBoost                              // another GPU of its group is slower
	SoftwareThermal                        // heat, said by the driver
	HardwareThermal                        // heat, said by the hardware
	PowerBrake                             // the power supply asks for it
	DisplayClocks                          // the settings of a display

	lastReason = DisplayClocks
	throttling = HardwareSlowdown | SoftwareThermal | HardwareThermal | PowerBrake
)

var slowdownNames = map[Slowdown]string{
	Idle: "idle", ApplicationClocks: "application clocks", PowerCap: "power cap", HardwareSlowdown: "hardware slowdown",
	SyncBoost: "sync boost", SoftwareThermal: "thermal slowdown", HardwareThermal: "hardware thermal slowdown",
	PowerBrake: "power brake", DisplayClocks: "display clocks",
}

// Throttling is the part of the reasons that says something about the machine and not
// about the load: heat and the power brake. An idle GPU has nothing to do. The power cap
// is where a GPU under full load normally runs, so it is part of what is measured, alike
// on both sides. Clocks that were set are a setting of the machine.
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

// parseSlowdown reads bits as nvidia-smi writes them, 0x0000000000000004.
func parseSlowdown(text string) (s Slowdown, known bool) {
	digits, ok := strings.CutPrefix(told(text), "0x")
	if !ok {
		return 0, false
	}
	bits, err := strconv.ParseUint(digits, 16, 64)
	return Slowdown(bits), err == nil
}
