//go:build ignore

// A receiver of webhooks in Gin.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/gin-gonic/gin"

	"go.storefront.example/client/webhook"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

func receive(c *gin.Context) {
	event, err := webhook.Read(c.Request, os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		fmt.Println(err) // which mistake was made
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	c.Status(http.StatusNoContent)
	if customer, ok := event.Data.(*storefrontv1.Customer); ok {
		fmt.Println("new:", customer.GetName(), customer.GetPhone())
	}
}

func main() {
	router := gin.New()
	router.POST("/webhooks", receive)
	log.Fatal(router.Run("127.0.0.1:" + os.Getenv("PORT")))
}
