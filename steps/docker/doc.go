// Package docker runs servers as containers of a Docker daemon, by dockertest.
//
//	l, err := docker.New(docker.Options{Host: docker.HostFromEnv(os.Getenv), RunID: id, Deadline: end})
//	p, err := eng.Render(spec, spec.ListenHost(), port)
//	p.Container = spec.NewContainer()
//	server, err := l.Start(ctx, p, logFile)
//	…
//	err = server.Stop(ctx) // the stop signal, the grace, the kill; then the container is removed
//
// Every container carries the run's ID and a deadline as labels, so that [Cleanup] finds
// what a killed program left behind. Images come by name or digest, or as the
// simulator ([SimulatorImage]).
//
// dockertest v3.12.0 brings the client and the connection. Its RunWithOptions is not used:
// it takes no context and sets SIGWINCH as the stop signal. Its create request
// cannot say device requests and the runtime, so that we make that one ourselves.
//
// It knows no engine, does not ask whether a server is ready, does not wait for the
// memory of GPUs, and reaches a daemon behind ssh only through a socket that ssh forwards
// ([OpenTunnel]).
package docker
