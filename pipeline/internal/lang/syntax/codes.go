package syntax

import "github.com/servegate/pipeline/pipeline/internal/lang/diag"

// Codes of the problems that this package finds.
const (
	CodeRead    diag.Code = "P1001" // a file or directory cannot be read
	CodeNone    diag.Code = "P1002" // no pipeline file where one is expected
	CodeSize    diag.Code = "P1003" // a file is too large, or there are too many
	CodeText    diag.Code = "P1004" // not UTF-8, or a NUL byte
	CodeNesting diag.Code = "P1005" // nested too deeply for the parser
	CodeSyntax  diag.Code = "P1006" // not HCL
)
