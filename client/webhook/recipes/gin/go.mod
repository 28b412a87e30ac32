// A module of its own, because nothing else needs Gin: go mod tidy && go run .
module recipe

go 1.26.0

require (
	github.com/gin-gonic/gin v1.12.0
	go.storefront.example v0.0.0
)

replace go.storefront.example => ../../../..
