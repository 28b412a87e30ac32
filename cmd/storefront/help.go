package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// describe is the help of a flag or an argument, with its default and the values that it can have.
func describe(v *kong.Value) string {
	text := v.Help
	if missing := unnamed(v, text); len(missing) > 0 {
		text += " One of " + strings.Join(missing, ", ") + "."
	}
	if v.HasDefault && v.Default != "" && !v.IsBool() && !strings.Contains(text, "default: ") {
		text = strings.TrimSuffix(text, ".") + " (default: " + v.Default + ")."
	}
	return text
}

// unnamed lists the values of an enum unless the text names them all.
func unnamed(v *kong.Value, text string) []string {
	if v.Enum == "" {
		return nil
	}
	for _, value := range v.EnumSlice() {
		if !strings.Contains(text, value) {
			return v.EnumSlice()
		}
	}
	return nil
}
