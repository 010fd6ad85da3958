package probe

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Prober reads the state of the machine. It is safe for concurrent use.
type Prober struct {
	spawner steps.Spawner

	mu      sync.Mutex
	variant int    // of the nvidia-smi query that this driver accepts
	vendor  string // vendor of the GPUs, "" until some were found
}

// New returns a prober that starts the vendors' programs through a spawner.
func New(sp steps.Spawner) *Prober { return &Prober{spawner: sp} }

// Snapshot is the state of the machine at one moment.
type Snapshot struct {
	At time.Time `json:"at"`
	// GPUs ordered by index, and the processes that compute on them.
	GPUs      []GPU     `json:"gpus"`
	Processes []Process `json:"processes"`
	// Err is why the GPUs or their processes are unknown.
	Err error `json:"-"`
}

// GPU returns the GPU with a UUID.
func (s Snapshot) GPU(uuid string) (GPU, bool) {
	for _, g := range s.GPUs {
		if g.UUID == uuid {
			return g, true
		}
	}
	return GPU{}, false
}

// Snapshot takes a snapshot. It omits what it cannot read, and sets Err.
func (p *Prober) Snapshot(ctx context.Context) Snapshot {
	s := Snapshot{At: time.Now()}
	var err error
	if s.GPUs, s.Err = p.GPUs(ctx); s.Err != nil {
		return s
	}
	if s.Processes, err = p.Processes(ctx); err != nil {
		s.Err = err
	}
	return s
}

// GPUs lists the GPUs of the machine: NVIDIA's if there are any, else AMD's. An error means that neither
// vendor's program reports any: there may be no GPU, or no driver.
func (p *Prober) GPUs(ctx context.Context) ([]GPU, error) {
	var nvidiaErr error
	if p.seen() != AMD {
		var found []GPU
		found, nvidiaErr = p.nvidiaGPUs(ctx)
		if nvidiaErr == nil && len(found) > 0 {
			p.saw(NVIDIA)
		}
		if p.seen() == NVIDIA {
			return found, nvidiaErr
		}
	}
	found, rocmErr := p.rocmGPUs(ctx)
	switch {
	case rocmErr == nil && len(found) > 0:
		p.saw(AMD)
		return found, nil
	case nvidiaErr == nil && p.seen() == "":
		return nil, nil // a driver without GPUs
	}
	return nil, errors.Join(nvidiaErr, rocmErr)
}

// Processes lists the processes that compute on the GPUs.
func (p *Prober) Processes(ctx context.Context) ([]Process, error) {
	if p.seen() == AMD {
		return p.rocmProcesses(ctx)
	}
	return p.nvidiaProcesses(ctx)
}

func (p *Prober) seen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.vendor
}

func (p *Prober) saw(vendor string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.vendor = vendor
}
