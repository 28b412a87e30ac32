// Command generate writes the models and operations of the PHP and the Python client from the OpenAPI document, into gen/php
// and gen/python, and the changes of the Go client:
//
//	storefront.json ─► read ─► api ─► php.tmpl, python.tmpl, go.tmpl ─► gen/php, gen/python, client/change.go
//
// go generate runs it after it has made the document (proto/generate.go). The code for requests, retries, errors and webhooks is
// written by hand, in client/php and client/python. New fields and operations of the document need no change here; the program
// fails at a schema that the templates cannot express.
package main

import (
	"bytes"
	"embed"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed *.tmpl
var templates embed.FS

func main() {
	document := flag.String("document", "gen/openapi/storefront.json", "the OpenAPI document")
	out := flag.String("out", "gen", "the folder for php and python")
	changes := flag.String("changes", "client/change.go", "the file for the Go client's changes")
	flag.Parse()
	if err := run(*document, *out, *changes); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(document, out, changes string) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	a, err := read(text)
	if err != nil {
		return err
	}
	files, err := render(a)
	if err != nil {
		return err
	}
	for _, language := range []string{"php", "python"} {
		if err := os.RemoveAll(filepath.Join(out, language)); err != nil {
			return fmt.Errorf("remove the old files: %w", err)
		}
	}
	for name, content := range files {
		path := filepath.Join(out, name)
		if name == goFile {
			path = changes
			if content, err = format.Source(content); err != nil {
				return fmt.Errorf("format %s: %w", name, err)
			}
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // Anybody may read source code.
			return fmt.Errorf("make a folder: %w", err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // Anybody may read source code.
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// goFile is the file of the Go client.
const goFile = "change.go"

// render returns the generated files by name. PHP needs a file for each class.
func render(a *api) (map[string][]byte, error) {
	t, err := template.New("").Funcs(functions).ParseFS(templates, "*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("read the templates: %w", err)
	}
	files := map[string][]byte{}
	add := func(name, block string, data any) {
		var b bytes.Buffer
		if failed := t.ExecuteTemplate(&b, block, data); failed != nil && err == nil {
			err = fmt.Errorf("write %s: %w", name, failed)
		}
		files[name] = append(bytes.TrimSpace(b.Bytes()), '\n')
	}
	for _, e := range a.Enums {
		add("php/"+e.Name+".php", "php enum", e)
	}
	for _, m := range a.Models {
		add("php/"+m.Name+".php", "php model", m)
	}
	for _, e := range a.Events {
		add("php/"+e.Name+".php", "php event", e)
	}
	add("php/EventReader.php", "php events", a)
	for _, r := range a.Resources {
		add("php/Resource/"+r.Name+".php", "php resource", r)
	}
	for _, name := range []string{"models", "events", "resources"} {
		add("python/"+name+".py", "python "+name, a)
	}
	add(goFile, "go changes", a)
	files["python/aio_resources.py"] = []byte(pythonAsync.Replace(string(files["python/resources.py"])))
	return files, err
}

var functions = template.FuncMap{
	"php":        phpType,
	"phpread":    phpRead,
	"phpjson":    phpJSON,
	"phparg":     phpArgument,
	"phpdoc":     phpDoc,
	"phppath":    phpPath,
	"python":     pythonType,
	"pythonread": pythonRead,
	"pythonjson": pythonJSON,
	"pythonarg":  pythonArgument,
	"pythonpath": pythonPath,
	"pyname":     pythonName,
	"snake":      snake,
	"comment":    comment,
	"doc":        oneLine,
	"const":      constant,
	"camel":      camel,
	"goname":     goName,
	"gotype":     goType,
	"title":      title,
	"join":       func(names []string) string { return strings.Join(names, ", ") },
	"quote":      func(names []string) string { return "'" + strings.Join(names, "', '") + "'" },
	"pyquote":    func(names []string) string { return `"` + strings.Join(names, `", "`) + `"` },
}

// oneLine drops the list of an enum's values, which the enum's class describes.
func oneLine(text string) string {
	text, _, _ = strings.Cut(text, "\n\n- ")
	return strings.Join(strings.Fields(text), " ")
}

// comment wraps a description into lines that begin with a prefix.
func comment(prefix, text string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(strings.TrimRight(prefix, " ") + "\n")
		}
		line := prefix
		for _, word := range strings.Fields(paragraph) {
			if len(line)+len(word) > 118 && line != prefix {
				b.WriteString(strings.TrimRight(line, " ") + "\n")
				line = prefix
			}
			line += word + " "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// constant returns ORDER_PAID for order.paid.
func constant(value string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", ":", "_").Replace(value))
}

// camel returns paymentLinks for PaymentLinks.
func camel(name string) string { return strings.ToLower(name[:1]) + name[1:] }
