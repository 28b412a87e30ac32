package main

import (
	"regexp"
	"slices"
	"strings"
)

// EventData returns the models of events' data, without repetitions.
func (a *api) EventData() []string {
	var names []string
	for _, e := range a.Events {
		if !slices.Contains(names, e.Data) {
			names = append(names, e.Data)
		}
	}
	slices.Sort(names)
	return names
}

var capital = regexp.MustCompile("[A-Z]")

// snake returns compare_at_amount for compareAtAmount.
func snake(name string) string {
	return capital.ReplaceAllStringFunc(name, func(c string) string { return "_" + strings.ToLower(c) })
}

// pythonName returns from_ for "from", which is a keyword.
func pythonName(name string) string {
	if name == "from" {
		return "from_"
	}
	return snake(name)
}

func pythonType(f *field) string {
	kind := map[string]string{
		"string": "str", "enum": f.Type + "Literal", "integer": "int", "number": "float", "time": "datetime", "model": f.Type, "list": "tuple[" + f.Type + ", ...]",
		"map": "dict[str, str]",
	}[f.Kind]
	if f.Nullable {
		return kind + " | None"
	}
	return kind
}

// pythonRead calls a method of the class Json.
func pythonRead(f *field) string {
	method := f.Kind
	if f.Nullable {
		method += "_or_none"
	}
	switch f.Kind {
	case "model", "list":
		return method + `("` + f.Name + `", ` + f.Type + ".from_dict)"
	case "enum":
		return method + `("` + f.Name + `", ` + f.Type + ")"
	}
	return method + `("` + f.Name + `")`
}

// pythonJSON converts a property to the API's JSON.
func pythonJSON(f *field) string {
	property := "self." + snake(f.Name)
	written := map[string]string{
		"enum": "str(" + property + ")", "time": "moment(" + property + ")", "model": property + ".to_dict()",
		"list": "[one.to_dict() for one in " + property + "]", "map": "dict(" + property + ")",
	}[f.Kind]
	switch {
	case written == "":
		return property
	case f.Nullable:
		return "None if " + property + " is None else " + written
	}
	return written
}

func pythonArgument(o *operation, f *field) string {
	kinds := []string{strings.TrimSuffix(pythonType(f), " | None")}
	switch f.Kind {
	case "time":
		kinds = append(kinds, "str")
	case "enum":
		kinds = []string{"models." + f.Type, "models." + f.Type + "Literal"}
	}
	if f.Nullable || !f.Required && !o.Change() {
		kinds = append(kinds, "None")
	}
	defaultValue := ""
	switch {
	case o.Change():
		kinds = append(kinds, "Omitted")
		defaultValue = " = OMITTED"
	case !f.Required:
		defaultValue = " = None"
	}
	return pythonName(f.Name) + ": " + strings.Join(kinds, " | ") + defaultValue
}

func pythonPath(o *operation) string {
	if !o.HasID {
		return `"` + o.Path + `"`
	}
	return `f"` + strings.Replace(o.Path, "{id}", "{segment(id)}", 1) + `"`
}

// pythonAsync turns the operations into those for asyncio, which differ only in these words.
var pythonAsync = strings.NewReplacer(
	`operations of the API."""`, `operations of the API, for asyncio."""`,
	"    def __init__", "    def __init__",
	"    def ", "    async def ",
	"Call, Connection, ", "AsyncConnection, Call, ",
	": Connection", ": AsyncConnection",
	"Iterator", "AsyncIterator",
	"yield from answer.data", "for one in answer.data:\n                yield one",
	"= self.page(", "= await self.page(",
	"return self._connection", "return await self._connection",
)
