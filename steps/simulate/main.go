package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/transfer"
)

// Main is the simulated server as a program. args is the real server's argv: `vllm serve MODEL …`,
// `python3 -m vllm.entrypoints.openai.api_server --model MODEL …` or `python3 -m
// sglang.launch_server --model-path MODEL …`, `llama-server --model MODEL …`. Settings come as JSON from SettingsEnv. It also
// replaces the services of KV connectors: `etcd …`, `mooncake_master …` and `python3 -m
// mooncake.http_metadata_server …` (or `metadata …`). It rejects servers that only virtual time can
// simulate.
//
// It serves until ctx ends or the process gets SIGTERM or SIGINT, and returns the exit status of
// the real server: 0 after an orderly end, 1 if it failed or crashed, 2 for arguments that its
// parser rejects. If the parent process dies, it ends too.
func (p Simulator) Main(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) int {
	if kind, flags := transfer.ServiceOf(args); kind != "" {
		ctx, stop := endOf(ctx, false)
		defer stop()
		return transfer.RunService(ctx, kind, flags, stdout)
	}
	if r, ok := rayOf(args); ok && !r.head {
		ctx, stop := endOf(ctx, false)
		defer stop()
		return follow(ctx, r.address, 0, newLogger(stdout, &launch{engine: vllm{}, version: "0.12"}, os.Getpid(), 0))
	}
	l, err := p.read(args, env, stderr)
	if failed, ok := errors.AsType[*StartError](err); ok {
		return failed.Status
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	if err := l.overSockets(); err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	s := newServer(l, Options{Env: env, Log: l.engine.output(stdout, stderr), PID: os.Getpid()})
	ctx, stop := endOf(ctx, l.fail.IgnoreSigterm)
	defer stop()
	if l.part.rank > 0 {
		return follow(ctx, l.part.rendezvous, l.part.rank, s.log)
	}
	return s.run(ctx)
}

// read resolves a command line. A *StartError is the engine's own rejection, with the reason in the
// log.
func (p Simulator) read(argv []string, env func(string) string, log io.Writer) (*launch, error) {
	settings, err := ParseSettings(env(SettingsEnv))
	if err != nil {
		return nil, err
	}
	l, err := p.launch(argv, settings.on(p.Machine), env)
	if refused, ok := errors.AsType[usageError](err); ok {
		if text := l.engine.quirks().refusal; text != nil {
			fmt.Fprint(log, text(refused))
			return nil, &StartError{1}
		}
		fmt.Fprint(log, usage(l.engine, argv, refused))
		return nil, &StartError{2}
	}
	if refused, ok := errors.AsType[kv.Refused](err); ok {
		fmt.Fprintln(log, refused.Text)
		return nil, &StartError{1}
	}
	return l, err
}

// endOf returns a context that ends on a signal or when the parent process dies. With ignore,
// signals do not end it: only the parent's death or SIGKILL does.
func endOf(ctx context.Context, ignore bool) (context.Context, func()) {
	var stop func()
	if ignore {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
		ctx, stop = context.WithoutCancel(ctx), func() { signal.Stop(signals) }
	} else {
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	}
	ctx, cancel := context.WithCancel(ctx)
	go watchParent(ctx, cancel)
	return ctx, func() { cancel(); stop() }
}
