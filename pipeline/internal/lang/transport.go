package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
)

// rdmaDevice matches Linux's names of RDMA devices: of Mellanox, Broadcom, Intel, Amazon, Chelsio, Huawei,
// Alibaba, and those after their place on the bus.
var rdmaDevice = lazyregexp.New(`^(mlx[45]_|bnxt_re|irdma|rdmap|efa_|cxgb|hns_|erdma_|rocep|roceo|ibp|ibs|qedr|mthca|hfi)[0-9a-z_:.]*`)

// networkInterface matches Linux's names of network interfaces.
var networkInterface = lazyregexp.New(`^(eth|en[opsx]|bond|lo$|wlan|br-|docker)[0-9a-z]*`)

// checkTransport reports transports that the servers of a deployment cannot use as they are launched.
// containers is true if servers with an image are containers of Docker. The first element of a path is
// "kv_transfer", or "server" followed by its name.
func checkTransport(d steps.DeploymentSpec, containers bool) []steps.Problem {
	if d.Transfer == nil {
		return nil
	}
	t := d.Transfer
	var found []steps.Problem
	switch t.Transport {
	case "rdma":
		found = checkRDMA(d, containers)
	case "tcp":
		for _, name := range t.Devices {
			if rdmaDevice.MatchString(name) {
				found = append(found, steps.Problem{
					Path: []string{"kv_transfer", "devices"}, Summary: fmt.Sprintf("%s is a device for RDMA, and the transport is tcp", name),
					Detail: "Write transport = \"rdma\", or name a network interface such as eth0, or leave devices out.",
				})
				break
			}
		}
	}
	return found
}

func checkRDMA(d steps.DeploymentSpec, containers bool) []steps.Problem {
	var found []steps.Problem
	if len(d.Transfer.Devices) == 0 {
		found = append(found, steps.Problem{
			Path: []string{"kv_transfer", "transport"}, Summary: "rdma without a device", Warning: true,
			Detail: "The connector chooses one, which may be another on each launch or none, and then it goes on over tcp. Write devices = " +
				"[\"mlx5_0\"] with a name that `ibv_devices` lists.",
		})
	}
	for _, name := range d.Transfer.Devices {
		if networkInterface.MatchString(name) {
			found = append(found, steps.Problem{
				Path: []string{"kv_transfer", "devices"}, Summary: fmt.Sprintf("%s is a network interface, not a device for RDMA", name),
				Detail: "Write a name that `ibv_devices` lists, such as mlx5_0, or transport = \"tcp\".",
			})
			break
		}
	}
	for _, m := range d.Members {
		if containers && m.Spec.Image != "" {
			found = append(found, checkRDMAContainer(m)...)
		}
	}
	return found
}

// checkRDMAContainer reports what a container lacks for RDMA.
func checkRDMAContainer(m steps.Member) []steps.Problem {
	c := m.Spec.Container
	if c == nil {
		c = &steps.ContainerSpec{}
	}
	at := func(parts ...string) []string { return append([]string{"server", m.Name}, parts...) }
	var found []steps.Problem
	if c.Network == "" || c.Network == steps.NetworkBridge {
		found = append(found, steps.Problem{
			Path: at("container", "network"), Summary: fmt.Sprintf("server %q uses RDMA on a bridge network", m.Name),
			Detail: "A bridge has no RDMA device, so that the transfer fails or goes over tcp. Write container { network = \"host\" }, or the " +
				"name of a network that has one.",
		})
	}
	if c.Privileged {
		return found
	}
	locked := func(u steps.Ulimit) bool { return u.Name == "memlock" && u.Soft < 0 }
	if !slices.ContainsFunc(c.Ulimits, locked) && !slices.Contains(c.CapAdd, "IPC_LOCK") && !slices.Contains(c.CapAdd, "CAP_IPC_LOCK") {
		found = append(found, steps.Problem{
			Path: at("container", "ulimits"), Summary: fmt.Sprintf("server %q may not lock the memory that RDMA needs", m.Name), Warning: true,
			Detail: "Registering buffers fails beyond 64 KiB in most containers. Write ulimits = { memlock = \"-1\" } or cap_add = [\"IPC_LOCK\"] " +
				"in its container block.",
		})
	}
	seen := func(d steps.ContainerDevice) bool { return strings.HasPrefix(d.Host, "/dev/infiniband") }
	if !slices.ContainsFunc(c.Devices, seen) && len(c.CDI) == 0 {
		found = append(found, steps.Problem{
			Path: at("container", "devices"), Summary: fmt.Sprintf("server %q sees no RDMA device", m.Name), Warning: true,
			Detail: "Write devices = [\"/dev/infiniband\"] in its container block.",
		})
	}
	return found
}
