package spawn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
)

// Parts that this test program plays when one of them is its first argument. core and worker
// are vLLM's EngineCore and Worker: they overwrite the memory in which the kernel looks for their
// title and environment. bare has never had an environment.
const (
	corePart  = "spawn-test-core"
	apartPart = "spawn-test-apart" // a core in a session of its own
	barePart  = "spawn-test-bare"
)

func playEngine(args []string) {
	if len(args) < 2 || !strings.HasPrefix(args[1], "spawn-test-") {
		return
	}
	if args[1] == barePart {
		_, _ = fmt.Fprintf(os.Stdout, "left bare %d\n", os.Getpid())
		waitToBeKilled()
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if args[1] == apartPart {
		if _, err := syscall.Setsid(); err != nil {
			panic(err)
		}
	}
	if err := rewrite("VLLM::EngineCore"); err != nil {
		panic(err)
	}
	bare := exec.Command(self, barePart)
	bare.Env, bare.Stdout = []string{}, os.Stdout
	if err := bare.Start(); err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(os.Stdout, "left core %d\n", os.Getpid())
	waitToBeKilled()
}

// waitToBeKilled waits for a signal that nobody sends: an empty select alone is a deadlock to the
// runtime of a program without C.
func waitToBeKilled() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR1)
	<-never
}

// rewrite does what setproctitle does: it writes a title over the arguments, and zeros over the
// rest of them and over the environment.
func rewrite(title string) error {
	data, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return err
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	const argStart, envEnd = 48 - 3, 51 - 3
	from, err1 := strconv.ParseInt(fields[argStart], 10, 64)
	to, err2 := strconv.ParseInt(fields[envEnd], 10, 64)
	memory, err3 := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	defer func() { _ = memory.Close() }()
	block := make([]byte, to-from)
	copy(block, title)
	_, err = memory.WriteAt(block, from)
	return err
}

// killedOwner starts a program that has sh run a script, waits until all parts have told their
// process ids, and kills the program with -9. It returns the parts.
func killedOwner(t *testing.T, script string, parts int) (left map[string]int) {
	t.Helper()
	owner := exec.Command(ownProgram(t))
	owner.Env = append(os.Environ(), ownerVar+"="+script)
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	var leader process
	left = map[string]int{}
	lines := bufio.NewScanner(out)
	for (leader.pid == 0 || len(left) < parts) && lines.Scan() {
		var name string
		var pid int
		if n, _ := fmt.Sscanf(lines.Text(), "left %s %d", &name, &pid); n == 2 {
			left[name] = pid
		}
		_, _ = fmt.Sscanf(lines.Text(), "child %d %d", &leader.pid, &leader.start)
	}
	if leader.start == 0 || len(left) < parts {
		t.Fatalf("the owner said leader %v, left %v", leader, left)
	}
	t.Cleanup(func() { // whatever the test has found
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	found := orphanPIDs(t)
	for name, pid := range left {
		if slices.Contains(found, pid) {
			t.Errorf("%s of a living owner is no orphan: %v", name, found)
		}
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // it was killed
	eventually(t, "the leader is killed with its owner", func() bool { return !isAlive(leader.pid, leader.start) })
	return left
}

func ownProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// The owner is killed with -9 at once: the kernel kills the leader, and what the leader had started is
// found and ended, whether it carries our mark, has rewritten its title and its environment, has
// none, has left for a session of its own, or is a daemon without a parent.
func TestOrphans(t *testing.T) {
	self := ownProgram(t)
	for name, tt := range map[string]struct {
		script string
		want   []string
	}{
		"marked":         {"sleep 1000 & echo left sleep $!; wait", []string{"sleep"}},
		"rewritten":      {self + " " + corePart + " & wait", []string{"bare", "core"}},
		"no environment": {"env -i " + self + " " + barePart + " & wait", []string{"bare"}},
		"own session":    {self + " " + apartPart + " & wait", []string{"bare", "core"}},
		"daemon":         {"(setsid env -i sh -c 'echo left daemon $$; exec sleep 1000 <&- >&- 2>&-' &); sleep 1000", []string{"daemon"}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				if found := endOrphans(t, tt.script, tt.want); found {
					return
				}
			}
			t.Error("three times, the orphans ended before this test had found or ended them")
		})
	}
}

// endOrphans leaves orphans, finds them and ends them. It returns false if one was gone before: a cleanup of another test
// ends all orphans of the machine.
func endOrphans(t *testing.T, script string, want []string) bool {
	t.Helper()
	left := killedOwner(t, script, len(want))
	runs := func(part string) bool {
		p, err := readProcess(left[part])
		return err == nil && !p.ended()
	}
	found, err := FindOrphans()
	if err != nil {
		t.Fatal(err)
	}
	owner := ""
	for _, part := range want {
		i := slices.IndexFunc(found, func(o Orphan) bool { return o.PID == left[part] })
		if i < 0 {
			if runs(part) {
				t.Fatalf("%s (%d) was not found in %v", part, left[part], found)
			}
			return false
		}
		owner = found[i].Owner
		if part == "core" && found[i].Command() != "VLLM::EngineCore" {
			t.Errorf("the core is called %q", found[i].Command())
		}
	}
	if ended, err := EndOrphans(owner + "1"); err != nil || len(ended) > 0 {
		t.Errorf("those of another owner: %v, %v", ended, err)
	}
	ended, err := EndOrphans(owner)
	if err != nil {
		t.Fatal(err)
	}
	all := true
	for _, part := range want {
		all = all && slices.ContainsFunc(ended, func(o Orphan) bool { return o.PID == left[part] })
		if runs(part) {
			t.Errorf("%s still runs", part)
		}
	}
	return all
}

// The limits of a child say who started it; those of this program are as before.
func TestMarkInLimits(t *testing.T) {
	space := spaceOf("self")
	before, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		t.Fatal(err)
	}
	s := newSpawner(t, Options{})
	child := start(t, s, steps.Command{Argv: []string{"sleep", "1000"}})
	if got, want := limitOf(child.PID(), space), ownMark(); got != want {
		t.Errorf("the child's mark is %q, want %q", got, want)
	}
	if got := limitOf(child.PID(), space+1); got != "" {
		t.Errorf("a mark of another namespace: %q", got)
	}
	after, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("this program's limits:\n%s", diff)
	}
	if got := limitOf(os.Getpid(), space); got == ownMark() {
		t.Error("this program carries its own mark")
	}
}

