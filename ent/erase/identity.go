package erase

import (
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/unicode/norm"

	"go.storefront.example/ent/resource"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// identity has the names, e-mail addresses and phones that a customer has or had, and finds them in texts that callers
// chose. It finds a name or an e-mail address whatever its case and the punctuation between its words, and a phone with or
// without the country's code.
type identity struct {
	// Texts are names and e-mail addresses, as searchWords returns them.
	Texts []string `json:",omitzero"`
	// Phones are the digits of phones, as searchDigits returns them.
	Phones []string `json:",omitzero"`
}

const (
	// shortText is the length in characters below which a text is found only as a whole word, because Ann must not be found in
	// Joanna.
	shortText = 5
	// shortPhone is the number of digits below which a phone is found only with its country's code.
	shortPhone = 6
	// longPhone is the number of digits above which a phone is found by its last phoneSuffix digits alone. In some countries,
	// such as Argentina, the earlier digits differ between the national and the international form.
	longPhone, phoneSuffix = 10, 8
	// cutBytes is the length in bytes from which the stored name of a refused field may have lost its end, because package
	// usage cuts names at 64 bytes.
	cutBytes = 64 - utf8.UTFMax + 1
)

// searchWords returns the form in which texts are compared: folded as for a search, without invisible characters and with
// letters in full width as usual ones (NFKC), and with one space for each run of characters other than letters, digits and
// symbols such as emoji.
func searchWords(text string) string {
	visible := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(text))
	return strings.Join(strings.FieldsFunc(resource.FoldCase(visible), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsControl(r) || r < utf8.RuneSelf && unicode.IsSymbol(r)
	}), " ")
}

// add adds the values of a customer, except empty ones.
func (i *identity) add(name, email, phone string) {
	for _, text := range []string{searchWords(name), searchWords(email)} {
		if text != "" && !slices.Contains(i.Texts, text) {
			i.Texts = append(i.Texts, text)
		}
	}
	if number := searchDigits(phone); number != "" && !slices.Contains(i.Phones, number) {
		i.Phones = append(i.Phones, number)
	}
}

// searchDigits returns the digits that foundIn looks for in a text to find the phone. These are the digits of the national
// number, but only the last phoneSuffix if the national number has more than longPhone digits. If it has fewer than shortPhone
// digits, or if the phone cannot be parsed, searchDigits returns all digits of the phone, with the country's code.
func searchDigits(phone string) string {
	parsed, err := phonenumbers.Parse(phone, "")
	if err != nil {
		return digits(phone)
	}
	switch national := phonenumbers.GetNationalSignificantNumber(parsed); {
	case len(national) < shortPhone:
		return digits(phone)
	case len(national) > longPhone:
		return national[len(national)-phoneSuffix:]
	default:
		return national
	}
}

// digits returns the digits of a text. Each run of letters in it becomes one space, other characters are left out.
func digits(text string) string {
	var found strings.Builder
	for _, r := range norm.NFKC.String(text) {
		switch {
		case '0' <= r && r <= '9':
			found.WriteRune(r)
		case unicode.IsDigit(r):
			found.WriteString(phonenumbers.NormalizeDigitsOnly(string(r)))
		case unicode.IsLetter(r):
			found.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(found.String()), " ")
}

// percentEscape is a character's byte as a URL escapes it. Only these are unescaped, because a text may also have a percent
// sign of its own, and net/url would unescape nothing then.
var percentEscape = regexp.MustCompile("%[0-9A-Fa-f]{2}")

func unescape(escape string) string {
	octet, _ := hex.DecodeString(escape[1:]) // cannot fail for a match of percentEscape
	return string(octet)
}

// foundIn reports whether a text contains a value of the customer.
func (i *identity) foundIn(text string) bool {
	if plain := percentEscape.ReplaceAllStringFunc(text, unescape); plain != text && i.foundIn(plain) {
		return true
	}
	folded, numbers := searchWords(text), digits(text)
	return slices.ContainsFunc(i.Texts, func(value string) bool { return containsValue(folded, value) }) ||
		slices.ContainsFunc(i.Phones, func(value string) bool { return strings.Contains(numbers, value) })
}

// containsValue reports whether a text contains a value. A value shorter than shortText must be a whole word of the text, and a
// value of one character must be the whole text.
func containsValue(text, value string) bool {
	switch n := utf8.RuneCountInString(value); {
	case n == 1:
		return text == value
	case n >= shortText:
		return strings.Contains(text, value)
	}
	first, _ := utf8.DecodeRuneInString(value)
	last, _ := utf8.DecodeLastRuneInString(value)
	for rest := text; ; {
		before, after, found := strings.Cut(rest, value)
		if !found {
			return false
		}
		previous, _ := utf8.DecodeLastRuneInString(text[:len(text)-len(rest)+len(before)])
		next, _ := utf8.DecodeRuneInString(after)
		if !sameWord(previous, first) && !sameWord(last, next) {
			return true
		}
		_, size := utf8.DecodeRuneInString(rest[len(before):])
		rest = rest[len(before)+size:]
	}
}

// sameWord reports whether two neighbouring characters are in one word: both are letters, or both digits.
func sameWord(a, b rune) bool {
	letter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }
	return letter(a) && letter(b) || unicode.IsDigit(a) && unicode.IsDigit(b)
}

