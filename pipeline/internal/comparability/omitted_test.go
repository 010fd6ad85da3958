package comparability_test

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/record"
)

// speaker generates texts: a chain of pieces of words, each drawn from those that follow it in the sonnets. Its weights
// are off by a normal error in their logarithm, as those of a model with fewer bits are. flat raises the probabilities of
// what is rare, as a higher temperature does.
type speaker struct {
	pieces []string // of the sonnets, in their order
	next   []*followers
	off    float64
	flat   float64
}

// followers are the places of what follows a piece of the sonnets, with the error of the weight of each.
type followers struct {
	at    []int
	error []float64
}

// sonnetPieces splits the sonnets into pieces as a tokenizer does: words of at most six letters are one, longer ones
// several, and line ends have no visible character.
func sonnetPieces(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "steps", "dataset", "sonnets.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		for word := range strings.FieldsSeq(line) {
			for len(word) > 6 {
				out, word = append(out, word[:4]), word[4:]
			}
			out = append(out, word)
		}
		out = append(out, "")
	}
	return out
}

func newSpeaker(pieces []string, off, flat float64) *speaker {
	s := &speaker{pieces: pieces, next: make([]*followers, len(pieces)), off: off, flat: flat}
	after := map[string]*followers{}
	for i, p := range pieces {
		if after[p] == nil {
			after[p] = &followers{}
		}
		s.next[i] = after[p]
		if i == len(pieces)-1 {
			break
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(p + "\x00" + pieces[i+1]))
		after[p].at = append(after[p].at, i+1)
		after[p].error = append(after[p].error, rand.New(rand.NewPCG(h.Sum64(), 1)).NormFloat64())
	}
	return s
}

// say draws an answer of some pieces.
func (s *speaker) say(rng *rand.Rand, pieces int) string {
	var b strings.Builder
	at := rng.IntN(len(s.pieces) - 1)
	for range pieces {
		list := s.next[at]
		next := rng.IntN(len(list.at))
		if s.off > 0 || s.flat > 0 { // of a few candidates the one that the changed weights favour
			best := math.Inf(-1)
			for range min(len(list.at), 8) {
				k := rng.IntN(len(list.at))
				v := s.off*list.error[k] + s.flat*float64(len(s.pieces[list.at[k]])) - math.Log(-math.Log(rng.Float64()))
				if v > best {
					best, next = v, k
				}
			}
		}
		at = list.at[next]
		b.WriteString(s.pieces[at])
	}
	return b.String()
}

// TestOmittedTokens simulates servers whose sampled answers lack a share of the tokens that they claim and stream, with
// blank events in their place: all that shows is fewer characters per token. go test -run TestOmittedTokens -v prints how
// many of the simulated comparisons are found. Honest sides differ by chance, and by weights that are off.
func TestOmittedTokens(t *testing.T) {
	const tokens, repeats, files = 128, 3, 10
	pieces := sonnetPieces(t)
	same := newSpeaker(pieces, 0, 0)
	bases := map[[2]int]*result.Cell{} // by file and number of requests
	found := func(head *speaker, requests int, lacking float64) (n int, mean float64) {
		for file := range files {
			side := func(s *speaker, lacking float64, seed int) *result.Cell {
				rng := rand.New(rand.NewPCG(uint64(file+seed), uint64(requests)))
				return cell("1", repeats, func(int) []record.Request {
					return answered(requests, func(int) string { return s.say(rng, tokens-int(math.Round(lacking*tokens))) },
						func(_ int, q *asked) {
							q.OutputTokens, q.WantTokens, q.Events = tokens, tokens, make([]record.Event, tokens)
						})
				})
			}
			if bases[[2]int{file, requests}] == nil {
				bases[[2]int{file, requests}] = side(same, 0, files)
			}
			base, changed := bases[[2]int{file, requests}], side(head, lacking, 0)
			characters := func(c *result.Cell) (sum float64) {
				for _, r := range c.Runs {
					sum += float64(r.Requests.Characters)
				}
				return sum
			}
			mean += (characters(changed)/characters(base) - 1) / files
			got, _ := comparability.CompareRequests("benchmark.b", base, changed)
			if slices.ContainsFunc(got.Differences, func(d result.RequestDifference) bool { return !d.Shown }) {
				n++
			}
		}
		return n, 100 * mean
	}
	for _, tt := range []struct {
		name     string
		head     *speaker
		requests int
		lacking  float64
		least    int // of the files that must be found
		most     int // and that may be
	}{
		{"honest", same, 40, 0, 0, 0},
		{"honest", same, 200, 0, 0, 0},
		{"weights off by 0.5", newSpeaker(pieces, 0.5, 0), 200, 0, 0, 0},
		{"a taste for longer words", newSpeaker(pieces, 0, 0.2), 200, 0, 0, 0},
		{"5 % lacking", same, 200, 0.05, 0, 0},
		{"8 % lacking", same, 200, 0.08, 0, 0},
		{"12 % lacking", same, 40, 0.12, files, files},
		{"12 % lacking", same, 200, 0.12, files, files},
		{"15 % lacking", same, 40, 0.15, files, files},
		{"25 % lacking", same, 40, 0.25, files, files},
	} {
		n, mean := found(tt.head, tt.requests, tt.lacking)
		t.Logf("%-26s %3d requests × %d: characters %+5.1f %%, found in %2d of %d", tt.name, tt.requests, repeats, mean, n, files)
		if n < tt.least || n > tt.most {
			t.Errorf("%s, %d requests: found in %d of %d, want %d to %d", tt.name, tt.requests, n, files, tt.least, tt.most)
		}
	}
}
