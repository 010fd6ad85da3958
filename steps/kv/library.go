package kv

// Library moves the bytes below a connector. Its value says which variables hold it to the
// declared transport and make it log what it took, how a log shows that, and how the simulator
// plays it.
type Library struct {
	// settings by transport; "" holds for all of them.
	//
	// A transport is forced by leaving the others out, so that a device that is missing
	// fails loudly.
	settings map[string][]setting
	// network names the devices, nil where the connector does.
	network func(*Writer)
	// lines of a log that show what it took.
	lines []Line
	// hint says what makes it show that.
	hint string

	// start writes the lines that it writes when it starts.
	start func(*Part, Log)
	// stats writes its own periodic line on so many transfers, nil for none.
	stats func(p *Part, log Log, seconds, throughput float64, transfers int)
}

// setting is a variable that a transport wants.
type setting struct{ name, value string }

func (l *Library) write(w *Writer) {
	if l == nil {
		return
	}
	for _, s := range l.settings[""] {
		w.SetEnv(s.name, s.value)
	}
	if t := w.part.spec.Transport; t != "" {
		for _, s := range l.settings[t] {
			w.SetEnv(s.name, s.value)
		}
	}
	if l.network != nil {
		l.network(w)
	}
}
