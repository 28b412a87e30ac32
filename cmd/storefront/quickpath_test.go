package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheQuickPathEndsWithAnAnswerAndADeliveredPing leaves out commands that install the program or do not return. A pasted
// block must not wait for a server.
func TestTheQuickPathEndsWithAnAnswerAndADeliveredPing(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"sh", "curl", "grep"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the quick path needs %s", program)
		}
	}
	manual, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(manual), "\n## Quick path\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n").FindAllStringSubmatch(section, -1)
	require.Len(t, blocks, 2)

	folder := t.TempDir()
	in := newInbox(t)
	i := newInstallation(t, "sqlite:"+filepath.Join(folder, "storefront.db"), in)
	run := func(block string) string {
		t.Helper()
		var lines []string
		for line := range strings.Lines(block) {
			if !strings.HasPrefix(line, "go install ") && !strings.HasPrefix(line, "export PATH=") {
				lines = append(lines, line)
			}
		}
		c := i.command("sh", "-euc", strings.Join(lines, ""))
		c.Dir = folder
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s\n%s", block, out)
		return string(out)
	}
	require.Contains(t, blocks[0][1], "\nstorefront server --migrate --worker ")
	server := i.oneProcess()
	defer server.stop()
	i.env["STOREFRONT_ADDR"], i.env["STOREFRONT_ADMIN_ADDR"] = server.Addr, server.AdminAddr
	last := strings.NewReplacer("http://127.0.0.1:8080", "http://"+server.Addr, "https://shop.example/webhooks", in.url).Replace(blocks[1][1])
	require.Contains(t, run(last), `{"page":1,"pageSize":2,"total":0,"data":[]}`)
	require.Equal(t, "ping", (<-in.arrived).Type)
}
