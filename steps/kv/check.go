package kv

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// part is one connector of a transfer: the only one, or a child of multi.
type part struct {
	spec      steps.TransferSpec
	connector *Connector // nil, like form, for a child written in the engine's own form
	form      *Form
	raw       map[string]any // that form
}

// chooseForm finds the form of the connector that all members support.
func (l *Layout) chooseForm() error {
	t := l.spec.Transfer
	if t == nil {
		return nil
	}
	p, err := l.commonForm(*t)
	if err != nil {
		return err
	}
	l.connector, l.form = p.connector, p.form
	l.parts = []part{p}
	if p.connector.several {
		if l.parts, err = l.children(*t); err != nil {
			return err
		}
	}
	return l.settleRoles()
}

func (l *Layout) commonForm(t steps.TransferSpec) (part, error) {
	common := part{spec: t}
	for _, m := range l.members {
		if m.Spec.URL != "" {
			return part{},
				fmt.Errorf("server %q is at a url and is not started, so kv_transfer %s cannot be set up in it; start it from an image or an "+
					"executable", m.Name, t.Connector)
		}
		c, f, err := l.table.form(t, m)
		if err != nil {
			return part{}, err
		}
		if common.form != nil && common.form != f {
			return part{}, fmt.Errorf("the servers do not speak the same %s: %q is for %s, %q for %s; use one engine and version on both sides",
				t.Connector, l.members[0].Name, common.form.releases(), m.Name, f.releases())
		}
		common.connector, common.form = c, f
	}
	return common, nil
}

