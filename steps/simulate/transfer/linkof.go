package transfer

import (
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// LinkOf returns the link for the transfers of a server on a machine with these links.
func LinkOf(p *kv.Part, net model.Network) model.Link {
	nics := len(p.Devices)
	if nics == 0 && p.Exchange == kv.LookupBuffer {
		nics = 1 // these releases use a single device by default
	}
	return LinkOver(net, p.Transport, nics)
}

// LinkOver returns the machine's link for a transport; nics limits the RDMA ports, 0 means all.
func LinkOver(n model.Network, transport string, nics int) model.Link {
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
