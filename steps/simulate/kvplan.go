package simulate

import (
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// transfer is the server's part in it as it is played, with the failure that is planted.
func (l *launch) transfer() *kv.Part {
	p := *l.kv
	if l.fail.TransportFallback && p.Transport != kv.Files {
		p.Transport = kv.TCP
	}
	return &p
}

// aside takes the load generator's share from the steps of a server that only decodes: in
// a pair it is on another machine than the client and the router.
func aside(h *model.Profile, p *kv.Part) {
	if p.Consumes && !p.Produces {
		h.KernelOverhead -= h.ClientOverhead
	}
}
