package record

import (
	"math"
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

// referenceOf encodes values by hdrhistogram-go alone, and returns its error as the text.
func referenceOf(v []float64) string {
	h := hdrhistogram.New(1, maxHistogram, digits)
	for _, x := range v {
		if err := h.RecordValue(int64(math.Round(min(max(x*1e6, 0), maxHistogram)))); err != nil {
			return err.Error()
		}
	}
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// TestHistogramsAreThoseOfTheLibrary compares encoded histograms byte by byte.
func TestHistogramsAreThoseOfTheLibrary(t *testing.T) {
	for _, v := range [][]float64{{0}, {1e-6}, {2.047e-3, 2.048e-3, 2.049e-3}, {4.095e-3, 4.096e-3, 4.097e-3}, {1, 1, 1},
		{-1, 24 * 3600, 1e9}} {
		if got, err := encodeHistogram(len(v), slices.Values(v)); err != nil || got != referenceOf(v) {
			t.Errorf("%v: %s, %v", v, got, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.SampledFrom([]float64{1e-6, 1e-3, 1, 1e5}).Draw(t, "scale")
		v := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 300).Draw(t, "values")
		for i := range v {
			v[i] *= scale
		}
		got, err := encodeHistogram(len(v), slices.Values(v))
		if want := referenceOf(v); err != nil || got != want {
			t.Fatalf("%s, %v, want %s", got, err, want)
		}
	})
}

func BenchmarkEncodeHistogram(b *testing.B) {
	v := make([]float64, 300)
	for i := range v {
		v[i] = 0.1 + float64(i*i%97)/1000
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := encodeHistogram(len(v), slices.Values(v)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReferenceHistogram(b *testing.B) {
	v := make([]float64, 300)
	for i := range v {
		v[i] = 0.1 + float64(i*i%97)/1000
	}
	b.ReportAllocs()
	for b.Loop() {
		referenceOf(v)
	}
}
