//go:build !linux

package cli

// closeProcess does nothing on this system.
func closeProcess() error { return nil }

// forgetEnvironment does nothing on this system.
func forgetEnvironment() error { return nil }
