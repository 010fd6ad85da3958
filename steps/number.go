package steps

import (
	"math"
	"math/big"
	"strconv"
)

// NumberText writes a number of a file as people and programs do: whole numbers in full, all
// others as the shortest decimal that reads back as the same float64. The language divides
// with 512 bits, and 1/3 has 150 digits there that say nothing.
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
