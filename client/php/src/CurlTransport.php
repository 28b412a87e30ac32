<?php

declare(strict_types=1);

namespace Storefront;

/** Sends requests by curl, over one connection that it keeps. */
final class CurlTransport implements Transport
{
    private readonly \CurlHandle $handle;

    /** @param array<int, mixed> $options of curl, for a proxy or certificates: [CURLOPT_PROXY => 'http://proxy:3128'] */
    public function __construct(private readonly array $options = [])
    {
        if (!\function_exists('curl_init') || ($handle = curl_init()) === false) {
            throw new \LogicException('PHP\'s curl extension is missing: install php-curl, or pass a transport of your own');
        }
        $this->handle = $handle;
    }

    public function send(
        string $method,
        string $url,
        #[\SensitiveParameter] array $headers,
        ?string $body,
        float $timeout,
    ): Response {
        $lines = ['Expect:']; // a pause for 100 Continue helps nobody here
        foreach ($headers as $name => $value) {
            $lines[] = "$name: $value";
        }
        if ($body === null && $method !== 'GET') {
            $lines[] = 'Content-Type:'; // curl would name a form's
        }
        $received = [];
        curl_reset($this->handle);
        curl_setopt_array($this->handle, [
            CURLOPT_URL => $url,
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => $lines,
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_FOLLOWLOCATION => false,
            // On a kept connection that dies without an answer curl sends a request again, a POST too.
            CURLOPT_FRESH_CONNECT => $method === 'POST',
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_ENCODING => '', // what this curl can decompress
            CURLOPT_TIMEOUT_MS => max(1, (int) ($timeout * 1000)),
            CURLOPT_NOSIGNAL => true,
            CURLOPT_HEADERFUNCTION => static function ($handle, string $line) use (&$received): int {
                if (str_starts_with($line, 'HTTP/')) {
                    $received = []; // those before were of an interim answer or a proxy
                } elseif (\count($parts = explode(':', $line, 2)) === 2) {
                    $received[strtolower(trim($parts[0]))] = trim($parts[1]);
                }

                return \strlen($line);
            },
        ] + $this->options);
        if ($body !== null || $method !== 'GET') {
            curl_setopt($this->handle, CURLOPT_POSTFIELDS, $body ?? '');
        }
        $text = curl_exec($this->handle);
        if (!\is_string($text)) {
            throw new TransportException(
                curl_error($this->handle) ?: 'curl failed',
                curl_errno($this->handle) === CURLE_OPERATION_TIMEDOUT,
            );
        }

        return new Response(curl_getinfo($this->handle, CURLINFO_RESPONSE_CODE), $received, $text);
    }
}
