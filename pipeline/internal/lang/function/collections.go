package function

import (
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func collectionEntries() []entry {
	return []entry{
		{name: "chunklist", f: stdlib.ChunklistFunc, doc: "Splits a list into lists of a fixed size; the last may be shorter.",
			args: []string{"The list.", "The most elements of one chunk; 0 for one chunk."}},
		{name: "coalesce", f: coalesce, doc: "The first argument that is neither null nor an empty string.",
			args: []string{"Values of one type."}},
		{name: "coalescelist", f: stdlib.CoalesceListFunc, doc: "The first list that is not empty.", args: []string{"Lists."}},
		{name: "compact", f: stdlib.CompactFunc, doc: "A list of strings without those that are empty or null.",
			args: []string{"A list of strings."}},
		{name: "concat", f: stdlib.ConcatFunc, doc: "One list of the elements of several.", args: []string{"Lists."}},
		{name: "contains", f: stdlib.ContainsFunc, check: checkSearch, doc: "True if a list or set holds a value.",
			args: []string{"The list or set.", "The value."}},
		{name: "distinct", f: stdlib.DistinctFunc, check: checkDistinct, doc: "A list without duplicates; the first of each stays.",
			args: []string{"The list."}},
		{name: "element", f: stdlib.ElementFunc, doc: "The element at a place, which wraps around at the end.",
			args: []string{"The list, not empty.", "The place, from 0; negative from the end."}},
		{name: "flatten", f: stdlib.FlattenFunc, doc: "A list with its inner lists replaced by their elements.",
			args: []string{"The list of lists."}},
		{name: "index", f: index, check: checkSearch, doc: "The place of a value in a list, from 0; an error if it is not there.",
			args: []string{"The list.", "The value."}},
		{name: "keys", f: stdlib.KeysFunc, doc: "The keys of a map, sorted.", args: []string{"A map or object."}},
		{name: "length", f: length, doc: "The number of elements of a collection, or of characters of a string.",
			args: []string{"A list, set, map, object or string."}},
		{name: "lookup", f: lookup, doc: "The element of a map with a key, or a default.",
			args: []string{"The map.", "The key.", "What to give if the key is not there; without it that is an error."}},
		{name: "merge", f: stdlib.MergeFunc, doc: "One map of several; the last one wins where keys are equal.",
			args: []string{"Maps or objects."}},
		{name: "one", f: one, doc: "The only element of a list, or null if it is empty; an error if there are more.",
			args: []string{"A list or set."}},
		{name: "range", f: stdlib.RangeFunc,
			doc:  "A list of numbers: range(limit), range(start, limit) or range(start, limit, step). The limit is left out; at most 1,024 numbers.",
			args: []string{"One to three numbers."}},
		{name: "reverse", f: stdlib.ReverseListFunc, doc: "A list from its end to its start.", args: []string{"The list."}},
		{name: "setintersection", f: stdlib.SetIntersectionFunc, doc: "The elements that all sets hold.",
			args: []string{"The first set.", "Further sets."}},
		{name: "setsubtract", f: stdlib.SetSubtractFunc, doc: "The elements of a set that another does not hold.",
			args: []string{"The set.", "What is taken out."}},
		{name: "setunion", f: stdlib.SetUnionFunc, doc: "The elements that any set holds.", args: []string{"The first set.", "Further sets."}},
		{name: "setproduct", f: stdlib.SetProductFunc, check: checkProduct, doc: "All combinations of one element of each collection.",
			args: []string{"Lists or sets, at least two."}},
		{name: "slice", f: stdlib.SliceFunc, doc: "A part of a list.", args: []string{"The list.", "The first place, from 0.",
			"The place behind the last."}},
		{name: "sort", f: stdlib.SortFunc, doc: "A list of strings in order of their code points.", args: []string{"A list of strings."}},
		{name: "values", f: stdlib.ValuesFunc, doc: "The values of a map, in order of its keys.", args: []string{"A map or object."}},
		{name: "zipmap", f: stdlib.ZipmapFunc, doc: "A map of keys and the values at the same places.", args: []string{"A list of keys.",
			"A list of as many values."}},
	}
}

var allTrue = pure(cty.Bool, func(args []cty.Value) (cty.Value, error) {
	return fold(args[0], cty.True, cty.Value.And), nil
}, param("list", cty.List(cty.Bool)))

var anyTrue = pure(cty.Bool, func(args []cty.Value) (cty.Value, error) {
	return fold(args[0], cty.False, cty.Value.Or), nil
}, param("list", cty.List(cty.Bool)))

// fold joins bools; null counts as false, and an unknown value only counts if it matters.
func fold(list, start cty.Value, join func(a, b cty.Value) cty.Value) cty.Value {
	result := start
	for it := list.ElementIterator(); it.Next(); {
		_, v := it.Element()
		if v.IsNull() {
			v = cty.False
		}
		result = join(result, v)
	}
	return result
}

var coalesce = function.New(&function.Spec{
	VarParam: &function.Parameter{
		Name: "values", Type: cty.DynamicPseudoType,
		AllowNull: true, AllowUnknown: true, AllowDynamicType: true,
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		types := make([]cty.Type, len(args))
		for i, arg := range args {
			types[i] = arg.Type()
		}
		ty, _ := convert.UnifyUnsafe(types)
		if ty == cty.NilType {
			return cty.NilType, errors.New("all arguments must have one type")
		}
		return ty, nil
	},
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		for _, arg := range args {
			v, err := convert.Convert(arg, ty)
			switch {
			case err != nil:
				return cty.NilVal, err
			case v.IsNull():
				continue
			case !v.IsKnown():
				return cty.UnknownVal(ty), nil
			case v.Type() == cty.String && v.AsString() == "":
				continue
			}
			return v, nil
		}
		return cty.NilVal, errors.New("all arguments are null or empty strings")
	},
})

