<?php

declare(strict_types=1);

namespace Storefront;

/** @internal Sends the requests of one client, with retries. */
final class Connection
{
    /** How long one attempt may take, in seconds: shorter than a call, so that there is time for a retry. */
    private const ATTEMPT_TIMEOUT = 30.0;
    /** The pause in seconds before the first retry without a Retry-After. It doubles with each retry, up to MAX_DELAY. */
    private const FIRST_DELAY = 0.25;
    private const MAX_DELAY = 8.0;
    /** The longest Retry-After, in seconds, after which a request is retried. The service's rate limits never ask for more. */
    private const MAX_RETRY_AFTER = 60;
    /** The largest answer that is read, in bytes. A page of a hundred products with the longest descriptions has 20 MB. */
    public const MAX_ANSWER = 32 << 20;

    private readonly string $baseUrl;
    private readonly string $userAgent;
    /** @var \Closure(): string returns the key; a closure, so that a dump of the client does not show the key */
    private readonly \Closure $apiKey;

    public function __construct(
        string $baseUrl,
        #[\SensitiveParameter] string $apiKey,
        private readonly int $maxRetries,
        private readonly float $timeout,
        bool $allowHttp,
        private readonly Transport $transport,
        string $userAgent,
    ) {
        $this->baseUrl = self::address($baseUrl, $allowHttp);
        self::checkKey($apiKey);
        if ($maxRetries < 0) {
            throw new \InvalidArgumentException('maxRetries must be 0 or more');
        }
        if (!($timeout > 0)) {
            throw new \InvalidArgumentException('timeout must be more than 0 seconds');
        }
        if (preg_match('/[\x00-\x1f\x7f]/', $userAgent)) {
            throw new \InvalidArgumentException('userAgent must be one line of text');
        }
        $this->userAgent = ltrim($userAgent . ' storefront-php/' . Client::VERSION);
        $this->apiKey = static fn (): string => $apiKey;
    }

    /** @return array<string, mixed> what var_dump and print_r show */
    public function __debugInfo(): array
    {
        return ['baseUrl' => $this->baseUrl, 'maxRetries' => $this->maxRetries, 'timeout' => $this->timeout];
    }

    /** @return never */
    public function __serialize(): array
    {
        throw new \LogicException('a client holds an API key and cannot be serialized');
    }

    /**
     * Calls an operation, with retries. All attempts share one deadline.
     *
     * @template T
     * @param array<string, int|string|\DateTimeInterface|null> $query parameters that are null are left out
     * @param array<string, mixed>|null $body
     * @param callable(array<mixed>): T $read
     * @return T
     * @throws StorefrontException
     */
    public function call(
        string $operation,
        string $method,
        string $path,
        array $query,
        ?array $body,
        bool $repeatable,
        callable $read,
    ): mixed {
        $query = http_build_query(self::draft($query), '', '&', PHP_QUERY_RFC3986);
        $url = $this->baseUrl . $path . ($query === '' ? '' : "?$query");
        $text = $body === null ? null : self::encode($body);
        $deadline = self::now() + $this->timeout;
        for ($retries = 0; ; $retries++) {
            $timeout = max(0.001, min(self::ATTEMPT_TIMEOUT, $deadline - self::now()));
            try {
                return $this->attempt($operation, $method, $url, $text, $timeout, $read);
            } catch (StorefrontException $failed) {
                $again = $failed->status === 429 || $repeatable && $failed->mayPass();
                // A Retry-After of 0 is treated like a missing one: the client waits for its own pause, which grows with
                // each retry.
                $pause = ($failed->retryAfter ?? 0) ?: self::delay($retries);
                $late = $pause > self::MAX_RETRY_AFTER || self::now() + $pause >= $deadline;
                if (!$again || $late || $retries >= $this->maxRetries) {
                    throw $failed;
                }
            }
            usleep((int) ($pause * 1_000_000));
        }
    }

    /**
     * Sends a request once.
     *
     * @template T
     * @param callable(array<mixed>): T $read
     * @return T
     */
    private function attempt(
        string $operation,
        string $method,
        string $url,
        ?string $body,
        float $timeout,
        callable $read,
    ): mixed {
        $headers = [
            'Accept' => 'application/json',
            'Authorization' => 'Bearer ' . ($this->apiKey)(),
            'User-Agent' => $this->userAgent,
        ];
        if ($body !== null) {
            $headers['Content-Type'] = 'application/json';
        }
        try {
            $response = $this->transport->send($method, $url, $headers, $body, $timeout);
        } catch (TransportException $failed) {
            throw StorefrontException::withoutAnswer($operation, $failed);
        }
        if (\strlen($response->body) > self::MAX_ANSWER) {
            throw StorefrontException::unexpected($operation, $response, new \LengthException('it has more than 32 MiB'));
        }
        $answer = json_decode($response->body, true);
        if ($response->status >= 200 && $response->status < 300 && \is_array($answer)) {
            try {
                $result = $read($answer);
                if (\is_object($result)) {
                    ApiResponse::record($result, $response);
                }

                return $result;
            } catch (\UnexpectedValueException $failed) {
                throw StorefrontException::unexpected($operation, $response, $failed);
            }
        }
        throw StorefrontException::refused($operation, $response, $answer);
    }

