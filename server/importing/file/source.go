package file

import "strings"

// source maps the columns of an export to the fields of a kind. A field's first column that holds
// something counts.
type source struct {
	// columns are the columns of each field.
	columns map[string][]string
	// group is the field whose value consecutive lines of one record share; further lines may leave it
	// empty.
	group string
	// words are the words of a field's values, in lower case, and what they stand for.
	words map[string]map[string]string
	// currency is the currency of the amounts, if the export is always in one.
	currency string
	// known is true for the export of a shop, whose amounts and moments may contradict each other.
	known bool
	// skip reports by the value of the column skipBy whether a line is none of a record, such as a line of
	// totals; nil skips none.
	skipBy string
	skip   func(value string) bool
}

var paidWords = map[string]string{
	"paid": "PAID", "partially_refunded": "PAID", "refunded": "REFUNDED", "pending": "PENDING", "authorized": "PENDING",
	"partially_paid": "PENDING", "unpaid": "PENDING", "voided": "CANCELLED", "expired": "CANCELLED",
}

var wooWords = map[string]string{
	"completed": "PAID", "processing": "PAID", "refunded": "REFUNDED", "cancelled": "CANCELLED", "canceled": "CANCELLED",
	"failed": "FAILED", "pending": "PENDING", "pending payment": "PENDING", "on-hold": "PENDING", "on hold": "PENDING", "checkout-draft": "PENDING",
}

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
			words: map[string]map[string]string{"status": {"active": "PUBLISHED", "draft": "DRAFT", "archived": "ARCHIVED", "unlisted": "DRAFT"}},
		},
		Customers: {columns: map[string][]string{
			"id": {"Customer ID", "Email"}, "email": {"Email"}, "firstName": {"First Name"}, "lastName": {"Last Name"},
			"phone": {"Phone", "Default Address Phone"}, "ordersCount": {"Total Orders"}, "total": {"Total Spent"},
		}},
		Orders: {
			group: "reference",
			columns: map[string][]string{
				"reference": {"Name"}, "status": {"Financial Status"}, "total": {"Total"}, "currency": {"Currency"},
				"paidAt": {"Paid at"}, "createdAt": {"Created at"}, "cancelledAt": {"Cancelled at"}, "note": {"Notes"},
				"email": {"Email"}, "phone": {"Phone", "Billing Phone", "Shipping Phone"}, "name": {"Billing Name", "Shipping Name"},
				"itemTitle": {"Lineitem name"}, "itemQuantity": {"Lineitem quantity"}, "itemPrice": {"Lineitem price"},
			},
			words: map[string]map[string]string{"status": paidWords},
		},
	},
	"woocommerce": {
		// https://github.com/woocommerce/woocommerce/wiki/Product-CSV-Import-Schema
		Products: {
			columns: map[string][]string{
				"id": {"ID", "SKU"}, "title": {"Name"}, "summary": {"Short description"}, "description": {"Description"},
				"price": {"Sale price", "Regular price"}, "compareAt": {"Regular price"}, "coverUrl": {"Images"}, "status": {"Published"},
			},
			words:  map[string]map[string]string{"status": {"1": "PUBLISHED", "0": "DRAFT", "-1": "DRAFT"}},
			skipBy: "Type", skip: func(kind string) bool { return strings.Contains(strings.ToLower(kind), "variation") },
		},
		// The exports of WooCommerce's analytics and of its Customer / Order / Coupon Export.
		Customers: {columns: map[string][]string{
			"id": {"customer_id", "Username", "Email", "user_email", "email"}, "email": {"Email", "email", "user_email", "billing_email"},
			"name": {"Name"}, "firstName": {"first_name", "billing_first_name"}, "lastName": {"last_name", "billing_last_name"},
			"phone": {"billing_phone", "phone"}, "createdAt": {"Sign up", "date_registered", "user_registered"},
			"ordersCount": {"Orders", "order_count"}, "total": {"Total spend", "total_spent"},
		}},
		Orders: {
			group: "reference",
			columns: map[string][]string{
				"id": {"order_id"}, "reference": {"order_number_formatted", "order_number", "order_id", "Order Number"},
				"status": {"status", "order_status", "Order Status"}, "total": {"order_total", "Order Total Amount"},
				"currency": {"order_currency", "currency"}, "createdAt": {"order_date", "date", "Order Date"}, "paidAt": {"paid_date", "date_paid"},
				"note": {"customer_note", "Customer Note"}, "email": {"billing_email", "customer_email", "Email (Billing)"},
				"phone": {"billing_phone", "Phone (Billing)"}, "firstName": {"billing_first_name", "First Name (Billing)"},
				"lastName": {"billing_last_name", "Last Name (Billing)"}, "itemTitle": {"item_name", "Item Name"},
				"itemProduct": {"item_product_id"}, "itemQuantity": {"item_quantity", "Quantity (- Refund)"},
				"itemPrice": {"item_price", "Item Cost"}, "itemTotal": {"item_total"},
			},
			words: map[string]map[string]string{"status": wooWords},
		},
	},
	"gumroad": {
		// The columns of Gumroad's export of sales: one file has products, customers and orders.
		Products: {
			currency: "USD", skipBy: "Purchase ID", skip: isTotals,
			columns: map[string][]string{"id": {"Product ID", "Item Name"}, "title": {"Item Name"}, "price": {"Item Price ($)"}},
		},
		Customers: {skipBy: "Purchase ID", skip: isTotals, columns: map[string][]string{
			"id": {"Purchase Email", "Buyer Email", "Subscriber Email"}, "email": {"Purchase Email", "Buyer Email", "Subscriber Email"},
			"name": {"Buyer Name"}, "createdAt": {"Purchase Date", "Subscribed Time"},
		}},
		Orders: {
			currency: "USD", skipBy: "Purchase ID", skip: isTotals,
			columns: map[string][]string{
				"reference": {"Purchase ID"}, "refunded": {"Fully Refunded?"}, "total": {"Sale Price ($)"},
				"createdAt": {"Purchase Date"}, "time": {"Purchase Time (UTC timezone)"}, "email": {"Purchase Email", "Buyer Email"},
				"name": {"Buyer Name"}, "itemProduct": {"Product ID", "Item Name"}, "itemTitle": {"Item Name"},
				"itemQuantity": {"Quantity"}, "itemPrice": {"Item Price ($)"},
			},
		},
	},
}

// isTotals reports whether a line of Gumroad's is that of the totals.
func isTotals(purchase string) bool { return purchase == "Totals" }

// own are the fields of each kind, which are also the columns of a file of one's own.
var own = map[Kind][]string{
	Products: {
		"id", "title", "price", "priceAmount", "compareAt", "compareAtAmount", "slug", "type", "status", "summary", "description",
		"url", "coverUrl", "publishedAt", "createdAt", "updatedAt", "currency",
	},
	Customers: {"id", "name", "firstName", "lastName", "email", "phone", "ordersCount", "total", "totalPaid", "createdAt", "currency"},
	Orders: {
		"id", "reference", "status", "refunded", "total", "amount", "currency", "note", "paidAt", "createdAt", "cancelledAt", "time",
		"platformFeePercent", "customer", "name", "firstName", "lastName", "email", "phone",
		"itemProduct", "itemType", "itemTitle", "itemQuantity", "itemPrice", "itemTotal",
	},
}
