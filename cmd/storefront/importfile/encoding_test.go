package importfile_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"

	"go.storefront.example/cmd/storefront/importfile"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

func encoded(t *testing.T, name, text string) []byte {
	t.Helper()
	e, err := htmlindex.Get(name)
	if err != nil {
		e, err = ianaindex.IANA.Encoding(name)
	}
	require.NoError(t, err)
	out, err := e.NewEncoder().Bytes([]byte(text))
	require.NoError(t, err)
	return out
}

var peopleOf = map[string]string{
	"windows-1250": "Zdeněk Říha", "windows-1251": "Ольга Зайцева", "windows-1253": "Ελένη Ζαφείρη", "windows-1254": "Işıl Güneş",
	"windows-1255": "נועה ברק", "windows-1256": "سلمى حداد", "windows-1257": "Ģirts Žīgurs", "windows-1258": "Đăng",
	"iso-8859-2": "Zdeněk Říha", "koi8-r": "Ольга Зайцева", "gbk": "欧阳静", "gb18030": "欧阳静", "big5": "歐陽靜", "shift_jis": "表 直子",
	"euc-jp": "表 直子", "iso-2022-jp": "表 直子", "euc-kr": "남궁민", "tis-620": "กานดา ทองดี", "macintosh": "Zoé Brûlé", "cp437": "Zoé Brûlé",
	"cp850": "Zoé Brûlé", "ibm866": "Ольга Зайцева", "utf-16le": "Zdeněk Říha", "utf-16be": "欧阳静", "utf-8": "Zdeněk 欧阳静",
}

func TestEncodingsByName(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		for name, person := range peopleOf {
			for form, text := range map[string]string{
				"csv":   "name;email\nPlain;p-NAME@example.com\n" + person + ";a-NAME@example.com\n",
				"lines": `{"name":"` + person + `","email":"b-NAME@example.com"}` + "\n",
				"array": "[\n" + `{"name":"` + person + `","email":"c-NAME@example.com"}]`,
			} {
				text = strings.ReplaceAll(text, "NAME", name)
				o := options{Kind: customers, Encoding: strings.ToUpper(name), DryRun: true}
				dry := s.load(o, encoded(t, name, text))
				o.DryRun = false
				require.Equal(t, dry, s.load(o, encoded(t, name, text)), "%s %s", name, form)
			}
		}
		byEmail := by(s.customers(), (*storefrontv1.Customer).GetEmail)
		require.Len(t, byEmail, 4*len(peopleOf))
		for name, person := range peopleOf {
			for _, form := range []string{"a-", "b-", "c-"} {
				require.Equal(t, person, byEmail[form+name+"@example.com"].GetName(), "%s %s", name, form)
			}
		}
	})
}

func TestAnAssumedEncodingIsShown(t *testing.T) {
	t.Parallel()
	const assumed = "the file is not UTF-8 and is read as Windows-1252; if these letters are wrong, name its encoding with --encoding "
	dbtest.Run(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		for _, row := range []struct {
			reason, text string
			o            options
			want         string
		}{
			{"Central European", string(encoded(t, "windows-1250", "name,email\nZdeněk Říha,a@example.com\nBo,b@example.com\nŻaneta Łuk,c@example.com\n"+
				"Ůrsula,d@example.com\n")), options{Kind: customers}, assumed + `("Zdenìk Øíha", "¯aneta £uk"): lines 2, 4–5`},
			{"Chinese", string(encoded(t, "gbk", "name,email\n李伟,e@example.com\n")), options{Kind: customers}, assumed + `("ÀîÎ°"): line 2`},
			{"Western, which is right", "name,email\nZo\xeb,f@example.com\nZo\xeb,g@example.com\n", options{Kind: customers},
				assumed + `("Zoë"): lines 2–3`},
			{"letters in the header", "Pr\xe9nom,E-mail\nZoe,h@example.com\n", options{Kind: customers}, assumed + `("Prénom"): line 1`},
			{"letters in a column that is not read", "remarks,email\ntr\xe8s bien,i@example.com\n", options{Kind: customers},
				assumed + `("très bien"): line 2`},
			{"far into a value", "title,price,description\nA,1,\"" + strings.Repeat("x", 500) + " caf\xe9 " + strings.Repeat("y", 500) +
				"\"\n", options{Kind: products}, assumed + `("…` + strings.Repeat("x", 16) + " café " + strings.Repeat("y", 37) + `…"): line 2`},
			{"JSON", "[{\"name\":\"Bo\",\"email\":\"j@example.com\"},{\"name\":\"Zo\xeb\",\"email\":\"k@example.com\"}]",
				options{Kind: customers}, assumed + `("Zoë"): object 2`},
			{"a named one is shown too", string(encoded(t, "windows-1251", "name,email\nОля,l@example.com\n")),
				options{Kind: customers, Encoding: "windows-1251"}, `the file is read as windows-1251, as --encoding says ("Оля"): line 2`},
			{"a mark says more than a name", "\ufeffname,email\nОля,m@example.com\n", options{Kind: customers, Encoding: "windows-1251"},
				"the file is read as utf-8, as its byte order mark says, and not as windows-1251"},
			{"no letters", "name,email\nBo,n@example.com\n", options{Kind: customers, Encoding: "windows-1251"}, ""},
		} {
			row.o.DryRun = true
			dry := s.load(row.o, []byte(row.text))
			row.o.DryRun = false
			done := s.load(row.o, []byte(row.text))
			require.Equal(t, dry, done, row.reason)
			var texts []string
			for _, note := range done.Notes {
				texts = append(texts, note.Text(done.Unit()))
			}
			require.Equal(t, row.want, strings.Join(texts, "\n"), row.reason)
		}
	})
}

