<?php

declare(strict_types=1);

namespace Storefront;

/**
 * Verifies the deliveries of a store's webhooks and reads their events.
 *
 *     $header = $_SERVER['HTTP_SERVICE_SIGNATURE'] ?? null;
 *     $event = Webhook::read(file_get_contents('php://input'), $header, getenv('WEBHOOK_SECRET'));
 *
 * Events that are newer than this package are accepted: unknown fields are ignored, unknown words of an enum are kept,
 * and an event of an unknown type is an UnknownEvent.
 */
final class Webhook
{
    public const SIGNATURE_HEADER = 'Service-Signature';
    /** How many seconds the signature's time may be before or after this machine's time. */
    public const TOLERANCE_SECONDS = 300;
    /** A longer header is refused. The service's header has 80 bytes now; a later release may send several signatures in it. */
    private const MAX_HEADER_BYTES = 1024;

    /**
     * Verifies the signature of a delivery and returns its event.
     *
     * @param string $rawBody the body exactly as received, not parsed
     * @param string|array<mixed>|null $header the value of Service-Signature, a list of its values, or all headers by name
     * @param string|list<string> $secret the whole secret, with whsec_; or a list, while a new secret replaces an old one
     * @param int $toleranceSeconds how far the signature's time may be from $now
     * @param int|null $now the current time in Unix seconds, for tests with recorded deliveries
     * @throws WebhookException
     */
    public static function read(
        string $rawBody,
        string|array|null $header,
        #[\SensitiveParameter] string|array $secret,
        int $toleranceSeconds = self::TOLERANCE_SECONDS,
        ?int $now = null,
    ): Event {
        $secrets = array_values(array_filter((array) $secret, static fn (mixed $one): bool => \is_string($one) && $one !== ''));
        if ($secrets === []) {
            throw WebhookException::of('no_secret');
        }
        $header = self::header($header);
        if ($header === '') {
            throw WebhookException::of('no_header');
        }
        [$time, $signatures] = self::parse($header);
        $matches = false;
        foreach ($secrets as $one) {
            $want = hash_hmac('sha256', "$time.$rawBody", $one);
            foreach ($signatures as $given) {
                $matches = hash_equals($want, $given) || $matches;
            }
        }
        if (!$matches) {
            throw WebhookException::of(self::mistake($rawBody, $signatures, $secrets));
        }
        $now ??= time();
        $age = $now - (int) $time;
        if (abs($age) > $toleranceSeconds) {
            throw self::outside($age, $now, $toleranceSeconds);
        }
        try {
            $event = json_decode($rawBody, true, flags: JSON_THROW_ON_ERROR);

            return EventReader::read(\is_array($event) ? $event : throw new \UnexpectedValueException('it is no JSON object'));
        } catch (\JsonException | \UnexpectedValueException $failed) {
            throw WebhookException::of('no_event', $failed->getMessage(), $failed);
        }
    }

    /**
     * Verifies a request object of PSR-7, Symfony, Laravel or WordPress's REST API, and returns its event.
     *
     * @param string|list<string> $secret
     * @throws WebhookException
     */
    public static function readRequest(
        object $request,
        #[\SensitiveParameter] string|array $secret,
        int $toleranceSeconds = self::TOLERANCE_SECONDS,
        ?int $now = null,
    ): Event {
        [$body, $header] = match (true) {
            method_exists($request, 'getHeader') && method_exists($request, 'getBody')
                => [(string) $request->getBody(), $request->getHeader(self::SIGNATURE_HEADER)],
            method_exists($request, 'getContent') && isset($request->headers)
                => [$request->getContent(), $request->headers->get(self::SIGNATURE_HEADER)],
            method_exists($request, 'get_body') && method_exists($request, 'get_header')
                => [$request->get_body(), $request->get_header(self::SIGNATURE_HEADER)],
            default => throw new \InvalidArgumentException(
                'a ' . $request::class . ' is no request that this package knows: pass body and header to Webhook::read',
            ),
        };

        return self::read($body, $header, $secret, $toleranceSeconds, $now);
    }

