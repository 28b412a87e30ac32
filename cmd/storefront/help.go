package main

import (
	"embed"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
	predict "github.com/posener/complete"
	"github.com/willabides/kongplete"

	"go.storefront.example/server/transfer"
)

// helpFiles has the texts that --help shows before a command's flags. The file order.txt has the texts of order and of its
// commands, each below a line with the command's path: # order pay.
//
//go:embed help
var helpFiles embed.FS

// addHelp gives each command its text of helpFiles. It fails if a text belongs to no command.
func addHelp(application *kong.Node) error {
	for _, command := range application.Children {
		file, err := helpFiles.ReadFile("help/" + command.Name + ".txt")
		if err != nil {
			return err
		}
		texts := map[string]string{}
		for section := range strings.SplitSeq(strings.TrimPrefix(string(file), "# "), "\n# ") {
			path, text, _ := strings.Cut(section, "\n")
			texts[path] = strings.TrimSpace(text)
		}
		giveHelp(command, texts)
		for path := range texts {
			return fmt.Errorf("help/%s.txt: there is no command %s", command.Name, path)
		}
	}
	return nil
}

// giveHelp gives a command and those below it their texts, and removes these from the map.
func giveHelp(command *kong.Node, texts map[string]string) {
	command.Detail = texts[command.Path()]
	delete(texts, command.Path())
	for _, child := range command.Children {
		giveHelp(child, texts)
	}
}

// helpCmd makes the command help appear in --help and in completion. It never runs, because normalizeArgs replaces help by
// --help.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command, such as order pay."`
}

// describe returns the help of a flag or an argument, with its default and its possible values. For a secret it names a safer
// place than the command line, which every user of the machine can read.
func describe(v *kong.Value) string {
	text := v.Help
	if name := variable(v.Name); v.Tag.Has(secretTag) {
		text += " Better set as " + name + ", or in a file that " + name + fileSuffix + " names."
	}
	if missing := unnamed(v, text); len(missing) > 0 {
		text += " One of " + strings.Join(missing, ", ") + "."
	}
	values := ""
	if v.Target.Type() == reflect.TypeFor[onOff]() {
		values = "on or off; " // because the help shows no placeholder for a bool
	}
	if v.HasDefault && v.Default != "" && (values != "" || !v.IsBool()) && !strings.Contains(text, "default: ") {
		text = strings.TrimSuffix(text, ".") + " (" + values + "default: " + v.Default + ")."
	}
	return text
}

// unnamed returns the values of an enum, unless the text names them all.
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

// childNamed returns the command with a name below another, or nil.
func childNamed(n *kong.Node, name string) *kong.Node {
	for _, child := range n.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// completionScripts make a shell run the binary with the line up to the cursor in COMP_LINE. If the binary prints no words,
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
func (c *completionCmd) Run(s *invocation) error {
	if s.json {
		return s.value(map[string]string{"shell": c.Shell, "script": completionScripts[c.Shell]})
	}
	_, err := io.WriteString(s.out, completionScripts[c.Shell])
	return err
}

// complete prints the possible words at the cursor, if a shell asks for them.
func complete(parser *kong.Kong, env func(string) (string, bool)) (asked bool) {
	if line, _ := env("COMP_LINE"); line == "" {
		return false
	}
	var kinds []string
	for _, kind := range transfer.Kinds {
		kinds = append(kinds, string(kind))
	}
	kongplete.Complete(parser, kongplete.WithExitFunc(func(int) {}), kongplete.WithPredictor("kind", predict.PredictSet(kinds...)))
	return true
}
