package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// choice is a flag that takes one of some words. An empty one, as an unset variable of a
// script gives it, is refused rather than taken for the default.
type choice struct {
	value   *string
	allowed []string
}

func (c choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

func (c choice) Set(text string) error {
	if !slices.Contains(c.allowed, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(c.allowed, ", "))
	}
	*c.value = text
	return nil
}

func (c choice) Type() string { return "word" }

// bounded is a flag that takes a whole number between two bounds.
type bounded struct {
	value     *int
	low, high int
}

func (b bounded) String() string {
	if b.value == nil {
		return "0"
	}
	return strconv.Itoa(*b.value)
}

func (b bounded) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < b.low || n > b.high {
		return fmt.Errorf("%q is not a whole number from %d to %d", text, b.low, b.high)
	}
	*b.value = n
	return nil
}

func (b bounded) Type() string { return "number" }
