package spawn

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	tail := " 1 42 41 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1 18446744073709551615"
	for line, want := range map[string]process{
		"42 (sleep) S" + tail + "\n":             {pid: 42, parent: 1, group: 42, session: 41, name: "sleep", state: 'S', start: 987654},
		"42 (a b) c (d)) Z" + tail:               {pid: 42, parent: 1, group: 42, session: 41, name: "a b) c (d)", state: 'Z', start: 987654},
		"42 (\n) R" + tail:                       {pid: 42, parent: 1, group: 42, session: 41, name: "\n", state: 'R', start: 987654},
		"7 () X 1 -5 1" + tail[len(" 1 42 41"):]: {pid: 7, parent: 1, group: -5, session: 1, state: 'X', start: 987654},
	} {
		got, err := parseStat([]byte(line))
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(process{})); diff != "" {
			t.Errorf("%q:\n%s", line, diff)
		}
	}
	for _, line := range []string{"", "42", "42 (x", ")(", "x (y) S" + tail, "42 (y) S 1 2", "42 (y) SS" + tail} {
		if _, err := parseStat([]byte(line)); err == nil {
			t.Errorf("%q gave no error", line)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Add([]byte("1 (a) S 1 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parseStat(data)
		if err != nil && (p != process{}) {
			t.Errorf("an error with a value: %v, %v", p, err)
		}
	})
}

func TestReadOwnProcess(t *testing.T) {
	p, err := readProcess(os.Getpid())
	if err != nil || p.pid != os.Getpid() || p.start == 0 || p.ended() {
		t.Errorf("%+v, %v", p, err)
	}
	if !isAlive(p.pid, p.start) || isAlive(p.pid, p.start+1) {
		t.Error("the start time tells processes apart")
	}
	if argv := argvOf(p.pid); len(argv) == 0 {
		t.Error("our own argv is empty")
	}
}
