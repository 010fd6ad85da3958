// Package probe finds out what machine a measurement is made on, and what else happens
// on it meanwhile.
//
//	facts := probe.Machine(ctx, spawner)
//	facts["gpu_name"] // "NVIDIA H100 80GB HBM3", or "unavailable"
//
//	p := probe.New(spawner)
//	p.Snapshot(ctx).Processes // what computes on the GPUs now
//	p.Links(ctx)              // network devices and NVLinks, with what they have carried
//
// [Machine] is the fingerprint: facts that stay the same from run to run, so that two of
// them can be compared (see [Hard]). It never fails: what cannot be found out is
// "unavailable". [Prober] looks at what changes from second to second: memory, clocks,
// slowdowns and processes of GPUs, counters of networks; [Judge] says from a run's
// snapshots whether the machine was at fault.
//
// NVIDIA's GPUs are asked for with nvidia-smi, AMD's with rocm-smi; networks and the rest
// come from Linux's /proc and /sys. Every answer is taken as hostile: it is bounded in
// time and size, and what cannot be read is unknown. Versions of engines come from the
// engines. It changes nothing on the machine.
package probe
