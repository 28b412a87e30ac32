package resource

import "go.storefront.example/gen/ent"

// The fields of each resource are the columns of its table: first those that only the service sets, then those that the
// activity journal lacks, because they follow from others, are counters, or are the service's own.
var (
	StoreFields       = fieldsOf[ent.Store]("slug currency country", "delete_at deletion_began_at").called("payment_links_open", "paymentLinks")
	ProductFields     = fieldsOf[ent.Product]("slug type", "title_folded url published_at")
	CustomerFields    = fieldsOf[ent.Customer]("", "search orders_count total_paid")
	OrderFields       = fieldsOf[ent.Order]("reference status amount customer_id payment_link_id note", "platform_fee_percent paid_at")
	PaymentLinkFields = fieldsOf[ent.PaymentLink]("code", "url paid_count paid_amount last_paid_at")
	APIKeyFields      = fieldsOf[ent.ApiKey]("name scopes expires_at revoked_at", "hint last_used_at")
	WebhookFields     = fieldsOf[ent.Webhook]("enabled disabled_automatically",
		"secret_key disabled_at failing_since epoch")
)
