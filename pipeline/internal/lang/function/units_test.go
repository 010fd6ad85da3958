package function

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDuration(t *testing.T) {
	tests := map[string]time.Duration{
		"800ms": 800 * time.Millisecond, "800 ms": 800 * time.Millisecond, "1h30m": 90 * time.Minute,
		"1.5h": 90 * time.Minute, "2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour,
		"0": 0, "0s": 0, "250us": 250 * time.Microsecond, "250µs": 250 * time.Microsecond, "1ns": 1,
	}
	for s, want := range tests {
		if got, err := Duration(s); err != nil || got != want {
			t.Errorf("Duration(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
}

func TestBytes(t *testing.T) {
	tests := map[string]int64{
		"0B": 0, "512B": 512, "64kB": 64_000, "5GiB": 5 << 30, "5 GiB": 5 << 30, "1.5KiB": 1536,
		"2MB": 2_000_000, "3TiB": 3 << 40, "8388607TiB": 8388607 << 40,
	}
	for s, want := range tests {
		if got, err := Bytes(s); err != nil || got != want {
			t.Errorf("Bytes(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
}

func TestPercent(t *testing.T) {
	tests := map[string]float64{"5%": 0.05, "5 %": 0.05, "0.1%": 0.001, "150%": 1.5, "0%": 0, "7%": 0.07}
	for s, want := range tests {
		if got, err := Percent(s); err != nil || got != want {
			t.Errorf("Percent(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
}

// An error says the right spelling.
func TestUnitErrors(t *testing.T) {
	tests := []struct {
		of   string
		text string
		want string
	}{
		{"duration", "800", `write "800s" or "800ms"`},
		{"duration", "800 millis", `write "800ms"`},
		{"duration", "5 minutes", `write "5m"`},
		{"duration", "800MS", `write "800ms"`},
		{"duration", "5 weeks", "the units are"},
		{"duration", "-5s", "is negative"},
		{"duration", "", "is not a duration"},
		{"duration", "soon", "is not a duration"},
		{"duration", "5  s", "is not a duration"},
		{"duration", "1 h 30 m", "is not a duration"},
		{"duration", "1e3s", "is not a duration"},
		{"duration", "200000d", "too long"},
		{"duration", "100000d100000d", "too long"},
		{"duration", "99999999999999999999s", "too long"},
		{"bytes", "5G", `write "5GiB" (powers of 1,024) or "5GB" (powers of 1,000)`},
		{"bytes", "5k", `write "5KiB" (powers of 1,024) or "5kB" (powers of 1,000)`},
		{"bytes", "5gib", `write "5GiB"`},
		{"bytes", "5KB", `write "5kB"`},
		{"bytes", "1024", `write "1024B"`},
		{"bytes", "5 apples", "the units are"},
		{"bytes", "0.5B", "whole number"},
		{"bytes", "9999999999TiB", "too large"},
		{"bytes", "-1B", "is not a size"},
		{"bytes", "", "is not a size"},
		{"percent", "5", `write "5%"`},
		{"percent", "0.05", `write "5%"`},
		{"percent", "5pp", `write "5%"`},
		{"percent", "-5%", "it is below zero"},
		{"percent", strings.Repeat("9", 400) + "%", "too large"},
	}
	for _, tt := range tests {
		var err error
		switch tt.of {
		case "duration":
			_, err = Duration(tt.text)
		case "bytes":
			_, err = Bytes(tt.text)
		case "percent":
			_, err = Percent(tt.text)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %q: error %v does not say %q", tt.of, tt.text, err, tt.want)
		}
	}
}

// What Go prints as a duration is read back.
func TestDurationReadsGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "d"))
		got, err := Duration(d.String())
		if err != nil || got.Truncate(time.Microsecond) != d.Truncate(time.Microsecond) {
			t.Fatalf("Duration(%q) = %v, %v", d, got, err)
		}
	})
}

func TestBytesOfWholeUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<20).Draw(t, "n")
		unit := rapid.SampledFrom([]string{"B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"}).Draw(t, "unit")
		got, err := Bytes(strconv.FormatInt(n, 10) + unit)
		if err != nil || got != n*byteUnits[unit] {
			t.Fatalf("got %d, %v", got, err)
		}
	})
}

func FuzzUnits(f *testing.F) {
	for _, s := range []string{"800ms", "5GiB", "5 %", "1d12h", "0", "", "1.5.5s", "٣s", "9e9s", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := Duration(s); err == nil && d < 0 {
			t.Errorf("Duration(%q) = %v", s, d)
		}
		if n, err := Bytes(s); err == nil && n < 0 {
			t.Errorf("Bytes(%q) = %v", s, n)
		}
		if p, err := Percent(s); err == nil && (p < 0 || math.IsNaN(p) || math.IsInf(p, 0)) {
			t.Errorf("Percent(%q) = %v", s, p)
		}
	})
}
