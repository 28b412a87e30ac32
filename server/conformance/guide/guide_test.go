// Package guide_test runs the examples of the API's guide: every block of shell, Go, TypeScript,
// Python and PHP in cmd/openapi/guide.md, against the development server and its worker in their own
// process. A block in another language shows data. The README's examples for callers are also in
// the guide, letter for letter.
package guide_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/conformance/devtest"
)

// block is a fenced block of a text.
type block struct{ section, language, text string }

var fence = regexp.MustCompile("(?ms)^# ([^\n]+)$|^```(\\w+)\n(.*?)^```$")

// blocks are the fenced blocks of a text under its headings of the first level.
func blocks(text string) []block {
	var found []block
	section := ""
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			section = m[1]
			continue
		}
		found = append(found, block{section, m[2], m[3]})
	}
	return found
}

func readGuide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(devtest.Top(t), "cmd", "openapi", "guide.md"))
	require.NoError(t, err)
	return string(text)
}

func guide(t *testing.T) []block {
	t.Helper()
	all := blocks(readGuide(t))
	shown := map[string]int{}
	for _, b := range all {
		shown[b.language]++
	}
	for _, language := range []string{"sh", "go", "ts", "php", "python"} {
		require.GreaterOrEqual(t, shown[language], 4, "blocks in %s", language)
	}
	for language := range shown {
		require.Contains(t, []string{"sh", "go", "ts", "python", "php", "json", "http"}, language,
			"is it executed, or does it show data?")
	}
	return all
}

// in are the blocks in one language.
func in(all []block, language string) []block {
	var found []block
	for _, b := range all {
		if b.language == language {
			found = append(found, b)
		}
	}
	return found
}

func TestWhatTheReadmeShowsToCallersStandsInTheGuide(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(devtest.Top(t), "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "\n## For callers of the API\n")
	require.True(t, found)
	part, _, found := strings.Cut(rest, "\n## ")
	require.True(t, found)
	shown := blocks(part)
	require.GreaterOrEqual(t, len(shown), 3)
	var known []string
	for _, b := range guide(t) {
		known = append(known, b.language+"\n"+b.text)
	}
	for _, b := range shown {
		require.Contains(t, known, b.language+"\n"+b.text, "what is not in the guide is not executed")
	}
}

// The recipes that use only a standard library are the guide's blocks, after the comment that introduces them.
func TestTheReceiversOfTheGuideAreRecipes(t *testing.T) {
	t.Parallel()
	for file, comment := range map[string]string{"webhook/recipes/net_http/main.go": "\n", "python/recipes/http_server.py": "\n\n"} {
		recipe, err := os.ReadFile(filepath.Join(devtest.Top(t), "client", filepath.FromSlash(file)))
		require.NoError(t, err)
		_, text, _ := strings.Cut(string(recipe), comment)
		language := map[bool]string{true: "go", false: "python"}[strings.HasSuffix(file, ".go")]
		require.Contains(t, guide(t), block{webhooks, language, text}, file)
	}
}

// The steps depend on each other: the shell blocks cause the event whose delivery the other blocks verify.
func TestTheGuideRuns(t *testing.T) {
	t.Parallel()
	all := guide(t)
	dev := devtest.Build(t).Start(t)
	hook := newHook(t, dev)

	recorded := false
	done := t.Run("in a shell", func(t *testing.T) {
		runShell(t, all, dev)
		recorded = true
	})
	if !done {
		return // no event was made
	}
	if !recorded {
		record(t, dev, `{"name":"Awa Ngo","phone":"+237670000001"}`) // there is no shell here; the others need none
	}
	hook.wait(t)
	hook.more = sampleVariables(t, dev)
	t.Run("the reference's samples in curl", func(t *testing.T) { runCurl(t, dev, hook) })
	t.Run("a delivery, in a shell", func(t *testing.T) { verifyInShell(t, all, dev, hook) })
	t.Run("a delivery, in Python", func(t *testing.T) { verifyInPython(t, all, dev, hook) })
	t.Run("a delivery, in PHP", func(t *testing.T) { verifyInPHP(t, all, dev, hook) })
	t.Run("in Go", func(t *testing.T) { runGo(t, all, dev, hook) })
	t.Run("in TypeScript", func(t *testing.T) { runTypeScript(t, all, dev, hook) })
	// The readers get their own key, because a key may make only 120 requests a minute.
	var made struct{ Key string }
	dev.Operate(t, &made, "key", "create", "--store", "demo", "--name", "guide", "--expires", "30d", "--scopes",
		"store:read,products:write,orders:read,customers:write,payment_links:write")
	dev.Key = made.Key
	t.Run("in PHP", func(t *testing.T) { runPHP(t, all, dev, hook) })
	t.Run("in Python", func(t *testing.T) { runPython(t, all, dev, hook) })
}

// record records a customer and returns its id.
func record(t *testing.T, dev devtest.Server, customer string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, dev.URL+"/v1/customers", strings.NewReader(customer))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+dev.Key)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusCreated, answer.StatusCode)
	var made struct{ ID string }
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&made))
	return made.ID
}

