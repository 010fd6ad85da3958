package simulate

// overSockets returns why a launch is not played by a process of its own, nil where it is. Virtual time
// plays all launches.
func (l *launch) overSockets() error {
	if l.kv == nil {
		return nil
	}
	return l.kv.OverSockets()
}
