package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// kvPlan is a server's part in moving KV, resolved from its flags, environment and files.
type kvPlan struct {
	family family
	// connector as the engine calls it.
	connector          string
	produces, consumes bool
	// push says that the side with the KV reports the transfer (writes it).
	push bool
	// policy after a failed load: "fail" or "recompute".
	policy string

	// listen is where peers connect, with port 0 for a free one; "" for nowhere.
	listen string
	// bootstrap is where a prefill server tells peers where to connect, over HTTP.
	bootstrap string
	// peer is where to put or get KV, for families that know it from the start.
	peer string
	// segment is the name under which peer is found in the metadata service.
	segment string
	// metadata is the address of the metadata service, "" for none.
	metadata string
	// folder of shared files.
	folder string
	// buffer bounds the bytes that wait in a lookup buffer.
	buffer float64
	// timeout of a transfer in model time.
	timeout time.Duration

	// transport that really carries KV, the one that the configuration claims, and the
	// devices that it names.
	transport, claim string
	devices          []string
	environment
}

// environment is what other lines than the transfer's itself repeat.
type environment struct {
	env func(string) string
}

// transportEnv is true for a variable that is set to anything but 0.
func (e environment) on(name string) bool { v := e.env(name); return v != "" && v != "0" }

func (e environment) port(name string, fallback int) (int, error) {
	v := e.env(name)
	if v == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > 65535 {
		return 0, configError{fmt.Sprintf("ValueError: invalid literal for int() with base 10: '%s' (%s)", v, name)}
	}
	return n, nil
}

// planVLLM resolves --kv-transfer-config.
func (l *launch) planVLLM(env func(string) string) error {
	c, err := l.transferVLLM()
	if err != nil || c == nil || c.family == familyNone {
		return err
	}
	p := &kvPlan{family: c.family, connector: c.name, produces: c.produces(), consumes: c.consumes(), policy: c.Policy,
		timeout: 480 * time.Second, environment: environment{env}}
	l.kv = p
	p.aside(&l.config.Profile)
	switch c.family {
	case familyNIXL:
		err = p.planNIXL(l, c)
	case familyMooncake:
		err = p.planMooncake(l, c)
	case familyV0:
		l.config.BlockingTransfer = true
		err = p.planV0(c)
	case familyP2P:
		p.push = true
		p.transport, p.devices = p.nccl()
		err = p.listenOn(l.host, c.Port, 14579)
	case familyContent:
		err = p.planContent(c)
	case familyFiles:
		p.transport, p.produces, p.consumes = transportDisk, true, true
		if p.folder = c.extra("shared_storage_path"); p.folder == "" {
			p.folder = "/tmp"
		}
	}
	if p.claim == "" {
		p.claim = p.transport
	}
	return err
}

// link that the transfers take on a machine with these links.
func (p *kvPlan) link(net model.Network) model.Link {
	nics := len(p.devices)
	if nics == 0 && p.family == familyV0 {
		nics = 1 // these releases take a single device unless told otherwise
	}
	return linkOver(net, p.transport, nics)
}

// aside takes the load generator's share from the steps of a server that only decodes: in
// a pair it is on another machine than the client and the router.
func (p *kvPlan) aside(h *model.Profile) {
	if p.consumes && !p.produces {
		h.KernelOverhead -= h.ClientOverhead
	}
}

func (p *kvPlan) listenOn(host string, raw json.RawMessage, fallback int) error {
	n, err := looseNumber(raw)
	if err != nil {
		return err
	}
	if n == 0 {
		n = float64(fallback)
	}
	p.listen = net.JoinHostPort(host, strconv.Itoa(int(n)))
	return nil
}

func (p *kvPlan) planNIXL(l *launch, c *transferConfig) error {
	if c.name == "MooncakeConnector" {
		port, err := p.port("VLLM_MOONCAKE_BOOTSTRAP_PORT", 8998)
		if p.produces {
			p.listen = net.JoinHostPort(l.host, strconv.Itoa(port))
		}
		p.push, p.claim, p.devices, p.transport = true, orElse(c.extra("mooncake_protocol"), transportRDMA), deviceList(c.extra("device_name")), p.mooncake()
		return err
	}
	port, err := p.port("VLLM_NIXL_SIDE_CHANNEL_PORT", 5600)
	if err != nil {
		return err
	}
	host := p.env("VLLM_NIXL_SIDE_CHANNEL_HOST")
	if host == "" {
		host = "localhost"
	}
	p.listen = net.JoinHostPort(host, strconv.Itoa(port))
	p.push = c.name == "NixlPushConnector"
	p.transport, p.devices = p.ucx()
	return nil
}

