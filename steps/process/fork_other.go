//go:build !linux

package process

func withoutForks(f func() error) error { return f() }
