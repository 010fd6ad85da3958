package steps

import (
	"math"
	"math/big"
	"strconv"
)

// NumberText formats a number of a file: integers in full, all others as the shortest decimal that reads back
// as the same float64. The language divides with 512 bits, so that 1/3 would have 150 digits.
func NumberText(n *big.Float) string {
	f, _ := n.Float64()
	if n.IsInt() && math.Abs(f) < 1e21 {
		return n.Text('f', 0)
	}
	format := byte('f')
	if a := math.Abs(f); a >= 1e21 || a < 1e-6 {
		format = 'g'
	}
	return strconv.FormatFloat(f, format, -1, 64)
}
