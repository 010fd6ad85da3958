package router

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"
)

// AddFlags adds the router command's flags, except the protocol's, to fs. Parsing them fills c.
func (c *Config) AddFlags(fs *pflag.FlagSet) {
	fs.Var((*backendFlag)(&c.Prefill), "prefill", "`server` that prefills (repeatable)")
	fs.Var((*backendFlag)(&c.Decode), "decode", "`server` that decodes, or does both with round_robin (repeatable)")
	fs.DurationVar(&c.Timeouts.Dial, "dial-timeout", 5*time.Second, "limit of a connection to a server")
	fs.DurationVar(&c.Timeouts.Prefill, "prefill-timeout", 10*time.Minute, "limit of the prefill phase of a request")
	fs.DurationVar(&c.Timeouts.Request, "request-timeout", time.Hour, "limit of a whole request")
	fs.Int64Var(&c.MaxBody, "max-body", defaultMaxBody, "longest body of a request in `bytes`")
	fs.Int64Var(&c.MaxBodies, "max-bodies", defaultMaxBodies,
		"bodies of all requests in flight and of prefill's answers to them together in `bytes`; what comes beyond is answered 503")
	fs.BoolVar(&c.AllowRecompute, "allow-recompute", false, "let decode compute the prompt again where prefill gave no transfer parameters")
	fs.BoolVar(&c.Simulated, "simulated", false,
		"the servers are simulated: pass on when requests came, so that their model does not count the router's time")
}

// ParseArgs reads the arguments of the router command for callers that simulate a router. It drops unknown
// flags.
func ParseArgs(args []string) (Config, error) {
	var c Config
	fs := pflag.NewFlagSet("router", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.ParseErrorsAllowlist.UnknownFlags = true
	fs.StringVar(&c.Protocol, "protocol", "", "")
	c.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		return Config{}, fmt.Errorf("arguments of the router: %w", err)
	}
	return c, nil
}

// backendFlag is a flag that is given once for each server.
type backendFlag []Backend

// String implements pflag.Value.
func (*backendFlag) String() string { return "" }

// Type implements pflag.Value.
func (*backendFlag) Type() string { return "server" }

// Set implements pflag.Value.
func (b *backendFlag) Set(text string) error {
	parsed, err := ParseBackend(text)
	if err == nil {
		*b = append(*b, parsed)
	}
	return err
}
