package dashboard

import (
	"cmp"

	"go.storefront.example/server/apierr"
)

var labels = map[string]string{
	"name": "Name", "scopes": "Scopes", "lifetime": "Expires", "url": "URL", "description": "Description", "events": "Events",
	"since": "Since", "window": "Since", "from": "From", "until": "Until", "eventType": "Event", "status": "Status", "pageToken": "Page",
	"text": "Search",
}

// meanings describe scopes and event types (specification, Scopes, Event types).
var meanings = map[string]string{
	"store:read":          "Read the store's own data",
	"products:read":       "List and read products, whatever their status",
	"products:write":      "Change titles, texts, prices and status of products; includes reading",
	"orders:read":         "List and read orders",
	"customers:read":      "List, search and read customers",
	"customers:write":     "Create and change customers; includes reading",
	"payment_links:read":  "List and read payment links and what they took",
	"payment_links:write": "Create, change and enable payment links; includes reading",

	"order.paid":        "An order is paid, from the catalogue or through a payment link",
	"order.failed":      "The payment provider reports that an order's payment failed",
	"customer.created":  "A customer is new to the store",
	"product.published": "A product is published",
	"product.archived":  "A product is archived",
	"payment_link.paid": "A payment link is paid; order.paid is sent for the same order too, with another event id",
	"ping":              "Somebody pressed the test button",
}

// refusalsToOwners replaces descriptions that mention a part of the answer, which owners do not see.
var refusalsToOwners = map[apierr.Code]string{
	apierr.ValidationFailed:  "A parameter or a field of the body is invalid.",
	apierr.InsufficientScope: "The key lacks a scope that the request needs.",
	apierr.ProductIncomplete: "The product cannot be published, because it is incomplete.",
	apierr.MethodNotAllowed:  "The address does not answer this method.",
	apierr.RateLimited:       "The key made too many requests in one minute.",
}

func refusalOf(code string) string {
	return cmp.Or(refusalsToOwners[apierr.Code(code)], apierr.Meanings[apierr.Code(code)].Text)
}

// refusedLabels has the label of the list of names that a code comes with.
var refusedLabels = map[apierr.Code]string{apierr.InsufficientScope: "Scope", apierr.ProductIncomplete: "Missing"}

func refusedLabel(code string) string { return cmp.Or(refusedLabels[apierr.Code(code)], "Refused") }
