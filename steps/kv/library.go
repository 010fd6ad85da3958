package kv

// Library moves the bytes below a connector. Its value holds the variables that force the declared transport
// and enable logging, the log lines that show the transport used, and how the simulator plays it.
type Library struct {
	// settings by transport; "" applies to all.
	//
	// A transport is forced by excluding the others, so that a missing device causes an error.
	settings map[string][]setting
	// network sets the devices, nil if the connector does.
	network func(*Writer)
	// lines are the log lines that show the transport used.
	lines []Line
	// hint describes what makes the library log it.
	hint string

	// start writes the log lines of its start.
	start func(*Part, Log)
	// stats writes its periodic log line about a number of transfers, nil for none.
	stats func(p *Part, log Log, seconds, throughput float64, transfers int)
}

// setting is a variable that a transport needs.
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
