package gates

// trigamma returns the second derivative of ln Γ at x > 0: by recurrence to x ≥ 10, then by the
// asymptotic series of M. Abramowitz and I. Stegun, 6.4.12.
func trigamma(x float64) float64 {
	sum := 0.0
	for x < 10 {
		sum += 1 / (x * x)
		x++
	}
	z := 1 / (x * x)
	series := 1.0 / 6
	for _, b := range []float64{-1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730} {
		series += b * z
		z /= x * x
	}
	return sum + 1/x + 1/(2*x*x) + series/(x*x*x)
}

// inverseTrigamma returns the x > 0 with trigamma(x) = y > 0, by Newton's iteration on 1/y as limma
// does (G. K. Smyth, Statist. Appl. Genet. Mol. Biol. 3, 2004, appendix).
func inverseTrigamma(y float64) float64 {
	x := 0.5 + 1/y
	for range 50 {
		t := trigamma(x)
		step := t * (1 - t/y) / tetragamma(x)
		x += step
		if -step/x < 1e-14 {
			break
		}
	}
	return x
}

// tetragamma returns the third derivative of ln Γ at x > 0, from the derivative of trigamma's
// recurrence and series.
func tetragamma(x float64) float64 {
	sum := 0.0
	for x < 10 {
		sum -= 2 / (x * x * x)
		x++
	}
	x2 := x * x
	return sum - 1/x2 - 1/(x2*x) - (0.5-(1.0/6-(1.0/6-0.3/x2)/x2)/x2)/(x2*x2)
}
