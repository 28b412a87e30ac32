package resource

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/gen/ent"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

func TestAvailability(t *testing.T) {
	t.Parallel()
	past, future := new(noon.Add(-time.Millisecond)), new(noon.Add(time.Millisecond))
	for name, row := range map[string]struct {
		link ent.PaymentLink
		want storefrontv1.PaymentLink_Availability
	}{
		"nothing set": {ent.PaymentLink{PaidCount: 1000}, storefrontv1.PaymentLink_ACTIVE},
		"before the end, below the cap": {ent.PaymentLink{ExpiresAt: future, MaxPayments: new(int32(3)), PaidCount: 2},
			storefrontv1.PaymentLink_ACTIVE},
		"at the cap": {ent.PaymentLink{ExpiresAt: future, MaxPayments: new(int32(3)), PaidCount: 3},
			storefrontv1.PaymentLink_EXHAUSTED},
		"above a cap that was lowered": {ent.PaymentLink{MaxPayments: new(int32(3)), PaidCount: 4},
			storefrontv1.PaymentLink_EXHAUSTED},
		"at the end": {ent.PaymentLink{ExpiresAt: new(noon)}, storefrontv1.PaymentLink_EXPIRED},
		"after the end, at the cap": {ent.PaymentLink{ExpiresAt: past, MaxPayments: new(int32(1)), PaidCount: 1},
			storefrontv1.PaymentLink_EXPIRED},
		"disabled, and everything else": {ent.PaymentLink{DisabledAt: past, ExpiresAt: past, MaxPayments: new(int32(1)), PaidCount: 1},
			storefrontv1.PaymentLink_DISABLED},
		"disabled, and nothing else": {ent.PaymentLink{DisabledAt: future}, storefrontv1.PaymentLink_DISABLED},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, row.want, Availability(&row.link, noon))
		})
	}
}
