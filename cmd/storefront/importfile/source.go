package importfile

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"go.storefront.example/server/transfer"
)

//go:embed sources.yaml
var sourcesText []byte

// sources is sources.yaml; that file describes its members.
type sources struct {
	Fields   map[transfer.Kind][]string
	Ignored  []string
	Names    map[string][]string
	Statuses map[transfer.Kind]words
	Shops    map[string]map[transfer.Kind]source
}

var known = sync.OnceValue(func() (s sources) {
	if err := yaml.Unmarshal(sourcesText, &s); err != nil {
		panic(err)
	}
	return s
})

// words maps words, as fold returns them, to their meanings. In sources.yaml, a list of words stands below each meaning.
type words map[string]string

// UnmarshalYAML implements yaml.Unmarshaler.
func (w *words) UnmarshalYAML(n *yaml.Node) error {
	var lists map[string][]string
	if err := n.Decode(&lists); err != nil {
		return err
	}
	*w = words{}
	for meaning, list := range lists {
		for _, word := range list {
			(*w)[fold(word)] = meaning
		}
	}
	return nil
}

// source says how the columns of an export are read as the fields of a kind.
type source struct {
	// Columns lists the column names of each field, in all languages in which the shop writes them.
	Columns map[string][]string
	// Group is the field whose value all lines of one record share; further lines of a record may leave it empty. If Group is
	// empty, each line is a record.
	Group string
	// Statuses has the words that only this shop writes for statuses, and the API's status for each.
	Statuses words
	// Currency is the currency of the amounts, if the export always has the same currency; otherwise "".
	Currency string
	// Zone is "UTC" if the export's dates are in UTC without saying so; otherwise "".
	Zone string
	// SkipBy is a field. Skip maps values of that field to reasons: a record with such a value is left out, and the report
	// has the reason.
	SkipBy string `yaml:"skipBy"`
	Skip   words
	// Partly has the statuses of orders that an import cannot store completely. The text of each status says, for the report,
	// what is lost.
	Partly words
	// Variation and Variable are values of the field kind. A product of the kind Variable has no price of its own; a line of
	// the kind Variation has one of that product's prices.
	Variation, Variable string
	// shop is true if the file is another shop's export. The amounts and times in such a file may contradict each other.
	shop bool
	// ignored lists names of columns that are left out, as fold returns them.
	ignored []string
}

// sourceOf returns the source for the kind and the shop in o, with the columns of o.Columns.
func sourceOf(o Options) (source, error) {
	fields, has := known().Fields[o.Kind]
	if !has {
		return source{}, fmt.Errorf("%w: %q must be one of products, customers, orders", ErrOptions, o.Kind)
	}
	shop, isShop := known().Shops[o.From]
	if !isShop && o.From != "" && o.From != "storefront" {
		return source{}, fmt.Errorf("%w: --from must be one of %s, storefront", ErrOptions,
			strings.Join(slices.Sorted(maps.Keys(known().Shops)), ", "))
	}
	s, has := shop[o.Kind]
	if isShop && !has {
		return s, fmt.Errorf("%w: --from %s has %s only", ErrOptions, o.From, slices.Collect(maps.Keys(shop))[0])
	}
	s.shop = isShop
	all := map[string][]string{}
	maps.Copy(all, s.Columns)
	if !isShop {
		for _, field := range fields {
			all[field] = slices.Concat([]string{field}, known().Names[field], known().Names[string(o.Kind)+"."+field])
		}
		if o.Kind == transfer.Orders {
			s.Group = "reference"
		}
	}
	for _, name := range known().Ignored {
		s.ignored = append(s.ignored, fold(name))
	}
	chosen := map[string][]string{}
	for _, c := range o.Columns {
		for _, of := range []map[string][]string{all, chosen} { // a column in --map is read only as the field that --map gives
			for field, names := range of {
				of[field] = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return fold(name) == fold(c.Name) })
			}
		}
		switch {
		case c.Field == "":
			s.ignored = append(s.ignored, fold(c.Name))
		case !slices.Contains(fields, c.Field):
			return s, fmt.Errorf("%w: --map %s=%s: must be one of %s", ErrOptions, c.Name, c.Field, strings.Join(fields, ", "))
		default:
			chosen[c.Field] = append(chosen[c.Field], c.Name)
		}
	}
	for field, names := range chosen {
		all[field] = append(names, all[field]...)
	}
	s.Columns = all
	return s, nil
}

// fold returns a column's name or a word in lower case, without spaces, accents, apostrophes, _ and -. So Cover URL,
// cover_url and coverUrl are folded to one text, and so are Téléphone and telephone. A leading - stays, because WooCommerce
// writes -1 for a draft and 1 for a published product.
func fold(name string) string {
	for i := range len(name) {
		if name[i] >= 0x80 {
			name, _, _ = transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), name)
			break
		}
	}
	sign := ""
	if strings.HasPrefix(name, "-") {
		sign = "-"
	}
	return sign + strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '_' || r == '-' || r == '\'' || r == '’' {
			return -1
		}
		return r
	}, name))
}
