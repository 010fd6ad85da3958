//go:build unix && !linux

package spawn

// OwnerOf returns Unknown without /proc.
func OwnerOf(int) Ownership { return Unknown }

// ControlGroup returns "" without /proc.
func ControlGroup(int) string { return "" }
