package router

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseBackend(t *testing.T) {
	for in, want := range map[string]Backend{
		"http://h:1": {URL: "http://h:1"},
		"http://h:1,name=p0,bootstrap=8998,kv=10.0.0.1:21001": {Name: "p0", URL: "http://h:1", BootstrapPort: 8998, KVAddr: "10.0.0.1:21001"},
		"http://h:1,bootstrap=10.0.0.2:8998":                  {URL: "http://h:1", BootstrapHost: "10.0.0.2", BootstrapPort: 8998},
		"http://[::1]:1,bootstrap=[::2]:8998":                 {URL: "http://[::1]:1", BootstrapHost: "::2", BootstrapPort: 8998},
	} {
		got, err := ParseBackend(in)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", in, err, diff)
		}
	}
	for in, says := range map[string]string{
		"http://h:1,boot=1":          `"boot=1" is not known`,
		"http://h:1,":                "is not known",
		"http://h:1,bootstrap=":      "not a number",
		"http://h:1,bootstrap=70000": "from 1 to 65535",
		"http://h:1,bootstrap=::1":   "neither a port nor host:port",
	} {
		if _, err := ParseBackend(in); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), in) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	one := []Backend{{URL: "http://h:1"}}
	for name, tt := range map[string]struct {
		c    Config
		says string
	}{
		"protocol":   {Config{Protocol: "nixxl", Decode: one}, "choose one of round_robin, v0, nixl"},
		"no decode":  {Config{Protocol: RoundRobin}, "needs a decode server"},
		"no prefill": {Config{Protocol: NIXL, Decode: one}, "needs a prefill server"},
		"prefill":    {Config{Protocol: RoundRobin, Prefill: one, Decode: one}, "has no prefill servers"},
		"no bootstrap port": {Config{Protocol: SGLang, Prefill: one, Decode: one},
			`prefill server "prefill0": the protocol sglang needs the port`},
		"no kv address": {Config{Protocol: P2PNCCL, Prefill: one, Decode: one}, "kv=10.0.0.1:21001"},
		"kv address with the separator": {Config{Protocol: P2PNCCL, Prefill: []Backend{{URL: "http://h:1", KVAddr: "a___b:1"}}, Decode: one},
			"kv="},
		"no URL":   {Config{Protocol: RoundRobin, Decode: []Backend{{URL: "h:1"}}}, "write it like http://127.0.0.1:8100"},
		"password": {Config{Protocol: RoundRobin, Decode: []Backend{{URL: "http://u:p@h:1"}}}, "write it like"},
		"name for headers": {Config{Protocol: RoundRobin, Decode: []Backend{{Name: "a\r\nb", URL: "http://h:1"}}},
			"a name is made of"},
		"same name": {Config{Protocol: V0, Prefill: []Backend{{Name: "x", URL: "http://h:1"}},
			Decode: []Backend{{Name: "x", URL: "http://h:2"}}}, `two servers are called "x"`},
	} {
		if _, err := New(tt.c); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBootstrapHost(t *testing.T) {
	for in, want := range map[string]string{
		"http://10.0.0.1:1,bootstrap=8998":           "http://10.0.0.1:8998",
		"http://10.0.0.1:1,bootstrap=10.0.0.2:8998":  "http://10.0.0.2:8998",
		"http://[fe80::1]:1,bootstrap=8998":          "http://[fe80::1]:8998",
		"https://host/base/,bootstrap=[fe80::2]:898": "http://[fe80::2]:898",
	} {
		b, err := ParseBackend(in)
		if err != nil {
			t.Fatal(err)
		}
		b.Name = "p"
		m, err := newMember(rolePrefill, protocols[3], b)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.bootstrapURL(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
