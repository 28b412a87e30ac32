<?php

declare(strict_types=1);

namespace Storefront;

use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;

/**
 * Sends requests through a PSR-18 client of yours. PSR-18 has no settings for time-outs and redirects, so configure
 * your client: a time-out of 30 seconds, and no redirects. If it uses curl, also set CURLOPT_FRESH_CONNECT: otherwise
 * curl may send a POST twice when a reused connection dies, which could create a payment link twice. After a fork, make
 * another: two processes on one connection read each other's answers.
 */
final class Psr18Transport implements Transport
{
    public function __construct(
        private readonly ClientInterface $client,
        private readonly RequestFactoryInterface $requests,
        private readonly StreamFactoryInterface $streams,
    ) {
    }

    public function send(
        string $method,
        string $url,
        #[\SensitiveParameter] array $headers,
        ?string $body,
        float $timeout,
    ): Response {
        $request = $this->requests->createRequest($method, $url);
        foreach ($headers as $name => $value) {
            $request = $request->withHeader($name, $value);
        }
        if ($body !== null) {
            $request = $request->withBody($this->streams->createStream($body));
        }
        try {
            $answer = $this->client->sendRequest($request);
            $received = [];
            foreach (array_keys($answer->getHeaders()) as $name) {
                $received[strtolower((string) $name)] = $answer->getHeaderLine((string) $name);
            }

            return new Response($answer->getStatusCode(), $received, (string) $answer->getBody());
        } catch (ClientExceptionInterface | \RuntimeException $failed) {
            throw new TransportException($failed->getMessage(), false, $failed);
        }
    }
}