// foundInField reports whether the name of a refused field contains a value of the customer. If the name was cut, it is enough
// that the name ends with the beginning of such a value.
func (i *identity) foundInField(name string) bool {
	if i.foundIn(name) {
		return true
	}
	if len(name) < cutBytes {
		return false
	}
	folded, numbers := searchWords(name), digits(name)
	return slices.ContainsFunc(i.Texts, func(value string) bool { return endsWithPrefix(folded, value, shortText) }) ||
		slices.ContainsFunc(i.Phones, func(value string) bool { return endsWithPrefix(numbers, value, shortPhone) })
}

// endsWithPrefix reports whether a text ends with the beginning of value. The beginning must have at least minBytes bytes.
func endsWithPrefix(text, value string, minBytes int) bool {
	for n := minBytes; n < len(value); n++ {
		if strings.HasSuffix(text, value[:n]) {
			return true
		}
	}
	return false
}

// subtract returns a copy of the identity that lacks the values of another customer, whose name, email and phone are given. What
// is left belongs to the first customer only.
func (i *identity) subtract(name, email, phone string) *identity {
	var other identity
	other.add(name, email, phone)
	except := func(excluded []string, values []string) []string {
		return slices.DeleteFunc(slices.Clone(values), func(value string) bool { return slices.Contains(excluded, value) })
	}
	return &identity{except(other.Texts, i.Texts), except(other.Phones, i.Phones)}
}

// addKnown adds values that the customer has or had to Known. It ignores the texts that replace erased values.
func (f *Forgetting) addKnown(name, email, phone string) {
	for _, text := range []*string{&name, &email, &phone} {
		if *text == forgotten || *text == resource.ForgottenEmail(f.CustomerID) {
			*text = ""
		}
	}
	f.Known.add(name, email, phone)
}

// addKnownField adds the value of a field in the activity journal, such as an earlier name, to Known.
func (f *Forgetting) addKnownField(field, value string) {
	switch field {
	case "name":
		f.addKnown(value, "", "")
	case "email":
		f.addKnown("", value, "")
	case "phone":
		f.addKnown("", "", value)
	}
}

// buyer is a customer as shown in events and answers.
type buyer interface {
	GetId() string
	GetName() string
	GetEmail() string
	GetPhone() string
}

// collectValues adds the name, the e-mail address and the phone of the customer in message to Known. It returns true if the
// message still has a name, a phone or a note, or an e-mail address other than the one that replaces an erased address. The
// message is a *Customer, or an *Order with its buyer. If it is about another customer, collectValues only returns false.
func (f *Forgetting) collectValues(message any) bool {
	var c buyer
	note := ""
	switch m := message.(type) {
	case *storefrontv1.Customer:
		c = m
	case *storefrontv1.Order:
		c, note = m.GetCustomer(), m.GetNote()
	default:
		return false
	}
	if c.GetId() != f.CustomerID.String() {
		return false
	}
	f.addKnown(c.GetName(), c.GetEmail(), c.GetPhone())
	email := c.GetEmail()
	return c.GetName() != "" || c.GetPhone() != "" || note != "" ||
		email != "" && email != resource.ForgottenEmail(f.CustomerID)
}
