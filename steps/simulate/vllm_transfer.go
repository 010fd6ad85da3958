package simulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
)

// transfer resolves --kv-transfer-config.
func (vllm) transfer(l *launch, env func(string) string) error {
	c, err := l.transferVLLM()
	if err != nil || c == nil || c.form == nil {
		return err
	}
	p := &kv.Part{
		Form: c.form, Host: l.host, Config: c.all, Extra: c.Extra, Env: env, ReadFile: os.ReadFile,
		Produces: c.produces(), Consumes: c.consumes(), FailLoads: c.Policy == "fail", CountLoads: !c.form.Play.Push, Timeout: 480 * time.Second,
	}
	l.kv = p
	excludeClientOverhead(&l.config.Profile, p)
	l.config.BlockingTransfer = p.Play.Exchange == kv.LookupBuffer
	return p.Resolve()
}

// goneKeysVersion is the first version without the keys of P2pNcclConnector in kv-transfer-config.
const goneKeysVersion = "0.24"

const transferFlag = "--kv-transfer-config"

// transferConfig is the part of --kv-transfer-config that changes the simulation.
type transferConfig struct {
	Connector  string          `json:"kv_connector"`
	EngineID   string          `json:"engine_id"`
	Role       string          `json:"kv_role"`
	Rank       json.RawMessage `json:"kv_rank"`
	Parallel   json.RawMessage `json:"kv_parallel_size"`
	BufferSize json.RawMessage `json:"kv_buffer_size"`
	IP         string          `json:"kv_ip"`
	Port       json.RawMessage `json:"kv_port"`
	Device     string          `json:"kv_buffer_device"`
	Module     string          `json:"kv_connector_module_path"`
	Permute    bool            `json:"enable_permute_local_kv"`
	Policy     string          `json:"kv_load_failure_policy"`
	Extra      map[string]any  `json:"kv_connector_extra_config"`

	// all of it, as the connector reads it.
	all map[string]any
	// form of the connector that moves KV: Connector's, or that of a child of MultiConnector; nil
	// if none does.
	form *kv.Form
}

func (c transferConfig) produces() bool { return c.Role == "kv_producer" || c.Role == "kv_both" }
func (c transferConfig) consumes() bool { return c.Role == "kv_consumer" || c.Role == "kv_both" }

// transferVLLM reads --kv-transfer-config; nil without one.
func (l *launch) transferVLLM() (*transferConfig, error) {
	text := l.args.str(transferFlag, "")
	if keys := l.args.keys[transferFlag]; len(keys) > 0 {
		merged, err := mergeKeys(text, keys)
		if err != nil {
			return nil, usageError{fmt.Sprintf("argument %s: %v", transferFlag, err)}
		}
		text = merged
	}
	if text == "" {
		return nil, nil
	}
	return parseTransfer(l.connectors, text, l.version)
}

