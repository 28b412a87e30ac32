<?php

declare(strict_types=1);

namespace Storefront;

/**
 * The API of a store, with one key.
 *
 *     $shop = new Client('https://api.example.com', getenv('SHOP_KEY'));
 *     foreach ($shop->products->list(status: ProductStatus::PUBLISHED) as $product) {
 *         echo $product->title, ' ', $product->priceAmount, ' ', $product->currency, "\n";
 *     }
 *
 * The client sends a failed request again, at most $maxRetries times:
 *
 *     failure                              paymentLinks->create       everything else
 *     429                                  retry after Retry-After    retry after Retry-After
 *     5xx, network error, no answer        no retry                   retry after Retry-After or a growing pause
 *       within 30 s
 *
 * After a 429 the service has changed nothing. After any other failure it may have created the payment
 * link, and a second link could take money too, so the caller must decide. If Retry-After is more than a
 * minute, the call fails at once.
 *
 * A call that fails throws a StorefrontException; an argument that cannot be sent, an
 * \InvalidArgumentException. The client sends the key only to the base URL, never over plain HTTP to
 * another machine, and follows no redirect. No dump of an object shows the key.
 */
final class Client
{
    public const VERSION = '2026.11.0';

    public readonly Resource\Store $store;
    public readonly Resource\Products $products;
    public readonly Resource\Orders $orders;
    public readonly Resource\Customers $customers;
    public readonly Resource\PaymentLinks $paymentLinks;

    /**
     * @param string $baseUrl the address of the service, without /v1: https://api.example.com
     * @param string $apiKey svc_live_…, on servers only
     * @param int $maxRetries the most retries of a request; 0 means none
     * @param float $timeout the most seconds that a call may take with its retries and pauses; in a list, that a page may take
     * @param bool $allowHttp accept http:// to another machine; for private networks only, as the key is then sent unencrypted
     * @param Transport|null $transport sends the requests, by default with curl; Psr18Transport uses a PSR-18 client of yours
     * @param string $userAgent your program's name, such as crm/1.4; the header User-Agent has it before this package's name
     * @throws \InvalidArgumentException if an argument is invalid; its message never contains the key
     */
    public function __construct(
        string $baseUrl,
        #[\SensitiveParameter] string $apiKey,
        int $maxRetries = 3,
        float $timeout = 120.0,
        bool $allowHttp = false,
        ?Transport $transport = null,
        string $userAgent = '',
    ) {
        $connection = new Connection(
            $baseUrl,
            $apiKey,
            $maxRetries,
            $timeout,
            $allowHttp,
            $transport ?? new CurlTransport(),
            $userAgent,
        );
        $this->store = new Resource\Store($connection);
        $this->products = new Resource\Products($connection);
        $this->orders = new Resource\Orders($connection);
        $this->customers = new Resource\Customers($connection);
        $this->paymentLinks = new Resource\PaymentLinks($connection);
    }
}
