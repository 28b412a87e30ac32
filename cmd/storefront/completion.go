package main

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"go.storefront.example/ent/hook"
	"go.storefront.example/server/transfer"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// completionScripts make a shell run this program with the line up to the cursor in COMP_LINE. If it prints no words, bash and
// zsh complete file names.
var completionScripts = map[string]string{
	"bash": `complete -o default -C storefront storefront
`,
	"zsh": `autoload -U +X bashcompinit && bashcompinit
complete -o default -C storefront storefront
`,
	"fish": `function __storefront_complete
  set -lx COMP_LINE (commandline -cp)
  test -z (commandline -ct); and set COMP_LINE "$COMP_LINE "
  storefront
end
complete -c storefront -a '(__storefront_complete)'
`,
}

func (c *completionCmd) Run(s *invocation) error {
	if s.json {
		return s.printValue(map[string]string{"shell": c.Shell, "script": completionScripts[c.Shell]})
	}
	_, err := io.WriteString(s.out, completionScripts[c.Shell])
	return err
}

// complete prints the words for the cursor, and reports whether a shell asked for them with COMP_LINE.
func complete(application *kong.Node, env func(string) (string, bool), out io.Writer) (asked bool) {
	line, _ := env("COMP_LINE")
	if line == "" {
		return false
	}
	words := strings.Fields(line)
	last := ""
	if !strings.HasSuffix(line, " ") {
		last, words = words[len(words)-1], words[:len(words)-1]
	}
	if _, bash := env("COMP_TYPE"); bash && strings.HasPrefix(last, "-") {
		// Bash ends a word at "=", so that it replaces only the value.
		if name, value, found := strings.Cut(last, "="); found {
			words, last = append(words, name), value
		}
	}
	for _, word := range completions(application, words[min(1, len(words)):], last) {
		_, _ = fmt.Fprintln(out, word)
	}
	return true
}

func completions(application *kong.Node, words []string, last string) []string {
	command, arguments := application, 0
	var flag *kong.Flag
	for _, word := range words {
		name, _, hasValue := strings.Cut(word, "=")
		switch child := childNamed(command, word); {
		case flag != nil:
			flag = nil
		case strings.HasPrefix(word, "-"):
			if flag = flagNamed(command, name); flag != nil && (hasValue || flag.IsBool() || flag.IsCounter()) {
				flag = nil
			}
		case child != nil && command == application && word == "help":
		case child != nil:
			command = child
		default:
			arguments++
		}
	}
	name, value, hasValue := strings.Cut(last, "=")
	switch {
	case flag != nil:
		return valuesOf(flag.Value, "", last)
	case strings.HasPrefix(last, "-") && hasValue:
		if flag = flagNamed(command, name); flag == nil {
			return nil
		}
		return valuesOf(flag.Value, name+"=", value)
	case strings.HasPrefix(last, "-"):
		return flagNames(command, last)
	case !command.Leaf() && arguments == 0:
		var names []string
		for _, child := range command.Children {
			if !child.Hidden && strings.HasPrefix(child.Name, last) {
				names = append(names, child.Name)
			}
		}
		return names
	case !command.Leaf() || len(command.Positional) == 0:
		return nil
	}
	return valuesOf(command.Positional[min(arguments, len(command.Positional)-1)], "", last)
}

// flagNamed finds --name, --no-name or -n at the command or above it; or returns nil.
func flagNamed(command *kong.Node, written string) *kong.Flag {
	for _, group := range command.AllFlags(false) {
		for _, flag := range group {
			if written == "--"+flag.Name || written == "--no-"+flag.Name && flag.Tag.Negatable != "" || written == "-"+string(flag.Short) {
				return flag
			}
		}
	}
	return nil
}

func flagNames(command *kong.Node, beginning string) []string {
	var names []string
	for _, group := range command.AllFlags(true) {
		for _, flag := range group {
			names = append(names, "--"+flag.Name)
			if flag.Tag.Negatable != "" {
				names = append(names, "--no-"+flag.Name)
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, beginning) })
}

// valuesOf returns the values that begin with a text, after a prefix. In a list it completes the part after the last comma.
func valuesOf(v *kong.Value, prefix, beginning string) []string {
	var values []string
	switch {
	case v.Enum != "":
		values = v.EnumSlice()
	case v.Tag.Get("complete") == "kinds":
		for _, kind := range transfer.Kinds {
			values = append(values, string(kind))
		}
	case v.Tag.Get("complete") == "events":
		values = hook.EventTypes()
	case v.Target.Type() == reflect.TypeFor[onOff]():
		values = []string{"on", "off"}
	}
	if i := strings.LastIndexByte(beginning, ','); i >= 0 && v.IsSlice() {
		prefix, beginning = prefix+beginning[:i+1], beginning[i+1:]
	}
	var found []string
	for _, value := range values {
		if value != "" && strings.HasPrefix(value, beginning) {
			found = append(found, prefix+value)
		}
	}
	return found
}
