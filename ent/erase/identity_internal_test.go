package erase

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The name of a refused field is cut off after 64 bytes. A customer's value at the end of such a name is found even if the cut
// is in the middle of the value or of a character.
func TestTheBeginningOfAValueIsFoundWhereAFieldWasCutOff(t *testing.T) {
	t.Parallel()
	var i identity
	i.add("Zoë Brontë", "zephyrine.q@mail.example", "+237670333301")
	cut := func(text string) string { return strings.ToValidUTF8(strings.Repeat("x", 54)+" "+text, "")[:62] }
	for text, found := range map[string]bool{
		cut("zephyrine.q@mail.example"): true, cut("Zoë Brontë"): true, cut("670333301"): true, cut("price amount"): false,
		"zephyr": false, cut("zep   zep"): false,
	} {
		require.Equal(t, found, i.foundInField(text), text)
	}
}

// A phone is found in the form in which it is dialled within its country, even if its digits differ from those dialled from
// abroad. A short phone is found only with its country's code.
func TestPhonesAreFoundAsTheyAreDialled(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		phone, text string
		found       bool
	}{
		{"+5491123456789", "011 15-2345-6789", true}, // Argentina's mobile phones
		{"+5491123456789", "54 9 11 2345 6789", true},
		{"+33612345678", "06.12.34.56.78", true},
		{"+33612345678", "order 612345678/3", true},
		{"+33612345678", "06.12.34.56.79", false},
		{"+390236618300", "02 3661 8300", true}, // in Italy the zero is part of the number
		{"+29022158", "22158", false},           // Saint Helena
		{"+29022158", "00290 22158", true},
		{"+237670333301", "67a0333301", false},
	} {
		var i identity
		i.add("", "", row.phone)
		require.Equal(t, row.found, i.foundIn(row.text), "%s in %s", row.phone, row.text)
	}
}

// A value is found in a text that was escaped for a URL, even if the text also has a percent sign of its own or was cut within an
// escape. It is also found in full width, and with invisible characters in it.
func TestValuesAreFoundWhereTheyWereEscaped(t *testing.T) {
	t.Parallel()
	var i identity
	i.add("Zoë Brontë", "zephyrine.q@mail.example", "+237670333301")
	for text, found := range map[string]bool{
		"pay:zephyrine.q%40mail.example": true, "zephyrine.q%2540mail.example": true, "-20%/zephyrine.q%40mail.example": true,
		"Zo%C3%AB%20Bront%C3%AB%2": true, "100% %2B237%20670%2033%2033%2001": true, "20%40mail.example": false, "%%40": false,
		"ｚｅｐｈｙｒｉｎｅ．ｑ＠ｍａｉｌ．ｅｘａｍｐｌｅ": true, "\u202eZoë\u200b Bron\u00adtë": true, "\u200bBron\u00adtë": false,
	} {
		require.Equal(t, found, i.foundIn(text), text)
	}
}

// A value of one character is not found within a longer text. A value without letters or digits is ignored.
func TestValuesThatNameNobody(t *testing.T) {
	t.Parallel()
	var i identity
	i.add("-", "", "")
	i.add("A", "", "")
	i.add(" . ", "", "")
	require.Equal(t, []string{"a"}, i.Texts)
	require.False(t, i.foundIn("till-1"))
	require.False(t, i.foundIn("a-1"))
	require.True(t, i.foundIn("A."))
	i.add("🌸", "", "")
	i.add("🌸🌸🌸🌸🌸", "", "")
	require.True(t, i.foundIn("pay-🌸🌸🌸🌸🌸-1"))
}
