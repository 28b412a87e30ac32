package importing

// source maps the columns of an export to the fields of a kind. A field's first column that holds
// something counts.
type source struct {
	// columns are the columns of each field, in all languages in which the shop writes them.
	columns map[string][]string
	// group is the field whose value consecutive lines of one record share; further lines may leave it
	// empty.
	group string
	// words are the words of a field's values, as fold writes them, and what they stand for.
	words map[string]map[string]string
	// currency is the currency of the amounts, if the export is always in one.
	currency string
	// known is true for the export of a shop, whose amounts and moments may contradict each other.
	known bool
	// skip has the words of the field skipBy whose records are none, and why for the report, unless nobody
	// needs to know.
	skipBy string
	skip   map[string]string
	// partly are the words of an order's status that lose something, and what.
	partly map[string]string
	// variation and variable are the words of the field kind for a line that only has a price of its parent, and
	// for the parent, a product without a price.
	variation, variable string
	// ignored are the columns that --map leaves out.
	ignored []string
}

var shopifyStatus = map[string]string{
	"paid": "PAID", "partiallyrefunded": "PAID", "refunded": "REFUNDED", "pending": "PENDING", "authorized": "PENDING",
	"partiallypaid": "PENDING", "unpaid": "PENDING", "voided": "CANCELLED", "expired": "CANCELLED",
}

// wooStatus are the statuses of WooCommerce's orders in English, French, German, Spanish and Portuguese.
var wooStatus = map[string]string{
	"completed": "PAID", "terminee": "PAID", "abgeschlossen": "PAID", "fertiggestellt": "PAID", "completado": "PAID",
	"completada": "PAID",
	"concluido":  "PAID", "concluida": "PAID", "completo": "PAID", "completa": "PAID",
	"processing": "PAID", "encours": "PAID", "inbearbeitung": "PAID", "procesando": "PAID", "processando": "PAID",
	"emprocessamento": "PAID",
	"refunded":        "REFUNDED", "remboursee": "REFUNDED", "ruckerstattet": "REFUNDED", "erstattet": "REFUNDED",
	"reembolsado": "REFUNDED",
	"reembolsada": "REFUNDED",
	"cancelled":   "CANCELLED", "canceled": "CANCELLED", "annulee": "CANCELLED", "storniert": "CANCELLED", "cancelado": "CANCELLED",
	"cancelada": "CANCELLED",
	"failed":    "FAILED", "echouee": "FAILED", "echec": "FAILED", "fehlgeschlagen": "FAILED", "fallido": "FAILED",
	"malsucedido": "FAILED",
	"malsucedida": "FAILED", "falhado": "FAILED", "falhada": "FAILED", "falhou": "FAILED",
	"pending": "PENDING", "pendingpayment": "PENDING", "attentepaiement": "PENDING", "enattentepaiement": "PENDING",
	"enattentedepaiement": "PENDING", "zahlungausstehend": "PENDING", "ausstehend": "PENDING", "pendientedepago": "PENDING",
	"pendiente": "PENDING", "pagamentopendente": "PENDING", "pendente": "PENDING",
	"onhold": "PENDING", "enattente": "PENDING", "inwartestellung": "PENDING", "wartend": "PENDING", "enespera": "PENDING",
	"aguardando": "PENDING", "emespera": "PENDING",
}

// ownStatus are words of an order's status in files of one's own, beside the API's.
var ownStatus = map[string]string{
	"payee": "PAID", "paye": "PAID", "bezahlt": "PAID", "pagado": "PAID", "pagada": "PAID", "pago": "PAID", "paga": "PAID",
	"remboursee": "REFUNDED", "erstattet": "REFUNDED", "reembolsado": "REFUNDED", "reembolsada": "REFUNDED",
	"annulee": "CANCELLED", "storniert": "CANCELLED", "cancelado": "CANCELLED", "cancelada": "CANCELLED", "canceled": "CANCELLED",
	"enattente": "PENDING", "offen": "PENDING", "pendiente": "PENDING", "pendente": "PENDING",
	"echouee": "FAILED", "fehlgeschlagen": "FAILED", "fallido": "FAILED", "falhado": "FAILED",
}

const unfinished = "left out: an unfinished checkout is no order"

