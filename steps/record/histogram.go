package record

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxHistogram is the largest value in a histogram, a day in microseconds. Longer latencies count as this
// value.
const maxHistogram = 24 * 3600 * 1e6

// Histograms returns the distributions of "ttft", "tpot", "itl" and "e2el" as
// HdrHistogram V2 compressed strings (base64), in microseconds with three significant
// digits. A group without data is absent. They are for display and merging; metrics
// are computed from the records.
func Histograms(run Run) (map[string]string, error) {
	s := latencies(run)
	n, _, _ := shape(run)
	itl := func(yield func(float64) bool) {
		for gap := range gaps(run) {
			if !yield(seconds(gap)) {
				return
			}
		}
	}
	out := map[string]string{}
	for _, group := range []struct {
		id     string
		n      int
		values iter.Seq[float64]
	}{
		{"ttft", len(s.TTFT), slices.Values(s.TTFT)}, {"tpot", len(s.TPOT), slices.Values(s.TPOT)}, {"itl", n, itl},
		{"e2el", len(s.E2EL), slices.Values(s.E2EL)},
	} {
		if group.n == 0 {
			continue
		}
		enc, err := encodeHistogram(group.n, group.values)
		if err != nil {
			return nil, fmt.Errorf("histogram of %s: %w", group.id, err)
		}
		out[group.id] = enc
	}
	return out, nil
}

// deflaters are compressors to be used again: each takes a megabyte.
var deflaters = sync.Pool{New: func() any {
	w, _ := zlib.NewWriterLevel(nil, zlib.BestCompression) // the level is valid
	return w
}}

// encodeHistogram returns what hdrhistogram-go encodes for n values, with a compressor that is used again and without
// its quarter of a million counts, nearly all of which are zero.
func encodeHistogram(n int, values iter.Seq[float64]) (string, error) {
	var text, packed bytes.Buffer
	counts := encodeCounts(n, values)
	for _, field := range []any{hdrhistogram.V2EncodingCookieBase | inWords, int32(len(counts)), int32(0), int32(digits), int64(1),
		int64(maxHistogram), float64(1)} { // the last is the ratio to the unit of the values
		_ = binary.Write(&text, binary.BigEndian, field)
	}
	text.Write(counts)
	w := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(w)
	w.Reset(&packed)
	if _, err := w.Write(text.Bytes()); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(hdrhistogram.V2CompressedEncodingCookieBase|inWords))
	out = binary.BigEndian.AppendUint32(out, uint32(packed.Len()))
	return base64.StdEncoding.EncodeToString(append(out, packed.Bytes()...)), nil
}

// The histograms have three significant digits: 2,048 counts for the values up to 2,047, and for each doubling the upper half of
// as many. inWords marks counts as variable-length numbers in the format's cookies.
const (
	digits   = 3
	halfBits = 10
	inWords  = 0x10
)

// encodeCounts returns the counts up to that of the largest value as signed variable-length numbers, of which a negative one
// stands for so many zeros.
func encodeCounts(size int, values iter.Seq[float64]) []byte {
	at := make([]int32, 0, size) // the count of each value
	for x := range values {
		us := uint64(math.Round(min(max(x*1e6, 0), maxHistogram)))
		doublings := bits.Len64(us|(2<<halfBits-1)) - halfBits - 1
		at = append(at, int32(doublings<<halfBits+int(us>>doublings)))
	}
	slices.Sort(at)
	var out []byte
	for i, next := 0, int32(0); i < len(at); {
		if zeros := at[i] - next; zeros == 1 {
			out = binary.AppendVarint(out, 0)
		} else if zeros > 1 {
			out = binary.AppendVarint(out, -int64(zeros))
		}
		n := 1
		for i+n < len(at) && at[i+n] == at[i] {
			n++
		}
		out = binary.AppendVarint(out, int64(n))
		next, i = at[i]+1, i+n
	}
	return out
}
