package simulate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// TestStartVirtual: a command line becomes a part of a fleet, with the log and the end of
// the process that it would start.
func TestStartVirtual(t *testing.T) {
	for _, tt := range []struct {
		name, settings string
		flags          []string
		way            model.Way
		status         int    // of a server that fails to start
		fails          string // other errors
		log            string
	}{
		{name: "alone", log: "Application startup complete."},
		{name: "NIXL", flags: kvFlag("NixlConnector", "both", ""), way: model.Fetched},
		{name: "P2P", flags: kvFlag("P2pNcclConnector", "consumer", ""), settings: `{"version":"0.20.0"}`, way: model.Pushed},
		{name: "flag", flags: []string{"--no-such-flag"}, status: 2, log: "unrecognized arguments: --no-such-flag"},
		{name: "memory", settings: `{"fail":["oom"]}`, status: 1, log: "CUDA out of memory"},
		{name: "port", settings: `{"fail":["port_in_use"]}`, status: 1, log: "Address already in use"},
		{name: "crash", settings: `{"fail":["crash_after=3"]}`, fails: "crash_after"},
		{name: "never", settings: `{"fail":["never_ready"]}`, fails: "never_ready"},
		{name: "settings", settings: `{`, fails: SettingsEnv},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			argv := append([]string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct"}, tt.flags...)
			v, err := Simulator{}.StartVirtual(argv, func(name string) string {
				if name == SettingsEnv {
					return tt.settings
				}
				return ""
			}, &log)
			var ended *StartError
			switch {
			case tt.fails != "":
				if err == nil || errors.As(err, &ended) || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("error %v, want one of %q", err, tt.fails)
				}
				return
			case tt.status != 0:
				if !errors.As(err, &ended) || ended.Status != tt.status {
					t.Fatalf("error %v, want exit status %d", err, tt.status)
				}
			case err != nil:
				t.Fatal(err)
			case v.Node.Transfer.Way != tt.way || v.Startup != 300*time.Millisecond:
				t.Errorf("%+v", v.Node.Transfer)
			}
			if !strings.Contains(log.String(), tt.log) {
				t.Errorf("the log lacks %q:\n%s", tt.log, log.String())
			}
		})
	}
}
