// Package secret holds the table of names that mean a secret, and decides by name, origin and shape
// which values are secret.
//
// The redactor masks the results of [FromEnviron] and [Values], the spawner withholds variables
// that [Mentions] reports, and the self-descriptions of servers are stored without values whose
// names [Name] reports.
//
// A name alone is not enough to mask a value everywhere: MAX_TOKENS=4096 or AUTH_METHOD=none would
// mask ordinary text. So a value that is plainly not a secret stays: a boolean, a small number, a
// version, a path, the name of a model.
package secret
