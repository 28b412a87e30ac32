// Package php_test builds the PHP package, and runs its tests and the README's examples against a development server.
// client/conformance has the tests that all languages share.
package php_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/server/conformance/devtest"
)

func build(t *testing.T) string {
	t.Helper()
	needs := `exit(PHP_VERSION_ID >= 80100 && function_exists("curl_init") ? 0 : 1);`
	if err := exec.Command("php", "-r", needs).Run(); err != nil {
		need.Missing(t, "this needs PHP 8.1 or later with its curl extension (php-cli and php-curl): %v", err)
	}
	devtest.TrackSources(t)
	folder := t.TempDir()
	devtest.Run(t, "", nil, "php", "build.php", folder)
	return folder
}

func TestWhatIsOfPHPAlone(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs the PHP client")
	folder := build(t)
	const others = `foreach (["Symfony/Component/HttpFoundation", "GuzzleHttp"] as $one)
		if (!stream_resolve_include_path("$one/autoload.php")) exit(1);`
	if err := exec.Command("php", "-r", others).Run(); err != nil {
		need.Missing(t, "this needs Debian's packages php-symfony-http-foundation and php-guzzlehttp-guzzle")
	}
	dev := devtest.Build(t).Start(t)
	require.Regexp(t, `^1\d passed, 0 failed\n$|^[5-9] passed, 0 failed\n$`,
		devtest.Run(t, "", dev.Variables(), "php", filepath.Join("test", "unit.php"), folder))
}

var snippet = regexp.MustCompile("(?s)```php\n(.*?)```")

// The programs load storefront.php, the single file for hosts without Composer.
func TestWhatTheReadmeShows(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it runs the programs of the README of the PHP client")
	folder := build(t)
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := snippet.FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 2)
	for i, name := range []string{"products.php", "webhooks.php"} {
		require.Equal(t, 1, strings.Count(blocks[i][1], "vendor/autoload.php"))
		program := strings.Replace(blocks[i][1], "vendor/autoload.php", "storefront.php", 1)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(program), 0o600))
	}

	t.Run("the first product", func(t *testing.T) {
		t.Parallel()
		dev := devtest.Build(t).Start(t)
		output := devtest.Run(t, folder, []string{"SHOP_URL=" + dev.URL, "SHOP_KEY=" + dev.Key}, "php", "products.php")
		require.Greater(t, strings.Count(output, " XAF\n"), 3)
		require.Contains(t, output, " still lacks: content\n")
	})
	t.Run("the first webhook", func(t *testing.T) {
		t.Parallel()
		const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
		address := devtest.FreeAddress(t)
		server := exec.Command("php", "-S", address, "webhooks.php")
		server.Dir, server.Env = folder, append(os.Environ(), "WEBHOOK_SECRET="+secret)
		body := fmt.Sprintf(
			`{"id":"1","type":"customer.created","createdAt":"2026-11-21T12:00:00.000Z","store":{"id":"2","slug":"demo"},"data":%s}`,
			`{"id":"3","name":"Awa","email":null,"phone":"+237670000001","ordersCount":0,"totalPaid":0,"currency":"XAF",`+
				`"createdAt":"2026-11-21T12:00:00.000Z"}`)
		devtest.CheckReceiver(t, server, syscall.SIGTERM, -1, address, secret, body, "Awa +237670000001")
	})
}
