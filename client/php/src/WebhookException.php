<?php

declare(strict_types=1);

namespace Storefront;

/** Why a delivery is refused: answer it with 400. It quotes neither the header nor the secret. */
final class WebhookException extends \RuntimeException
{
    /** There is no signature, or it cannot be parsed. */
    public const NO_SIGNATURE = 'no_signature';
    /** The signature belongs to another body or another secret. */
    public const MISMATCH = 'mismatch';
    /** The signature matches, but its time is too far from this machine's clock. */
    public const TIMESTAMP = 'timestamp';
    /** The secret is empty, so that anybody could sign. */
    public const NO_SECRET = 'no_secret';
    /** The signature matches, but the body is not an event. */
    public const PAYLOAD = 'payload';

    private const MISTAKES = [
        'no_secret' => [self::NO_SECRET, 'the secret is empty; set it to the whsec_… that was shown when the webhook was made'],
        'no_header' => [self::NO_SIGNATURE, 'there is no Service-Signature header: this is no delivery, or a proxy or framework '
            . 'dropped the header'],
        'unreadable_header' => [self::NO_SIGNATURE, 'the Service-Signature header does not have the form t=…,v1=…: pass its '
            . 'value as received, once'],
        'altered_header' => [self::MISMATCH, 'the signature in the header is not 64 hexadecimal digits: it was cut '
            . 'or changed on the way'],
        'api_key' => [self::MISMATCH, 'the secret is an API key (svc_live_…); a webhook\'s secret starts with whsec_'],
        'secret_form' => [self::MISMATCH, 'the secret is not of the form that was shown: whsec_ and what follows, all of it, '
            . 'without spaces, quotes or a line\'s end'],
        'empty_body' => [self::MISMATCH, 'the body is empty: something read it before; verify the bytes first'],
        'base64_body' => [self::MISMATCH, 'the body is still base64, as some gateways pass it on: decode it, and verify the bytes '
            . 'that come out'],
        'decoded_body' => [self::MISMATCH, 'the body was decoded as Latin-1, as ASCII or as another encoding than UTF-8: verify '
            . 'the bytes exactly as received'],
        'changed_body' => [self::MISMATCH, 'the body is not written as the service writes it: it was probably parsed and written '
            . 'again; verify the bytes exactly as received'],
        'wrong_secret' => [self::MISMATCH, 'the body looks untouched, so the secret is probably that of another webhook, an old '
            . 'one, or not the one that storefront listen prints'],
        'too_old' => [self::TIMESTAMP, 'the signature is older than allowed'],
        'too_new' => [self::TIMESTAMP, 'the signature is of the future'],
        'no_event' => [self::PAYLOAD, 'the signature matches, but the body is no event'],
    ];

    private function __construct(
        string $message,
        /** The reason, for branching: a constant of this class. */
        public readonly string $reason,
        /** The probable cause, for logs: no_header, changed_body, wrong_secret, too_old, … */
        public readonly string $mistake,
        ?\Throwable $previous = null,
    ) {
        parent::__construct($message, 0, $previous);
    }

    /** @internal */
    public static function of(string $mistake, string $more = '', ?\Throwable $previous = null): self
    {
        [$reason, $message] = self::MISTAKES[$mistake];

        return new self($more === '' ? $message : "$message: $more", $reason, $mistake, $previous);
    }
}
