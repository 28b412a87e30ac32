<?php

declare(strict_types=1);

namespace Storefront;

/** Sends one request. It follows no redirect, and does not try again. */
interface Transport
{
    /**
     * @param array<string, string> $headers the API key is among them
     * @param float $timeout how many seconds the attempt may take, above 0
     * @throws TransportException if no whole answer came
     */
    public function send(
        string $method,
        string $url,
        #[\SensitiveParameter] array $headers,
        ?string $body,
        float $timeout,
    ): Response;
}
