package validate

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
	"golang.org/x/text/unicode/norm"
)

// Country reads a country and returns its two-letter code. The text may be an ISO 3166-1 code of two or three letters; a
// name in English, French, German, Spanish or Portuguese (CLDR), or in the country's own language; or another usual name,
// such as UK or Holland. Case, accents, spaces and punctuation do not matter. ok is false for a text that can mean two
// countries, such as Congo, and for a country whose phone numbers cannot be read.
func Country(text string) (code string, ok bool) {
	upper := strings.ToUpper(strings.TrimSpace(text))
	if isCountry(upper) {
		return upper, true
	}
	names := countryNames()
	if code, ok = names[countryKey(text)]; ok {
		return code, true
	}
	// WooCommerce writes "United States (US)". Alphabetical lists write "Korea, Republic of".
	if name, rest, found := strings.Cut(text, "("); found {
		one, known := Country(name)
		other, same := Country(strings.TrimSuffix(strings.TrimSpace(rest), ")"))
		if known && same && one == other {
			return one, true
		}
		return "", false
	}
	if name, rest, found := strings.Cut(text, ","); found {
		code, ok = names[countryKey(rest+name)]
	}
	return code, ok
}

// Country refuses a text that is not the two-letter ISO 3166-1 code of a country whose phone numbers can be read. It returns
// the code in capitals.
func (p *Problems) Country(field, value string) string {
	code := strings.ToUpper(strings.TrimSpace(value))
	switch meant, known := Country(value); {
	case !known:
		p.Invalid(field, "must be a two-letter ISO 3166 code such as CM, of a country whose phone numbers can be read")
	case meant != code:
		p.Invalid(field, "must be the two-letter code "+meant)
	}
	return code
}

// isCountry reports whether a text is the two-letter code, in capitals, of a country whose phone numbers can be read. Codes
// without a number in the M49 of the United Nations do not count, because they stand for parts of countries, such as AC for
// Ascension.
func isCountry(code string) bool {
	region, err := language.ParseRegion(code)
	return err == nil && len(code) == 2 && region.M49() != 0 && phonenumbers.GetSupportedRegions()[code]
}

// countries returns the codes of all countries, sorted.
func countries() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(phonenumbers.GetSupportedRegions())), func(code string) bool {
		return !isCountry(code)
	})
}

// usualNames are names of countries that people and shops use, but that are not in golang.org/x/text's tables of CLDR.
var usualNames = map[string][]string{
	"AE": {"UAE", "Emirates"},
	"BN": {"Brunei Darussalam"},
	"BO": {"Plurinational State of Bolivia"},
	"BY": {"Weißrussland"},
	"CD": {"DRC", "RDC", "DR Congo", "Democratic Republic of the Congo", "République démocratique du Congo"},
	"CG": {"Republic of the Congo", "République du Congo"},
	"CI": {"Ivory Coast", "Elfenbeinküste", "Costa de Marfil", "Costa do Marfim"},
	"CV": {"Kapverden"},
	"CZ": {"Czech Republic", "République tchèque", "Tschechische Republik", "República Checa", "República Tcheca"},
	"FM": {"Federated States of Micronesia"},
	"GB": {
		"UK", "Great Britain", "England", "Scotland", "Wales", "Northern Ireland", "Grande-Bretagne", "Angleterre",
		"Großbritannien", "Gran Bretaña", "Inglaterra", "Grã-Bretanha",
	},
	"GR": {"EL"}, // the European Union's code
	"HK": {"Hong Kong"},
	"IR": {"Islamic Republic of Iran"},
	"KP": {"Democratic People's Republic of Korea"},
	"KR": {"Republic of Korea"},
	"LA": {"Lao People's Democratic Republic"},
	"MD": {"Republic of Moldova"},
	"MK": {"North Macedonia", "Macédoine du Nord", "Nordmazedonien", "Macedonia del Norte", "Macedônia do Norte"},
	"MM": {"Myanmar", "Burma", "Birma", "Birmanie", "Birmania"},
	"MO": {"Macau", "Macao"},
	"NL": {"Holland", "Hollande", "Holanda"},
	"PS": {"Palestine", "State of Palestine", "Palästina", "Palestina"},
	"RU": {"Russian Federation"},
	"SY": {"Syrian Arab Republic"},
	"SZ": {"Eswatini"},
	"TW": {"Taiwan, Province of China"},
	"TZ": {"United Republic of Tanzania"},
	"US": {
		"United States of America", "America", "États-Unis d'Amérique", "Vereinigte Staaten von Amerika",
		"Estados Unidos de América", "EE. UU.", "EUA",
	},
	"VA": {"Holy See"},
	"VE": {"Bolivarian Republic of Venezuela"},
}

// countryNames maps the names of countries to their codes. The names have the form of countryKey.
var countryNames = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	add := func(code, name string) {
		if key := countryKey(name); key != "" {
			names[key] = cmp.Or(names[key], code)
		}
	}
	for _, code := range countries() {
		region := language.MustParseRegion(code)
		own, _ := language.Compose(region)
		base, _ := own.Base() // the country's most likely language
		for _, tag := range []language.Tag{
			language.English, language.French, language.German, language.Spanish, language.Portuguese, language.EuropeanPortuguese,
			language.Make(base.String()),
		} {
			if namer := display.Regions(tag); namer != nil {
				add(code, namer.Name(region))
			}
		}
		add(code, region.ISO3())
		for _, name := range usualNames[code] {
			add(code, name)
		}
	}
	return names
})

// countryKey returns the form in which countries' names are compared. It is in lower case, has no accents, spaces,
// punctuation, "the", "and" and "&", and has St for Saint.
func countryKey(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(norm.NFKD.String(strings.ToLower(strings.ReplaceAll(name, "ß", "ss"))), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r)
	}) {
		word = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Mn, r) {
				return -1
			}
			return r
		}, word)
		switch word {
		case "the", "and":
		case "saint":
			b.WriteString("st")
		default:
			b.WriteString(word)
		}
	}
	return b.String()
}