    /** Returns the value of the header Service-Signature as the service would send it, for tests of your receiver. */
    public static function sign(string $rawBody, #[\SensitiveParameter] string $secret, ?int $at = null): string
    {
        if ($secret === '') {
            throw new \InvalidArgumentException('the secret must not be empty');
        }
        $at ??= time();

        return "t=$at,v1=" . hash_hmac('sha256', "$at.$rawBody", $secret);
    }

    /** @param string|array<mixed>|null $header */
    private static function header(string|array|null $header): string
    {
        if (!\is_array($header)) {
            return $header ?? '';
        }
        if (!array_is_list($header)) {
            // An array with names has all headers, as from getallheaders() or $_SERVER.
            $named = array_change_key_case($header);
            $header = (array) ($named['service-signature'] ?? $named['http_service_signature'] ?? []);
        }

        return implode(',', array_filter($header, \is_string(...)));
    }

    /**
     * Returns the time, as a text, and all v1 signatures of a header. Other parts of the header are ignored, so that a
     * later sender can add signatures of other schemes.
     *
     * @return array{string, list<string>}
     */
    private static function parse(string $header): array
    {
        $times = $signatures = [];
        foreach (\strlen($header) > self::MAX_HEADER_BYTES ? [] : explode(',', $header) as $part) {
            if (str_starts_with($part, 't=')) {
                $times[] = substr($part, 2);
            } elseif (str_starts_with($part, 'v1=')) {
                $signatures[] = substr($part, 3);
            }
        }
        // The signed text has the time as the header writes it. So a time in another form than the service's, such as "+5"
        // or "05", is refused, and so is a time that does not fit 64 bits.
        if (\count($times) !== 1 || $signatures === [] || (string) (int) $times[0] !== $times[0]) {
            throw WebhookException::of('unreadable_header');
        }

        return [$times[0], $signatures];
    }

    /**
     * Returns the probable mistake when no signature matches, guessed from the header, the secrets and the body.
     *
     * @param list<string> $signatures
     * @param list<string> $secrets
     */
    private static function mistake(string $body, array $signatures, #[\SensitiveParameter] array $secrets): string
    {
        if (preg_grep('/^[0-9a-f]{64}$/D', $signatures) === []) {
            return 'altered_header';
        }
        foreach ($secrets as $secret) {
            if (str_starts_with($secret, 'svc_live_')) {
                return 'api_key';
            }
            if (!preg_match('/^whsec_(?:[0-9A-Za-z_-]{43}|[0-9a-f]{64})$/D', $secret)) {
                return 'secret_form';
            }
        }
        if ($body === '') {
            return 'empty_body';
        }
        if (preg_match('/^[\s"]*eyJpZCI6I/', $body)) { // {"id":"
            return 'base64_body';
        }
        if (self::isDecoded($body)) {
            return 'decoded_body';
        }
        // The service begins an event with its id, writes no spaces between the tokens, and escapes only the characters that
        // JSON requires. A body in another form was written again by another program.
        $between = preg_replace('/"(?:[^"\\\\]|\\\\.)*+"/s', '', $body) ?? ' ';
        $untouched = str_starts_with($body, '{"id":"') && \is_array(json_decode($body, true)) && !preg_match('/\s/', $between)
            && !preg_match('~(?<!\\\\)(?:\\\\\\\\)*\\\\(?:/|u(?!00[01]|2028|2029))~i', $body);

        return $untouched ? 'wrong_secret' : 'changed_body';
    }

    /** Reports whether a body is not UTF-8, or was UTF-8 and then decoded as another encoding. */
    private static function isDecoded(string $body): bool
    {
        // The character that a continuation byte of UTF-8 becomes if it is read as Latin-1 or Windows-1252.
        $next = '[\x{80}-\x{BF}\x{152}\x{153}\x{160}\x{161}\x{178}'
            . '\x{17D}\x{17E}\x{192}\x{2C6}\x{2DC}\x{2013}-\x{203A}\x{20AC}\x{2122}]';
        $rest = preg_replace("/[\\x{C2}-\\x{DF}]$next|[\\x{E0}-\\x{EF}]$next{2}|[\\x{F0}-\\x{F4}]$next{3}/u", '', $body);

        // The second pattern finds UTF-8 that was read as ASCII: Node drops the highest bit of each byte, so that é becomes C);
        // other decoders replace each byte by U+FFFD.
        return $rest === null || $rest !== $body && !preg_match('/[^\x00-\x7F]/', $rest)
            || preg_match('/\x{FFFD}|[\x00-\x08\x0e-\x1f]|[a-z]C[\t!-\/;]|[ "]C[\t()*+][a-z]/u', $body);
    }

    private static function outside(int $age, int $now, int $tolerance): WebhookException
    {
        $clock = gmdate('Y-m-d\TH:i:s\Z', $now);

        $than = "by this machine's clock, which reads $clock, and $tolerance are allowed";

        return $age > 0
            ? WebhookException::of('too_old', "it was made $age seconds ago $than; either the delivery was held up or sent again, "
                . 'or this clock is fast')
            : WebhookException::of('too_new', 'it was made in ' . -$age . " seconds $than; this clock is slow, or the sender's is fast");
    }
}