// sources are the exports that are known, by shop and kind; the manual (cmd/storefront/README.md) has
// the same table. Without a table, a column is a field's own name.
var sources = map[string]map[Kind]source{
	"shopify": {
		// https://help.shopify.com/en/manual/products/import-export/using-csv, old and new names.
		Products: {
			group: "id",
			columns: map[string][]string{
				"id": {"Handle", "URL handle"}, "slug": {"Handle", "URL handle"}, "title": {"Title"},
				"description": {"Body (HTML)", "Description"}, "price": {"Variant Price", "Price"},
				"compareAt": {"Variant Compare At Price", "Compare-at price"}, "coverUrl": {"Image Src", "Product image URL"},
				"status": {"Status"},
			},
			words: map[string]map[string]string{"status": {"active": "PUBLISHED", "draft": "DRAFT", "archived": "ARCHIVED",
				"unlisted": "DRAFT"}},
		},
		Customers: {columns: map[string][]string{
			"id": {"Customer ID", "Email"}, "email": {"Email"}, "firstName": {"First Name"}, "lastName": {"Last Name"},
			"phone": {"Phone", "Default Address Phone"}, "country": {"Default Address Country Code", "Country Code"},
			"ordersCount": {"Total Orders"}, "total": {"Total Spent"},
		}},
		Orders: {
			group: "reference",
			columns: map[string][]string{
				"reference": {"Name"}, "status": {"Financial Status"}, "total": {"Total"}, "currency": {"Currency"},
				"paidAt": {"Paid at"}, "createdAt": {"Created at"}, "cancelledAt": {"Cancelled at"}, "note": {"Notes"},
				"refund": {"Refunded Amount"},
				"email":  {"Email"}, "phone": {"Phone", "Billing Phone", "Shipping Phone"}, "name": {"Billing Name", "Shipping Name"},
				"country":   {"Billing Country", "Shipping Country"},
				"itemTitle": {"Lineitem name"}, "itemSku": {"Lineitem sku"}, "itemQuantity": {"Lineitem quantity"},
				"itemPrice": {"Lineitem price"},
			},
			words:  map[string]map[string]string{"status": shopifyStatus},
			partly: map[string]string{"partiallyrefunded": "is stored as PAID with the full total; what was refunded is lost"},
		},
	},
	"woocommerce": {
		// https://github.com/woocommerce/woocommerce/wiki/Product-CSV-Import-Schema; the header is in the shop's language.
		Products: {
			columns: map[string][]string{
				"id": {"ID", "SKU"}, "kind": {"Type", "Typ", "Tipo"},
				"parent": {"Parent", "Übergeordnetes Produkt", "Übergeordnet", "Superior", "Principal", "Ascendente", "Pai"},
				"sku":    {"SKU", "UGS", "Artikelnummer", "Art.-Nr.", "REF"}, "title": {"Name", "Nom", "Nombre", "Nome"},
				"summary": {"Short description", "Description courte", "Kurzbeschreibung", "Descripción corta", "Descrição curta",
					"Breve descrição"},
				"description": {"Description", "Beschreibung", "Descripción", "Descrição"},
				"price": {
					"Sale price", "Tarif promo", "Prix promo", "Angebotspreis", "Precio rebajado", "Preço promocional",
					"Regular price", "Tarif régulier", "Prix régulier", "Regulärer Preis", "Precio normal", "Preço normal", "Preço",
				},
				"compareAt": {"Regular price", "Tarif régulier", "Prix régulier", "Regulärer Preis", "Precio normal", "Preço normal",
					"Preço"},
				"coverUrl": {"Images", "Bilder", "Imágenes", "Imagens"},
				"status":   {"Published", "Publié", "Veröffentlicht", "Publicado"},
			},
			words:  map[string]map[string]string{"status": {"1": "PUBLISHED", "0": "DRAFT", "-1": "DRAFT", "2": "DRAFT"}},
			skipBy: "kind", variation: "variation", variable: "variable",
			skip: map[string]string{
				"variation": "left out: a variation is no product of its own; its product gets the lowest price of its variations",
				"grouped":   "left out: a group of products has no price of its own",
			},
		},
		// The exports of WooCommerce's analytics and of its Customer / Order / Coupon Export.
		Customers: {columns: map[string][]string{
			"id": {"customer_id", "Username", "Email", "user_email", "Nom d’utilisateur", "Benutzername", "Nombre de usuario",
				"Nome de utilizador", "Nome de usuário", "E-mail", "Correo electrónico"},
			"email": {"Email", "E-mail", "Correo electrónico", "user_email", "billing_email"},
			"name":  {"Name", "Nom", "Nombre", "Nome"}, "firstName": {"first_name", "billing_first_name"}, "lastName": {"last_name",
				"billing_last_name"},
			"phone": {"billing_phone", "phone"}, "country": {"billing_country", "Country / Region", "Pays / Région", "Land / Region",
				"País / Región", "País / Região"},
			"createdAt":   {"Sign up", "Inscription", "Registrierung", "Registro", "date_registered", "user_registered"},
			"ordersCount": {"Orders", "Commandes", "Bestellungen", "Pedidos", "Encomendas", "order_count"},
			"total":       {"Total spend", "Total dépensé", "Gesamtausgaben", "Gasto total", "Total gasto", "total_spent"},
		}},
		Orders: {
			group: "reference",
			columns: map[string][]string{
				"id": {"order_id"}, "reference": {
					"order_number_formatted", "order_number", "order_id", "Order Number", "Numéro de commande", "Bestellnummer",
					"Número de pedido", "Número do pedido", "Número da encomenda",
				},
				"status": {
					"status", "order_status", "Order Status", "État de la commande", "Statut de la commande", "Bestellstatus",
					"Estado del pedido", "Status do pedido", "Estado da encomenda",
				},
				"total": {
					"order_total", "Order Total Amount", "Montant total de la commande", "Gesamtbetrag der Bestellung",
					"Importe total del pedido", "Valor total do pedido",
				},
				"currency": {"order_currency", "currency", "Devise", "Währung", "Moneda", "Moeda"},
				"createdAt": {"order_date", "date", "Order Date", "Date de commande", "Date de la commande", "Bestelldatum",
					"Fecha del pedido", "Data do pedido", "Data da encomenda"},
				"paidAt": {"paid_date", "date_paid", "Paid Date"},
				"note":   {"customer_note", "Customer Note", "Note du client", "Kundennotiz", "Nota del cliente", "Nota do cliente"},
				"email": {"billing_email", "customer_email", "Email (Billing)", "E-mail (facturation)", "E-Mail (Rechnung)",
					"Correo electrónico (facturación)", "E-mail (cobrança)"},
				"phone": {"billing_phone", "Phone (Billing)", "Téléphone (facturation)", "Telefon (Rechnung)",
					"Teléfono (facturación)", "Telefone (cobrança)"},
				"country": {"billing_country", "Country Code (Billing)", "Code pays (facturation)", "Ländercode (Rechnung)",
					"Código de país (facturación)", "Código do país (cobrança)"},
				"firstName": {"billing_first_name", "First Name (Billing)", "Prénom (facturation)", "Vorname (Rechnung)",
					"Nombre (facturación)", "Nome (cobrança)"},
				"lastName": {"billing_last_name", "Last Name (Billing)", "Nom (facturation)", "Nachname (Rechnung)",
					"Apellidos (facturación)", "Sobrenome (cobrança)"},
				"itemTitle": {"item_name", "Item Name", "Nom de l’article", "Artikelname", "Nombre del artículo", "Nome do item"},
				"itemSku":   {"item_sku", "SKU", "UGS", "Artikelnummer"}, "itemProduct": {"item_product_id"},
				"itemQuantity": {"item_quantity", "Quantity (- Refund)", "Quantity", "Quantité", "Menge", "Anzahl", "Cantidad", "Quantidade"},
				"itemPrice":    {"item_price", "Item Cost", "Coût de l’article", "Artikelkosten", "Coste del artículo", "Custo do item"},
				"itemTotal":    {"item_total"},
			},
			words:  map[string]map[string]string{"status": wooStatus},
			skipBy: "status", skip: map[string]string{
				"checkoutdraft": unfinished, "draft": unfinished, "brouillon": unfinished, "entwurf": unfinished, "borrador": unfinished,
				"rascunho": unfinished,
				"trash":    "left out: it is in the trash",
			},
		},
	},
	"gumroad": {
		// The columns of Gumroad's export of sales: one file has products, customers and orders.
		Products: {
			currency: "USD", skipBy: "purchase", skip: gumroadTotals,
			columns: map[string][]string{
				"id": {"Product ID", "Item Name"}, "title": {"Item Name"}, "price": {"Item Price ($)"}, "purchase": {"Purchase ID"},
			},
		},
		Customers: {skipBy: "purchase", skip: gumroadTotals, columns: map[string][]string{
			"id": {"Purchase Email", "Buyer Email", "Subscriber Email"}, "email": {"Purchase Email", "Buyer Email", "Subscriber Email"},
			"name": {"Buyer Name"}, "createdAt": {"Purchase Date", "Subscribed Time"}, "purchase": {"Purchase ID"},
		}},
		Orders: {
			currency: "USD", skipBy: "reference", skip: gumroadTotals,
			columns: map[string][]string{
				"reference": {"Purchase ID"}, "refunded": {"Fully Refunded?"}, "total": {"Sale Price ($)"},
				"createdAt": {"Purchase Date"}, "time": {"Purchase Time (UTC timezone)"}, "email": {"Purchase Email", "Buyer Email"},
				"name": {"Buyer Name"}, "itemProduct": {"Product ID", "Item Name"}, "itemTitle": {"Item Name"},
				"itemQuantity": {"Quantity"}, "itemPrice": {"Item Price ($)"},
			},
		},
	},
	"stripe": {
		// The dashboard's export of customers.
		Customers: {columns: map[string][]string{
			"id": {"id"}, "email": {"Email"}, "name": {"Name", "Shipping Name", "Card Name"}, "phone": {"Phone", "Shipping Phone"},
			"country": {"Shipping Address Country", "Card Address Country"}, "createdAt": {"Created (UTC)", "Created"},
			"currency": {"Currency"}, "ordersCount": {"Payment Count"}, "total": {"Total Spend"},
		}},
	},
}

