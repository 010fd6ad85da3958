package probe

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
)

// Prober looks at the state of the machine. It is safe for concurrent use.
type Prober struct {
	spawner steps.Spawner

	mu      sync.Mutex
	variant int    // of the questions to nvidia-smi that this driver understands
	vendor  string // whose GPUs there are, "" until some were seen
}

// New returns a prober that asks the vendors' programs through a spawner.
func New(sp steps.Spawner) *Prober { return &Prober{spawner: sp} }

// Snapshot is the machine at one moment.
type Snapshot struct {
	At time.Time `json:"at"`
	// GPUs in the order of their indices, and what computes on them.
	GPUs      []GPU     `json:"gpus"`
	Processes []Process `json:"processes"`
	// Err says why the GPUs or their processes are not known.
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

// Snapshot takes one. What cannot be found out is left out, and Err says why.
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

// GPUs lists the GPUs of the machine, NVIDIA's if there are any, else AMD's. An error
// means that neither vendor's program reports them: there may be none, or no driver.
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
		return nil, nil // a driver that lists no GPU
	}
	return nil, errors.Join(nvidiaErr, rocmErr)
}

// Processes lists what computes on the GPUs.
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
