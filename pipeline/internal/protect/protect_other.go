//go:build !linux

package protect

// Close does nothing on this system.
func Close() error { return nil }

// Forget does nothing on this system.
func Forget() error { return nil }
