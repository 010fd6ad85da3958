package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/servegate/pipeline/steps/cgroup"
	"github.com/servegate/pipeline/steps/record"
)

// TestThrottled: a client whose CPU quota was used up is the limit, in any load. Stops of its group before the run do not count, nor
// those of others of the group.
func TestThrottled(t *testing.T) {
	dir := t.TempDir()
	groups := cgroup.System{Proc: filepath.Join(dir, "proc"), Groups: filepath.Join(dir, "cgroup")}
	write := func(path, text string) {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(fmt.Sprintf("proc/%d/cgroup", os.Getpid()), "0::/pod\n")
	write("cgroup/pod/cpu.max", "20000 100000\n")
	for others, void := range map[time.Duration]bool{0: true, 1000 * time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			write("cgroup/pod/cpu.stat", "usage_usec 7000000\nthrottled_usec 90000000\n")
			a := startAudit(groups)
			time.Sleep(5 * time.Second)
			write("cgroup/pod/cpu.stat", fmt.Sprintf("usage_usec %d\nthrottled_usec 93000000\n", 7000001+others.Microseconds()))
			a.cpu -= 0.2 // as if it had used some time since
			var audit record.Audit
			a.fill(&audit)
			cause, reason := Limits{}.Void(audit)
			if (cause == CauseClient) != void || void != strings.Contains(reason, "throttled for 3s of 5 s") {
				t.Errorf("beside others that used %v: %q, %s", others, cause, reason)
			}
		})
	}
}
