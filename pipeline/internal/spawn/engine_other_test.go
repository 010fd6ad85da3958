//go:build unix && !linux

package spawn

func playEngine([]string) {}
