package simulate

import (
	"errors"

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

// linkOf the transfers of a server on a machine with these links.
func linkOf(p *kv.Part, net model.Network) model.Link {
	nics := len(p.Devices)
	if nics == 0 && p.Exchange == kv.LookupBuffer {
		nics = 1 // these releases take a single device unless told otherwise
	}
	return linkOver(net, p.Transport, nics)
}

// linkOver is the machine's link for a transport; nics bounds the RDMA ports, 0 means all.
func linkOver(n model.Network, transport string, nics int) model.Link {
	switch transport {
	case kv.RDMA:
		return n.RDMAPorts(nics)
	case kv.NVLink:
		return n.NVLink
	case kv.Files:
		return n.Disk
	}
	return n.TCP
}

// aside takes the load generator's share from the steps of a server that only decodes: in
// a pair it is on another machine than the client and the router.
func aside(h *model.Profile, p *kv.Part) {
	if p.Consumes && !p.Produces {
		h.KernelOverhead -= h.ClientOverhead
	}
}

var errNoPeer = errors.New("no peer is known")
