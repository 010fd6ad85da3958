package simulate

import "github.com/servegate/pipeline/steps/simulate/model"

// The transports that carry KV.
const (
	transportRDMA   = "rdma"
	transportTCP    = "tcp"
	transportNVLink = "nvlink"
	transportDisk   = "disk"
)

// linkOver is the machine's link for a transport; nics bounds the RDMA ports, 0 means all.
func linkOver(n model.Network, transport string, nics int) model.Link {
	switch transport {
	case transportRDMA:
		return n.RDMAPorts(nics)
	case transportNVLink:
		return n.NVLink
	case transportDisk:
		return n.Disk
	}
	return n.TCP
}