// Other values of a limit are no mark.
func TestMarked(t *testing.T) {
	for value, want := range map[string]bool{
		"unlimited": false, "0": false, "4611686018427387903": false, "4611686018427387904": true, "9223372036854775807": true,
		"9223372036854775808": false, "": false,
	} {
		line := "Max file locks            " + value + "            unlimited            locks     \nMax nice priority 0 0\n"
		if _, got := marked([]byte(line), "Max file locks"); got != want {
			t.Errorf("%q is a mark: %v", value, got)
		}
	}
}

// What grows from a known process, and what never does.
func TestFamily(t *testing.T) {
	me, parent := os.Getpid(), os.Getppid()
	around := []process{
		{pid: me, parent: parent, group: 5, session: 5}, {pid: parent, parent: 1, group: parent, session: 5}, {pid: 1, group: 1, session: 1},
	}
	for name, tt := range map[string]struct {
		all  []process
		want []int
	}{
		"alone":                {nil, []int{100}},
		"children":             {[]process{{pid: 101, parent: 100, group: 101}, {pid: 102, parent: 101, group: 102}}, []int{100, 101, 102}},
		"group without leader": {[]process{{pid: 101, parent: 1, group: 90}}, []int{100, 101}},
		"group of another":     {[]process{{pid: 90, parent: 1, group: 90}, {pid: 101, parent: 1, group: 90}}, []int{100}},
		"leader is a zombie":   {[]process{{pid: 90, parent: 1, group: 90, state: 'Z'}, {pid: 101, parent: 1, group: 90}}, []int{100, 101}},
		"session that it leads": {[]process{{pid: 101, parent: 100, group: 101, session: 101}, {pid: 102, parent: 1, group: 102, session: 101}},
			[]int{100, 101, 102}},
		"session of another": {[]process{{pid: 102, parent: 1, group: 102, session: 80}}, []int{100}},
		"above us":           {[]process{{pid: parent, parent: 100, group: parent, session: 5}}, []int{}},
	} {
		t.Run(name, func(t *testing.T) {
			all := table(append(append(around, process{pid: 100, parent: 1, group: 90, session: 80}), tt.all...))
			got := []int{}
			for pid := range all.family(map[int]string{100: "o", me: "o", 7777: "o"}) {
				got = append(got, pid)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func table(list []process) processes {
	all := processes{}
	for _, p := range list {
		all[p.pid] = p
	}
	return all
}

func TestKillLeavesOthersAlone(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	begin := startOf(t, cmd.Process.Pid)
	if killed, err := kill(cmd.Process.Pid, begin+1); killed || err != nil || !isAlive(cmd.Process.Pid, begin) {
		t.Errorf("another start: killed %v, %v", killed, err)
	}
	for _, pid := range []int{-1, 0, 1, os.Getpid()} {
		if killed, err := kill(pid, 1); killed || err == nil {
			t.Errorf("process %d: %v, %v", pid, killed, err)
		}
	}
}

// A mark means its owner by number and start time.
func TestOrphanOfEarlierProgram(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{MarkVar + "=" + strconv.Itoa(os.Getpid()) + ":1"} // our number, another start
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(orphanPIDs(t), cmd.Process.Pid) {
		t.Error("a process whose owner has another start time is an orphan")
	}
	ended, err := EndOrphans(ownerPlace() + "/" + strconv.Itoa(os.Getpid()) + ":1")
	if err != nil || len(ended) != 1 || ended[0].PID != cmd.Process.Pid {
		t.Errorf("%v, %v", ended, err)
	}
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("ended with %v", err)
	}
}

// A server's process that has rewritten itself is ours on a GPU, too.
func TestOwnerOfRewritten(t *testing.T) {
	s := newSpawner(t, Options{})
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	start(t, s, steps.Command{Argv: []string{ownProgram(t), corePart}, Stdout: w})
	lines := bufio.NewScanner(r)
	left := map[string]int{}
	for len(left) < 2 && lines.Scan() {
		var name string
		var pid int
		if n, _ := fmt.Sscanf(lines.Text(), "left %s %d", &name, &pid); n == 2 {
			left[name] = pid
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	for name, pid := range left {
		if got := OwnerOf(pid); got != Ours {
			t.Errorf("%s is %v", name, got)
		}
	}
}

func orphanPIDs(t *testing.T) []int {
	t.Helper()
	found, err := FindOrphans()
	if err != nil {
		t.Fatal(err)
	}
	pids := make([]int, len(found))
	for i, o := range found {
		pids[i] = o.PID
	}
	return pids
}

func startOf(t *testing.T, pid int) uint64 {
	t.Helper()
	begin, err := startTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	return begin
}

// eventually polls for what the kernel does in its own time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	// real time: a limit on what real processes take
	deadline := time.After(long)
	// real time: a limit on what real processes take
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("not so: " + what)
		}
	}
}
