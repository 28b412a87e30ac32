package dashboard

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnyColourCanBeRead(t *testing.T) {
	t.Parallel()
	accents := regexp.MustCompile(`--accent: (#\w+); --accent-strong: (#\w+); --on-accent: (#\w+)`)
	for _, brand := range []string{"#000000", "#ffffff", "#ffff00", "#0000ff", "#ff0000", "#00ff00", "#777777", "#0b6b5e"} {
		found := accents.FindAllStringSubmatch(styleOf(brand), -1)
		require.Len(t, found, 2)
		for i, ground := range []color{lightGround, darkCard} {
			for _, accent := range found[i][1:3] {
				require.GreaterOrEqual(t, mustColor(accent).contrast(ground), 4.4, "%s as %s", brand, accent)
				require.GreaterOrEqual(t, mustColor(accent).contrast(mustColor(found[i][3])), 4.4, "%s as %s", brand, accent)
			}
		}
	}
	require.InDelta(t, 21, color{}.contrast(color{1, 1, 1}), .01)
}

func TestAddressesBreakAtSlashesAndDots(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, pages()["webhooks"].ExecuteTemplate(&b, "address", "https://a-b.example/<x>"))
	require.Equal(t, `<span class="unbroken">https:/</span><wbr><span class="unbroken">/</span><wbr><span class="unbroken">a-b.</span><wbr>`+
		`<span class="unbroken">example/</span><wbr><span class="unbroken">&lt;x&gt;</span><wbr>`, b.String())
}
