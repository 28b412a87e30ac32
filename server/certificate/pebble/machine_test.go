package pebble

import (
	"bufio"
	"fmt"
	"io"
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

	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/stretchr/testify/require"
)

// program returns the folder of the storefront command, which it builds unless the environment names one.
func program(t *testing.T) string {
	t.Helper()
	if built := os.Getenv("STOREFRONT_TEST_BINARY"); built != "" {
		return filepath.Dir(built)
	}
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", folder, "./cmd/storefront")
	build.Dir = filepath.Join("..", "..", "..")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return folder
}

// From an empty folder to a delivered event and an answer over HTTPS.
func TestTheManualsPageOfOneMachine(t *testing.T) {
	page, err := os.ReadFile("../../../cmd/storefront/manual/machine.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n").FindAllStringSubmatch(string(page), -1)
	require.GreaterOrEqual(t, len(blocks), 2)
	arrived := make(chan string, 9)
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- string(body)
	}))
	t.Cleanup(receiver.Close)

	binary, s := program(t), newSite(t)
	a := newAuthority(t, portOf(s.tls), portOf(s.plain), 0)
	require.NoError(t, s.tls.Close()) // the command takes both ports
	require.NoError(t, s.plain.Close())
	folder := t.TempDir()
	to := fmt.Sprintf("insecure\nconnect-to = \"::127.0.0.1:%d\"\n", portOf(s.tls))
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".curlrc"), []byte(to), 0o600))
	shell := func(block string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), "sh", "-euc", block)
		c.Dir = folder
		c.Env = append(os.Environ(), "HOME="+folder, "PATH="+binary+":"+os.Getenv("PATH"),
			"STOREFRONT_ADDR="+s.tls.Addr().String(), "STOREFRONT_PLAIN_ADDR="+s.plain.Addr().String(), "STOREFRONT_ADMIN_ADDR=127.0.0.1:0",
			"STOREFRONT_ACME_DIRECTORY="+a.URL+wfe.DirectoryPath, "STOREFRONT_ALLOW_PRIVATE_TARGETS=true")
		return c
	}
	server := shell(strings.Replace(blocks[0][1], "\nstorefront server", "\nexec storefront server", 1))
	logs, err := server.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	ended := make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		names := map[string]bool{}
		for lines := bufio.NewScanner(logs); lines.Scan(); {
			t.Log(lines.Text())
			for _, name := range []string{"api.example.com", "dashboard.example.com"} {
				if strings.Contains(lines.Text(), `"a certificate"`) && strings.Contains(lines.Text(), `"`+name+`"`) {
					names[name] = true
				}
			}
			if len(names) == 2 {
				close(ready)
				names = map[string]bool{}
			}
		}
		ended <- server.Wait()
	}()
	select {
	case <-ready:
	case err := <-ended:
		require.FailNow(t, "the server ended", err)
	case <-time.After(time.Minute):
		require.FailNow(t, "there is no certificate")
	}

	out, err := shell(strings.ReplaceAll(blocks[1][1], "https://shop.example.com/webhooks", receiver.URL)).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "HTTP/2 401")
	require.Contains(t, <-arrived, `"type":"ping"`)
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	require.NoError(t, <-ended)
	backups, err := filepath.Glob(filepath.Join(folder, "backups", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, backups)
}
