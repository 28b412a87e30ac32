package main

import "strings"

// goName returns the name of a field of the Go client: CoverURL for coverUrl.
func goName(name string) string { return strings.ReplaceAll(title(name), "Url", "URL") }

// title returns the name of a field of a Go message: CoverUrl for coverUrl.
func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// goType returns the type of a field's value in the Go client.
func goType(f *field) string {
	switch f.Kind {
	case "enum":
		return f.Type
	case "time":
		return "time.Time"
	case "integer":
		return f.Format
	case "number":
		return "float64"
	}
	return f.Kind
}
