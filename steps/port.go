package steps

import "strconv"

// Port is a port in a command line: a number, or where none is chosen yet the symbol that a
// plan shows in its place.
type Port struct {
	number int
	symbol string
}

// PortNumber returns a port that was chosen.
func PortNumber(n int) Port { return Port{number: n} }

// PortSymbol returns what stands for a port that is chosen at launch.
func PortSymbol(symbol string) Port { return Port{symbol: symbol} }

// Number of the port, 0 where only its symbol is known.
func (p Port) Number() int { return p.number }

// String is the number, or the symbol.
func (p Port) String() string {
	if p.symbol != "" {
		return p.symbol
	}
	return strconv.Itoa(p.number)
}