var index = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "list", Type: cty.DynamicPseudoType, AllowDynamicType: true},
		{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true},
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		if ty := args[0].Type(); ty != cty.DynamicPseudoType && !ty.IsListType() && !ty.IsTupleType() {
			return cty.NilType, function.NewArgErrorf(0, "a list is needed, not %s", ty.FriendlyName())
		}
		return cty.Number, nil
	},
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		n := int64(0)
		for it := args[0].ElementIterator(); it.Next(); n++ {
			_, v := it.Element()
			equal, err := stdlib.Equal(v, args[1])
			if err != nil {
				return cty.NilVal, err
			}
			if !equal.IsKnown() {
				return cty.UnknownVal(cty.Number), nil
			}
			if equal.True() {
				return cty.NumberIntVal(n), nil
			}
		}
		return cty.NilVal, function.NewArgErrorf(1, "the list does not hold this value")
	},
})

var length = function.New(&function.Spec{
	Params: []function.Parameter{{
		Name: "value", Type: cty.DynamicPseudoType,
		AllowUnknown: true, AllowDynamicType: true, AllowMarked: true,
	}},
	Type: func(args []cty.Value) (cty.Type, error) {
		switch ty := args[0].Type(); {
		case ty == cty.String, ty == cty.DynamicPseudoType, ty.IsCollectionType(), ty.IsTupleType(), ty.IsObjectType():
			return cty.Number, nil
		default:
			return cty.NilType, function.NewArgErrorf(0, "a collection or a string has a length, not %s", ty.FriendlyName())
		}
	},
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v, marks := args[0].Unmark()
		switch ty := v.Type(); {
		case ty == cty.DynamicPseudoType:
			return cty.UnknownVal(cty.Number).WithMarks(marks), nil
		case ty == cty.String:
			return stdlib.Strlen(args[0])
		case ty.IsObjectType():
			return cty.NumberIntVal(int64(len(ty.AttributeTypes()))).WithMarks(marks), nil
		}
		return args[0].Length(), nil
	},
})

