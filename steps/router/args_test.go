package router_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/servegate/pipeline/steps/router"
)

func TestParseArgs(t *testing.T) {
	args := strings.Fields("--protocol mooncake --listen 127.0.0.1:8000 --prefill http://127.0.0.1:8100,name=p,bootstrap=8998 --decode " +
		"http://127.0.0.1:8200 --allow-recompute --grace 1s --simulated")
	got, err := router.ParseArgs(args)
	want := router.Config{
		Protocol: router.Mooncake, AllowRecompute: true, Simulated: true, MaxBody: 64 << 20, MaxBodies: 1 << 30,
		Timeouts: router.Timeouts{Dial: 5 * time.Second, Prefill: 10 * time.Minute, Request: time.Hour},
		Prefill:  []router.Backend{{Name: "p", URL: "http://127.0.0.1:8100", BootstrapPort: 8998}},
		Decode:   []router.Backend{{URL: "http://127.0.0.1:8200"}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := router.ParseArgs([]string{"--decode", "http://x,foo=1"}); err == nil || !strings.Contains(err.Error(), "is not known") {
		t.Errorf("a wrong server: %v", err)
	}
}
