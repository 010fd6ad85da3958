package pairing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/pairing"
	"pgregory.net/rapid"
)

type launch = pairing.Launch

// at is a launch some minutes after eight.
func at(name string, minutes int) launch {
	return launch{name, time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)}
}

func untimed(names ...string) []launch {
	var out []launch
	for _, name := range names {
		out = append(out, launch{Name: name})
	}
	return out
}

// text is "base-head base-head; alone".
func text(m pairing.Match, base, head []launch) string {
	var parts []string
	for _, c := range m.Pairs {
		parts = append(parts, base[c.Base].Name+"-"+head[c.Head].Name)
	}
	var alone []string
	for _, i := range m.AloneBase {
		alone = append(alone, base[i].Name)
	}
	for _, i := range m.AloneHead {
		alone = append(alone, head[i].Name)
	}
	return strings.TrimSpace(strings.Join(parts, " ") + "; " + strings.Join(alone, " "))
}

func TestPair(t *testing.T) {
	for _, tt := range []struct {
		name       string
		base, head []launch
		keyed      bool
		rule       pairing.Rule
		want       string
		alternated bool
	}{
		{"in turns", []launch{at("a1", 0), at("a2", 30), at("a3", 40)}, []launch{at("b1", 10), at("b2", 20), at("b3", 50)},
			false, pairing.ByTime, "a1-b1 a2-b2 a3-b3;", true},
		{"whatever the files are called", []launch{at("a9", 0), at("a10", 20)}, []launch{at("b2", 10), at("b1", 30)},
			false, pairing.ByTime, "a9-b2 a10-b1;", true},
		{"a head is missing", []launch{at("a1", 0), at("a2", 20), at("a3", 40)}, []launch{at("b1", 10), at("b3", 50)},
			false, pairing.ByTime, "a1-b1 a3-b3; a2", true},
		{"a base is missing", []launch{at("a2", 20)}, []launch{at("b1", 0), at("b2", 21)}, false, pairing.ByTime, "a2-b2; b1", true},
		{"first all of one side", []launch{at("a1", 0), at("a2", 10)}, []launch{at("b1", 20), at("b2", 30)},
			false, pairing.ByTime, "a1-b1 a2-b2;", false},
		{"one without a time", []launch{at("a1", 0), {Name: "a2"}}, []launch{at("b2", 10), at("b1", 30)},
			false, pairing.ByNumber, "a1-b1 a2-b2;", false},
		{"ten is after two", untimed("base10", "base1", "base2"), untimed("head1", "head2", "head10"),
			false, pairing.ByNumber, "base10-head10 base1-head1 base2-head2;", false},
		{"a number is missing", untimed("base1", "base2", "base3"), untimed("head-1.json", "head-3.json"),
			false, pairing.ByNumber, "base1-head-1.json base3-head-3.json; base2", false},
		{"leading zeros", untimed("b01", "b02"), untimed("h1", "h2"), false, pairing.ByNumber, "b01-h1 b02-h2;", false},
		{"two numbers differ", untimed("b1-1", "b2-2"), untimed("h1-1", "h2-2"), false, pairing.ByOrder, "b1-1-h1-1 b2-2-h2-2;", false},
		{"names", untimed("x", "y"), untimed("p", "q"), false, pairing.ByOrder, "x-p y-q;", false},
		{"launches that are named", untimed("mon", "tue", "wed"), untimed("wed", "mon"),
			true, pairing.ByName, "mon-mon wed-wed; tue", false},
		{"launches named apart", []launch{at("job-7", 0), at("job-9", 20)}, []launch{at("job-8", 10), at("job-10", 30)},
			true, pairing.ByTime, "job-7-job-8 job-9-job-10;", true},
	} {
		m := pairing.Pair(tt.base, tt.head, tt.keyed)
		if got := text(m, tt.base, tt.head); got != tt.want || m.Rule != tt.rule || m.Alternated != tt.alternated || m.Problem != "" {
			t.Errorf("%s: %s by %s, alternated %v, problem %q; want %s by %s", tt.name, got, m.Rule, m.Alternated, m.Problem, tt.want, tt.rule)
		}
	}
	if m := pairing.Pair(untimed("x", "y", "z"), untimed("p", "q"), false); m.Problem == "" || len(m.Pairs) > 0 {
		t.Errorf("names alone paired 3 with 2: %+v", m)
	}
}

// However a session lost launches of one side, the others keep their partners: as many pairs
// as there can be, each launch in one at most, none crossing another in time.
func TestPairByTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []launch {
			var out []launch
			for i, m := range rapid.SliceOfN(rapid.IntRange(0, 500), 1, 12).Draw(t, name) {
				out = append(out, at(fmt.Sprint(name, i), m))
			}
			return out
		}
		base, head := draw("base"), draw("head")
		m := pairing.Pair(base, head, false)
		want := min(len(base), len(head))
		if len(m.Pairs) != want || len(m.AloneBase) != len(base)-want || len(m.AloneHead) != len(head)-want {
			t.Fatalf("%d pairs of %d and %d: %+v", len(m.Pairs), len(base), len(head), m)
		}
		byBase := slices.SortedFunc(slices.Values(m.Pairs), func(a, b pairing.Couple) int {
			return base[a.Base].At.Compare(base[b.Base].At)
		})
		for i := 1; i < len(byBase); i++ {
			if base[byBase[i-1].Base].At.Before(base[byBase[i].Base].At) && head[byBase[i].Head].At.Before(head[byBase[i-1].Head].At) {
				t.Fatalf("pairs cross in time: %+v", m.Pairs)
			}
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 10).Draw(t, "repeats")
		lost := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, n-1, rapid.ID[int]).Draw(t, "lost")
		var base, head []launch
		for i := range n {
			base = append(base, at(fmt.Sprint("base", i), 20*i))
			if !slices.Contains(lost, i) {
				head = append(head, at(fmt.Sprint("head", i), 20*i+8))
			}
		}
		for _, c := range pairing.Pair(base, head, false).Pairs {
			if strings.TrimPrefix(base[c.Base].Name, "base") != strings.TrimPrefix(head[c.Head].Name, "head") {
				t.Fatalf("without %v, %s is paired with %s", lost, base[c.Base].Name, head[c.Head].Name)
			}
		}
	})
}
