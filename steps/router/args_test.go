package router

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseArgs(t *testing.T) {
	args := strings.Fields("--protocol mooncake --listen 127.0.0.1:8000 --prefill http://127.0.0.1:8100,name=p,bootstrap=8998 --decode " +
		"http://127.0.0.1:8200 --allow-recompute --grace 1s --simulated")
	got, err := ParseArgs(args)
	want := Config{
		Protocol: Mooncake, AllowRecompute: true, Simulated: true, MaxBody: defaultMaxBody, MaxBodies: defaultMaxBodies,
		Timeouts: Timeouts{}.withDefaults(),
		Prefill:  []Backend{{Name: "p", URL: "http://127.0.0.1:8100", BootstrapPort: 8998}}, Decode: []Backend{{URL: "http://127.0.0.1:8200"}},
	}
	want.Timeouts.Probe = 0
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := ParseArgs([]string{"--decode", "http://x,foo=1"}); err == nil || !strings.Contains(err.Error(), "is not known") {
		t.Errorf("a wrong server: %v", err)
	}
}
