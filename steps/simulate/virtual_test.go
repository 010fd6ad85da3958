package simulate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/simulate"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// transferTo returns the flag of a connector.
func transferTo(connector, role, more string) []string {
	return []string{"--kv-transfer-config", fmt.Sprintf(`{"kv_connector":%q,"kv_role":"kv_%s"%s}`, connector, role, more)}
}

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
		{name: "NIXL", flags: transferTo("NixlConnector", "both", ""), way: model.Fetched},
		{name: "P2P", flags: transferTo("P2pNcclConnector", "consumer", ""), settings: `{"version":"0.20.0"}`, way: model.Pushed},
		{name: "flag", flags: []string{"--no-such-flag"}, status: 2, log: "unrecognized arguments: --no-such-flag"},
		{name: "memory", settings: `{"fail":["oom"]}`, status: 1, log: "CUDA out of memory"},
		{name: "port", settings: `{"fail":["port_in_use"]}`, status: 1, log: "Address already in use"},
		{name: "crash", settings: `{"fail":["crash_after=3"]}`, fails: "crash_after"},
		{name: "never", settings: `{"fail":["never_ready"]}`, fails: "never_ready"},
		{name: "settings", settings: `{`, fails: simulate.SettingsEnv},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			argv := append([]string{"vllm", "serve", "Qwen/Qwen2.5-7B-Instruct"}, tt.flags...)
			v, err := simulate.Simulator{}.StartVirtual(argv, func(name string) string {
				if name == simulate.SettingsEnv {
					return tt.settings
				}
				return ""
			}, &log)
			var ended *simulate.StartError
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
