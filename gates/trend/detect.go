package trend

import (
	"math"
	"math/rand/v2"
	"slices"
)

var Keep = true
var Corr = 1.0

func mean(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s / float64(len(x))
}

// detect on scale
func detect(x []float64, least, perms int, alpha float64, maxPhi float64, rng *rand.Rand) []int {
	cuts := []int{0, len(x)}
	sc := newScanner(len(x), least)
	for {
		// best split over the segments
		top, seg := split{q: math.Inf(-1)}, 0
		for i := 0; i+1 < len(cuts); i++ {
			if b := sc.best(x[cuts[i]:cuts[i+1]]); b.q > top.q {
				top, seg = b, i
			}
		}
		if math.IsInf(top.q, -1) {
			return cuts[1 : len(cuts)-1]
		}
		cand := slices.Insert(slices.Clone(cuts), seg+1, cuts[seg]+top.at)
		phi := math.Min(maxPhi, math.Max(0, autocorr(x, cand)))
		use := cuts
		if !Keep {
			use = cand
		}
		res := residuals(x, use)
		// whiten
		e := make([]float64, 0, len(x))
		for i := 0; i+1 < len(use); i++ {
			for t := use[i] + 1; t < use[i+1]; t++ {
				e = append(e, res[t]-phi*res[t-1])
			}
		}
		f := 1.0
		if !Keep {
			f = math.Sqrt(float64(len(x)) / float64(len(x)-len(cand)+1))
		}
		lim := int(alpha*float64(perms+1)+1e-9) - 1
		b := 0
		y := make([]float64, len(x))
		for r := 0; r < perms && b <= lim; r++ {
			// recolour
			cur := 0.0
			for t := -20; t < len(x); t++ {
				cur = phi*cur + f*e[rng.IntN(len(e))]
				if t >= 0 {
					y[t] = cur
				}
			}
			if phi == 0 && Keep {
				copy(y, x)
				for i := 0; i+1 < len(cuts); i++ {
					s := y[cuts[i]:cuts[i+1]]
					rng.Shuffle(len(s), func(a, b int) { s[a], s[b] = s[b], s[a] })
				}
			}
			for i := 0; i+1 < len(cuts); i++ {
				if s := sc.best(y[cuts[i]:cuts[i+1]]); s.q >= top.q {
					b++
					break
				}
			}
		}
		if b > lim {
			return cuts[1 : len(cuts)-1]
		}
		cuts = cand
	}
}

func residuals(x []float64, cuts []int) []float64 {
	res := make([]float64, len(x))
	for i := 0; i+1 < len(cuts); i++ {
		m := mean(x[cuts[i]:cuts[i+1]])
		for t := cuts[i]; t < cuts[i+1]; t++ {
			res[t] = x[t] - m
		}
	}
	return res
}

func autocorr(x []float64, cuts []int) float64 {
	r := residuals(x, cuts)
	var num, den float64
	for i := 0; i+1 < len(cuts); i++ {
		for t := cuts[i]; t < cuts[i+1]; t++ {
			den += r[t] * r[t]
			if t > cuts[i] {
				num += r[t] * r[t-1]
			}
		}
	}
	n := float64(len(x))
	k := float64(len(cuts) - 1)
	p := num / den
	return (n*p + Corr*k) / (n - 3*Corr*k)
}
