// Package process runs servers as processes of this machine.
//
//	l := process.New(spawner, process.Options{})
//	port, release, err := new(process.Ports).TakeRow("127.0.0.1", 1, 1)
//	p, err := eng.Render(spec, "127.0.0.1", port)
//	server, err := l.Start(ctx, p, logFile)
//	…
//	err = server.Stop(ctx)
//	release()
//
// A server that already answers at an address is an [Attached].
//
// It knows no engine: readiness is asked elsewhere. It does not choose GPUs and does not
// restart what ends.
package process
