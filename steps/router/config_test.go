package router_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/pipeline/steps/router"
)

func TestParseBackend(t *testing.T) {
	for in, want := range map[string]router.Backend{
		"http://h:1": {URL: "http://h:1"},
		"http://h:1,name=p0,bootstrap=8998,kv=10.0.0.1:21001": {Name: "p0", URL: "http://h:1", BootstrapPort: 8998, KVAddr: "10.0.0.1:21001"},
		"http://h:1,bootstrap=10.0.0.2:8998":                  {URL: "http://h:1", BootstrapHost: "10.0.0.2", BootstrapPort: 8998},
		"http://[::1]:1,bootstrap=[::2]:8998":                 {URL: "http://[::1]:1", BootstrapHost: "::2", BootstrapPort: 8998},
	} {
		got, err := router.ParseBackend(in)
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
		if _, err := router.ParseBackend(in); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), in) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	one := []router.Backend{{URL: "http://h:1"}}
	for name, tt := range map[string]struct {
		c    router.Config
		says string
	}{
		"protocol":   {router.Config{Protocol: "nixxl", Decode: one}, "choose one of round_robin, v0, nixl"},
		"no decode":  {router.Config{Protocol: router.RoundRobin}, "needs a decode server"},
		"no prefill": {router.Config{Protocol: router.NIXL, Decode: one}, "needs a prefill server"},
		"prefill":    {router.Config{Protocol: router.RoundRobin, Prefill: one, Decode: one}, "has no prefill servers"},
		"no bootstrap port": {router.Config{Protocol: router.SGLang, Prefill: one, Decode: one},
			`prefill server "prefill0": the protocol sglang needs the port`},
		"no kv address": {router.Config{Protocol: router.P2PNCCL, Prefill: one, Decode: one}, "kv=10.0.0.1:21001"},
		"kv address with the separator": {router.Config{Protocol: router.P2PNCCL,
			Prefill: []router.Backend{{URL: "http://h:1", KVAddr: "a___b:1"}}, Decode: one},
			"kv="},
		"no URL":   {router.Config{Protocol: router.RoundRobin, Decode: []router.Backend{{URL: "h:1"}}}, "write it like http://127.0.0.1:8100"},
		"password": {router.Config{Protocol: router.RoundRobin, Decode: []router.Backend{{URL: "http://u:p@h:1"}}}, "write it like"},
		"name for headers": {router.Config{Protocol: router.RoundRobin, Decode: []router.Backend{{Name: "a\r\nb", URL: "http://h:1"}}},
			"a name is made of"},
		"same name": {router.Config{Protocol: router.V0, Prefill: []router.Backend{{Name: "x", URL: "http://h:1"}},
			Decode: []router.Backend{{Name: "x", URL: "http://h:2"}}}, `two servers are called "x"`},
	} {
		if _, err := router.New(tt.c); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The bootstrap server is on the host of its prefill server, unless the file names another.
func TestBootstrapHost(t *testing.T) {
	for in, want := range map[string]string{ // nothing listens on port 1
		"http://127.0.0.1:1,bootstrap=1":            "http://127.0.0.1:1",
		"http://127.0.0.1:1,bootstrap=127.0.0.2:1":  "http://127.0.0.2:1",
		"http://[::1]:1,bootstrap=1":                "http://[::1]:1",
		"https://localhost/base/,bootstrap=[::1]:1": "http://[::1]:1",
	} {
		b, err := router.ParseBackend(in)
		if err != nil {
			t.Fatal(err)
		}
		_, base := start(t, router.Config{Protocol: router.Mooncake, Prefill: []router.Backend{b},
			Decode: []router.Backend{{URL: "http://127.0.0.1:1"}}})
		_, body := post(t, base, "/v1/completions", `{"prompt":"a"}`, nil)
		if _, message := errorOf(t, body); !strings.Contains(message, "GET "+want+"/query") {
			t.Errorf("%s: %s, want %s", in, message, want)
		}
	}
}