func parseTransfer(table kv.Table, text, version string) (*transferConfig, error) {
	c := &transferConfig{Policy: "recompute"}
	if steps.CompareReleases(version, "0.14") >= 0 {
		c.Policy = "fail"
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(c); err != nil {
		return nil, kv.Refused{Text: fmt.Sprintf("pydantic_core._pydantic_core.ValidationError: 1 validation error for KVTransferConfig\n  %v",
			err)}
	}
	if steps.CompareReleases(version, goneKeysVersion) >= 0 {
		for _, gone := range []struct {
			name string
			set  bool
		}{{"kv_rank", c.Rank != nil}, {"kv_parallel_size", c.Parallel != nil}, {"kv_buffer_size", c.BufferSize != nil}, {"kv_ip", c.IP != ""}} {
			if gone.set {
				return nil, kv.Refused{Text: fmt.Sprintf("pydantic_core._pydantic_core.ValidationError: 1 validation error for "+
					"KVTransferConfig\n%s\n  Unexpected keyword argument [type=unexpected_keyword_argument]", gone.name)}
			}
		}
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &c.all); err != nil {
		return nil, err
	}
	return c, c.resolve(table, version, c.Connector, c.Extra, 0)
}

// check applies the checks of KVTransferConfig.__post_init__.
func (c *transferConfig) check() error {
	roles := []string{"kv_producer", "kv_both", "kv_consumer"}
	if c.Role != "" && !slices.Contains(roles, c.Role) {
		return kv.Refused{Text: fmt.Sprintf(
			"ValueError: Unsupported kv_role: %s. Supported roles are ('kv_producer', 'kv_both', 'kv_consumer')", c.Role)}
	}
	if c.Connector != "" && c.Role == "" {
		return kv.Refused{Text: "ValueError: Please specify kv_role when kv_connector is set, supported roles are ('kv_producer', 'kv_both', " +
			"'kv_consumer')"}
	}
	if c.Policy != "fail" && c.Policy != "recompute" {
		return kv.Refused{Text: fmt.Sprintf("pydantic_core._pydantic_core.ValidationError: 1 validation error for "+
			"KVTransferConfig\nkv_load_failure_policy\n  Input should be 'recompute' or 'fail' [input_value='%s']", c.Policy)}
	}
	for _, number := range []struct {
		name string
		raw  json.RawMessage
	}{{"kv_rank", c.Rank}, {"kv_parallel_size", c.Parallel}, {"kv_buffer_size", c.BufferSize}, {"kv_port", c.Port}} {
		if _, err := looseNumber(number.raw); err != nil {
			return kv.Refused{Text: fmt.Sprintf("pydantic_core._pydantic_core.ValidationError: 1 validation error for KVTransferConfig\n%s\n  %v",
				number.name, err)}
		}
	}
	return nil
}

// resolve finds the connector that loads: of several, the first that moves KV.
func (c *transferConfig) resolve(table kv.Table, version, name string, extra map[string]any, depth int) error {
	form := table.Class(kv.VLLM, name, version)
	switch {
	case name == "":
		return nil
	case form == nil && c.Module != "":
		return kv.Refused{Text: fmt.Sprintf("simulated: connector %s comes from module %s, which cannot be simulated", name, c.Module)}
	case form == nil:
		return kv.Refused{Text: "ValueError: Unsupported connector type: " + name}
	}
	if form.Play.Exchange != kv.NoExchange {
		if c.form == nil {
			c.form, c.Extra = form, extra
		}
		return nil
	}
	children, ok := extra["connectors"].([]any)
	if !ok || len(children) == 0 || depth > 0 {
		return kv.Refused{Text: "ValueError: MultiConnector needs a list of connectors in kv_connector_extra_config.connectors"}
	}
	for _, child := range children {
		m, ok := child.(map[string]any)
		if !ok {
			return kv.Refused{Text: "ValueError: each of kv_connector_extra_config.connectors must be an object"}
		}
		inner, _ := m["kv_connector_extra_config"].(map[string]any)
		if err := c.resolve(table, version, fmt.Sprint(m["kv_connector"]), inner, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// looseNumber parses a JSON number or a string with one ("8e9"), as pydantic does; 0 if absent.
func looseNumber(raw json.RawMessage) (float64, error) {
	text := strings.Trim(string(raw), `"`)
	if text == "" || text == "null" {
		return 0, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("Input should be a valid number [input_value=%s]", text) //nolint:staticcheck // the engine's own words
	}
	return f, nil
}

// mergeKeys adds dotted keys ("kv_role", "kv_connector_extra_config.num_workers") to a JSON object.
func mergeKeys(text string, keys map[string]string) (string, error) {
	root := map[string]any{}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &root); err != nil {
			return "", fmt.Errorf("the value must be a JSON object")
		}
	}
	for path, value := range keys {
		at, parts := root, strings.Split(path, ".")
		for _, p := range parts[:len(parts)-1] {
			next, ok := at[p].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[p] = next
			}
			at = next
		}
		var v any
		if json.Unmarshal([]byte(value), &v) != nil {
			v = value
		}
		at[parts[len(parts)-1]] = v
	}
	merged, err := json.Marshal(root)
	return string(merged), err
}
