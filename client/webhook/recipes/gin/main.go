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

// stored stands for a table of your database, which outlives the program.
var stored = make(chan *webhook.Event, 1000)

func receive(c *gin.Context) {
	event, err := webhook.Read(c.Request, os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		fmt.Println(err) // says why
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	stored <- event                // store the event first,
	c.Status(http.StatusNoContent) // then answer 2xx, then work
}

// work handles the stored events, and each order once: two events report the payment of a link, and any event may come again.
func work() {
	shipped := map[string]bool{} // stands for a table whose key is the order's id
	for event := range stored {
		switch data := event.Data.(type) {
		case *client.Order:
			paid := event.Type == webhook.OrderPaid || event.Type == webhook.PaymentLinkPaid
			if paid && !shipped[data.GetId()] {
				shipped[data.GetId()] = true
				fmt.Println("paid:", data.GetReference(), data.GetAmount(), data.GetCurrency())
			}
		case *client.Customer:
			fmt.Println("new:", data.GetName(), data.GetPhone())
		}
	}
}

func main() {
	go work()
	router := gin.New()
	router.POST("/webhooks", receive)
	address := "127.0.0.1:" + cmp.Or(os.Getenv("PORT"), "3000")
	fmt.Printf("listening on http://%s/webhooks\n", address)
	log.Fatal(router.Run(address))
}
