package importfile_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The error about a misspelled column suggests a --map, with which the import succeeds.
func TestHintsOfColumnsHelp(t *testing.T) {
	t.Parallel()
	hint := regexp.MustCompile(`--map ('[^']*'|\S+)`)
	for header, want := range map[string]string{
		"Refrence;Status;E-mail;Montant":        "did you mean reference by Refrence?; name it with --map Refrence=reference,",
		"Order Numbr;Status;E-mail;Montant":     "did you mean Order Number by Order Numbr?; name it with --map 'Order Numbr=reference',",
		"Bestell_nummr;Status;E-mail;Montant":   "did you mean Bestellnummer by Bestell_nummr?; name it with --map Bestell_nummr=reference,",
		"O'rdor;Status;E-mail;Montant":          `did you mean Order by O'rdor?; name it with --map 'O'\''rdor=reference',`,
		"Order ID;Status;E-mail;Montant":        "",
		"Order Number;Status;E-mail;Montant":    "",
		"Bestell-ID;Status;E-Mail;Betrag":       "",
		"ID de la commande;Statut;Mail;Montant": "",
	} {
		s := storeOf(t, "EUR", "FR")
		text := []byte(header + "\nR1;PAID;a@example.com;5\n")
		o := options{Kind: orders}
		if want != "" {
			_, err := s.try(o, text)
			require.ErrorContains(t, err, want)
			name := strings.TrimRight(hint.FindStringSubmatch(strings.ReplaceAll(err.Error(), `'\''`, "’"))[1], ",")
			of, field, _ := strings.Cut(strings.ReplaceAll(strings.Trim(name, "'"), "’", "'"), "=")
			o.Columns = []column{{of, field}}
		}
		s.load(o, text)
		require.Equal(t, "R1", s.orders()[0].GetReference(), header)
	}
	s := storeOf(t, "EUR", "FR")
	done := s.load(options{Kind: customers}, []byte("email,Phoen,Rate,Order ID\na@example.com,1,2,3\n"))
	require.Equal(t, []string{"Phoen (did you mean phone? --map Phoen=phone reads it)", "Rate", "Order ID"}, done.NotRead)
}
