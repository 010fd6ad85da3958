package model

import "time"

// Link is a connection for KV between two servers. Its rates are those that a connector reaches,
// not the port's nominal rates.
type Link struct {
	// Bandwidth of one NIC, or of the whole connection without NICs, in bytes per second.
	Bandwidth float64
	// Latency of one transfer of any size: posting, completion, notification.
	Latency time.Duration
	// NICs that carry a transfer in equal parts; 0 means 1.
	NICs int
}

// Time returns the time of one transfer on an idle link.
func (l Link) Time(bytes float64) time.Duration {
	return l.Latency + seconds(bytes/(l.Bandwidth*float64(max(l.NICs, 1))))
}

// Network holds the links of a machine, part of its hardware profile.
type Network struct {
	// RDMA is one RDMA port; HCAs is their number.
	RDMA Link
	HCAs int
	// TCP through the kernel, staged in host memory.
	TCP Link
	// NVLink, or the PCIe connection between two GPUs of one host without NVLink.
	NVLink Link
	// Disk is a shared folder.
	Disk Link
}

// RDMAPorts returns the link over the given number of the machine's RDMA ports, 0 for all.
func (n Network) RDMAPorts(ports int) Link {
	l := n.RDMA
	if l.NICs = ports; ports == 0 {
		l.NICs = max(n.HCAs, 1)
	}
	return l
}

// NICQueue schedules transfers on a link's NICs. Each NIC processes its parts first in, first out;
// a transfer ends with its last part.
type NICQueue struct {
	link Link
	free []time.Duration // when each NIC is idle again
}

func NewNICQueue(l Link) *NICQueue {
	return &NICQueue{link: l, free: make([]time.Duration, max(l.NICs, 1))}
}

// Reserve books a transfer that is requested at now and returns its end.
func (q *NICQueue) Reserve(now time.Duration, bytes float64) time.Duration {
	part := seconds(bytes / (q.link.Bandwidth * float64(len(q.free))))
	var end time.Duration
	for i, free := range q.free {
		q.free[i] = max(now, free) + part
		end = max(end, q.free[i])
	}
	return end + q.link.Latency
}
