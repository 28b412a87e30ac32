package validate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/validate"
)

func TestCountriesAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for want, texts := range map[string][]string{
		"GB": {"GB", "gb", "UK", "GBR", "United Kingdom", "United Kingdom (UK)", "Great Britain", "Royaume-Uni", "Großbritannien",
			"Grossbritannien", "Reino Unido", "England"},
		"US": {"USA", "U.S.A.", "United States", "United States (US)", "United States of America", "États-Unis", "Etats Unis", "EE. UU."},
		"DE": {"Deutschland", "Germany", "Allemagne", "Alemania", "Alemanha", "DEU", " deutschland "},
		"FR": {"France", "FRANCE", "Frankreich", "Francia", "França"},
		"CM": {"Cameroun", "Cameroon", "Kamerun", "Camarões"},
		"CI": {"Côte d'Ivoire", "Cote d’Ivoire", "Ivory Coast", "Elfenbeinküste", "Costa de Marfil", "CIV"},
		"CH": {"Schweiz", "Suisse", "Suiza", "Suíça"},
		"TR": {"Türkiye", "Turkiye", "Turkey", "Turquie"},
		"BA": {"Bosnia & Herzegovina", "Bosnia and Herzegovina"},
		"LC": {"St. Lucia", "Saint Lucia"},
		"KR": {"Korea, Republic of", "South Korea", "Corée du Sud"},
		"NL": {"The Netherlands", "Nederland", "Holland"},
		"PL": {"Polska"}, "SE": {"Sverige"}, "CZ": {"Česko", "Czechia", "Czech Republic"}, "JP": {"日本"}, "RU": {"Россия"},
		"GR": {"Ελλάδα", "EL"}, "EG": {"مصر"}, "HK": {"Hong Kong"}, "VN": {"Việt Nam", "Viet Nam"}, "XK": {"Kosovo"},
		"MM": {"Myanmar (Burma)", "Burma"}, "MK": {"North Macedonia"}, "NE": {"Niger"}, "NG": {"Nigeria"},
		"": {"", " ", "AN", "TP", "CS", "AC", "TA", "SU", "YU", "EU", "ZZ", "AQ", "Congo", "Korea", "Atlantis", "U", "United Kingdom (US)",
			"12", "F"},
	} {
		for _, text := range texts {
			code, ok := validate.Country(text)
			require.Equal(t, want, code, text)
			require.Equal(t, want != "", ok, text)
		}
	}
}

func TestACountryIsGivenByItsCode(t *testing.T) {
	t.Parallel()
	const none = "must be a two-letter ISO 3166 code such as CM, of a country whose phone numbers can be read"
	for text, problem := range map[string]string{
		"CM": "", "cm": "", "UK": "must be the two-letter code GB", "France": "must be the two-letter code FR",
		"USA": "must be the two-letter code US", "AN": none, "TP": none, "CS": none, "AC": none, "AQ": none, "": none, "XX": none,
	} {
		var p validate.Problems
		code := p.Country("country", text)
		if problem == "" {
			require.Empty(t, p.Fields(), text)
			require.Equal(t, "CM", code)
			continue
		}
		require.Len(t, p.Fields(), 1, text)
		require.Equal(t, problem, p.Fields()[0].Message)
	}
}
