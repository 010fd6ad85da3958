// Package secret holds the one table of names that mean a secret, and judges by name,
// origin and shape which values are one.
//
// The redactor masks what [FromEnviron] and [Value] return, the spawner withholds the
// variables that [Mentions] reports, and what servers say of themselves is stored without
// the values whose names [Name] reports.
//
// A name alone is not enough to mask a value everywhere: MAX_TOKENS=4096 or
// AUTH_METHOD=none would blank out ordinary text. So a value is left alone if it is plainly
// no secret: a switch, a small number, a version, a path, the name of a model.
package secret
