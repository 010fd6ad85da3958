package kv

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Exchange is how the two servers of a request find its KV when the simulator plays them.
type Exchange int

// The exchanges. The simulator plays those by answer, transfer ID and room between processes, and all of
// them in virtual time.
const (
	// NoExchange moves nothing: every server computes its own.
	NoExchange Exchange = iota
	// ByAnswer: the decode server reads from the prefill server, whose answer named address
	// and blocks. Push and pull differ in who writes, not in who asks.
	ByAnswer
	// ByTransferID: the decode server finds the prefill server by its bootstrap server and
	// asks for a transfer by its id, before or after the prompt is computed.
	ByTransferID
	// ByRoom is the same by the number of a room, as SGLang has it.
	ByRoom
	// LookupBuffer of vLLM before V1: the decode server asks for a prompt's KV within its
	// step, the prefill server keeps it in a buffer.
	LookupBuffer
	// ByRequestID: the prefill server writes to the address within the request's id.
	ByRequestID
	// ByContent: KV is put under a hash of the prompt, at the decode server or in a store.
	ByContent
	// ByFile: the same in files of a shared folder.
	ByFile
	// FromNothing: KV appears without a transfer, as with the engines' own dummies.
	FromNothing
)

// overSockets reports whether the simulator plays the exchange between processes. It plays the others in
// virtual time alone.
func (e Exchange) overSockets() bool {
	return e == NoExchange || e == ByAnswer || e == ByTransferID || e == ByRoom
}

// virtualOnly is the error for a connector, by its engine's name, that is not played over sockets.
func virtualOnly(class string) error {
	return fmt.Errorf("%s is simulated in virtual time alone: use --simulate=virtual. Over sockets, nixl, mooncake of vLLM 0.13 or later "+
		"and SGLang are simulated", class)
}

// Play is how the simulator plays a form of a connector.
type Play struct {
	Exchange Exchange
	// Push means that the side with the KV writes it, and counts it.
	Push bool
	// Resolve settles a server's part from what the real connector reads; nil where all is
	// in the engine's own arguments.
	Resolve func(*Part) error
	// Start writes the lines of the connector before those of its library, nil for none.
	Start func(*Part, Log)
	// LoadFailed is the line for KV that does not come, with the request and the error; the
	// zero value is Mooncake's.
	LoadFailed Message
	// Metrics that the engine exposes for it.
	Metrics []Metric
}

// Message is a format of an engine's log line and the place in the source that it names.
type Message struct{ Source, Format string }

// Metric is a figure of transfers under the engine's own name: the simulator exposes it, and a
// proof reads it.
type Metric struct {
	Name, Help string
	Of         Quantity
	// Role limits it to servers that produce or consume; "" is both.
	Role string
}

// Quantity is what a metric measures.
type Quantity int

// The quantities. The first two are histograms, all others counters.
const (
	TransferSeconds Quantity = iota
	TransferSizes
	TransferredBytes
	FailedTransfers // sends and loads
	FailedSends
	FailedLoads
	ExpiredRequests
)

// Log is where a connector's lines go when it is played.
type Log interface {
	// Engine writes a line in the engine's own format.
	Engine(level, source, format string, args ...any)
	// Raw writes a line as it is.
	Raw(line string)
	Now() time.Time
	PID() int
}

// Refused is a configuration that an engine refuses while it starts, in its own words.
type Refused struct{ Text string }

func (e Refused) Error() string { return e.Text }

// Part is a server's part in a transfer as the simulator plays it, resolved from the flags,
// the environment and the files that a real server reads. The first fields are given; Resolve
// settles the others.
type Part struct {
	*Form
	// Host on which the server listens.
	Host string
	// Config is the transfer's configuration, Extra what of it belongs to the connector.
	Config, Extra map[string]any
	// Env and ReadFile read the server's environment and files.
	Env      func(name string) string
	ReadFile func(path string) ([]byte, error)
	// Produces and Consumes say which ends of a transfer the server is.
	Produces, Consumes bool

	// Exchange is the form's, NoExchange where the server keeps to itself.
	Exchange Exchange
	// FailLoads fails a request whose KV does not come; without it the prompt is computed.
	FailLoads bool
	// CountLoads has the side that gets KV count it.
	CountLoads bool
	// Timeout of a transfer in model time.
	Timeout time.Duration

	// Listen is where peers connect, with port 0 for a free one; "" for nowhere.
	Listen string
	// Bootstrap is where a prefill server answers peers where to connect, over HTTP.
	Bootstrap string
	// Peer is where to put or get KV, where it is known from the start.
	Peer string

	// Transport that really carries KV, the one that the configuration claims, and the
	// devices that it names; NICs is how many the machine takes.
	Transport, Claim string
	Devices          []string
	NICs             int
}

