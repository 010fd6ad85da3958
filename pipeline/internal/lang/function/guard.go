package function

import (
	"errors"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/lang/meter"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// errSensitive replaces the text of an error that may quote a marked argument.
var errSensitive = errors.New("an argument is not valid; what is wrong is not shown, because an argument is sensitive")

// errPanic replaces cty's error for a panic inside a function, which contains a stack trace.
// stdlib's log(0, 0) and pow(-1, 0.5) panic, because cty has no NaN.
var errPanic = errors.New("the function has no value for these arguments")

// guard wraps f so that errors on marked arguments do not quote them, and so that m and check, if
// there is one, run before f. f handles the marks itself: some functions keep them on single
// elements.
func guard(f function.Function, check checker, m *meter.Meter) function.Function {
	spec := &function.Spec{
		Description: f.Description(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := admit(f, check, m, args); err != nil {
				return cty.NilType, redact(err, args)
			}
			args, err := converted(f, args)
			if err != nil {
				return cty.NilType, redact(err, args)
			}
			ty, err := f.ReturnTypeForValues(args)
			return ty, redact(err, args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			args, err := converted(f, args)
			if err != nil {
				return cty.NilVal, redact(err, args)
			}
			v, err := f.Call(args)
			return v, redact(err, args)
		},
	}
	for _, p := range f.Params() {
		spec.Params = append(spec.Params, passThrough(p))
	}
	if p := f.VarParam(); p != nil {
		through := passThrough(*p)
		spec.VarParam = &through
	}
	return function.New(spec)
}

// passThrough passes all values to the wrapped function, which has its own rules. It does not
// convert arguments, because some conversions take longer than the call, and admit must check them
// first.
func passThrough(p function.Parameter) function.Parameter {
	p.Type = cty.DynamicPseudoType
	p.AllowNull = true
	p.AllowUnknown = true
	p.AllowDynamicType = true
	p.AllowMarked = true
	return p
}

// converted converts the arguments to the types of the parameters.
func converted(f function.Function, args []cty.Value) ([]cty.Value, error) {
	out := make([]cty.Value, len(args))
	for i, arg := range args {
		v, err := convert.Convert(arg, parameterType(f, i))
		if err != nil {
			return args, function.NewArgError(i, err)
		}
		out[i] = v
	}
	return out, nil
}

// redact returns an error that only names the argument if its text could quote a marked one.
func redact(err error, args []cty.Value) error {
	if _, ok := errors.AsType[function.PanicError](err); ok {
		return errPanic
	}
	if err == nil || !slices.ContainsFunc(args, cty.Value.ContainsMarked) {
		return err
	}
	if argErr, ok := errors.AsType[function.ArgError](err); ok {
		return function.NewArgError(argErr.Index, errSensitive)
	}
	return errSensitive
}
