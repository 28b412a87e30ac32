// Package guide_test runs every block of shell, Go, TypeScript, Python and PHP on the pages that cmd/openapi/guide.md lists,
// against a development server. Other blocks show data. It also checks that the README's examples for callers are in the guide,
// letter for letter.
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

	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
	"go.storefront.example/server/conformance/devtest"
)

type block struct{ section, language, text string }

var fence = regexp.MustCompile("(?ms)^# ([^\n]+)$|^```(\\w+)\n(.*?)^```$")

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

// readGuide returns the pages of the guide as one text, in the order in which its first page lists them.
func readGuide(t *testing.T) string {
	t.Helper()
	top := filepath.Join(devtest.Root(t), "cmd", "openapi")
	text, err := os.ReadFile(filepath.Join(top, "guide.md"))
	require.NoError(t, err)
	pages := regexp.MustCompile(`\]\((guide/\w[\w-]*\.md)\)`).FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(pages), 8)
	for _, page := range pages {
		more, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(page[1])))
		require.NoError(t, err)
		text = append(append(text, '\n'), more...)
	}
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
		require.Contains(t, []string{"sh", "go", "ts", "python", "php", "json", "http", "sql"}, language,
			"is it executed, or does it show data?")
	}
	return all
}

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
	readme, err := os.ReadFile(filepath.Join(devtest.Root(t), "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "\n## For callers of the API\n")
	require.True(t, found)
	part, _, found := strings.Cut(rest, "\n## ")
	require.True(t, found)
	shown := blocks(part)
	require.NotEmpty(t, shown)
	var known []string
	for _, b := range guide(t) {
		known = append(known, b.language+"\n"+b.text)
	}
	for _, b := range shown {
		require.Contains(t, known, b.language+"\n"+b.text, "what is not in the guide is not executed")
	}
}

// The tables of events in the guide and the README list every type, and say that two events report the payment of a link.
func TestTheTablesOfEventsAreComplete(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(devtest.Root(t), "README.md"))
	require.NoError(t, err)
	for name, text := range map[string]string{"guide": readGuide(t), "README": string(readme)} {
		for _, event := range hook.EventTypes() {
			require.Regexp(t, "(?m)^\\|[^|]*`"+regexp.QuoteMeta(event)+"`[^|]*\\|", text, "%s: %s", name, event)
		}
		require.Contains(t, text, "**A payment through a link sends both `order.paid` and `payment_link.paid`, with two event ids.", name)
	}
	require.Contains(t, readGuide(t), "| `"+hook.Ping+"` |")
	require.Contains(t, readGuide(t), "\n## Ship exactly once\n")
}

// The guide leaves out the comment at the top of each recipe.
func TestTheReceiversOfTheGuideAreRecipes(t *testing.T) {
	t.Parallel()
	for file, comment := range map[string]string{"webhook/recipes/net_http/main.go": "\n", "python/recipes/http_server.py": "\n\n"} {
		recipe, err := os.ReadFile(filepath.Join(devtest.Root(t), "client", filepath.FromSlash(file)))
		require.NoError(t, err)
		_, text, _ := strings.Cut(string(recipe), comment)
		language := map[bool]string{true: "go", false: "python"}[strings.HasSuffix(file, ".go")]
		require.Contains(t, guide(t), block{verifying, language, text}, file)
	}
}

// The shell blocks run first. They create the customer whose event the other blocks verify.
func TestTheGuideRuns(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs the guide in five languages")
	all := guide(t)
	dev := devtest.Build(t).Start(t)
	webhook := newWebhook(t, dev)

	recorded := false
	done := t.Run("in a shell", func(t *testing.T) {
		runShell(t, all, dev)
		recorded = true
	})
	if !done {
		return // without a customer there is no event to verify
	}
	if !recorded {
		record(t, dev, `{"name":"Awa Ngo","phone":"+237670000001"}`) // without a shell, the test creates the customer
	}
	webhook.wait(t)
	webhook.more = sampleVariables(t, dev)
	t.Run("the reference's samples in curl", func(t *testing.T) { runCurl(t, dev, webhook) })
	t.Run("a delivery, in a shell", func(t *testing.T) { verifyInShell(t, all, dev, webhook) })
	t.Run("a delivery, in Python", func(t *testing.T) { verifyInPython(t, all, dev, webhook) })
	t.Run("a delivery, in PHP", func(t *testing.T) { verifyInPHP(t, all, dev, webhook) })
	t.Run("in Go", func(t *testing.T) { runGo(t, all, dev, webhook) })
	t.Run("in TypeScript", func(t *testing.T) { runTypeScript(t, all, dev, webhook) })
	// A key may make only 120 requests a minute.
	var made struct{ Key string }
	dev.RunCommand(t, &made, "key", "create", "--store", "demo", "--name", "guide", "--expires", "30d", "--scopes",
		"store:read,products:write,orders:read,customers:write,payment_links:write")
	dev.Key = made.Key
	t.Run("in PHP", func(t *testing.T) { runPHP(t, all, dev, webhook) })
	t.Run("in Python", func(t *testing.T) { runPython(t, all, dev, webhook) })
}

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

type webhook struct {
	secret, signature string
	// environment variables that only the samples of the reference page read, such as CUSTOMER_ID
	more    []string
	body    []byte
	arrived chan struct{}
}

func newWebhook(t *testing.T, dev devtest.Server) *webhook {
	t.Helper()
	h := &webhook{arrived: make(chan struct{}, 1)}
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

func (w *webhook) wait(t *testing.T) {
	t.Helper()
	select {
	case <-w.arrived:
	case <-time.After(devtest.Timeout):
		require.FailNow(t, "no delivery arrived of the customer that the guide records")
	}
}

// variables do not begin with STOREFRONT_, because the command would read STOREFRONT_URL as its flag --url.
func variables(dev devtest.Server, w *webhook) []string {
	return append([]string{"SHOP_URL=" + dev.URL, "SHOP_KEY=" + dev.Key, "WEBHOOK_SECRET=" + w.secret, "SIGNATURE=" + w.signature},
		w.more...)
}

func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			need.Missing(t, "the guide's snippets need %s: %v", program, err)
		}
	}
}

func output(t *testing.T, command *exec.Cmd, variables ...string) string {
	t.Helper()
	var errs strings.Builder
	command.Stderr, command.Env = &errs, append(os.Environ(), variables...)
	out, err := command.Output()
	require.NoError(t, err, "%s\n%s%s", command, out, &errs)
	return string(out)
}

func runReceiver(t *testing.T, dev devtest.Server, w *webhook, folder, program string, args ...string) {
	t.Helper()
	address := devtest.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	server := exec.CommandContext(t.Context(), program, args...)
	server.Dir = folder
	server.Env = append(append(os.Environ(), variables(dev, w)...), "PORT="+port, "PYTHONPATH="+folder, "TMPDIR="+t.TempDir())
	devtest.CheckReceiver(t, server, syscall.SIGTERM, -1, address, w.secret, string(w.body), "Awa Ngo +237670000001")
}
