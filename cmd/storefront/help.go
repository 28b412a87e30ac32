package main

import (
	"embed"
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// helpFiles has the texts before a command's flags in --help: that for order pay is in order.txt, below "# order pay".
//
//go:embed help
var helpFiles embed.FS

// addHelp fails if a text belongs to no command.
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

// setHelp gives a command and its subcommands their texts, and removes these from the map.
func setHelp(command *kong.Node, texts map[string]string) {
	command.Detail = texts[command.Path()]
	delete(texts, command.Path())
	for _, child := range command.Children {
		setHelp(child, texts)
	}
}

// helpCmd is there for --help and completions. It never runs, because normalizeArgs replaces help by --help.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command, such as order pay."`
}

// describe adds the default and the possible values. For a secret it names the variable and the file, because every user can
// read the command line.
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

// unlistedValues returns the values of an enum, unless the flag's help names all of them.
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

func childNamed(n *kong.Node, name string) *kong.Node {
	for _, child := range n.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}
