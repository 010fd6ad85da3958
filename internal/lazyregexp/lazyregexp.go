// Package lazyregexp has regular expressions that are compiled when they are first used. Compiling those of all packages
// took a quarter of each start of the program, and most commands use few of them.
//
//	var digits = lazyregexp.New(`\d+`)
//	digits.MatchString(line)
//
// TestExpressions compiles every expression of the module.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression with those methods of [regexp.Regexp] that are needed.
type Regexp struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// New returns a regular expression, which must be valid.
func New(text string) *Regexp { return &Regexp{text: text} }

// Get returns the compiled expression.
func (r *Regexp) Get() *regexp.Regexp {
	r.once.Do(func() { r.compiled = regexp.MustCompile(r.text) })
	return r.compiled
}

// String returns the text of the expression.
func (r *Regexp) String() string { return r.text }

// MatchString reports whether s contains a match.
func (r *Regexp) MatchString(s string) bool { return r.Get().MatchString(s) }

// Match reports whether b contains a match.
func (r *Regexp) Match(b []byte) bool { return r.Get().Match(b) }

// FindString returns the first match in s, "" without one.
func (r *Regexp) FindString(s string) string { return r.Get().FindString(s) }

// FindStringIndex returns the bounds of the first match in s, nil without one.
func (r *Regexp) FindStringIndex(s string) []int { return r.Get().FindStringIndex(s) }

// FindStringSubmatch returns the first match in s and its groups, nil without one.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.Get().FindStringSubmatch(s) }

// FindStringSubmatchIndex returns the bounds of the first match in s and of its groups, nil without one.
func (r *Regexp) FindStringSubmatchIndex(s string) []int { return r.Get().FindStringSubmatchIndex(s) }

// FindAllString returns the first n matches in s, all for -1.
func (r *Regexp) FindAllString(s string, n int) []string { return r.Get().FindAllString(s, n) }

// FindAllStringIndex returns the bounds of the first n matches in s, all for -1.
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int { return r.Get().FindAllStringIndex(s, n) }

// FindAllIndex returns the bounds of the first n matches in b, all for -1.
func (r *Regexp) FindAllIndex(b []byte, n int) [][]int { return r.Get().FindAllIndex(b, n) }

// FindAllStringSubmatch returns the first n matches in s with their groups, all for -1.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.Get().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex returns the bounds of the first n matches in s and of their groups, all for -1.
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.Get().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString replaces each match in s by a template.
func (r *Regexp) ReplaceAllString(s, template string) string {
	return r.Get().ReplaceAllString(s, template)
}

// ReplaceAllStringFunc replaces each match in s by the text that replace returns.
func (r *Regexp) ReplaceAllStringFunc(s string, replace func(string) string) string {
	return r.Get().ReplaceAllStringFunc(s, replace)
}
