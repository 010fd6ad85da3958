//go:build unix && !linux

package spawn

// OwnerOf is not known without /proc.
func OwnerOf(int) Ownership { return Unknown }

// ControlGroup is not known without /proc.
func ControlGroup(int) string { return "" }