// children returns the connectors of a multi transfer.
func (l *Layout) children(t steps.TransferSpec) ([]part, error) {
	list, ok := t.Config["connectors"].([]any)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf(`kv_transfer multi needs the list of its connectors: config = { connectors = [{ connector = "nixl" }, …] }`)
	}
	var parts []part
	for i, e := range list {
		p, err := l.child(t, e)
		if err != nil {
			return nil, fmt.Errorf("kv_transfer multi: connectors[%d]: %w", i, err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func (l *Layout) child(t steps.TransferSpec, e any) (part, error) {
	fields, ok := e.(map[string]any)
	if !ok {
		return part{}, fmt.Errorf("must be an object with connector, or with vLLM's own kv_connector")
	}
	if _, own := fields["kv_connector"]; own {
		return part{spec: t, raw: fields}, nil
	}
	child := steps.TransferSpec{Transport: t.Transport, Devices: t.Devices, Buffer: t.Buffer, Role: t.Role, Options: map[string]any{}}
	for name, v := range fields {
		switch name {
		case "connector":
			child.Connector, _ = v.(string)
		case "config":
			if child.Config, ok = v.(map[string]any); !ok {
				return part{}, fmt.Errorf("config must be an object")
			}
		default:
			child.Options[name] = v
		}
	}
	switch c := l.table.find(child.Connector); {
	case child.Connector == "" || c != nil && c.several:
		return part{}, fmt.Errorf("connector must be one of %s", strings.Join(l.table.names(), ", "))
	case c != nil && c.foreign:
		return part{}, fmt.Errorf("write a connector that we do not know in vLLM's own form: { kv_connector = …, kv_role = … }")
	}
	for name := range child.Options {
		if !slices.Contains([]string{"mode", "path"}, name) {
			return part{}, fmt.Errorf("has no argument %s; it knows connector, config, mode and path", name)
		}
	}
	p, err := l.commonForm(child)
	if err == nil && !p.form.Buffer {
		p.spec.Buffer = 0
	}
	return p, err
}

// any reports whether has holds for any connector of the transfer.
func (l *Layout) any(has func(*Form) bool) bool {
	return slices.ContainsFunc(l.parts, func(p part) bool { return p.form != nil && has(p.form) })
}

// shared reports whether every connector lets a server be both producer and consumer.
func (l *Layout) shared() bool { return !l.any(func(f *Form) bool { return !f.Shared }) }

// pair reports whether the transfer joins exactly two servers.
func (l *Layout) pair() bool { return l.any(func(f *Form) bool { return f.Pair }) }

// primary returns the connector that hands over KV caches: the first that is not a store, else the first store.
func (l *Layout) primary() *Form {
	var store *Form
	for _, p := range l.parts {
		switch {
		case p.form == nil:
		case !p.form.Store:
			return p.form
		case store == nil:
			store = p.form
		}
	}
	return store
}

// settleRoles gives members without a role the one that the connector implies, checks the roles, and ranks
func (l *Layout) settleRoles() error {
	for _, m := range l.members {
		switch {
		case m.role == "" && l.shared():
			m.role = steps.RoleBoth
		case m.role == "":
			return fmt.Errorf(`server %q has no role in the transfer; set role = "producer" if it prefills or "consumer" if it decodes`, m.Name)
		case m.role == steps.RoleBoth && m.engine().oneEnd:
			return fmt.Errorf(`server %q has the role both, which %s does not have; set "producer" or "consumer"`, m.Name, m.engine().title)
		case m.role == steps.RoleBoth && l.pair() && !l.shared():
			return fmt.Errorf(`server %q has the role both, but %s joins one prefill and one decode server; set "producer" or "consumer"`,
				m.Name, l.connector.Name)
		}
	}
	producers, consumers := l.count((*Member).Produces), l.count((*Member).Consumes)
	both := l.count(func(m *Member) bool { return m.role == steps.RoleBoth })
	switch {
	case producers == 0:
		return fmt.Errorf("no server prefills: kv_transfer %s needs one with the role producer", l.connector.Name)
	case consumers == 0:
		return fmt.Errorf("no server decodes: kv_transfer %s needs one with the role consumer", l.connector.Name)
	case l.pair() && both == 0 && (producers != 1 || consumers != 1):
		return fmt.Errorf("%s joins exactly one prefill and one decode server, here are %d and %d; start several deployments instead",
			l.connector.Name, producers, consumers)
	}
	rank := 0
	for _, role := range []string{steps.RoleProducer, steps.RoleBoth, steps.RoleConsumer} {
		for _, m := range l.members {
			if m.role == role {
				m.rank = rank
				rank++
			}
		}
	}
	return nil
}

// Protocols lists the router protocols that fit the deployment, the default first; empty means any. Without a
// transfer only round_robin fits.
func (l *Layout) Protocols() []string {
	if l.form == nil {
		return []string{"round_robin"}
	}
	if p := l.primary(); p != nil {
		return p.Protocols
	}
	return nil
}

// protocol returns the router's protocol. A router of others hands each request to one whole server, as round_robin does.
func (l *Layout) protocol() string {
	if len(l.spec.Router.Command) > 0 {
		return "round_robin"
	}
	return l.spec.Router.Protocol
}

func (l *Layout) checkRouter() error {
	r := l.spec.Router
	if r == nil {
		if len(l.members) > 1 {
			return fmt.Errorf("the deployment has %d servers and no router; add router %q { … }", len(l.members),
				append(l.Protocols(), "round_robin")[0])
		}
		return nil
	}
	for _, name := range slices.Concat(r.Prefill, r.Decode) {
		if l.member(name) == nil {
			return fmt.Errorf("the router lists %q, which the deployment does not declare", name)
		}
	}
	if len(r.Decode) == 0 {
		return fmt.Errorf("the router has no decode servers; list those that answer the clients")
	}
	if fit := l.Protocols(); len(fit) > 0 && !slices.Contains(fit, l.protocol()) {
		if l.form == nil {
			return fmt.Errorf("router %q hands KV caches over, but the deployment has no kv_transfer; use router \"round_robin\"", r.Protocol)
		}
		return fmt.Errorf("router %q does not speak the protocol of kv_transfer %s here; use router %s", r.Protocol, l.connector.Name,
			quoted(fit, " or "))
	}
	return l.checkLists(r)
}

// checkLists checks the router's lists of servers against its protocol. round_robin uses whole servers; all
// other protocols hand over from prefill to decode.
func (l *Layout) checkLists(r *steps.RouterSpec) error {
	whole := l.protocol() == "round_robin"
	switch {
	case !whole && len(r.Prefill) == 0:
		return fmt.Errorf("router %q needs the list of prefill servers", r.Protocol)
	case !whole:
		return nil
	}
	if len(r.Prefill) > 0 {
		others := slices.DeleteFunc(slices.Clone(l.Protocols()), func(p string) bool { return p == "round_robin" })
		if len(others) == 0 {
			return fmt.Errorf("router \"round_robin\" sends a request to one server, so it has no prefill servers; list all servers as decode")
		}
		return fmt.Errorf("router \"round_robin\" sends a request to one server and makes no prefill server hand over; use router %s, or list "+
			"all servers as decode", quoted(others, " or "))
	}
	for _, name := range r.Decode {
		if m := l.member(name); l.form != nil && m.role != steps.RoleBoth {
			return fmt.Errorf("router %q needs servers that prefill and decode, and %q is a %s; set its role to both", r.Protocol, name, m.role)
		}
	}
	return nil
}

func quoted(list []string, between string) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(words, between)
}

// checkServices finds services that a connector needs and the deployment lacks. The old store also asks a
// metadata server; Mooncake's master can be one.
func (l *Layout) checkServices() error {
	for _, p := range l.parts {
		if p.form == nil || len(p.form.Services) == 0 {
			continue
		}
		if l.service(p.form.Services...) == nil {
			return fmt.Errorf("%s of %s needs a service; add service %s { }", p.connector.Name, p.form.releases(),
				quoted(p.form.Services, " { } or service "))
		}
		if p.form.AsksMetadata && l.service("etcd", "metadata") == nil {
			l.service("mooncake_master").metadata = true
		}
	}
	return nil
}

// checkMembers finds arguments and variables of members that conflict with the transfer, and options of the
// transfer that have no effect.
func (l *Layout) checkMembers() error {
	for _, p := range l.parts {
		if err := checkPart(p); err != nil {
			return err
		}
		for _, m := range l.members {
			if err := checkVariables(p, m); err != nil {
				return err
			}
		}
	}
	if l.form == nil {
		return nil
	}
	for _, m := range l.members {
		if err := l.checkNodes(m); err != nil {
			return err
		}
		if check := m.engine().checkArgs; check != nil { // arguments that contradict the transfer
			if err := check(l, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNodes rejects a server spread over nodes if the connector expects all ranks of a server at one address.
func (l *Layout) checkNodes(m *Member) error {
	if !m.Spec.Spread() {
		return nil
	}
	for _, p := range l.parts {
		if p.form != nil && p.form.Nodes != "" && within(m.Spec.Version, p.form.Nodes, "") {
			continue
		}
		since := "servers of one node only"
		if p.form != nil && p.form.Nodes != "" {
			since = fmt.Sprintf("servers of several nodes from %s %s on", engineNamed(p.form.Engine).title, p.form.Nodes)
		}
		return fmt.Errorf("server %q has nodes = %d, and kv_transfer %s joins %s", m.Name, m.Spec.Nodes, p.spec.Connector, since)
	}
	if v, _ := m.arg("distributed_executor_backend"); v == "ray" {
		return fmt.Errorf("server %q is a Ray cluster, whose ranks a kv_transfer does not find; leave distributed_executor_backend out", m.Name)
	}
	return nil
}

func checkPart(p part) error {
	if p.form == nil {
		return nil
	}
	t := p.spec
	if c := p.connector; t.Transport != "" && !slices.Contains(c.Transports, t.Transport) {
		return fmt.Errorf("kv_transfer %s cannot use %s; remove transport or use one of %v", t.Connector, t.Transport, c.Transports)
	}
	if t.Buffer > 0 && !p.form.Buffer {
		return fmt.Errorf("kv_transfer %s of %s has no transfer buffer; remove buffer", t.Connector, p.form.releases())
	}
	if p.form.class(t) == "" {
		return fmt.Errorf(`kv_transfer %s needs the engine's name of the connector: connector = "MyConnector"`, t.Connector)
	}
	if e := engineNamed(p.form.Engine); e.checkTransfer != nil {
		if err := e.checkTransfer(p); err != nil {
			return err
		}
	}
	for _, name := range []string{"kv_connector", "kv_role", "kv_rank", "kv_port", "kv_ip", "engine_id", "kv_parallel_size"} {
		if _, set := t.Config[name]; set {
			return fmt.Errorf("config.%s of kv_transfer %s is set for each server by the pipeline; remove it, or write args.kv_transfer_config of "+
				"each server without a kv_transfer block", name, t.Connector)
		}
	}
	if name := t.Config["device_name"]; name != nil && len(t.Devices) > 0 && text(name) != strings.Join(t.Devices, ",") {
		return fmt.Errorf("kv_transfer %s has devices %v and config.device_name %v; keep one of them", t.Connector, t.Devices, name)
	}
	return nil
}

// forcing lists variables that force a transport other than the declared one.
var forcing = []struct {
	transport, variable string
	values              []string // "" matches any value
}{
	{RDMA, "MC_FORCE_TCP", []string{"1", "true", "on", "yes"}},
	{RDMA, "NCCL_IB_DISABLE", []string{"1"}},
	{TCP, "MC_FORCE_HCA", []string{"1", "true", "on", "yes"}},
	{NVLink, "MC_FORCE_TCP", []string{"1", "true", "on", "yes"}},
	{NVLink, "NCCL_P2P_DISABLE", []string{"1"}},
}

func checkVariables(p part, m *Member) error {
	for _, a := range forcing {
		v, ok := m.env(a.variable)
		if ok && p.spec.Transport == a.transport && slices.Contains(a.values, strings.ToLower(v)) {
			return fmt.Errorf("server %q sets %s=%s, which rules out the declared transport %s; remove one of them", m.Name,
				a.variable, v, a.transport)
		}
	}
	return nil
}

// text formats a plain value, "" for nil.
func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
