// Package probe finds out what machine a measurement is made on.
//
//	facts := probe.Machine(ctx, spawner)
//	facts["gpu_name"] // "NVIDIA H100 80GB HBM3", or "unavailable"
//
// A probe never fails: what cannot be found out is "unavailable". The facts are those
// that stay the same from run to run, so that two fingerprints can be compared; what
// changes from second to second (temperatures, clocks) is not here. Versions of engines
// come from the engines. GPUs are NVIDIA's, as nvidia-smi describes them; others are not
// looked for.
package probe