func TestFilesOfNoOneEncoding(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	const named = ": name its encoding with --encoding"
	for text, want := range map[string]string{
		string(encoded(t, "shift_jis", "name,email\nBo,a@example.com\n佐々木,a@example.com\n")): "neither UTF-8 nor Windows-1252, which has no letter for the byte 0x8d " +
			"of line 3" + named,
		"name,email\r\rBo,a@example.com\rB\x81,b@example.com\r":             "the byte 0x81 of line 4" + named,
		"name,email\nZoë,a@example.com\nBo,b@example.com\nZo\xeb,c@x.com\n": "UTF-8 in some lines, such as line 2, and something else in others, such as line 4" + named,
		string(encoded(t, "utf-16le", "name,email\nZoë,a@example.com\n")):   "UTF-16 without a byte order mark: import it with --encoding utf-16le",
		string(encoded(t, "utf-16be", "name,email\nZoë,a@example.com\n")):   "UTF-16 without a byte order mark: import it with --encoding utf-16be",
	} {
		for _, o := range []options{{Kind: customers}, {Kind: customers, SkipBad: true}, {Kind: customers, DryRun: true}} {
			_, err := s.try(o, []byte(text))
			var whole *importfile.FileError
			require.ErrorAs(t, err, &whole, "%q", text)
			require.Contains(t, err.Error(), want)
		}
	}
	require.Empty(t, s.customers())
	for _, name := range []string{"klingon", "replacement", "x-user-defined", "hz-gb-2312", "utf-32", " "} {
		_, err := s.try(options{Kind: customers, Encoding: name}, []byte("name,email\nBo,a@example.com\n"))
		require.ErrorIs(t, err, importfile.ErrOptions, name)
		require.ErrorContains(t, err, "--encoding "+name+": must be the name of an encoding, such as windows-1250")
	}
	_, err := s.try(options{Kind: customers}, []byte("Zo\xeb,Straße\xe9\nBo,a\n"))
	require.ErrorContains(t, err, "was read as Windows-1252, unless --encoding names another")
}

// The import never stores other letters for invalid bytes.
func TestLinesThatAreNotInTheirEncoding(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, encoding, text, want string
		rejects                      []byte
	}{
		{"UTF-8 that was cut", "utf-8", "name,email\nZo\xc3,a@example.com\nZoë,b@example.com\n",
			"has bytes that are no letters in utf-8 (\"Zo\xc3\"): line 2", []byte("Zo\xc3,a@example.com")},
		{"UTF-8 that was cut, with a mark", "", "\ufeffname,email\nZo\xc3,a@example.com\nZoë,b@example.com\n",
			"has bytes that are no letters in utf-8 (\"Zo\xc3\"): line 2", []byte("Zo\xc3,a@example.com")},
		{"half a Chinese letter", "gbk", "name,email\n\xc0,a@example.com\n\xc0\xee,b@example.com\n",
			"has bytes that are no letters in gbk", nil},
		{"a byte that the code page lacks", "windows-1253", "name,email\n\xff,a@example.com\n\xe1,b@example.com\n",
			"has bytes that are no letters in windows-1253", nil},
		{"a letter of Windows in a file that is said to be ISO", "iso-8859-2", "name,email\n\x8aime,a@example.com\n\xb1,b@example.com\n",
			"has bytes that are no letters in iso-8859-2", nil},
		{"JSON lines", "utf-8", "{\"name\":\"Zo\xc3\",\"email\":\"a@example.com\"}\n{\"name\":\"Zoë\",\"email\":\"b@example.com\"}\n",
			"has bytes that are no letters in utf-8", nil},
		{"a JSON array", "utf-8", "[{\"name\":\"Zo\xc3\",\"email\":\"a@example.com\"},{\"name\":\"Zoë\",\"email\":\"b@example.com\"}]",
			"has bytes that are no letters in utf-8", nil},
	} {
		s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
		_, err := s.try(options{Kind: customers, Encoding: row.encoding}, []byte(row.text))
		require.ErrorContains(t, err, row.want, row.reason)
		require.Empty(t, s.customers(), row.reason)
		var rejects bytes.Buffer
		done := s.load(options{Kind: customers, Encoding: row.encoding, SkipBad: true, Rejects: &rejects}, []byte(row.text))
		require.Equal(t, []int{2, 1, 1}, []int{done.Lines, done.Stored, done.Bad}, row.reason)
		require.Contains(t, rejects.String(), "has bytes that are no letters", row.reason)
		require.True(t, bytes.Contains(rejects.Bytes(), row.rejects), "%s: %q", row.reason, rejects.String())
		require.Equal(t, "b@example.com", s.customers()[0].GetEmail(), row.reason)
	}
}

// It is UTF-8 with a byte order mark, which takes precedence over the same --encoding.
func TestRejectedRowsOfAnEncoding(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"name,email\nŽofie,nobody\n", `{"name":"Žofie","email":"nobody"}` + "\n", `[{"name":"Žofie","email":"nobody"}]`} {
		s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
		var rejects bytes.Buffer
		o := options{Kind: customers, Encoding: "windows-1250", Rejects: &rejects}
		_, err := s.try(o, encoded(t, "windows-1250", text))
		require.Error(t, err)
		o.Rejects = nil
		s.load(o, bytes.Replace(rejects.Bytes(), []byte("nobody"), []byte("z@example.com"), 1))
		require.Equal(t, "Žofie", s.customers()[0].GetName())
	}
}