// Resolve settles the part.
func (p *Part) Resolve() error {
	p.Exchange = p.Play.Exchange
	if p.Play.Resolve != nil {
		if err := p.Play.Resolve(p); err != nil {
			return err
		}
	}
	if p.Claim == "" {
		p.Claim = p.Transport
	}
	return nil
}

// OverSockets returns why the simulator does not play the part between processes, nil where it does.
func (p *Part) OverSockets() error {
	if p.Exchange.overSockets() {
		return nil
	}
	return virtualOnly(p.Class)
}

// On reports whether a variable is set to anything but 0.
func (p *Part) On(variable string) bool { v := p.Env(variable); return v != "" && v != "0" }

// envPort reads a port from the environment.
func (p *Part) envPort(variable string, fallback int) (int, error) {
	v := p.Env(variable)
	if v == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > 65535 {
		return 0, Refused{fmt.Sprintf("ValueError: invalid literal for int() with base 10: '%s' (%s)", v, variable)}
	}
	return n, nil
}

// extra is a value of the connector's own configuration as text.
func (p *Part) extra(name string) string {
	if f, ok := p.Extra[name].(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return text(p.Extra[name])
}

// readFile reads the file that a variable names, "" where it names none.
func (p *Part) readFile(variable string) (path string, content []byte, err error) {
	if path = p.Env(variable); path == "" {
		return "", nil, nil
	}
	if content, err = p.ReadFile(path); err != nil {
		return path, nil, Refused{fmt.Sprintf("FileNotFoundError: [Errno 2] No such file or directory: '%s'", path)}
	}
	return path, content, nil
}

// mooncakeFile is MOONCAKE_CONFIG_PATH, of the connectors before V1 and of the store.
type mooncakeFile struct {
	PrefillURL     string `json:"prefill_url"`
	DecodeURL      string `json:"decode_url"`
	MetadataServer string `json:"metadata_server"`
	Protocol       string `json:"protocol"`
	DeviceName     string `json:"device_name"`
	Master         string `json:"master_server_address"`
}

func (p *Part) readMooncakeFile() (f mooncakeFile, err error) {
	path, content, err := p.readFile("MOONCAKE_CONFIG_PATH")
	switch {
	case err != nil:
		return f, err
	case path == "":
		return f, Refused{"ValueError: The environment variable 'MOONCAKE_CONFIG_PATH' is not set."}
	}
	if err := json.Unmarshal(content, &f); err != nil {
		return f, Refused{fmt.Sprintf("json.decoder.JSONDecodeError: %v (%s)", err, path)}
	}
	return f, nil
}

// deviceNames are the configured devices, or those that a machine with as many ports has.
func (p *Part) deviceNames() []string {
	if len(p.Devices) > 0 {
		return p.Devices
	}
	var names []string
	for i := range max(p.NICs, 1) {
		names = append(names, fmt.Sprintf("mlx5_%d", i))
	}
	return names
}

// DeviceList splits devices that are joined by commas.
func DeviceList(text string) []string {
	var out []string
	for d := range strings.SplitSeq(text, ",") {
		if d = strings.TrimSpace(d); d != "" {
			out = append(out, d)
		}
	}
	return out
}

// WriteStart writes what the connector and its library say of the transport when they start:
// their configuration (an echo) and what they found.
func (p *Part) WriteStart(log Log) {
	if p.Play.Start != nil {
		p.Play.Start(p, log)
	}
	if p.Library != nil && p.Library.start != nil {
		p.Library.start(p, log)
	}
}

// WriteStats writes the library's own periodic line on so many transfers.
func (p *Part) WriteStats(log Log, seconds, throughput float64, transfers int) {
	if p.Library != nil && p.Library.stats != nil {
		p.Library.stats(p, log, seconds, throughput, transfers)
	}
}

// LoadFailed is the line for KV that does not come.
func (p *Part) LoadFailed() Message {
	if m := p.Play.LoadFailed; m.Format != "" {
		return m
	}
	return Message{"mooncake_connector.py:620", "pulling kv_caches for request %d failed: %v"}
}