    /** The pause before the next retry. Half of it is random, so that clients that failed together do not retry together. */
    private static function delay(int $retries): float
    {
        $full = min(self::FIRST_DELAY * 2 ** $retries, self::MAX_DELAY);

        return $full / 2 * (1 + mt_rand() / mt_getrandmax());
    }

    /** The time of a monotonic clock, in seconds. */
    private static function now(): float
    {
        return hrtime(true) / 1e9;
    }

    /** Escapes an id as one segment of a path. */
    public static function segment(string $id): string
    {
        if ($id === '' || $id === '.' || $id === '..') {
            throw new \InvalidArgumentException('the id must not be empty, "." or ".."');
        }

        return rawurlencode($id);
    }

    /**
     * Returns the fields of an update without those that are Omitted.
     *
     * @param array<string, mixed> $fields
     * @return array<string, mixed>
     */
    public static function change(array $fields): array
    {
        return self::moments(array_filter($fields, static fn (mixed $value): bool => $value !== Omitted::Field));
    }

    /**
     * Returns the fields of a creation or a query without those that are null.
     *
     * @param array<string, mixed> $fields
     * @return array<string, mixed>
     */
    public static function draft(array $fields): array
    {
        return self::moments(array_filter($fields, static fn (mixed $value): bool => $value !== null));
    }

    /**
     * @param array<string, mixed> $fields
     * @return array<string, mixed>
     */
    private static function moments(array $fields): array
    {
        return array_map(
            static fn (mixed $value): mixed => $value instanceof \DateTimeInterface ? Json::moment($value) : $value,
            $fields,
        );
    }

    /** @param array<string, mixed> $body */
    private static function encode(array $body): string
    {
        try {
            return json_encode((object) $body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
        } catch (\JsonException $failed) {
            throw new \InvalidArgumentException('the request cannot be written: ' . $failed->getMessage(), 0, $failed);
        }
    }

    /** Checks the base URL and returns it without a slash at its end. The errors do not quote it, as it may have a password. */
    private static function address(string $baseUrl, bool $allowHttp): string
    {
        $parts = parse_url($baseUrl);
        $host = \is_array($parts) ? trim($parts['host'] ?? '', '[]') : '';
        $path = rtrim(\is_array($parts) ? $parts['path'] ?? '' : '', '/');
        $scheme = strtolower(\is_array($parts) ? $parts['scheme'] ?? '' : '');
        $wrong = match (true) {
            $host === '' || $scheme !== 'https' && $scheme !== 'http' || preg_match('/[\x00-\x20\x7f]/', $baseUrl) === 1
                => 'must start with https:// and a host, such as https://api.example.com',
            isset($parts['user']) || isset($parts['pass'])
                => 'must hold no user name or password; the API key is given beside it',
            str_contains($baseUrl, '?') || str_contains($baseUrl, '#') => 'must end before ? and #',
            str_ends_with($path, '/v1') => 'must be the address of the service without /v1',
            $scheme === 'http' && !$allowHttp && !self::isLoopback($host)
                => 'must be https, or the key crosses the network readable; where that network is private, set allowHttp',
            default => null,
        };
        if ($wrong !== null) {
            throw new \InvalidArgumentException("baseUrl $wrong");
        }

        return rtrim($baseUrl, '/');
    }

    /** Reports whether a URL's host is this machine: localhost, 127.0.0.0/8 or ::1, also in an IPv4-mapped IPv6 address. */
    public static function isLoopback(string $host): bool
    {
        $host = strtolower(trim($host, '[]'));
        if ($host === 'localhost' || filter_var($host, FILTER_VALIDATE_IP) === false) {
            return $host === 'localhost';
        }
        $bytes = (string) inet_pton($host);

        return $bytes === inet_pton('::1')
            || $bytes[0] === "\x7f" && \strlen($bytes) === 4
            || str_starts_with($bytes, (string) substr((string) inet_pton('::ffff:127.0.0.0'), 0, 13));
    }

    /** Refuses a text that cannot be a key, so that a wrong setting fails at the start instead of with a later 401. */
    private static function checkKey(#[\SensitiveParameter] string $apiKey): void
    {
        $wrong = match (true) {
            $apiKey === '' => 'is empty; set it to a key of the store\'s dashboard, under Settings, Developer, API keys',
            !str_starts_with($apiKey, 'svc_live_') => 'does not start with svc_live_',
            !preg_match('/^[!-~]+$/D', $apiKey)
                => 'holds white space or a character that no key has, such as the end of a line',
            default => null,
        };
        if ($wrong !== null) {
            throw new \InvalidArgumentException("apiKey $wrong");
        }
    }
}
