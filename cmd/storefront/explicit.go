package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// clears is the tag of a flag whose empty value means something: it clears what the flag sets.
const clears = "clears"

// clearable are settings of many commands that may be empty, as if they were not set at all.
var clearable = []string{"admin-token", "admin-url", "config", "egress-proxy", "old-admin-token", "old-secret-keys", "secret-key"}

// explicit returns the names of the flags that the command line, the environment or the settings
// file gives a value. An empty value is never the same as an absent flag: it clears what can be
// empty, and explicit refuses it otherwise.
func explicit(k *kong.Context) (map[string]bool, error) {
	given := map[string]bool{}
	for _, step := range k.Path {
		switch {
		case step.Flag != nil:
			name := step.Flag.Name
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

// isEmpty reports whether a value is a text or a list without anything in it, or a list of nothing
// but an empty text.
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

// notChanges are flags of updates that set how, not what, they change.
var notChanges = []string{"database-url", "admin-url", "admin-token", "store", "allow-private-targets"}

// changeable lists the flags of a command that name what to change.
func changeable(n *kong.Node) string {
	var names []string
	if n != nil {
		for _, f := range n.Flags {
			if !slices.Contains(notChanges, f.Name) {
				names = append(names, "--"+f.Name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// changes refuses an update that names nothing to change.
func (s *session) changes(mask *fieldmaskpb.FieldMask) error {
	if len(mask.GetPaths()) > 0 {
		return nil
	}
	return usage("name what to change: %s", s.changeable)
}
