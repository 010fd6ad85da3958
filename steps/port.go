package steps

import "strconv"

// Port is a port in a command line: a number, or, if none is chosen yet, the symbol that a plan shows in its
// place.
type Port struct {
	number int
	symbol string
}

// PortNumber returns a port with a known number.
func PortNumber(n int) Port { return Port{number: n} }

// PortSymbol returns the placeholder for a port that is chosen at launch.
func PortSymbol(symbol string) Port { return Port{symbol: symbol} }

// Number returns the port's number, or 0 if only its symbol is known.
func (p Port) Number() int { return p.number }

// String returns the symbol if there is one, else the number.
func (p Port) String() string {
	if p.symbol != "" {
		return p.symbol
	}
	return strconv.Itoa(p.number)
}
