package kv

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Exchange is how the two servers of a request find its KV in the simulator.
type Exchange int

// The exchanges. Over sockets the simulator plays ByAnswer, ByTransferID and ByRoom; in virtual time it plays
// all.
const (
	// NoExchange moves nothing: every server computes its own KV.
	NoExchange Exchange = iota
	// ByAnswer: the decode server reads from the prefill server, whose response named address and blocks. With
	// push, the prefill server writes instead; the decode server still asks.
	ByAnswer
	// ByTransferID: the decode server finds the prefill server through its bootstrap server. It asks for a
	// transfer by ID, before or after the prompt is computed.
	ByTransferID
	// ByRoom does the same with a room number, as in SGLang.
	ByRoom
	// LookupBuffer, of vLLM before V1: the decode server asks for a prompt's KV during its step; the prefill
	// server keeps it in a buffer.
	LookupBuffer
	// ByRequestID: the prefill server writes to the address contained in the request ID.
	ByRequestID
	// ByContent: KV is stored under a hash of the prompt, at the decode server or in a store.
	ByContent
	// ByFile does the same with files in a shared folder.
	ByFile
	// FromNothing: KV appears without a transfer, as with the engines' dummy connectors.
	FromNothing
)

// overSockets reports whether the simulator can play the exchange between processes. It plays the others in
// virtual time only.
func (e Exchange) overSockets() bool {
	return e == NoExchange || e == ByAnswer || e == ByTransferID || e == ByRoom
}

// virtualOnly returns the error for a connector, by its engine's name, that cannot be played over sockets.
func virtualOnly(class string) error {
	return fmt.Errorf("%s is simulated in virtual time alone: use --simulate=virtual. Over sockets, nixl, mooncake of vLLM 0.13 or later "+
		"and SGLang are simulated", class)
}

// Play describes how the simulator plays a form of a connector.
type Play struct {
	Exchange Exchange
	// Push means that the side with the KV writes and counts it.
	Push bool
	// Resolve settles a server's part from the files and variables that the real connector reads; nil if the
	// engine's arguments suffice.
	Resolve func(*Part) error
	// Start writes the connector's log lines, before those of its library; nil for none.
	Start func(*Part, Log)
	// LoadFailed is the line logged when KV does not arrive, formatted with the request and the error. The zero
	// value means Mooncake's.
	LoadFailed Message
	// Metrics that the engine exposes for it.
	Metrics []Metric
}

// Message is the format of an engine's log line and the source location that it names.
type Message struct{ Source, Format string }

// Metric is a transfer metric under the engine's name. The simulator exposes it; a proof reads it.
type Metric struct {
	Name, Help string
	Of         Quantity
	// Role limits it to servers that produce or consume; "" means both.
	Role string
}

// Quantity is what a metric measures.
type Quantity int

// The quantities. The first two are histograms, the others counters.
const (
	TransferSeconds Quantity = iota
	TransferSizes
	TransferredBytes
	FailedTransfers // sends and loads
	FailedSends
	FailedLoads
	ExpiredRequests
)

// Log receives a connector's lines while the simulator plays it.
type Log interface {
	// Engine writes a line in the engine's format.
	Engine(level, source, format string, args ...any)
	// Raw writes a line unchanged.
	Raw(line string)
	Now() time.Time
	PID() int
}

// Refused is a configuration that an engine rejects at its start, in the engine's words.
type Refused struct{ Text string }

func (e Refused) Error() string { return e.Text }

// Part is a server's part in a transfer as the simulator plays it. It is resolved from the flags, environment
// and files that a real server reads. The first fields are inputs; Resolve sets the others.
type Part struct {
	*Form
	// Host on which the server listens.
	Host string
	// Config is the transfer's configuration; Extra is the connector's part of it.
	Config, Extra map[string]any
	// Env and ReadFile read the server's environment and files.
	Env      func(name string) string
	ReadFile func(path string) ([]byte, error)
	// Produces and Consumes are the server's roles in a transfer.
	Produces, Consumes bool

	// Exchange is the form's, or NoExchange if the server moves no KV.
	Exchange Exchange
	// FailLoads makes a request fail if its KV does not arrive. Otherwise the server computes the prompt.
	FailLoads bool
	// CountLoads makes the receiving side count KV.
	CountLoads bool
	// Timeout of a transfer, in model time.
	Timeout time.Duration

	// Listen is the address that peers connect to, with port 0 for a free one; "" for none.
	Listen string
	// Bootstrap is the HTTP address at which a prefill server tells peers where to connect.
	Bootstrap string
	// Peer is the address to put KV to or get it from, if known from the start.
	Peer string

	// Transport moves the KV; Claim is the transport that the configuration names. Devices are those
	// configured; NICs is how many the machine has.
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

// OverSockets returns why the simulator cannot play the part between processes, nil if it can.
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

// extra returns a value of the connector's configuration as text.
func (p *Part) extra(name string) string {
	if f, ok := p.Extra[name].(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return text(p.Extra[name])
}

// readFile reads the file that a variable names. Without the variable it returns "".
func (p *Part) readFile(variable string) (path string, content []byte, err error) {
	if path = p.Env(variable); path == "" {
		return "", nil, nil
	}
	if content, err = p.ReadFile(path); err != nil {
		return path, nil, Refused{fmt.Sprintf("FileNotFoundError: [Errno 2] No such file or directory: '%s'", path)}
	}
	return path, content, nil
}

// mooncakeFile is the file at MOONCAKE_CONFIG_PATH, for connectors before V1 and for the store.
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

// deviceNames returns the configured devices, else typical names for the machine's NICs.
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

// DeviceList splits comma-separated devices.
func DeviceList(text string) []string {
	var out []string
	for d := range strings.SplitSeq(text, ",") {
		if d = strings.TrimSpace(d); d != "" {
			out = append(out, d)
		}
	}
	return out
}

// WriteStart writes the start lines of the connector and its library: their configuration (an echo) and what
// they found.
func (p *Part) WriteStart(log Log) {
	if p.Play.Start != nil {
		p.Play.Start(p, log)
	}
	if p.Library != nil && p.Library.start != nil {
		p.Library.start(p, log)
	}
}

// WriteStats writes the library's periodic line about a number of transfers.
func (p *Part) WriteStats(log Log, seconds, throughput float64, transfers int) {
	if p.Library != nil && p.Library.stats != nil {
		p.Library.stats(p, log, seconds, throughput, transfers)
	}
}

// LoadFailed returns the line to log when KV does not arrive.
func (p *Part) LoadFailed() Message {
	if m := p.Play.LoadFailed; m.Format != "" {
		return m
	}
	return Message{"mooncake_connector.py:620", "pulling kv_caches for request %d failed: %v"}
}
