//go:build !unix

package mock

func cpuSeconds() float64 { return 0 }
