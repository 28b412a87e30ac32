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

// helpFiles has the texts that --help shows before a command's flags. For example, order.txt has the texts for order and its
// subcommands; the text for order pay is below the line "# order pay".
//
//go:embed help
var helpFiles embed.FS

// addHelp gives each command its text from helpFiles. It fails if a text belongs to no command.
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
		setHelp(command, texts)
		for path := range texts {
			return fmt.Errorf("help/%s.txt: there is no command %s", command.Name, path)
		}
	}
	return nil
}

// setHelp gives a command and its subcommands their texts from the map, and removes these texts from it.
func setHelp(command *kong.Node, texts map[string]string) {
	command.Detail = texts[command.Path()]
	delete(texts, command.Path())
	for _, child := range command.Children {
		setHelp(child, texts)
	}
}

// helpCmd is there only so that --help and completions show the command help. It never runs, because normalizeArgs replaces
// help by --help.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command, such as order pay."`
}

// describe returns the help of a flag or an argument, with its default and its possible values. For a secret it also names
// the variable and the file that are safer than the command line, which every user of the machine can read.
func describe(v *kong.Value) string {
	text := v.Help
	if name := variable(v.Name); v.Tag.Has(secretTag) {
		text += " Better set as " + name + ", or in a file that " + name + fileSuffix + " names."
	}
	if missing := unlistedValues(v, text); len(missing) > 0 {
		text += " One of " + strings.Join(missing, ", ") + "."
	}
	values := ""
	if v.Target.Type() == reflect.TypeFor[onOff]() {
		values = "on or off; " // the possible values, because the help shows no placeholder for a bool
	}
	if v.HasDefault && v.Default != "" && (values != "" || !v.IsBool()) && !strings.Contains(text, "default: ") {
		text = strings.TrimSuffix(text, ".") + " (" + values + "default: " + v.Default + ")."
	}
	return text
}

// unlistedValues returns the values of a flag with an enum, if text, the flag's help, does not name all of them. Otherwise it
// returns nil.
func unlistedValues(v *kong.Value, text string) []string {
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

// childNamed returns the direct subcommand of n with a name, or nil.
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

// completionScripts make a shell run this program whenever the user asks for a completion. The environment variable
// COMP_LINE then has the line up to the cursor. If the program prints no words, bash and zsh complete file names.
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
		return s.printValue(map[string]string{"shell": c.Shell, "script": completionScripts[c.Shell]})
	}
	_, err := io.WriteString(s.out, completionScripts[c.Shell])
	return err
}

// complete prints the words that can stand at the cursor, if a shell asks for them with COMP_LINE. It reports whether a
// shell asked.
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
