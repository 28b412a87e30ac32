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
	"google.golang.org/protobuf/proto"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/transfer"
)

//go:embed sources.yaml
var sourcesText []byte

// sources has the content of sources.yaml, which explains its members.
type sources struct {
	Fields   map[transfer.Kind][]string
	Kept     map[transfer.Kind][]string
	Ignored  []string
	Names    map[string][]string
	Statuses map[transfer.Kind]meanings
	Partly   meanings
	Shops    map[string]map[transfer.Kind]source
}

var knownSources = sync.OnceValue(func() (s sources) {
	if err := yaml.Unmarshal(sourcesText, &s); err != nil {
		panic(err)
	}
	for kind, m := range map[transfer.Kind]proto.Message{transfer.Products: &storefrontv1.Product{},
		transfer.Customers: &storefrontv1.Customer{}, transfer.Orders: &storefrontv1.Order{}} {
		for i := range m.ProtoReflect().Descriptor().Fields().Len() {
			s.Fields[kind] = append(s.Fields[kind], m.ProtoReflect().Descriptor().Fields().Get(i).JSONName())
		}
	}
	return s
})

// meanings maps normalized words to their meanings. In sources.yaml, a list of words stands below each meaning.
type meanings map[string]string

func (w *meanings) UnmarshalYAML(n *yaml.Node) error {
	var lists map[string][]string
	if err := n.Decode(&lists); err != nil {
		return err
	}
	*w = meanings{}
	for meaning, list := range lists {
		for _, word := range list {
			(*w)[normalize(word)] = meaning
		}
	}
	return nil
}

type source struct {
	// Columns lists the column names of each field, in all languages in which the shop writes them.
	Columns map[string][]string
	// Group is the field whose value all lines of a record share; further lines may leave it empty. If Group is empty, each
	// line is a record.
	Group string
	// Statuses has the API's status for words that only this shop writes.
	Statuses meanings
	// Currency is that of all amounts of the export, or "".
	Currency string
	// Zone is "UTC" if dates are in UTC without saying so, or "".
	Zone string
	// SkipBy is a field whose values in Skip leave a record out, for the reason there.
	SkipBy string `yaml:"skipBy"`
	Skip   meanings
	// Variation and Variable are words in the field kind, in lower case: a variation with its price, and a product with
	// variations.
	Variation, Variable string
	// shop is true for another shop's export, whose amounts and times may contradict each other.
	shop bool
	// ignored has the normalized names of columns that are left out.
	ignored []string
}

func sourceOf(o Options) (source, error) {
	fields, ok := knownSources().Fields[o.Kind]
	if !ok {
		return source{}, fmt.Errorf("%w: %q must be one of products, customers, orders", ErrOptions, o.Kind)
	}
	shop, isShop := knownSources().Shops[o.From]
	if !isShop && o.From != "" && o.From != "storefront" {
		return source{}, fmt.Errorf("%w: --from must be one of %s, storefront", ErrOptions,
			strings.Join(slices.Sorted(maps.Keys(knownSources().Shops)), ", "))
	}
	s, ok := shop[o.Kind]
	if isShop && !ok {
		return s, fmt.Errorf("%w: --from %s has %s only", ErrOptions, o.From, slices.Collect(maps.Keys(shop))[0])
	}
	s.shop = isShop
	all := map[string][]string{}
	maps.Copy(all, s.Columns)
	if !isShop {
		for _, field := range fields {
			all[field] = slices.Concat([]string{field}, knownSources().Names[field], knownSources().Names[string(o.Kind)+"."+field])
		}
		if o.Kind == transfer.Orders {
			s.Group = "reference"
		}
	}
	for _, name := range knownSources().Ignored {
		s.ignored = append(s.ignored, normalize(name))
	}
	chosen := map[string][]string{}
	for _, c := range o.Columns {
		for _, columns := range []map[string][]string{all, chosen} { // a column in --map is read only as the field that --map gives
			for field, names := range columns {
				columns[field] = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return normalize(name) == normalize(c.Name) })
			}
		}
		switch {
		case c.Field == "":
			s.ignored = append(s.ignored, normalize(c.Name))
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

// normalize makes Cover URL, cover_url and coverUrl one text. A leading - stays, because WooCommerce writes -1 for a draft and
// 1 for a published product.
func normalize(name string) string {
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
