// Package probe describes the machine that a measurement runs on, and watches its state during the measurement.
//
//	facts := probe.Machine(ctx, spawner)
//	facts["gpu_name"] // "NVIDIA H100 80GB HBM3", or "unavailable"
//
//	p := probe.New(spawner)
//	p.Snapshot(ctx).Processes // processes that use the GPUs now
//	p.Links(ctx)              // network devices and NVLinks, with the bytes they have carried
//
// [Machine] returns the fingerprint: facts that are constant between runs, so that fingerprints can be compared
// (see [Hard]). It never fails; an unknown fact is "unavailable". [Prober] reads changing state: memory,
// clocks, slowdowns and processes of GPUs, and network counters. [Judge] decides from a run's snapshots whether
// the machine invalidates it.
//
// It queries NVIDIA's GPUs with nvidia-smi and AMD's with rocm-smi, and reads the rest from Linux's /proc and
// /sys. It treats all answers as untrusted: it limits their time and size, and unreadable values are unknown.
// Engines report their own versions. The package changes nothing on the machine.
package probe
