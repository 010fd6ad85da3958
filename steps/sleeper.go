package steps

import (
	"context"

	"github.com/servegate/pipeline/steps/enum"
)

// Sleeper is an [Engine] whose servers can release their GPU memory and stay loaded. A sleeping server does
// not serve until it is woken, which takes seconds; a start takes minutes.
type Sleeper interface {
	// CheckSleep returns an error if a server cannot sleep when started from spec.
	CheckSleep(spec ServerSpec) error
	// Sleep puts an idle server to sleep, and returns when it sleeps.
	Sleep(ctx context.Context, ep Endpoint) error
	// Wake returns when the server has its memory again.
	Wake(ctx context.Context, ep Endpoint) error
}

// How the sides of a repeat stay loaded at the same time.
const (
	// ResidentSleep has all sleep but the one that is measured.
	ResidentSleep = "sleep"
	// ResidentLoaded leaves all as they are, for machines that have room for them.
	ResidentLoaded = "loaded"
)

// Residents are the ways in which sides stay loaded.
var Residents = enum.Values{
	{Name: ResidentSleep, Doc: "all but the one that is measured sleep, with their weights in the memory of the host: vLLM with " +
		"enable_sleep_mode, SGLang with enable_memory_saver and enable_weights_cpu_backup"},
	{Name: ResidentLoaded, Doc: "all are awake, and those that are not measured have nothing to do: the machine needs memory for all of them"},
}
