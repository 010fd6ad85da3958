package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps/router"
	"github.com/spf13/cobra"
)

type routerFlags struct {
	router.Config
	listen string
	grace  time.Duration
}

// routerCommand runs only the router, the way a deployment starts it.
func (a *app) routerCommand() *cobra.Command {
	var f routerFlags
	cmd := &cobra.Command{
		Use:   "router --protocol NAME --decode URL",
		Short: "Route requests to prefill and decode servers",
		Long: "Stands before the servers of a deployment and speaks the protocol of their KV connector. Requests go to the\n" +
			"servers in turn; a failed request is answered with its error and never tried again. What the router adds to the\n" +
			"latency is at /router/stats, the health of every server at /health. SIGTERM and SIGINT let what is under way\n" +
			"finish within the grace.\n\n" +
			"A server is a URL with what the protocol needs behind it: URL[,name=NAME][,bootstrap=[HOST:]PORT][,kv=IP:PORT].\n" +
			"mooncake and sglang need the bootstrap port of each prefill server, p2p_nccl the connector's address of every server.",
		Example: "  pipeline router --protocol nixl --prefill http://127.0.0.1:8100 --decode http://127.0.0.1:8200\n" +
			"  pipeline router --protocol sglang --prefill http://127.0.0.1:30000,bootstrap=8998 --decode http://127.0.0.1:30400\n" +
			"  pipeline router --protocol round_robin --decode http://127.0.0.1:8100 --decode http://127.0.0.1:8200",
		Args: cobra.NoArgs,
		RunE: interruptible(func(ctx context.Context, _ []string) error { return a.route(ctx, f) }),
	}
	fl := cmd.Flags()
	enumFlag(cmd, &f.Protocol, "protocol", "", words(router.Protocols()...), "`protocol` of the KV connector")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8000", "`address` to listen on; port 0 takes a free one")
	f.AddFlags(fl)
	fl.DurationVar(&f.grace, "grace", 5*time.Second, "time for what is under way when the router is stopped")
	return cmd
}

func (a *app) route(ctx context.Context, f routerFlags) error {
	if err := f.check(); err != nil {
		return exit(exitUsage, err)
	}
	f.Log = func(line string) { fmt.Fprintln(a.Err, line) }
	r, err := router.New(f.Config)
	if err != nil {
		return exit(exitUsage, err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", f.listen)
	if err != nil {
		r.Close()
		return exit(exitInfrastructure, fmt.Errorf("the router cannot listen; choose another --listen address: %w", err))
	}
	fmt.Fprintf(a.Err, "router is listening on %s\n", l.Addr())
	if err := r.Serve(ctx, l, f.grace); err != nil {
		return exit(exitInfrastructure, err)
	}
	s := r.Stats()
	fmt.Fprintf(a.Err, "router has ended: %d requests succeeded, %d failed, %d were refused, %d were left by their clients\n",
		s.Succeeded, s.Failed, s.Refused, s.ClientGone)
	if cause, ok := errors.AsType[interrupt](context.Cause(ctx)); ok {
		return exit(cause.exitCode(), nil)
	}
	return nil
}

func (f routerFlags) check() error {
	if f.Protocol == "" {
		return fmt.Errorf("--protocol is needed: one of %s", strings.Join(router.Protocols(), ", "))
	}
	if f.Timeouts.Dial <= 0 || f.Timeouts.Prefill <= 0 || f.Timeouts.Request <= 0 || f.grace < 0 || f.MaxBody <= 0 || f.MaxBodies <= 0 {
		return errors.New("timeouts, --max-body and --max-bodies must be above zero, and --grace not below it")
	}
	return nil
}
