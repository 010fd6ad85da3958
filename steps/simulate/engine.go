package simulate

import (
	"io"
	"net/http"
	"time"

	"github.com/servegate/pipeline/steps/engine/flags"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// engine holds the specifics of one simulated engine: its command line and defaults, its routes and
// metrics, its log lines and its error messages. Each engine is one value in a separate file.
type engine interface {
	// name is the name of a file's server block.
	name() string
	// commandLine returns the flags of a command line that starts it, in any of the documented
	// forms.
	commandLine(argv []string) (flags []string, ok bool)
	// quirks of its parser.
	quirks() quirks
	// usage returns the parser's program name and summary.
	usage(argv []string, cause usageError) (program, summary string)
	// resolve resolves a launch from its flags, with the engine's defaults.
	resolve(l *launch, env func(string) string) error
	// nodes reads how a server is spread over nodes; false if its flags do not tell.
	nodes(l *launch) (p nodePlan, ok bool, err error)
	// transfer resolves the server's part in a KV transfer.
	transfer(l *launch, env func(string) string) error
	// output returns where it logs to.
	output(stdout, stderr io.Writer) io.Writer

	// line and access format a line of its own log and one of its HTTP server.
	line(g *logger, process, level, source, text string) string
	access(g *logger, text string) string
	// step writes the periodic lines that are due after a step.
	step(g *logger, step model.Step, st model.Stats)
	// ready, serving, stopped and died write the lines of a server's lifecycle.
	ready(s *Server, startup time.Duration)
	serving(s *Server, addr string)
	stopped(s *Server)
	died(s *Server)
	// portInUse, kvTooSmall and coreFailed write why a server does not start.
	portInUse(s *Server)
	kvTooSmall(s *Server)
	coreFailed(s *Server)
	// loadFailed returns the line for KV that does not arrive, loadError the error for the client.
	loadFailed(p *kv.Part) kv.Message
	loadError(err error) string

	// routes adds the endpoints besides OpenAI's.
	routes(s *Server, mux *http.ServeMux)
	// exposition writes the content of /metrics. late and kv are nil for a server without sockets.
	exposition(w io.Writer, l *launch, m *metrics, e exposed) error
	// open reports whether a path needs no API key.
	open(path string) bool
	// flatErrors reports whether errors are flat, with "object":"error".
	flatErrors(version string) bool
	// oneToken reports whether a prefill server generates a single token, whatever is requested.
	oneToken() bool
}

// quirks of an engine's parser, which is argparse unless refusal is set.
type quirks struct {
	// lists names another engine with the same list of flags; "" for its own.
	lists string
	// underscores can replace dashes, and --json-flag.key value sets one key.
	underscores bool
	// levels is the flag that -O sets; "" for none.
	levels string
	// extra is a flag that the lists do not have.
	extra flags.Def
	// refusal returns what another parser prints about arguments that it refuses; it exits with status 1.
	refusal func(usageError) string
}

// engines returns the engines that can be simulated.
func engines() []engine { return []engine{vllm{}, sglang{}, llamacpp{}, trtllm{}} }
