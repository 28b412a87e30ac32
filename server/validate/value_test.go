package validate_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/server/validate"
)

func TestRowIDRefusesReservedIDs(t *testing.T) {
	t.Parallel()
	for text, refused := range map[string]string{
		uuid.NewString():                       "",
		uuid.Must(uuid.NewV7()).String():       "",
		"F0B8C7F1-3B7C-E911-9C5B-00155D0A0B0C": "", // a sequential id of SQL Server
		"1380b703-ce81-ff05-f115-39571d94dfcd": "", // an id of a Wix shop
		uuid.Nil.String():                      "must be another UUID: the service reserves this one",
		uuid.Max.String():                      "must be another UUID: the service reserves this one",
		"":                                     "must be a UUID",
		"123":                                  "must be a UUID",
		"{" + uuid.NewString() + "}":           "must be a UUID",
		"urn:uuid:" + uuid.NewString():         "must be a UUID",
	} {
		p := &validate.Problems{}
		read := p.RowID("id", text)
		if refused == "" {
			require.Empty(t, p.Fields(), text)
			require.True(t, strings.EqualFold(text, read.String()))
			continue
		}
		require.Len(t, p.Fields(), 1, text)
		require.Equal(t, refused, p.Fields()[0].Message, text)
	}
}
