package event

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// everywhere returns the same patterns with a sieve that holds nothing back: every view is made of the whole text.
func everywhere(ps *patterns) *patterns {
	all := *ps
	all.sieve = &sieve{blind: true}
	return &all
}

// sieved are secrets, and pieces of texts in which they are hidden, cut or only resembled.
var sieved = []string{
	"pK7wX2mQ9zR4tV6yB1nC", "correct horse battery", `p<&"w+x'y|z`, "pässwörd-ü", "s3cret%41&amp;word", "84926173", "100%zzz5",
}

func siftedPieces() []string {
	out := []string{
		"\x1b[1;36m", "\x1b[0;0m", "\x1b[", "\x1b]0;a title\a", "\x1b", "\u200b", "\u0301", "\b", "\r", "\t", "\n", " ", "  ",
		"&lt;", "&#x3C;", "&", ";", "#", "%3C", "%", "4", "1", `\n`, `\u003c`, `\\u0073`, `\b`, `\`, "u",
		"<", "+", "-", "_", ",", ":", ", 0x", "0x", "0", "x", `"`, "'",
		"hf_", "sk-", "Bearer ", "AKIA", "ghp_", "s", "k", "h", "00000010  ", "abcdefgh", made("", 40), "ABCDEFGHIJ234567",
		" the rate of requests is ", "(EngineCore pid=12) INFO 08-22 10:11:12, ", `  "value": 12.5,` + "\n", strings.Repeat("word ", 40),
	}
	for _, secret := range sieved {
		half := len(secret) / 2
		out = append(out, secret, secret[:half], secret[half:], secret[:3], secret[3:], strings.ToUpper(secret))
		b64 := base64.StdEncoding.EncodeToString([]byte(secret))
		out = append(out, b64[:len(b64)/2], b64[len(b64)/2:], each(secret[:half], "%02x "), each(secret[half:], "%02x "),
			each(secret[:half], "0x%02x, "), each(secret[half:], "0x%02x, "), each(secret[half:], `\x%02x`))
	}
	return out
}

// TestSieve masks texts as if every view were made of all of them.
func TestSieve(t *testing.T) {
	pieces := siftedPieces()
	for name, secrets := range map[string][]string{"secrets": sieved, "one": sieved[:1], "none": nil} {
		ps := NewRedactor(secrets).set.Load()
		if ps.sieve.blind {
			t.Fatalf("the sieve lets everything through for %q", secrets)
		}
		all := everywhere(ps)
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			text := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 24).Draw(t, "pieces"), ""))
			before := rapid.SampledFrom([]byte("\x00\na )")).Draw(t, "before")
			final := rapid.Bool().Draw(t, "final")
			m, n := masker{before, before}, masker{before, before}
			got, dealt := m.scan(ps, nil, text, final)
			want, should := n.scan(all, nil, text, final)
			if !bytes.Equal(got, want) || dealt != should {
				t.Fatalf("%q, final %v, became\n%q up to %d, want\n%q up to %d", text, final, got, dealt, want, should)
			}
		}))
	}
}

// Of plain text a sieve lets nothing through, so that no view is made of it.
func TestSievePasses(t *testing.T) {
	s := NewRedactor(sieved).set.Load().sieve
	for name, text := range map[string]string{"log": logText(), "results": resultsText()} {
		passed := 0
		for _, p := range s.parts([]byte(text), true) {
			passed += p.to - p.from
		}
		if passed > len(text)/100 {
			t.Errorf("%d of %d bytes of %s are read in every view", passed, len(text), name)
		}
	}
	if !newPatterns(map[string]bool{"!$%&/()": true}, true, nil).sieve.blind {
		t.Error("a secret without letters and digits cannot be found by them")
	}
}

func logText() string {
	var out strings.Builder
	for i := range 400 {
		fmt.Fprintf(&out, "INFO 08-22 10:11:%02d [loggers.py:118] Engine 000: Avg prompt throughput: %d.0 tokens/s, Running: %d reqs, "+
			"KV cache usage: %d.3%%\n", i%60, i*7, i%9, i%100)
	}
	return out.String()
}

func colouredText() string {
	return strings.ReplaceAll(logText(), "INFO", "\x1b[1;36m(EngineCore pid=4711)\x1b[0;0m INFO")
}

func resultsText() string {
	var out strings.Builder
	for i := range 400 {
		fmt.Fprintf(&out, "      {\n        \"metric\": \"ttft_p99\",\n        \"unit\": \"ms\",\n        \"samples\": [\n"+
			"          %d.25,\n          %d.125\n        ]\n      },\n", i*1379, i*8117)
	}
	return out.String()
}

// BenchmarkRedactor masks texts, and the same with every view made of all of the text, in turns: "times" is how much
// longer that takes.
func BenchmarkRedactor(b *testing.B) {
	var secrets []string
	for i := range 20 {
		secrets = append(secrets, fmt.Sprintf("%dsecret%dXy%d", i*7919, i, i*104729))
	}
	ps := NewRedactor(slices.Concat(secrets, sieved[:2])).set.Load()
	all := everywhere(ps)
	const turns = 10
	for _, text := range []struct{ name, text string }{
		{"log", logText()}, {"coloured_log", colouredText()}, {"results.json", resultsText()},
	} {
		b.Run(text.name, func(b *testing.B) {
			var fast, slow time.Duration
			for b.Loop() {
				begin := time.Now()
				for range turns {
					(&masker{}).all(ps, []byte(text.text))
				}
				fast += time.Since(begin)
				begin = time.Now()
				(&masker{}).all(all, []byte(text.text))
				slow += time.Since(begin)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(turns*b.N*len(text.text))/1e6/fast.Seconds(), "MB/s")
			b.ReportMetric(turns*float64(slow)/float64(fast), "times")
		})
	}
}

// TestPendingIsReadSeldom: a stream whose end may always begin a secret, in single bytes, does not take the square of what
// is pending, and comes out as it was.
func TestPendingIsReadSeldom(t *testing.T) {
	redact := NewRedactor([]string{"correcthorsebattery"})
	for _, text := range []string{strings.Repeat("eyJ-", 4<<10), strings.Repeat("00000000 ", 2<<10)} {
		var out strings.Builder
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := redact.Writer(&out)
		for i := range text {
			if _, err := w.Write([]byte(text[i : i+1])); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || out.String() != text {
			t.Errorf("%.12s…: %v, %d of %d bytes", text, err, out.Len(), len(text))
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 32<<20 {
			t.Errorf("%.12s…: %d MiB for %d bytes", text, (after.TotalAlloc-before.TotalAlloc)>>20, len(text))
		}
	}
}
