package event

import "reflect"

// Value masks the secrets in every text of what v points to: fields, elements, keys and
// values of maps. It is for documents that are rendered afterwards, in forms that this
// package does not know. Texts of a type of their own (enumerations) stay.
func (r *Redactor) Value(v any) {
	if r == nil {
		return
	}
	r.value(reflect.ValueOf(v))
}

func (r *Redactor) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			r.value(v.Elem())
		}
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(r.String(v.String()))
		}
	case reflect.Slice:
		for i := range v.Len() {
			r.value(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				r.value(v.Field(i))
			}
		}
	case reflect.Map:
		r.entries(v)
	case reflect.Interface:
		if text, ok := reflect.TypeAssert[string](v); ok && v.CanSet() {
			v.Set(reflect.ValueOf(r.String(text)))
		}
	}
}

// entries masks a map: its entries cannot be changed in place.
func (r *Redactor) entries(m reflect.Value) {
	for _, key := range m.MapKeys() {
		k, value := reflect.New(key.Type()).Elem(), reflect.New(m.Type().Elem()).Elem()
		k.Set(key)
		value.Set(m.MapIndex(key))
		r.value(k)
		r.value(value)
		m.SetMapIndex(key, reflect.Value{})
		m.SetMapIndex(k, value)
	}
}