// gumroadTotals skips Gumroad's line of totals.
var gumroadTotals = map[string]string{"totals": ""}

// own are the fields of each kind, which are also the columns of a file of one's own.
var own = map[Kind][]string{
	Products: {
		"id", "sku", "title", "price", "priceAmount", "compareAt", "compareAtAmount", "slug", "type", "status", "summary",
		"description",
		"url", "coverUrl", "publishedAt", "createdAt", "updatedAt", "currency",
	},
	Customers: {"id", "name", "firstName", "lastName", "email", "phone", "country", "ordersCount", "total", "totalPaid",
		"createdAt", "currency"},
	Orders: {
		"id", "reference", "status", "refunded", "total", "amount", "currency", "note", "paidAt", "createdAt", "cancelledAt", "time",
		"platformFeePercent", "customer", "name", "firstName", "lastName", "email", "phone", "country",
		"itemProduct", "itemSku", "itemType", "itemTitle", "itemQuantity", "itemPrice", "itemTotal",
	},
}

// ownNames are other names of fields in files of one's own, in French, German, Spanish and Portuguese.
var ownNames = map[string][]string{
	"title": {"Name", "Nom", "Nombre", "Nome", "Nom du produit", "Produktname", "Titre", "Titel", "Título", "Produit",
		"Produkt", "Producto", "Produto"},
	"price":       {"Prix", "Preis", "Precio", "Preço"},
	"compareAt":   {"Prix barré", "Streichpreis", "Precio anterior", "Preço anterior"},
	"summary":     {"Résumé", "Zusammenfassung", "Resumen", "Resumo"},
	"description": {"Beschreibung", "Descripción", "Descrição"},
	"sku":         {"UGS", "Artikelnummer"},
	"status":      {"Statut", "État", "Estado"},
	"name":        {"Nom", "Nom complet", "Nombre", "Nome", "Client", "Kunde", "Cliente"},
	"firstName":   {"Prénom", "Vorname"},
	"lastName":    {"Nom de famille", "Nachname", "Apellidos", "Apellido", "Sobrenome", "Apelido"},
	"email":       {"Courriel", "Adresse e-mail", "Mail", "E-mail-Adresse", "Correo", "Correo electrónico"},
	"phone": {"Téléphone", "Tél", "Portable", "Telefon", "Telefonnummer", "Handy", "Mobil", "Teléfono", "Móvil",
		"Telefone", "Telemóvel", "Mobile"},
	"country":  {"Pays", "Land", "País"},
	"currency": {"Devise", "Währung", "Moneda", "Moeda"},
	"reference": {"Référence", "Referenz", "Bestellnummer", "Referencia", "Referência", "Order", "Commande", "Bestellung",
		"Pedido"},
	"total":     {"Montant", "Betrag", "Gesamtbetrag", "Importe"},
	"createdAt": {"Date", "Datum", "Fecha", "Data"},
	"itemTitle": {"Article", "Artikel", "Artículo", "Artigo"}, "itemQuantity": {"Quantité", "Menge", "Anzahl", "Cantidad",
		"Quantidade"},
}
