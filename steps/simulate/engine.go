package simulate

import (
	"io"
	"net/http"
	"time"

	"github.com/servegate/pipeline/steps/engine/flags"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// engine is what is particular to one engine as it is simulated: its command line and
// defaults, its routes and metrics, the lines of its log and its words for what goes wrong.
// An engine is one value in a file of its own.
type engine interface {
	// name is that of a file's server block.
	name() string
	// commandLine returns the flags of a command line that starts it, in any of the forms that
	// its documentation uses.
	commandLine(argv []string) (flags []string, ok bool)
	// quirks of its parser.
	quirks() quirks
	// usage is what the parser prints of itself: its program and a summary.
	usage(argv []string, cause usageError) (program, summary string)
	// resolve settles a launch from its flags, with the engine's defaults.
	resolve(l *launch, env func(string) string) error
	// nodes reads how a server is spread over nodes; false where its flags do not say.
	nodes(l *launch) (p nodePlan, ok bool, err error)
	// transfer settles the server's part in a KV transfer.
	transfer(l *launch, env func(string) string) error
	// output is where it logs to.
	output(stdout, stderr io.Writer) io.Writer

	// line and access format a line of its own log and one of its HTTP server.
	line(g *logger, process, level, source, text string) string
	access(g *logger, text string) string
	// step writes the periodic lines that fall due with a step.
	step(g *logger, step model.Step, st model.Stats)
	// ready, serving and died write the lines of a server's life.
	ready(s *Server, startup time.Duration)
	serving(s *Server, addr string)
	died(s *Server)
	// portInUse, kvTooSmall and coreFailed write why a server does not start.
	portInUse(s *Server)
	kvTooSmall(s *Server)
	coreFailed(s *Server)
	// loadFailed is the line for KV that does not come, loadError what the client gets.
	loadFailed(p *kv.Part) kv.Message
	loadError(err error) string

	// routes are the endpoints beside OpenAI's.
	routes(s *Server, mux *http.ServeMux)
	// exposition writes what /metrics shows. The late and kv of a server without sockets are nil.
	exposition(w io.Writer, l *launch, m *metrics, e exposed) error
	// open reports whether a path needs no API key.
	open(path string) bool
	// flatErrors reports whether errors are flat, with "object":"error".
	flatErrors(version string) bool
	// oneToken means that a prefill server makes a single token whatever is asked for.
	oneToken() bool
}

// quirks of an engine's argparse parser.
type quirks struct {
	// lists of flags that it has in common with another engine; "" for its own.
	lists string
	// underscores take the place of dashes, and --json-flag.key value sets one key.
	underscores bool
	// levels of -O are values of this flag; "" for none.
	levels string
	// extra is a flag that the lists do not have.
	extra flags.Def
}

// engines that can be simulated.
func engines() []engine { return []engine{vllm{}, sglang{}} }
