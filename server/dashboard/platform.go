package dashboard

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"go.storefront.example/server/dashboard/signin"
)

// Platform is the branding of the platform that runs the dashboard. Each field may be empty.
type Platform struct {
	// Name replaces "Storefront" on the pages and in their titles.
	Name string
	// Logo is an SVG, PNG, JPEG or WebP file.
	Logo []byte
	// Color is that of links and buttons, such as #0b6b5e. The dashboard makes it darker or lighter until text is readable.
	Color string
	// SignInURL is the page where a member gets a new sign-in link.
	SignInURL string
	// FrameAncestors are the origins whose pages may show the dashboard in a frame.
	FrameAncestors []string
}

const maxLogoBytes = 512 << 10

// Check returns the branding with FrameAncestors as browsers write origins.
func (p Platform) Check() (Platform, error) {
	if _, err := parseColor(p.Color); p.Color != "" && err != nil {
		return p, err
	}
	if p.Logo != nil {
		if kind := imageType(p.Logo); kind == "" || len(p.Logo) > maxLogoBytes {
			return p, fmt.Errorf("the logo must be an SVG, PNG, JPEG or WebP file of at most %d KiB", maxLogoBytes>>10)
		}
	}
	if p.SignInURL != "" {
		page, err := url.Parse(p.SignInURL)
		if err == nil {
			page.RawQuery, page.Fragment = "", ""
			_, err = signin.CheckBaseURL(page.String())
		}
		if err != nil {
			return p, fmt.Errorf("the page for sign-in links %w", err)
		}
	}
	for i, ancestor := range p.FrameAncestors {
		origin, err := signin.CheckBaseURL(ancestor)
		if u, _ := url.Parse(ancestor); err == nil && u.Path != "" && u.Path != "/" {
			err = fmt.Errorf("must be an origin such as https://app.example.com, without a path, not %q", ancestor)
		}
		if err != nil {
			return p, fmt.Errorf("a frame's ancestor %w", err)
		}
		p.FrameAncestors[i] = origin
	}
	return p, nil
}

// imageType returns "" if pages cannot show the logo.
func imageType(content []byte) string {
	switch kind := http.DetectContentType(content); kind {
	case "image/png", "image/jpeg", "image/webp":
		return kind
	}
	if bytes.Contains(content[:min(len(content), 1024)], []byte("<svg")) {
		return "image/svg+xml"
	}
	return ""
}

func (p Platform) assets() map[string]asset {
	all := map[string]asset{}
	for name, a := range assets {
		all[name] = a
	}
	if p.Color != "" {
		all["brand.css"] = newAsset([]byte(styleOf(p.Color)), mediaTypes[".css"])
	}
	if p.Logo != nil {
		all["logo"] = newAsset(p.Logo, imageType(p.Logo))
	}
	return all
}

// color is red, green and blue, each from 0 to 1.
type color [3]float64

// Of style.css's backgrounds, these two have the least contrast with links and buttons.
var lightGround, darkCard = mustColor("#f6f7f8"), mustColor("#191f22")

// minContrast is that of text (WCAG 2.2, 1.4.3).
const minContrast = 4.5

func styleOf(text string) string {
	brand := mustColor(text)
	light, dark := brand.withContrast(minContrast, lightGround, color{0, 0, 0}),
		brand.withContrast(minContrast, darkCard, color{1, 1, 1})
	variables := func(accent, strong, onAccent, soft color) string {
		return fmt.Sprintf(":root { --accent: %s; --accent-strong: %s; --on-accent: %s; --accent-soft: %s; }", accent, strong,
			onAccent, soft)
	}
	return variables(light, light.mix(color{}, .25), color{1, 1, 1}, light.mix(color{1, 1, 1}, .9)) +
		"\n@media (prefers-color-scheme: dark) {" +
		variables(dark, dark.mix(color{1, 1, 1}, .3), mustColor("#0b0f10"), dark.mix(darkCard, .8)) + "}\n"
}

func parseColor(text string) (c color, err error) {
	digits, hash := strings.CutPrefix(text, "#")
	number, err := strconv.ParseUint(digits, 16, 32)
	if !hash || len(digits) != 6 || err != nil {
		return c, fmt.Errorf("the colour must be of the form #0b6b5e, not %q", text)
	}
	for i := range c {
		c[i] = float64(number>>(16-8*i)&0xff) / 0xff
	}
	return c, nil
}

func mustColor(text string) color {
	c, err := parseColor(text)
	if err != nil {
		panic(err)
	}
	return c
}

func (c color) String() string {
	return fmt.Sprintf("#%02x%02x%02x", int(c[0]*0xff), int(c[1]*0xff), int(c[2]*0xff))
}

// mix returns a mixture of which share, from 0 to 1, is other.
func (c color) mix(other color, share float64) color {
	for i := range c {
		c[i] += (other[i] - c[i]) * share
	}
	return c
}

// withContrast mixes target into c until the contrast with ground is high enough, or returns target.
func (c color) withContrast(contrast float64, ground, target color) color {
	for share := 0.0; share < 1; share += .02 {
		if mixed := c.mix(target, share); mixed.contrast(ground) >= contrast {
			return mixed
		}
	}
	return target
}

// contrast is from 1 to 21 (WCAG 2.2, Definitions).
func (c color) contrast(other color) float64 {
	a, b := c.luminance(), other.luminance()
	return (max(a, b) + .05) / (min(a, b) + .05)
}

func (c color) luminance() float64 {
	for i, v := range c {
		if v <= .04045 {
			c[i] = v / 12.92
		} else {
			c[i] = math.Pow((v+.055)/1.055, 2.4)
		}
	}
	return .2126*c[0] + .7152*c[1] + .0722*c[2]
}
