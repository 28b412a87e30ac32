// A receiver of webhooks in Gin.
package main

import (
	"cmp"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/gin-gonic/gin"

	"go.storefront.example/client"
	"go.storefront.example/client/webhook"
)

func receive(c *gin.Context) {
	event, err := webhook.Read(c.Request, os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		fmt.Println(err) // says why, for example that the secret is wrong
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	c.Status(http.StatusNoContent)
	if customer, ok := event.Data.(*client.Customer); ok {
		fmt.Println("new:", customer.GetName(), customer.GetPhone())
	}
}

func main() {
	router := gin.New()
	router.POST("/webhooks", receive)
	address := "127.0.0.1:" + cmp.Or(os.Getenv("PORT"), "3000")
	fmt.Printf("listening on http://%s/webhooks\n", address)
	log.Fatal(router.Run(address))
}
