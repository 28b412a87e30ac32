package main

import "strings"

// phpType makes an enum a string, so that it can have newer values.
func phpType(f *field) string {
	nullable := ""
	if f.Nullable {
		nullable = "?"
	}
	switch f.Kind {
	case "string", "enum":
		return nullable + "string"
	case "integer":
		return nullable + "int"
	case "number":
		return nullable + "float"
	case "time":
		return nullable + `\DateTimeImmutable`
	case "list", "map":
		return nullable + "array"
	}
	return nullable + f.Type
}

// phpRead calls a method of the class Json.
func phpRead(f *field) string {
	method := f.Kind
	if f.Kind == "enum" {
		method = "string"
	}
	if f.Nullable {
		method += "OrNull"
	}
	if f.Kind == "model" || f.Kind == "list" {
		return method + "('" + f.Name + "', " + f.Type + "::fromArray(...))"
	}
	return method + "('" + f.Name + "')"
}

// phpJSON returns an expression that json_encode converts to the API's JSON.
func phpJSON(f *field) string {
	property := "$this->" + f.Name
	switch {
	case f.Kind == "time" && f.Nullable:
		return property + " === null ? null : Json::moment(" + property + ")"
	case f.Kind == "time":
		return "Json::moment(" + property + ")"
	case f.Kind == "map":
		return "(object) " + property // so that an empty map becomes {} and not []
	}
	return property
}

// phpDoc returns an argument's type for @param, with the values of an enum.
func phpDoc(o *operation, f *field) string {
	types, _ := phpArgumentTypes(o, f)
	if f.Kind == "enum" {
		types[0] = `\Storefront\` + f.Type + "::*"
	}
	return strings.Join(types, "|")
}

func phpPath(o *operation) string {
	before, after, found := strings.Cut(o.Path, "{id}")
	switch {
	case !found:
		return "'" + before + "'"
	case after == "":
		return "'" + before + "' . Connection::segment($id)"
	}
	return "'" + before + "' . Connection::segment($id) . '" + after + "'"
}

func phpArgument(o *operation, f *field) string {
	types, defaultValue := phpArgumentTypes(o, f)
	declared := strings.Join(types, "|")
	if len(types) == 2 && types[1] == "null" {
		declared = "?" + types[0]
	}
	return declared + " $" + f.Name + defaultValue
}

func phpArgumentTypes(o *operation, f *field) (types []string, defaultValue string) {
	types = []string{strings.TrimPrefix(phpType(f), "?")}
	if f.Kind == "time" {
		types = []string{"string", `\DateTimeInterface`}
	}
	if f.Nullable || !f.Required && !o.Change() {
		types = append(types, "null")
	}
	switch {
	case o.Change():
		return append(types, "Omitted"), " = Omitted::Field"
	case !f.Required:
		return types, " = null"
	}
	return types, ""
}
