package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// completeCommand is what the completion scripts call, with the words of the line up to the
// cursor. It stands outside the grammar because words are still to become a command line.
const completeCommand = "__complete"

// scripts ask the binary for the words possible at the cursor. Without any, the shell completes
// file names.
var scripts = map[string]string{
	"bash": `_storefront() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" ` + completeCommand + ` "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _storefront storefront
`,
	"zsh": `#compdef storefront
_storefront() {
  local -a candidates
  candidates=(${(f)"$("${words[1]}" ` + completeCommand + ` "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( ${#candidates} )); then compadd -- "${candidates[@]}"; else _files; fi
}
compdef _storefront storefront
`,
	"fish": `function __storefront_complete
  set -l words (commandline -opc)
  set -l token (commandline -ct)
  storefront ` + completeCommand + ` $words[2..-1] "$token" 2>/dev/null
end
complete -c storefront -a '(__storefront_complete)'
`,
}

// Run prints the script.
func (c *completionCmd) Run(s *session) error {
	if s.json {
		return s.value(map[string]string{"shell": c.Shell, "script": scripts[c.Shell]})
	}
	_, err := io.WriteString(s.out, scripts[c.Shell])
	return err
}

// complete prints what may stand in place of the last of the words, one a line: commands, flags,
// or the values of the flag or argument that it belongs to.
func complete(w io.Writer, root *kong.Node, words []string) error {
	node, last := root, ""
	var pending *kong.Flag // the flag whose value comes next
	if len(words) > 0 {
		last = words[len(words)-1]
		for _, word := range words[:len(words)-1] {
			switch {
			case pending != nil:
				pending = nil
			case strings.HasPrefix(word, "-"):
				if f := flagNamed(node, word); f != nil && !f.IsBool() && !strings.Contains(word, "=") {
					pending = f
				}
			default:
				if child := childNamed(node, word); child != nil {
					node = child
				}
			}
		}
	}
	for _, candidate := range candidates(node, pending, last) {
		if strings.HasPrefix(candidate, last) {
			if _, err := fmt.Fprintln(w, candidate); err != nil {
				return err
			}
		}
	}
	return nil
}

func candidates(node *kong.Node, pending *kong.Flag, last string) []string {
	var found []string
	switch {
	case pending != nil:
		return valuesOf(pending.Value)
	case strings.HasPrefix(last, "-"):
		for _, group := range node.AllFlags(true) {
			for _, f := range group {
				found = append(found, "--"+f.Name)
			}
		}
	default:
		for _, child := range node.Children {
			found = append(found, child.Name)
		}
		for _, argument := range node.Positional {
			found = append(found, valuesOf(argument)...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func valuesOf(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}

func flagNamed(node *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			if f.Name == name || (f.Short != 0 && string(f.Short) == name) {
				return f
			}
		}
	}
	return nil
}

func childNamed(node *kong.Node, word string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == word {
			return child
		}
	}
	return nil
}
