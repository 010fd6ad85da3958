package probe

import (
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// NIC is a port of an RDMA device below /sys/class/infiniband, an interface below /sys/class/net, or all
// NVLinks of a GPU.
type NIC struct {
	// Name of the device (mlx5_0) or the interface (eth0).
	Name string `json:"name"`
	// RDMA devices have ports, counted from 1.
	RDMA bool `json:"rdma"`
	Port int  `json:"port,omitempty"`
	// NVLink marks the links of a GPU, named "nvlink/UUID".
	NVLink bool `json:"nvlink,omitempty"`
	// Active means that it can carry data.
	Active bool   `json:"active"`
	State  string `json:"state"`
	// Rate in Gbit/s or Unknown.
	Rate float64 `json:"rate"`
	// LinkLayer is "InfiniBand" or "Ethernet" for RDMA devices.
	LinkLayer string `json:"link_layer,omitempty"`
	// Physical interfaces have hardware, unlike lo or bridges.
	Physical bool `json:"physical"`
	// Tx and Rx count the bytes carried since it came up.
	Tx uint64 `json:"tx"`
	Rx uint64 `json:"rx"`
}

// NICs lists the network devices below a /sys by name and port, RDMA devices first.
func NICs(sys fs.FS) []NIC {
	ports, _ := fs.Glob(sys, "class/infiniband/*/ports/*") // the pattern is valid
	var found []NIC
	for _, dir := range ports {
		if nic, ok := rdmaPort(sys, dir); ok {
			found = append(found, nic)
		}
	}
	interfaces, _ := fs.Glob(sys, "class/net/*") // the pattern is valid
	for _, dir := range interfaces {
		if read(sys, path.Join(dir, "operstate")) != "" {
			found = append(found, netInterface(sys, dir))
		}
	}
	return found
}

// wordSize is the unit of an RDMA port's data counters. The InfiniBand specification defines them as octets
// divided by 4.
const wordSize = 4

func rdmaPort(sys fs.FS, dir string) (NIC, bool) {
	port, err := strconv.Atoi(path.Base(dir))
	if err != nil {
		return NIC{}, false
	}
	state := line(read(sys, path.Join(dir, "state"))) // "4: ACTIVE"
	if _, name, ok := strings.Cut(state, ":"); ok {
		state = strings.TrimSpace(name)
	}
	rate, _, _ := strings.Cut(line(read(sys, path.Join(dir, "rate"))), " ") // "400 Gb/sec (4X NDR)"
	return NIC{
		Name: line(path.Base(path.Dir(path.Dir(dir)))), RDMA: true, Port: port, Physical: true,
		State: state, Active: state == "ACTIVE", Rate: number(rate), LinkLayer: line(read(sys, path.Join(dir, "link_layer"))),
		Tx: words(read(sys, path.Join(dir, "counters/port_xmit_data"))), Rx: words(read(sys, path.Join(dir, "counters/port_rcv_data"))),
	}, true
}

func words(text string) uint64 {
	n := octets(text)
	if n > math.MaxUint64/wordSize {
		return 0
	}
	return n * wordSize
}

func octets(text string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func netInterface(sys fs.FS, dir string) NIC {
	state := line(read(sys, path.Join(dir, "operstate")))
	_, err := fs.Stat(sys, path.Join(dir, "device"))
	rate := number(read(sys, path.Join(dir, "speed"))) // in Mbit/s; -1 or unreadable if it has no meaning
	if rate > 0 {
		rate /= 1000
	} else {
		rate = Unknown
	}
	name := line(path.Base(dir))
	return NIC{
		Name: name, State: state, Active: state == "up" || name == "lo", Physical: err == nil, Rate: rate,
		Tx: octets(read(sys, path.Join(dir, "statistics/tx_bytes"))), Rx: octets(read(sys, path.Join(dir, "statistics/rx_bytes"))),
	}
}

// nicFact describes the active physical devices, independent of their names.
func nicFact(nics []NIC) string {
	kinds := map[string]int{}
	for _, nic := range nics {
		if !nic.Physical || !nic.Active {
			continue
		}
		kind := "Ethernet"
		if nic.RDMA {
			kind = strings.TrimSpace("RDMA " + nic.LinkLayer)
		}
		if nic.Rate != Unknown {
			kind += " " + strconv.FormatFloat(nic.Rate, 'f', -1, 64) + " Gb/s"
		}
		kinds[kind]++
	}
	var parts []string
	for kind, n := range kinds {
		parts = append(parts, strconv.Itoa(n)+" x "+kind)
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}
