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
	protocol, listen string
	prefill, decode  []string
	timeouts         router.Timeouts
	maxBody          int64
	allowRecompute   bool
	simulated        bool
	grace            time.Duration
}

// routerCommand runs the router alone, as a deployment starts it.
func (a *app) routerCommand() *cobra.Command {
	var f routerFlags
	cmd := &cobra.Command{
		Use:   "router --protocol NAME --decode URL",
		Short: "Route requests to prefill and decode servers",
		Long: "Stands before the servers of a deployment and speaks the protocol of their KV connector. Requests go to the\n" +
			"servers in turn; a failed request is answered with its error and never tried again. What the router adds to the\n" +
			"latency is at /router/stats and /metrics, the health of every server at /members. SIGTERM and SIGINT let what is\n" +
			"under way finish within the grace.\n\n" +
			"A server is a URL with what the protocol needs behind it: URL[,name=NAME][,bootstrap=[HOST:]PORT][,kv=IP:PORT].\n" +
			"mooncake and sglang need the bootstrap port of each prefill server, p2p_nccl the connector's address of every server.",
		Example: "  pipeline router --protocol nixl --prefill http://127.0.0.1:8100 --decode http://127.0.0.1:8200\n" +
			"  pipeline router --protocol sglang --prefill http://127.0.0.1:30000,bootstrap=8998 --decode http://127.0.0.1:30400\n" +
			"  pipeline router --protocol round_robin --decode http://127.0.0.1:8100 --decode http://127.0.0.1:8200",
		Args: cobra.NoArgs,
		RunE: interruptible(func(ctx context.Context, _ []string) error { return a.route(ctx, f) }),
	}
	fl := cmd.Flags()
	enumFlag(cmd, &f.protocol, "protocol", "", words(router.Protocols()...), "`protocol` of the KV connector")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8000", "`address` to listen on; port 0 takes a free one")
	fl.StringArrayVar(&f.prefill, "prefill", nil, "`server` that prefills (repeatable)")
	fl.StringArrayVar(&f.decode, "decode", nil, "`server` that decodes, or does both with round_robin (repeatable)")
	fl.DurationVar(&f.timeouts.Dial, "dial-timeout", 5*time.Second, "limit of a connection to a server")
	fl.DurationVar(&f.timeouts.Prefill, "prefill-timeout", 10*time.Minute, "limit of the prefill phase of a request")
	fl.DurationVar(&f.timeouts.Request, "request-timeout", time.Hour, "limit of a whole request")
	fl.Int64Var(&f.maxBody, "max-body", 64<<20, "longest body of a request in `bytes`")
	fl.BoolVar(&f.allowRecompute, "allow-recompute", false, "let decode compute the prompt again where prefill gave no transfer parameters")
	fl.BoolVar(&f.simulated, "simulated", false, "the servers are simulated: tell them when requests came, so that their model does not count the router's time")
	fl.DurationVar(&f.grace, "grace", 5*time.Second, "time for what is under way when the router is stopped")
	return cmd
}

func (a *app) route(ctx context.Context, f routerFlags) error {
	c, err := a.routerConfig(f)
	if err != nil {
		return exit(exitUsage, err)
	}
	r, err := router.New(c)
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

func (a *app) routerConfig(f routerFlags) (router.Config, error) {
	c := router.Config{
		Protocol: f.protocol, Timeouts: f.timeouts, MaxBody: f.maxBody, AllowRecompute: f.allowRecompute, Simulated: f.simulated,
		Log: func(line string) { fmt.Fprintln(a.Err, line) },
	}
	if f.protocol == "" {
		return c, fmt.Errorf("--protocol is needed: one of %s", strings.Join(router.Protocols(), ", "))
	}
	if f.timeouts.Dial <= 0 || f.timeouts.Prefill <= 0 || f.timeouts.Request <= 0 || f.grace < 0 || f.maxBody <= 0 {
		return c, errors.New("timeouts and --max-body must be above zero, and --grace not below it")
	}
	var errs []error
	parse := func(servers []string) (all []router.Backend) {
		for _, s := range servers {
			b, err := router.ParseBackend(s)
			errs, all = append(errs, err), append(all, b)
		}
		return all
	}
	c.Prefill, c.Decode = parse(f.prefill), parse(f.decode)
	return c, errors.Join(errs...)
}
