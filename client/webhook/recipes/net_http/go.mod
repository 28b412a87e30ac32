// A module of its own, as a reader's: go mod tidy && go run .
module recipe

go 1.26.0

require go.storefront.example v0.0.0

replace go.storefront.example => ../../../..
