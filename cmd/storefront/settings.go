package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// settings is a kong.Resolver that finds flags in the environment, or else in the settings file.
type settings struct {
	env  func(string) (string, bool)
	file map[string]yaml.Node
	path string
	mode fs.FileMode
	dev  *devFolder
}

var _ kong.Resolver = (*settings)(nil)

func variable(flag string) string {
	return "STOREFRONT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func variables(n *kong.Node) []string {
	names := []string{variable("config")}
	for _, flag := range flagsOf(n) {
		names = append(names, variable(flag.Name))
		if flag.Tag.Has(secretTag) {
			names = append(names, variable(flag.Name)+fileSuffix)
		}
	}
	return names
}

// warnOfVariables warns of each variable that sets nothing, but has almost the name of one that does. environ has items
// NAME=VALUE.
func (s *invocation) warnOfVariables(environ []string, application *kong.Node) {
	known := variables(application)
	for i, name := range known {
		known[i] = strings.TrimPrefix(name, variable(""))
	}
	for _, item := range environ {
		name, value, _ := strings.Cut(item, "=")
		short, ours := strings.CutPrefix(name, variable(""))
		if !ours || value == "" || slices.Contains(known, short) {
			continue
		}
		if near := nearest(short, known); near != "" {
			s.printMessage("warning: nothing reads " + name + "; did you mean " + variable(near) + "?")
		}
	}
}

// fromEnv returns "" without a value. A variable may name a secret's file. An empty one counts as not set, because compose
// files set empty ones.
func (s *settings) fromEnv(flag *kong.Flag) (value string, err error) {
	if flag.Tag.Has(secretTag) {
		return secretOf(s.env, variable(flag.Name), credentialPrefix+flag.Name)
	}
	value, _ = s.env(variable(flag.Name))
	return value, nil
}

func (s *settings) load(k *kong.Context) error {
	s.path, _ = s.env(variable("config"))
	for _, step := range k.Path {
		if step.Flag != nil && step.Flag.Name == "config" {
			s.path, _ = k.FlagValue(step.Flag).(string)
		}
	}
	if s.path == "" {
		return nil
	}
	text, err := os.ReadFile(s.path)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	s.mode = info.Mode()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&s.file); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("--config: %s is not YAML with a flag's name and its value on each line: %w", s.path, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("--config: %s has a second document, which nothing would read; remove the line ---", s.path)
	}
	known := flagsOf(k.Model.Node)
	for key := range s.file {
		if !slices.ContainsFunc(known, func(f *kong.Flag) bool { return f.Name == key }) {
			return fmt.Errorf("--config: %s: unknown key %q; keys are names of flags, such as database-url", s.path, key)
		}
	}
	return nil
}

// flagsOf leaves out --config and --help, which a settings file cannot set.
func flagsOf(n *kong.Node) []*kong.Flag {
	var flags []*kong.Flag
	for _, f := range n.Flags {
		if f.Name != "help" && f.Name != "config" {
			flags = append(flags, f)
		}
	}
	for _, child := range n.Children {
		flags = append(flags, flagsOf(child)...)
	}
	return flags
}

// Validate does nothing, because load checks the settings.
func (s *settings) Validate(*kong.Application) error { return nil }

// Resolve returns nil for a flag that has no value.
func (s *settings) Resolve(k *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if flag.Name == "help" {
		return nil, nil
	}
	if value, err := s.fromEnv(flag); value != "" || err != nil {
		return value, err
	}
	node, ok := s.file[flag.Name]
	if !ok || node.Tag == "!!null" {
		if flag.Name == "database-url" && usesDevFolder(k) {
			if s.dev = findDev(); s.dev != nil {
				return s.dev.databaseURL(), nil
			}
		}
		return nil, nil
	}
	if flag.Tag.Has(secretTag) && node.Kind != yaml.MappingNode {
		for _, value := range append([]*yaml.Node{&node}, node.Content...) {
			if err := checkPrivate(s.path, s.mode); err != nil && isSecret(flag, value.Value) {
				return nil, fmt.Errorf("%s line %d is a secret: %w", s.path, value.Line, err)
			}
		}
	}
	switch node.Kind {
	case yaml.ScalarNode:
		return node.Value, nil
	case yaml.SequenceNode:
		if flag.Target.Kind() != reflect.Slice {
			return nil, fmt.Errorf("%s line %d: must be one value, not a list", s.path, node.Line)
		}
		values := make([]any, len(node.Content))
		for i, n := range node.Content {
			if n.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("%s line %d: must be a list of plain values", s.path, n.Line)
			}
			values[i] = n.Value
		}
		return values, nil
	}
	return nil, fmt.Errorf("%s line %d: must be a value or a list of values", s.path, node.Line)
}

// clears is the tag of a flag whose empty value clears a field.
const clears = "clears"

// clearable are flags for which an empty value means that the flag is not set.
var clearable = []string{"admin-token", "admin-url", "config", "egress-proxy", "old-admin-token", "old-secret-keys", "secret-key"}

// explicit returns the flags that the command line, the environment or the settings file sets. It refuses an empty value,
// unless the flag is clearable or has the tag clears, and a flag without a list given twice; but the last -o wins, because an
// alias may have one.
func explicit(k *kong.Context) (map[string]bool, error) {
	given := map[string]bool{}
	for _, step := range k.Path {
		switch {
		case step.Flag != nil:
			name := step.Flag.Name
			if given[name] && !step.Resolved && name != "output" && step.Flag.Target.Kind() != reflect.Slice {
				return nil, usage("--%s: is given twice, and only one value would be used; give it once", name)
			}
			given[name] = true
			if isEmpty(reflect.ValueOf(k.FlagValue(step.Flag))) && !step.Flag.Tag.Has(clears) && !slices.Contains(clearable, name) {
				return nil, usage("--%s: must not be empty; leave the flag out or give it a value", name)
			}
		case step.Positional != nil && isEmpty(step.Positional.Target):
			return nil, usage("<%s>: must not be empty", step.Positional.Name)
		}
	}
	return given, nil
}

func isEmpty(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Slice:
		return v.Len() == 0 || v.Len() == 1 && isEmpty(v.Index(0))
	case reflect.String:
		return v.Len() == 0
	}
	return false
}
