package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Profile describes a GPU in the model: rates that kernels reach in practice, not the data sheet's
// peaks, and the fixed costs of a step.
type Profile struct {
	Name string
	// Device is the product name that log lines and /server_info show.
	Device string
	// FLOPs per second that large matrix products reach in 16 bits.
	FLOPs float64
	// EightBit and FourBit are the speed-ups of products of that width; 0 if the device lacks them
	// and computes in 16 bits.
	EightBit, FourBit float64
	// AttentionFLOPs per second that the attention kernels of a prefill reach; lower, because they
	// also compute the softmax and masks, and read pages.
	AttentionFLOPs float64
	// MemBandwidth in bytes per second, when weights and KV are streamed.
	MemBandwidth float64
	// MemBytes is the memory of the device.
	MemBytes float64
	// ReservedBytes of memory are used by activations, graphs and the runtime.
	ReservedBytes float64
	// KernelOverhead of a step: launches, sampling, the scheduler on the host.
	KernelOverhead time.Duration
	// SequenceOverhead of a step for each sequence in it: sampling, detokenizing.
	SequenceOverhead time.Duration
	// ClientOverhead is the part of KernelOverhead that disappears if the load generator runs on
	// another machine: the decode server of a pair.
	ClientOverhead time.Duration
	// PrefillOverhead is added to a step with prefill work: no CUDA graph, input preparation.
	PrefillOverhead time.Duration
	// Watts that the device draws during a step; between steps it draws a sixth.
	Watts float64
	// Frontend is the time from the arrival of a request to the scheduler's queue: HTTP, tokenizer,
	// communication between processes.
	Frontend time.Duration
	// Hop is the time that a router, and the network to it, take to forward a request.
	Hop time.Duration
	// Net holds the links to other servers.
	Net Network
	// Staging describes the copies through host memory in the connectors before V1.
	Staging Staging
	// Model, if it has parameters, replaces every model's shape.
	Model ModelShape
}

// Profiles returns the hardware that can be simulated.
//
// "a10" is fitted to the public vLLM measurement with Mooncake (vLLM 0.6.4.post1, A10,
// Qwen2.5-7B-Instruct-GPTQ-Int4); see testdata. Its rates are the device's, so other models scale
// from that one. Its steps are 0.7 ms shorter on the decode server of a pair than on a server that
// shares its machine with the benchmark's client.
//
// "h100" uses the data sheet's 989 TFLOP/s (BF16, dense) and 3.35 TB/s at the shares that tuned
// kernels commonly reach; "a100", "h200" and "b200" use their data sheets at the same shares. All
// draw some 80 % of their limit while they compute. None of these was fitted;
// testdata/published.csv and its test compare them with published figures.
//
// "fast" is imaginary and runs every model as if it had half a billion parameters: a request of 256
// tokens in and 16 out takes about 45 ms, so that hundreds of them run in seconds, with the ratio
// of prefill to decode of a small GPU.
func Profiles() []Profile {
	return []Profile{
		{Name: "a10", Device: "NVIDIA A10", Watts: 130, FLOPs: 72e12, AttentionFLOPs: 6e12, MemBandwidth: 500e9,
			MemBytes: 23.6e9, ReservedBytes: 1.8e9, KernelOverhead: 1050 * time.Microsecond, SequenceOverhead: 30 * time.Microsecond,
			ClientOverhead:  750 * time.Microsecond,
			PrefillOverhead: 8 * time.Millisecond, Frontend: 3 * time.Millisecond, Hop: 2 * time.Millisecond, Net: a10Network(),
			Staging: Staging{PerTransfer: time.Millisecond, Rate: 0.8e9, Launch: 20 * time.Millisecond}},
		dataSheet("a100", "NVIDIA A100-SXM4-80GB", 312e12, 2.04e12, 85e9, 0, 0, 330),
		dataSheet("h100", "NVIDIA H100 80GB HBM3", 989e12, 3.35e12, 85e9, 2, 0, 550),
		dataSheet("h200", "NVIDIA H200", 989e12, 4.8e12, 150e9, 2, 0, 550),
		dataSheet("b200", "NVIDIA B200", 2250e12, 8e12, 191e9, 2, 4, 800),
		{Name: "fast", Device: "Simulated GPU", Watts: 60, FLOPs: 28e12, AttentionFLOPs: 10e12, MemBandwidth: 550e9,
			MemBytes: 16e9, ReservedBytes: 1e9, KernelOverhead: 200 * time.Microsecond, SequenceOverhead: 4 * time.Microsecond,
			PrefillOverhead: 400 * time.Microsecond, Frontend: 300 * time.Microsecond, Hop: 100 * time.Microsecond, Net: fastNetwork(),
			Staging: Staging{PerTransfer: 200 * time.Microsecond, Rate: 5e9, Launch: 2 * time.Millisecond}, Model: demoShape("")},
	}
}

