package plan

import (
	"strings"
	"testing"
)

// The line of the orders calls targets by what differs, and numbers long names.
func TestOrderText(t *testing.T) {
	for name, tt := range map[string]struct{ a, b, want string }{
		"instances": {`server.vllm.sut["base"]`, `server.vllm.sut["head"]`, "drawn: base, head in repeat 1; head, base in the others"},
		"blocks":    {"server.vllm.old", "server.vllm.new", "drawn: old, new in repeat 1; new, old in the others"},
		"engines": {"server.vllm.sut", "server.sglang.sut",
			"drawn: server.vllm.sut, server.sglang.sut in repeat 1; server.sglang.sut, server.vllm.sut in the others"},
		"long names": {`server.vllm.sut["` + strings.Repeat("a", 30) + `"]`, `server.vllm.sut["` + strings.Repeat("b", 30) + `"]`,
			"drawn of 1 = " + strings.Repeat("a", 30) + ", 2 = " + strings.Repeat("b", 30) + ": 1, 2 in repeat 1; 2, 1 in the others"},
	} {
		p := &Plan{}
		for i, order := range [][]string{{tt.a, tt.b}, {tt.b, tt.a}} {
			p.Repeats = append(p.Repeats, Repeat{Index: i + 1, Launches: []Launch{{Target: order[0]}, {Target: order[1]}}})
		}
		if got := p.orderText(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
