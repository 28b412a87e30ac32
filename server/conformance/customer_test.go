package conformance_test

import (
	"strings"

	"github.com/stretchr/testify/require"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

type (
	listCustomers  = storefrontv1.ListCustomersRequest
	getCustomer    = storefrontv1.GetCustomerRequest
	createCustomer = storefrontv1.CreateCustomerRequest
	updateCustomer = storefrontv1.UpdateCustomerRequest
)

// b.created creates a customer. Under /v1 the HTTP status must be status; the other protocols have no 201.
func (b *bench) created(m *createCustomer, status int) object {
	b.Helper()
	a := b.answer(m)
	require.Less(b, a.status, 300, "%v", a.body)
	if b.isREST() {
		require.Equal(b, status, a.status)
	}
	return a.body
}

var _ = cases(
	scenario{
		name: "a customer has every field, null where it has no value",
		run: func(b *bench) {
			got := b.created(&createCustomer{Phone: new("+237670000009")}, 201)
			want := object{
				"id": got["id"], "name": "", "email": nil, "phone": "+237670000009", "ordersCount": 0, "totalPaid": 0,
				"currency": "XAF", "createdAt": got["createdAt"],
			}
			b.same(want, got)
			require.Regexp(b, uuidForm, got["id"])
			require.WithinRange(b, b.moment(got["createdAt"]), opening, b.clock.now())
			b.same(want, b.call(&getCustomer{Id: got["id"].(string)}))
			b.pay(b.order(b.product("Guide", 1000), 3, "ada@example.com"))
			b.requireFields(b.data(b.call(&listCustomers{}))[0], object{
				"name": "Ada Ndé", "email": "ada@example.com", "phone": nil, "ordersCount": 1, "totalPaid": 3000,
			})
		},
	},
	scenario{
		name: "a new customer is created, journaled and told of",
		run: func(b *bench) {
			n, sent := len(b.entries()), len(b.events())
			got := b.created(&createCustomer{Name: " Ada Ndé ", Email: new("Ada@Example.com"), Phone: new("670 00 00 01")}, 201)
			b.requireFields(got, object{"name": "Ada Ndé", "email": "ada@example.com", "phone": "+237670000001"})
			b.journaled(n, "customer.created", got["id"].(string), object{
				"name": change(nil, "Ada Ndé"), "email": change(nil, "ada@example.com"), "phone": change(nil, "+237670000001"),
			})
			require.Equal(b, []string{"customer.created"}, b.sentSince(sent))
			b.requireFields(b.created(&createCustomer{Email: new("bea@example.com")}, 201), object{"name": "", "phone": nil})
		},
	},
	scenario{
		name: "a known customer is completed with what it lacked and never doubled",
		run: func(b *bench) {
			first := b.created(&createCustomer{Email: new("ada@example.com")}, 201)
			id := first["id"].(string)
			sent := len(b.events())
			b.leavesNothing(func() { b.same(first, b.created(&createCustomer{Email: new("ADA@example.COM")}, 200)) })
			n := len(b.entries())
			b.requireFields(b.created(&createCustomer{Name: "Ada", Email: new("ada@example.com"), Phone: new("+237670000001")}, 200),
				object{"id": id, "name": "Ada", "phone": "+237670000001"})
			b.journaled(n, "customer.updated", id, object{"name": change("", "Ada"), "phone": change(nil, "+237670000001")})
			b.leavesNothing(func() {
				b.requireFields(b.created(&createCustomer{Name: "Other", Phone: new("00237 670000001"), Email: new("ada@example.com")}, 200),
					object{"id": id, "name": "Ada", "email": "ada@example.com"})
				b.requireFields(b.created(&createCustomer{Phone: new("670000001"), Email: new("other@example.com")}, 200),
					object{"id": id, "email": "ada@example.com"})
			})
			require.Empty(b, b.sentSince(sent), "nothing for a customer already known")
			b.requireFields(b.call(&listCustomers{}), object{"total": 1})
		},
	},
	scenario{
		name: "an e-mail and a phone of two different customers conflict",
		run: func(b *bench) {
			ada := b.created(&createCustomer{Email: new("ada@example.com")}, 201)["id"].(string)
			bea := b.created(&createCustomer{Phone: new("+237670000002")}, 201)["id"].(string)
			b.leavesNothing(func() {
				require.Nil(b, b.refused(&createCustomer{Name: "x", Email: new("ada@example.com"), Phone: new("+237670000002")}, 409,
					"customer_conflict"))
				require.Nil(b, b.refused(&updateCustomer{Id: bea, Email: new("Ada@example.com")}, 409, "customer_conflict"))
				require.Nil(b, b.refused(&updateCustomer{Id: ada, Phone: new("670000002")}, 409, "customer_conflict"))
			})
			b.requireFields(b.call(&getCustomer{Id: ada}), object{"name": "", "phone": nil})
			b.requireFields(b.call(&updateCustomer{Id: ada, Email: new("ADA@example.com"), Phone: new("+237670000003")}),
				object{"phone": "+237670000003"})
		},
	},
	scenario{
		name: "a customer keeps at least one of e-mail and phone",
		run: func(b *bench) {
			id := b.created(&createCustomer{Email: new("ada@example.com"), Phone: new("+237670000001")}, 201)["id"].(string)
			b.leavesNothing(func() {
				require.Nil(b, b.refused(&createCustomer{Name: "Ada"}, 400, "customer_identifier_required"))
				require.Nil(b, b.refused(&createCustomer{}, 400, "customer_identifier_required"))
				require.Nil(b, b.refused(&updateCustomer{Id: id, UpdateMask: mask("email", "phone")}, 400, "customer_identifier_required"))
				if b.isREST() {
					a := b.json("POST", "/v1/customers", `{"name":"Ada","email":null,"phone":null}`)
					require.Nil(b, b.refusedAs(a, 400, "customer_identifier_required"))
				}
			})
			n := len(b.entries())
			b.requireFields(b.call(&updateCustomer{Id: id, UpdateMask: mask("email")}), object{"email": nil, "phone": "+237670000001"})
			b.journaled(n, "customer.updated", id, object{"email": change("ada@example.com", nil)})
			b.refused(&updateCustomer{Id: id, UpdateMask: mask("phone")}, 400, "customer_identifier_required")
			b.requireFields(b.call(&updateCustomer{Id: id, Email: new("ada@example.com"), UpdateMask: mask("email", "phone")}),
				object{"email": "ada@example.com", "phone": nil})
		},
	},
	scenario{
		name: "an update changes the named fields of a customer",
		run: func(b *bench) {
			before := b.created(&createCustomer{Name: "Ada", Email: new("ada@example.com")}, 201)
			id := before["id"].(string)
			n, sent := len(b.entries()), len(b.events())
			got := b.call(&updateCustomer{Id: id, Name: new("Ada Ndé"), Email: new("Ada.Nde@Example.com"), Phone: new("670000001")})
			before["name"], before["email"], before["phone"] = "Ada Ndé", "ada.nde@example.com", "+237670000001"
			b.same(before, got)
			b.same(before, b.call(&getCustomer{Id: id}))
			b.journaled(n, "customer.updated", id, object{
				"name": change("Ada", "Ada Ndé"), "email": change("ada@example.com", "ada.nde@example.com"),
				"phone": change(nil, "+237670000001"),
			})
			require.Empty(b, b.sentSince(sent))
			b.leavesNothing(func() {
				b.same(got, b.call(&updateCustomer{Id: id, UpdateMask: mask()}))
				b.same(got, b.call(&updateCustomer{Id: id, Email: new("ADA.NDE@example.com"), Phone: new("+237 670 000 001")}))
				b.refusedFields(&updateCustomer{Id: id, UpdateMask: mask("name")}, "name")
			})
			b.requireFields(b.call(&updateCustomer{Id: id, Name: new("")}), object{"name": ""})
		},
	},
	scenario{
		name: "an unusable phone is phone_invalid, an unusable e-mail validation_failed",
		run: func(b *bench) {
			id := b.created(&createCustomer{Email: new("ada@example.com")}, 201)["id"].(string)
			b.leavesNothing(func() {
				for _, phone := range []string{"", "  ", "12", "phone", "+999123456789", "670000001 ext. 5", "+237670000001234567",
					"670\n000001"} {
					require.Nil(b, b.refused(&createCustomer{Phone: &phone}, 400, "phone_invalid"), "%q", phone)
					require.Nil(b, b.refused(&updateCustomer{Id: id, Phone: &phone}, 400, "phone_invalid"), "%q", phone)
				}
				for _, email := range []string{
					"", " ", "ada", "ada@", "@example.com", "ada@localhost", "Ada <ada@example.com>", "ada@example.com, b@example.com",
					"ada@[127.0.0.1]", "ada@example.", strings.Repeat("a", 250) + "@example.com",
				} {
					b.refusedFields(&createCustomer{Email: &email}, "email")
					b.refusedFields(&updateCustomer{Id: id, Email: &email}, "email")
				}
				b.refusedFields(&createCustomer{Name: strings.Repeat("x", 201), Email: new("x"), Phone: new("12")}, "name", "email", "phone")
			})
			b.requireFields(b.created(&createCustomer{Phone: new("+33 1 23 45 67 89")}, 201), object{"phone": "+33123456789"})
			b.requireFields(b.created(&createCustomer{Email: new(" Ada+x@Mail.Example.com ")}, 201),
				object{"email": "ada+x@mail.example.com"})
			b.leavesNothing(func() {
				for _, email := range []string{
					`"" <ada@example.com>`, `"ada"@[127.0.0.1]`, `""@example.com`, `"ada" @example.com`, `"ada@example.com`, `"a"b@example.com`,
					"\"a\tb\"@example.com",
					`"ada"@example.com (work)`,
				} {
					b.refusedFields(&createCustomer{Email: &email}, "email")
				}
			})
			for sent, stored := range map[string]string{
				"İLKAY@example.com": "i̇lkay@example.com", "Ze\u0301@ÉCOLE.example.com": "z\u00e9@école.example.com",
				"ΝΊΚΟΣ@example.gr":    "νίκος@example.gr",
				`"Bea B"@example.com`: `"bea b"@example.com`, `"bea"@example.com`: "bea@example.com",
				`"b@a\"c"@example.com`: `"b@a\"c"@example.com`,
			} {
				made := b.created(&createCustomer{Email: &sent}, 201)
				b.requireFields(made, object{"email": stored})
				b.same(made, b.created(&createCustomer{Email: &stored}, 200))
				b.same(made, b.call(&updateCustomer{Id: made["id"].(string), Email: &stored}))
			}
		},
	},
	scenario{
		name: "customers are listed newest first and searched by name, e-mail and phone",
		run: func(b *bench) {
			ada := b.created(&createCustomer{Name: "Ada Groß", Email: new("first@example.com"), Phone: new("+237670000001")},
				201)["id"].(string)
			bea := b.created(&createCustomer{Name: "Béa", Email: new("a_b@mail.example")}, 201)["id"].(string)
			cyr := b.created(&createCustomer{Phone: new("+33123456789")}, 201)["id"].(string)
			list := b.call(&listCustomers{})
			b.requireFields(list, object{"page": 1, "pageSize": 25, "total": 3})
			require.Equal(b, newest(ada, bea, cyr), b.names(list, "id"))
			b.same(b.call(&getCustomer{Id: bea}), b.data(list)[1])
			for q, want := range map[string][]string{
				"GROSS": {ada}, "béa": {bea}, "BE\u0301A": {bea}, "FIRST@": {ada}, "example": {bea, ada}, "_": {bea}, "%": {}, "+2376": {ada},
				"0000": {ada}, "123456789": {cyr}, "": {cyr, bea, ada}, "groß first": {}, "\u001f": nil,
			} {
				if want == nil {
					b.refusedFields(&listCustomers{Q: &q}, "q")
					continue
				}
				got := b.call(&listCustomers{Q: &q})
				require.Equal(b, want, b.names(got, "id"), "q=%q", q)
				b.requireFields(got, object{"total": len(want)})
			}
			// A search for digits and separators also compares the digits alone, but only with phones.
			dan := b.created(&createCustomer{Name: "Dan 33-12 34", Email: new("3312@example.com"), Phone: new("+237670333301")},
				201)["id"].(string)
			for q, want := range map[string][]string{
				"\u202a+237 670 333 301\u202c": {dan}, "670\ufe0f-333-301;": {dan}, "\u2066670333301\u2069": {dan}, "\ufeff3312@\u200b": {dan},
				"670 333 301": {dan}, "+237 (670) 33.33-01": {dan}, "+237/670\u2011333\u00a0301": {dan}, "６７０　３３３": {dan}, "33 1 23": {cyr},
				"33-12 34": {dan, cyr}, "3312@": {dan}, "33 12@": {}, "670 333 x": {}, "+ -": {}, "670 000 0": {ada}, "67 0": {dan, ada},
			} {
				got := b.call(&listCustomers{Q: &q})
				require.Equal(b, want, b.names(got, "id"), "q=%q", q)
				b.requireFields(got, object{"total": len(want)})
			}
			b.call(&updateCustomer{Id: cyr, Name: new("Cyrille")})
			require.Equal(b, []string{cyr}, b.names(b.call(&listCustomers{Q: new("cyrille")}), "id"), "a search sees a change")
			// Turkish has two letters I, dotted and dotless, each in upper and lower case.
			b.call(&updateCustomer{Id: cyr, Name: new("IŞIK İstanbul")})
			for _, q := range []string{"istanbul", "ISTANBUL", "İSTANBUL", "ıstanbul", "işik", "ışık", "IŞIK"} {
				require.Equal(b, []string{cyr}, b.names(b.call(&listCustomers{Q: &q}), "id"), q)
			}
		},
	},
	scenario{
		name: "a customer that is not there is not found",
		run: func(b *bench) {
			require.Nil(b, b.refused(&getCustomer{Id: unknownID()}, 404, "customer_not_found"))
			require.Nil(b, b.refused(&updateCustomer{Id: "ada@example.com", Name: new("x")}, 404, "customer_not_found"))
		},
	},
)