// lookup is stdlib's with the default made optional, as in Terraform.
var lookup = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "map", Type: cty.DynamicPseudoType, AllowMarked: true},
		{Name: "key", Type: cty.String, AllowMarked: true},
	},
	VarParam: &function.Parameter{
		Name: "default", Type: cty.DynamicPseudoType,
		AllowNull: true, AllowUnknown: true, AllowDynamicType: true, AllowMarked: true,
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		if len(args) > 3 {
			return cty.NilType, fmt.Errorf("lookup takes a map, a key and at most one default, not %d arguments", len(args))
		}
		coll, _ := args[0].Unmark()
		key, _ := args[1].Unmark()
		ty := coll.Type()
		switch {
		case ty.IsMapType():
			if len(args) == 3 {
				if _, err := convert.Convert(args[2], ty.ElementType()); err != nil {
					return cty.NilType, function.NewArgErrorf(2, "the default must have the type of the elements, %s", ty.ElementType().FriendlyName())
				}
			}
			return ty.ElementType(), nil
		case !ty.IsObjectType():
			return cty.NilType, function.NewArgErrorf(0, "a map is needed, not %s", ty.FriendlyName())
		case !key.IsKnown():
			return cty.DynamicPseudoType, nil
		case ty.HasAttribute(key.AsString()):
			return ty.AttributeType(key.AsString()), nil
		case len(args) == 3:
			return args[2].Type(), nil
		}
		return cty.NilType, function.NewArgErrorf(1, "key %q not found, and no default is given", key.AsString())
	},
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		coll, collMarks := args[0].Unmark()
		keyVal, keyMarks := args[1].Unmark()
		if !coll.IsKnown() {
			return cty.UnknownVal(ty).WithMarks(collMarks, keyMarks), nil
		}
		key := keyVal.AsString()
		switch {
		case coll.Type().IsObjectType() && coll.Type().HasAttribute(key):
			return coll.GetAttr(key).WithMarks(collMarks, keyMarks), nil
		case coll.Type().IsMapType() && coll.HasIndex(keyVal).True():
			return coll.Index(keyVal).WithMarks(collMarks, keyMarks), nil
		case len(args) < 3:
			return cty.NilVal, function.NewArgErrorf(1, "key %q not found, and no default is given", key)
		}
		v, err := convert.Convert(args[2], ty)
		if err != nil {
			return cty.NilVal, function.NewArgError(2, err)
		}
		return v.WithMarks(collMarks, keyMarks), nil
	},
})

var one = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type: func(args []cty.Value) (cty.Type, error) {
		ty := args[0].Type()
		switch {
		case ty.IsListType(), ty.IsSetType():
			return ty.ElementType(), nil
		case !ty.IsTupleType():
			return cty.NilType, function.NewArgErrorf(0, "a list or set is needed, not %s", ty.FriendlyName())
		case ty.Length() == 0:
			return cty.DynamicPseudoType, nil
		case ty.Length() == 1:
			return ty.TupleElementType(0), nil
		}
		return cty.NilType, function.NewArgErrorf(0, "there are %d elements, where none or one is wanted", ty.Length())
	},
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		n := args[0].Length()
		if !n.IsKnown() {
			return cty.UnknownVal(ty), nil
		}
		switch n := args[0].LengthInt(); n {
		case 0:
			return cty.NullVal(ty), nil
		case 1:
			it := args[0].ElementIterator()
			it.Next()
			_, v := it.Element()
			return v, nil
		default:
			return cty.NilVal, function.NewArgErrorf(0, "there are %d elements, where none or one is wanted", n)
		}
	},
})

var sum = pure(cty.Number, func(args []cty.Value) (cty.Value, error) {
	if args[0].LengthInt() == 0 {
		return cty.NilVal, function.NewArgErrorf(0, "an empty list has no sum")
	}
	total := cty.Zero
	for it := args[0].ElementIterator(); it.Next(); {
		_, v := it.Element()
		if v.IsNull() {
			return cty.NilVal, function.NewArgErrorf(0, "null cannot be added")
		}
		total = total.Add(v)
	}
	return total, nil
}, param("list", cty.List(cty.Number)))