// hook is a webhook that keeps its first delivery.
type hook struct {
	secret, signature string
	// more are the variables of the reference's samples.
	more    []string
	body    []byte
	arrived chan struct{}
}

func newHook(t *testing.T, dev devtest.Server) *hook {
	t.Helper()
	h := &hook{arrived: make(chan struct{}, 1)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && h.body == nil {
			h.body, h.signature = body, r.Header.Get("Service-Signature")
			h.arrived <- struct{}{}
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	h.secret = dev.Register(t, server.URL, "customer.created").Secret
	return h
}

func (h *hook) wait(t *testing.T) {
	t.Helper()
	select {
	case <-h.arrived:
	case <-time.After(devtest.Patience):
		require.FailNow(t, "no delivery arrived of the customer that the guide records")
	}
}

// variables returns the environment of the guide's reader. The storefront command does not read them: its flag --url is
// STOREFRONT_URL.
func variables(dev devtest.Server, h *hook) []string {
	return append([]string{"SHOP_URL=" + dev.URL, "SHOP_KEY=" + dev.Key, "WEBHOOK_SECRET=" + h.secret, "SIGNATURE=" + h.signature,
		"MONTHS=" + demoMonths(time.Now().UTC())}, h.more...)
}

// demoMonths are the months of the demo store's history of 45 days, separated by spaces: two or three.
func demoMonths(now time.Time) string {
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, -2, 0).Format("2006-01") + " " + first.AddDate(0, -1, 0).Format("2006-01") + " " + first.Format("2006-01")
}

func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			devtest.Missing(t, "the guide's snippets need %s: %v", program, err)
		}
	}
}

// output runs a command, with an optional input, and returns its output.
func output(t *testing.T, command *exec.Cmd, variables ...string) string {
	t.Helper()
	var errs strings.Builder
	command.Stderr, command.Env = &errs, append(os.Environ(), variables...)
	out, err := command.Output()
	require.NoError(t, err, "%s\n%s%s", command, out, &errs)
	return string(out)
}

// runReceiver runs the block that receives webhooks as it stands, once for each signal that ends programs.
func runReceiver(t *testing.T, dev devtest.Server, h *hook, folder, program string, args ...string) {
	t.Helper()
	handles := map[os.Signal]int{os.Interrupt: 0, syscall.SIGTERM: 0}
	if program == "sh" { // PHP's own server
		handles = map[os.Signal]int{syscall.SIGTERM: -1}
	}
	for end, exitCode := range handles {
		address := devtest.FreeAddress(t)
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		server := exec.CommandContext(t.Context(), program, args...)
		server.Dir, server.Env = folder, append(append(os.Environ(), variables(dev, h)...), "PORT="+port, "PYTHONPATH="+folder)
		devtest.CheckReceiver(t, server, end, exitCode, address, string(h.body), h.signature, "Awa Ngo +237670000001")
	}
}
