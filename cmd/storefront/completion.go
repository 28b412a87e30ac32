package main

import (
	"io"

	"github.com/alecthomas/kong"
	"github.com/willabides/kongplete"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// completionScripts make a shell run the binary with the line up to the cursor in COMP_LINE. Where it prints no words,
// bash and zsh complete file names.
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

// Run prints the script.
func (c *completionCmd) Run(s *session) error {
	if s.json {
		return s.value(map[string]string{"shell": c.Shell, "script": completionScripts[c.Shell]})
	}
	_, err := io.WriteString(s.out, completionScripts[c.Shell])
	return err
}

// complete prints the words that are possible at the cursor, if a shell asks for them.
func complete(parser *kong.Kong, env func(string) (string, bool)) (asked bool) {
	if line, _ := env("COMP_LINE"); line == "" {
		return false
	}
	kongplete.Complete(parser, kongplete.WithExitFunc(func(int) {}))
	return true
}
