package simulate

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// planVLLM resolves --kv-transfer-config.
func (l *launch) planVLLM(env func(string) string) error {
	c, err := l.transferVLLM()
	if err != nil || c == nil || c.form == nil {
		return err
	}
	p := &kv.Part{
		Form: c.form, Host: l.host, Config: c.all, Extra: c.Extra, Env: env, ReadFile: os.ReadFile,
		Produces: c.produces(), Consumes: c.consumes(), FailLoads: c.Policy == "fail", CountLoads: !c.form.Play.Push, Timeout: 480 * time.Second,
	}
	l.kv = p
	aside(&l.config.Profile, p)
	l.config.BlockingTransfer = p.Play.Exchange == kv.LookupBuffer
	return p.Resolve()
}

// planSGLang resolves --disaggregation-mode and what belongs to it.
func (l *launch) planSGLang(env func(string) string) error {
	a := l.args
	mode := a.str("--disaggregation-mode", "null")
	if mode == "null" {
		return nil
	}
	table, backend := kv.Connectors(), a.str("--disaggregation-transfer-backend", "mooncake")
	form := table.Class(engineSGLang, backend, l.version)
	if form == nil {
		return kv.Refused{Text: fmt.Sprintf("simulated: the transfer backend %s cannot be simulated; use one of %s", backend, strings.Join(table.Classes(engineSGLang), ", "))}
	}
	p := &kv.Part{
		Form: form, Host: l.host, Env: env, ReadFile: os.ReadFile, Devices: kv.DeviceList(a.str("--disaggregation-ib-device", "")),
		Produces: mode == "prefill", Consumes: mode == "decode", FailLoads: true, CountLoads: true, Timeout: 300 * time.Second,
	}
	l.kv = p
	aside(&l.config.Profile, p)
	if l.config.PrefixCache && p.Consumes && !a.bool("--disaggregation-decode-enable-radix-cache", false) {
		l.config.PrefixCache = false
	}
	if p.Produces && form.Play.Exchange != kv.FromNothing {
		p.Bootstrap = net.JoinHostPort(l.host, strconv.Itoa(a.int("--disaggregation-bootstrap-port", 8998)))
		p.Listen = net.JoinHostPort(l.host, "0")
	}
	return p.Resolve()
}

// transfer is the server's part in it as it is played, with the failure that is planted.
func (l *launch) transfer() *kv.Part {
	p := *l.kv
	if l.fail.TransportFallback && p.Transport != kv.Files {
		p.Transport = kv.TCP
	}
	return &p
}

// linkOf the transfers of a server on a machine with these links.
func linkOf(p *kv.Part, net model.Network) model.Link {
	nics := len(p.Devices)
	if nics == 0 && p.Exchange == kv.LookupBuffer {
		nics = 1 // these releases take a single device unless told otherwise
	}
	return linkOver(net, p.Transport, nics)
}

// linkOver is the machine's link for a transport; nics bounds the RDMA ports, 0 means all.
func linkOver(n model.Network, transport string, nics int) model.Link {
	switch transport {
	case kv.RDMA:
		return n.RDMAPorts(nics)
	case kv.NVLink:
		return n.NVLink
	case kv.Files:
		return n.Disk
	}
	return n.TCP
}

// aside takes the load generator's share from the steps of a server that only decodes: in
// a pair it is on another machine than the client and the router.
func aside(h *model.Profile, p *kv.Part) {
	if p.Consumes && !p.Produces {
		h.KernelOverhead -= h.ClientOverhead
	}
}

var errNoPeer = errors.New("no peer is known")
