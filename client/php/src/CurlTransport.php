<?php

declare(strict_types=1);

namespace Storefront;

/** Sends requests with curl. It keeps its connection open and reuses it. */
final class CurlTransport implements Transport
{
    private \CurlHandle $handle;
    /** The process that made the handle. After a fork, two processes would read each other's answers from its connection. */
    private int|false $process;

    /** @param array<int, mixed> $options further curl options, such as a proxy: [CURLOPT_PROXY => 'http://proxy:3128'] */
    public function __construct(private readonly array $options = [])
    {
        if (!\function_exists('curl_init') || ($handle = curl_init()) === false) {
            throw new \LogicException('PHP\'s curl extension is missing: install php-curl, or pass a transport of your own');
        }
        $this->handle = $handle;
        $this->process = getmypid();
    }

    public function send(
        string $method,
        string $url,
        #[\SensitiveParameter] array $headers,
        ?string $body,
        float $timeout,
    ): Response {
        $lines = ['Expect:']; // without it, curl waits for 100 Continue before a large body
        foreach ($headers as $name => $value) {
            $lines[] = "$name: $value";
        }
        if ($body === null && $method !== 'GET') {
            $lines[] = 'Content-Type:'; // without it, curl sends the content type of a form
        }
        $received = [];
        $text = '';
        if ($this->process !== getmypid()) {
            $this->handle = curl_init() ?: throw new \LogicException('curl cannot be used in this process');
            $this->process = getmypid();
        }
        curl_reset($this->handle);
        curl_setopt_array($this->handle, [
            CURLOPT_URL => $url,
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => $lines,
            CURLOPT_RETURNTRANSFER => false, // so that a caller's option does not disable the next function
            CURLOPT_WRITEFUNCTION => static function ($handle, string $part) use (&$text): int {
                return \strlen($text .= $part) > Connection::MAX_ANSWER ? 0 : \strlen($part); // 0 ends the answer
            },
            CURLOPT_FOLLOWLOCATION => false,
            // A POST must not be sent twice, but curl sends a request again if a reused connection dies without an answer.
            CURLOPT_FRESH_CONNECT => $method === 'POST',
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_ENCODING => '', // every compression that this curl supports
            CURLOPT_TIMEOUT_MS => max(1, (int) ($timeout * 1000)),
            CURLOPT_NOSIGNAL => true,
            CURLOPT_HEADERFUNCTION => static function ($handle, string $line) use (&$received): int {
                if (str_starts_with($line, 'HTTP/')) {
                    $received = []; // the headers so far were those of an interim answer or a proxy
                } elseif (\count($parts = explode(':', $line, 2)) === 2) {
                    $received[strtolower(trim($parts[0]))] = trim($parts[1]);
                }

                return \strlen($line);
            },
        ] + $this->options + (Connection::isLoopback((string) parse_url($url, PHP_URL_HOST))
            ? [CURLOPT_PROXY => ''] // the proxy of http_proxy would read the key on its way to this machine
            : []));
        if ($body !== null || $method !== 'GET') {
            curl_setopt($this->handle, CURLOPT_POSTFIELDS, $body ?? '');
        }
        if (curl_exec($this->handle) === false && \strlen($text) <= Connection::MAX_ANSWER) {
            throw new TransportException(
                curl_error($this->handle) ?: 'curl failed',
                curl_errno($this->handle) === CURLE_OPERATION_TIMEDOUT,
            );
        }

        return new Response(curl_getinfo($this->handle, CURLINFO_RESPONSE_CODE), $received, $text);
    }
}
