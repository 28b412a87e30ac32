package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/seal"
)

// installPackage runs in a mount namespace with its own /etc, /usr/local/bin, /var/lib and /run. It installs the files that
// .goreleaser.yaml lists, and runs the package's script and then its standard input.
const installPackage = `
set -eu
mount -t tmpfs none "$WORK"
for folder in /etc /usr/local/bin /var/lib; do
  mkdir -p "$WORK/upper$folder" "$WORK/work$folder"
  mount -t overlay none -o "lowerdir=$folder,upperdir=$WORK/upper$folder,workdir=$WORK/work$folder" "$folder"
done
mount -t tmpfs none /run
install -m 755 "$BINARY" /usr/local/bin/storefront
install -m 755 systemd/storefront-admin /usr/local/bin/storefront-admin
mkdir /etc/storefront && install -m 640 "$SETTINGS" /etc/storefront/storefront.env
sh systemd/postinst configure >/dev/null
install -d -o storefront -g storefront -m 700 /var/lib/storefront
export PATH=/usr/local/bin:$PATH
mkdir "$WORK/files" && chmod 755 "$WORK" "$WORK/files" && cd "$WORK/files"
. /dev/stdin
`

// onPackagedHost installs the package and returns the output of shell commands that run as root.
func onPackagedHost(t *testing.T, settings, commands string) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 || exec.Command("unshare", "--mount", "true").Run() != nil {
		t.Skip("this needs root and mount namespaces")
	}
	binary, err := exec.LookPath("storefront")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "storefront.env")
	require.NoError(t, os.WriteFile(file, []byte(settings), 0o600))
	c := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", installPackage)
	// dpkg's PATH has the folder of useradd, which that of a user who became root may lack.
	c.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin", "WORK="+t.TempDir(), "BINARY="+binary, "SETTINGS="+file)
	script := filepath.Join(t.TempDir(), "commands")
	require.NoError(t, os.WriteFile(script, []byte("set -eux\n"+commands), 0o600))
	if c.Stdin, err = os.Open(script); err != nil {
		require.NoError(t, err)
	}
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestStorefrontAdminIsTheService(t *testing.T) {
	t.Parallel()
	out := onPackagedHost(t, "STOREFRONT_SECRET_KEY=\nSTOREFRONT_STORE='douala'\n", `
install -d -m 700 /etc/credstore
echo `+seal.NewKey()+` | install -m 600 /dev/stdin /etc/credstore/storefront.secret-key
storefront-admin migrate up
storefront-admin store create --name 'Boutique Douala' --slug douala --currency XAF --country CM
storefront-admin webhook create --url https://shop.example/webhooks
test "$(stat -c %U:%a /var/lib/storefront/storefront.db)" = storefront:600
test ! -e /var/lib/storefront/storefront.db.key # the credential is the key
printf 'email\nawa@example.com\n' >buyers.csv && chmod 644 buyers.csv
storefront-admin import customers buyers.csv
chmod 600 buyers.csv
storefront-admin import customers - <buyers.csv
test "$(storefront-admin customer list -o csv | wc -l)" = 2
status=0; storefront-admin store show nowhere || status=$?; test "$status" = 1
status=0; storefront-admin no-such-command || status=$?; test "$status" = 2
test -z "$(ls /run)" # the copies of credentials are gone
runuser -u storefront -- storefront-admin store list
status=0; said=$(setpriv --reuid 65534 --clear-groups storefront-admin store list 2>&1) || status=$?
test "$status" = 1 && test "$said" = 'storefront-admin: root must run it: sudo storefront-admin store list'
echo other-key-0123456789 >>/etc/credstore/storefront.secret-key
status=0; storefront-admin webhook list || status=$?; test "$status" = 0 # which needs no key
status=0; said=$(storefront-admin secret rotate 2>&1) || status=$?; test "$status" = 2
case $said in *'the credential storefront.secret-key: '*'must have one line'*) ;; *) exit 1 ;; esac
`)
	require.Contains(t, out, "Boutique Douala")
}

// A relative path of a SQLite file is in the folder in which the units run.
func TestStorefrontAdminHasTheDatabaseOfTheUnits(t *testing.T) {
	t.Parallel()
	out := onPackagedHost(t, "STOREFRONT_DATABASE_URL=sqlite:shop.db\n", `
storefront-admin migrate up
test -e /var/lib/storefront/shop.db
printf 'database-url: sqlite:/var/lib/storefront/of-the-file.db\n' >/etc/storefront/settings.yaml
echo STOREFRONT_CONFIG=/etc/storefront/settings.yaml >/etc/storefront/storefront.env
storefront-admin migrate up
test -e /var/lib/storefront/of-the-file.db
echo "STOREFRONT_DATABASE_URL='postgres://u:p@127.0.0.1:1/none?sslmode=disable'" >/etc/storefront/storefront.env
status=0; storefront-admin store list || status=$?; test "$status" = 1
`)
	require.Contains(t, out, "127.0.0.1:1")
}