// planMooncake is the connector of V1. Which transport it takes depends on the devices
// that Mooncake finds and on two variables; the protocol of its configuration is an echo.
func (p *kvPlan) planMooncake(l *launch, c *transferConfig) error {
	p.push, p.timeout = true, 480*time.Second
	if p.produces {
		port, err := p.port("VLLM_MOONCAKE_BOOTSTRAP_PORT", 8998)
		if err != nil {
			return err
		}
		p.bootstrap, p.listen = net.JoinHostPort(l.host, strconv.Itoa(port)), net.JoinHostPort(l.host, "0")
	}
	p.claim = orElse(c.extra("mooncake_protocol"), transportRDMA)
	p.devices = deviceList(c.extra("device_name"))
	p.transport = p.mooncake()
	return nil
}

func (p *kvPlan) mooncake() string {
	switch {
	case p.on("MC_FORCE_TCP"):
		return transportTCP
	case p.on("MC_FORCE_MNNVL"):
		return transportNVLink
	}
	return transportRDMA
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

func (p *kvPlan) readMooncakeFile() (mooncakeFile, error) {
	var f mooncakeFile
	path := p.env("MOONCAKE_CONFIG_PATH")
	if path == "" {
		return f, configError{"ValueError: The environment variable 'MOONCAKE_CONFIG_PATH' is not set."}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return f, configError{fmt.Sprintf("FileNotFoundError: [Errno 2] No such file or directory: '%s'", path)}
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, configError{fmt.Sprintf("json.decoder.JSONDecodeError: %v (%s)", err, path)}
	}
	return f, nil
}

// planV0 is the lookup buffer over NCCL or Mooncake, exactly one prefill and one decode server.
func (p *kvPlan) planV0(c *transferConfig) error {
	for _, n := range []struct {
		name string
		raw  json.RawMessage
	}{{"kv_rank", c.Rank}, {"kv_parallel_size", c.Parallel}} {
		if n.raw == nil {
			return configError{fmt.Sprintf("AssertionError: %s is None; a V0 connector needs it", n.name)}
		}
	}
	p.buffer, _ = looseNumber(c.BufferSize) // checked when the configuration was read
	if p.buffer == 0 {
		p.buffer = 1e9
	}
	if p.consumes && p.produces {
		return configError{"ValueError: kv_both is not supported by " + c.name}
	}
	if c.name == "PyNcclConnector" {
		host := c.IP
		if host == "" {
			host = "127.0.0.1"
		}
		if err := p.listenOn(host, c.Port, 14579); err != nil {
			return err
		}
		if p.consumes {
			p.peer, p.listen = p.listen, ""
		}
		p.transport, p.devices = p.nccl()
		return nil
	}
	f, err := p.readMooncakeFile()
	if err != nil {
		return err
	}
	if f.PrefillURL == "" || f.DecodeURL == "" || f.MetadataServer == "" {
		return configError{"KeyError: mooncake.json needs prefill_url, decode_url and metadata_server"}
	}
	p.listen, p.segment, p.metadata = f.PrefillURL, f.PrefillURL, f.MetadataServer
	if p.consumes {
		p.listen = f.DecodeURL
	}
	// Releases of that time honour the protocol.
	p.transport, p.devices = f.Protocol, deviceList(f.DeviceName)
	if p.transport != transportRDMA && p.transport != transportTCP {
		return configError{fmt.Sprintf("ValueError: Unsupported protocol %q in mooncake.json; use rdma or tcp", f.Protocol)}
	}
	return nil
}

// planContent is LMCache between a sender and a receiver, or a store that servers share.
func (p *kvPlan) planContent(c *transferConfig) error {
	p.push = true
	switch c.name {
	case "MooncakeStoreConnector":
		f, err := p.readMooncakeFile()
		if err != nil {
			return err
		}
		p.peer, p.devices, p.claim, p.transport = f.Master, deviceList(f.DeviceName), f.Protocol, p.mooncake()
		if p.peer == "" {
			return configError{"KeyError: 'master_server_address' is missing in " + p.env("MOONCAKE_CONFIG_PATH")}
		}
		return nil
	case "LMCacheMPConnector":
		host, port := c.extra("lmcache.mp.host"), c.extra("lmcache.mp.port")
		if host == "" {
			host = "localhost"
		}
		if port == "" {
			port = "5555"
		}
		p.peer, p.transport = net.JoinHostPort(strings.TrimPrefix(host, "tcp://"), port), transportTCP
		return nil
	}
	return p.planLMCache()
}

func (p *kvPlan) planLMCache() error {
	path := p.env("LMCACHE_CONFIG_FILE")
	if path == "" {
		p.family = familyNone // LMCache keeps KV in this server's own memory: nothing moves
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return configError{fmt.Sprintf("FileNotFoundError: [Errno 2] No such file or directory: '%s'", path)}
	}
	y := flatYAML(string(text))
	role, host := firstOf(y, "nixl_role", "pd_role"), firstOf(y, "nixl_peer_host", "nixl_receiver_host", "pd_peer_host")
	port := firstOf(y, "nixl_peer_port", "nixl_receiver_port", "pd_peer_init_port", "pd_peer_port")
	p.transport, p.devices = p.ucx()
	switch {
	case role == "":
		p.family = familyNone
		return nil
	case port == "":
		return configError{fmt.Sprintf("ValueError: %s names the role %s but no port of the peer", path, role)}
	case host == "":
		host = "localhost"
	}
	address := net.JoinHostPort(host, port)
	switch role {
	case "sender":
		p.peer, p.produces, p.consumes = address, true, false
	case "receiver":
		p.listen, p.produces, p.consumes = address, false, true
	default:
		return configError{fmt.Sprintf("ValueError: Invalid role: %s, expected sender or receiver", role)}
	}
	return nil
}

// flatYAML reads the scalar keys of a YAML mapping, which is all that LMCache's files hold.
func flatYAML(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " #")
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok && !strings.HasPrefix(key, "#") {
			out[strings.Trim(key, `"'`)] = strings.Trim(strings.TrimSpace(value), `"'[]`)
		}
	}
	return out
}

