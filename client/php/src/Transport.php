<?php

declare(strict_types=1);

namespace Storefront;

/** Sends one request. It must not follow redirects or retry. */
interface Transport
{
    /**
     * @param array<string, string> $headers contain the API key
     * @param float $timeout how many seconds the attempt may take, above 0
     * @throws TransportException if no complete answer comes
     */
    public function send(
        string $method,
        string $url,
        #[\SensitiveParameter] array $headers,
        ?string $body,
        float $timeout,
    ): Response;
}