// dataSheet returns a data centre accelerator from its peaks, at the shares that tuned kernels
// commonly reach: 57 % for products, 25 % for the attention of a prefill and 84 % of the bandwidth.
func dataSheet(name, device string, flops, bandwidth, memory, eightBit, fourBit, watts float64) Profile {
	return Profile{
		Name: name, Device: device, Watts: watts, FLOPs: flops * 560 / 989, AttentionFLOPs: flops * 250 / 989,
		EightBit: eightBit, FourBit: fourBit,
		MemBandwidth: bandwidth * 2.8 / 3.35, MemBytes: memory, ReservedBytes: 2e9,
		KernelOverhead: 700 * time.Microsecond, SequenceOverhead: 4 * time.Microsecond,
		PrefillOverhead: 2 * time.Millisecond, Frontend: 1500 * time.Microsecond, Hop: 300 * time.Microsecond, Net: h100Network(),
		Staging: Staging{PerTransfer: time.Millisecond, Rate: 1.5e9, Launch: 12 * time.Millisecond},
	}
}

// products returns the rate of products of operands of the given number of bits.
func (p Profile) products(bits int) float64 {
	switch {
	case bits == 32:
		return p.FLOPs / 8
	case bits == 4 && p.FourBit > 0:
		return p.FLOPs * p.FourBit
	case (bits == 4 || bits == 8) && p.EightBit > 0:
		return p.FLOPs * p.EightBit
	}
	return p.FLOPs
}

// a10Network is a cloud machine with A10s: two elastic RDMA ports of 32 Gbit/s each, TCP over the
// same ports through the kernel, and PCIe 4.0 between the GPUs.
func a10Network() Network {
	return Network{
		RDMA: Link{Bandwidth: 3.6e9, Latency: 40 * time.Microsecond}, HCAs: 2,
		TCP:    Link{Bandwidth: 1.4e9, Latency: 150 * time.Microsecond},
		NVLink: Link{Bandwidth: 20e9, Latency: 20 * time.Microsecond},
		Disk:   Link{Bandwidth: 1.5e9, Latency: time.Millisecond},
	}
}

// h100Network has ports of 400 Gbit/s, NVLink 4, and TCP over 100 Gbit/s Ethernet, which is limited
// by the staging in host memory.
func h100Network() Network {
	return Network{
		RDMA: Link{Bandwidth: 46e9, Latency: 20 * time.Microsecond}, HCAs: 8,
		TCP:    Link{Bandwidth: 3e9, Latency: 100 * time.Microsecond},
		NVLink: Link{Bandwidth: 350e9, Latency: 10 * time.Microsecond},
		Disk:   Link{Bandwidth: 3e9, Latency: 500 * time.Microsecond},
	}
}

// fastNetwork gives the imaginary device links of the usual proportions: 256 tokens of its model
// take 1.3 ms over one RDMA port, 10 ms over TCP.
func fastNetwork() Network {
	return Network{
		RDMA: Link{Bandwidth: 10e9, Latency: 20 * time.Microsecond}, HCAs: 2,
		TCP:    Link{Bandwidth: 1.25e9, Latency: 100 * time.Microsecond},
		NVLink: Link{Bandwidth: 100e9, Latency: 10 * time.Microsecond},
		Disk:   Link{Bandwidth: 2e9, Latency: 200 * time.Microsecond},
	}
}

// Staging models the copies of connectors before V1: they copy each tensor to the host, serialize
// it, copy it into a registered buffer, and reverse these steps on the other side, one tensor after
// the other. Six copies at 3 to 5 GB/s each reach 0.65 to 0.8 GB/s together.
type Staging struct {
	// PerTransfer is the fixed cost: five tensors with their messages.
	PerTransfer time.Duration
	// Rate in bytes per second of all copies together.
	Rate float64
	// Launch is the time in which the host queues the kernels of a prefill step. A transfer that
	// begins later waits for them.
	Launch time.Duration
}

func (s Staging) Time(bytes float64) time.Duration {
	if s.Rate == 0 {
		return s.PerTransfer
	}
	return s.PerTransfer + seconds(bytes/s.Rate)
}

// ProfileByName returns the profile of that name.
func ProfileByName(name string) (Profile, error) {
	all := Profiles()
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		names := make([]string, len(all))
		for j, p := range all {
			names[j] = p.Name
		}
		return Profile{}, fmt.Errorf("no hardware profile is named %q; choose one of %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}