func firstOf(m map[string]string, keys ...string) string {
	for _, k := range keys {
		if v := m[k]; v != "" && v != "null" {
			return v
		}
	}
	return ""
}

// ucx says what UCX_TLS and UCX_NET_DEVICES make of NIXL's default backend.
func (p *kvPlan) ucx() (transport string, devices []string) {
	tls := strings.Split(strings.ToLower(p.env("UCX_TLS")), ",")
	if d := p.env("UCX_NET_DEVICES"); d != "all" {
		devices = deviceList(d)
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(tls, func(t string) bool { return slices.Contains(names, strings.TrimSpace(t)) })
	}
	switch {
	case p.env("UCX_TLS") == "" || has("all", "rc", "rc_x", "rc_mlx5", "rc_v", "ud", "dc", "dc_x", "ib"):
		return transportRDMA, devices
	case has("cuda_ipc"):
		return transportNVLink, nil
	}
	return transportTCP, devices
}

// nccl says which path NCCL takes between two GPUs of one machine, or of two.
func (p *kvPlan) nccl() (transport string, devices []string) {
	devices = deviceList(strings.TrimLeft(p.env("NCCL_IB_HCA"), "=^"))
	switch noPeer, noIB := p.on("NCCL_P2P_DISABLE"), p.on("NCCL_IB_DISABLE"); {
	case noIB && noPeer:
		return transportTCP, nil
	case noPeer || len(devices) > 0 && !noIB:
		return transportRDMA, devices
	}
	return transportNVLink, nil
}

func deviceList(text string) []string {
	var out []string
	for d := range strings.SplitSeq(text, ",") {
		if d = strings.TrimSpace(d); d != "" {
			out = append(out, d)
		}
	}
	return out
}

// planSGLang resolves --disaggregation-mode and what belongs to it.
func (l *launch) planSGLang(env func(string) string) error {
	a := l.args
	mode := a.str("--disaggregation-mode", "null")
	if mode == "null" {
		return nil
	}
	backend := a.str("--disaggregation-transfer-backend", "mooncake")
	p := &kvPlan{family: familyMooncake, connector: backend, produces: mode == "prefill", consumes: mode == "decode",
		push: true, policy: "fail", timeout: 300 * time.Second, environment: environment{env}}
	l.kv = p
	p.aside(&l.config.Profile)
	if l.config.PrefixCache && p.consumes && !a.bool("--disaggregation-decode-enable-radix-cache", false) {
		l.config.PrefixCache = false
	}
	p.devices = deviceList(a.str("--disaggregation-ib-device", ""))
	switch backend {
	case "fake":
		p.family = familyDummy
		return nil
	case "nixl":
		p.transport, _ = p.ucx()
		if _, d := p.ucx(); len(d) > 0 {
			p.devices = d // UCX's own variable beats the flag
		}
	case "mooncake_tcp":
		p.transport, p.devices = transportTCP, nil
	case "mooncake":
		p.transport = p.mooncake()
	default:
		return configError{fmt.Sprintf("simulated: the transfer backend %s cannot be simulated; use mooncake, mooncake_tcp, nixl or fake", backend)}
	}
	if p.claim = p.transport; p.transport == transportTCP && backend == "mooncake" {
		p.claim = transportRDMA
	}
	if p.produces {
		p.bootstrap = net.JoinHostPort(l.host, strconv.Itoa(a.int("--disaggregation-bootstrap-port", 8998)))
		p.listen = net.JoinHostPort(l.host, "0")
	}
	return nil
}

var errNoPeer = errors.New("no peer is known")
