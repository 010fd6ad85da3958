package lang

import "github.com/servegate/pipeline/pipeline/internal/lang/diag"

// Codes of the problems that this package finds. Texts may be reworded, codes may not.
const (
	codeBlock     diag.Code = "P2001" // a block that does not exist, or not here
	codeArgument  diag.Code = "P2002" // an argument that does not exist, or not here
	codeMissing   diag.Code = "P2003" // an argument, block or label that is missing
	codeDuplicate diag.Code = "P2004" // a name or a block that is there twice
	codeKind      diag.Code = "P2005" // a kind (first label) that does not exist
	codeLabel     diag.Code = "P2006" // a label that cannot be a name, or one too many
	codeVersion   diag.Code = "P2007" // the file is for another version of the program
	codeMany      diag.Code = "P2008" // more problems than are shown

	codeReference  diag.Code = "P2101" // nothing has the name that is referred to
	codeScope      diag.Code = "P2102" // the name exists, but not here
	codeCycle      diag.Code = "P2103" // blocks refer to each other in a circle
	codeLate       diag.Code = "P2104" // the value exists only at run time
	codeExpression diag.Code = "P2105" // an expression that cannot be evaluated
	codeTooMuch    diag.Code = "P2106" // an expression that takes too much time or memory

	codeType      diag.Code = "P2201" // a value of the wrong type
	codeUnit      diag.Code = "P2202" // a quantity in the wrong unit
	codeValue     diag.Code = "P2203" // a value that is not allowed
	codeSensitive diag.Code = "P2204" // a secret where it would be seen
	codeCheck     diag.Code = "P2205" // found by the check of the block's kind

	codeVariableMissing diag.Code = "P2301" // a variable without a value
	codeVariableUnknown diag.Code = "P2302" // a value for a variable that does not exist
	codeVariableValue   diag.Code = "P2303" // a value that the variable cannot take
	codeValidation      diag.Code = "P2304" // a validation block says no

	codeMatrix diag.Code = "P2401" // an axis that cannot be expanded
	codeCells  diag.Code = "P2402" // too many cells, or none
	codeTarget diag.Code = "P2403" // a target that cannot be measured
	codeLoad   diag.Code = "P2404" // a workload that makes no sense

	codeGate     diag.Code = "P2501" // a gate that is incomplete or contradicts itself
	codeRefused  diag.Code = "P2502" // a gate that could not decide, or says nothing
	codeShares   diag.Code = "P2503" // shares of alpha that do not add up
	codeBaseline diag.Code = "P2504" // a baseline that does not fit the benchmark
)
