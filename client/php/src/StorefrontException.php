<?php

declare(strict_types=1);

namespace Storefront;

/**
 * Why a call failed. Branch on $errorCode:
 *
 *     } catch (StorefrontException $refused) {
 *         if ($refused->errorCode === ErrorCode::PRODUCT_INCOMPLETE) {
 *             echo implode(', ', $refused->missing);
 *
 * getCode() returns the HTTP status, because the code of a PHP exception is a number.
 */
final class StorefrontException extends \RuntimeException
{
    /** No complete answer came. Whether a write took effect is unknown. */
    public const NETWORK_ERROR = 'network_error';
    /** An attempt or the whole call took too long. Whether a write took effect is unknown. */
    public const TIMEOUT = 'timeout';
    /** The answer is not from the service but, for example, a proxy's page. */
    public const UNEXPECTED_ANSWER = 'unexpected_answer';

    /**
     * @param ErrorCode::*|self::*|string $errorCode
     * @param list<FieldError> $fields
     * @param list<string> $missing
     */
    private function __construct(
        string $message,
        /** The operation that was called, such as updateProduct. */
        public readonly string $operation,
        /** The reason: a constant of ErrorCode or of this class, or a code that is newer than this package. */
        public readonly string $errorCode,
        /** The HTTP status; null without an answer. */
        public readonly ?int $status = null,
        /** With validation_failed: every refused field. */
        public readonly array $fields = [],
        /** With product_incomplete: what the product lacks. */
        public readonly array $missing = [],
        /** With insufficient_scope: the scope that the key lacks. */
        public readonly ?string $required = null,
        /** The request's identifier in the service's logs; quote it when you ask for help. */
        public readonly ?string $requestId = null,
        /** The Retry-After of the answer, in seconds; null without one. */
        public readonly ?int $retryAfter = null,
        ?\Throwable $previous = null,
    ) {
        $details = [...array_map(static fn (FieldError $f): string => "$f->field $f->message", $fields), ...$missing];
        if ($required !== null) {
            $details[] = $required;
        }
        parent::__construct(
            "storefront: $operation: $errorCode: $message" . ($details === [] ? '' : ' [' . implode('; ', $details) . ']')
                . ($requestId === null ? '' : " (request $requestId)"),
            $status ?? 0,
            $previous,
        );
    }

    /** Whether the same request may succeed later, because the service or the network failed. */
    public function mayPass(): bool
    {
        return $this->status >= 500 || $this->errorCode === self::NETWORK_ERROR || $this->errorCode === self::TIMEOUT;
    }

    /** @internal */
    public static function withoutAnswer(string $operation, TransportException $failed): self
    {
        return $failed->timedOut
            ? new self('no answer in time: ' . $failed->getMessage(), $operation, self::TIMEOUT, previous: $failed)
            : new self('no whole answer: ' . $failed->getMessage(), $operation, self::NETWORK_ERROR, previous: $failed);
    }

    /** @internal Makes the exception for an answer without a 2xx status, from its decoded body. */
    public static function refused(string $operation, Response $response, mixed $body): self
    {
        $code = \is_array($body) ? $body['code'] ?? null : null;
        if ($response->status < 400 || !\is_array($body) || !\is_string($code)) {
            return self::unexpected($operation, $response);
        }
        $details = \is_array($body['details'] ?? null) ? $body['details'] : [];
        $fields = [];
        foreach (\is_array($details['fields'] ?? null) ? $details['fields'] : [] as $field) {
            if (\is_array($field)) {
                $fields[] = new FieldError(self::text($field, 'field') ?? '', self::text($field, 'message') ?? '');
            }
        }
        $missing = \is_array($details['missing'] ?? null) ? $details['missing'] : [];

        return new self(
            self::text($body, 'message') ?? '',
            $operation,
            $code,
            $response->status,
            $fields,
            array_values(array_filter($missing, \is_string(...))),
            self::text($details, 'required') ?: null,
            self::text($body, 'requestId'),
            self::retryAfter($response),
        );
    }

    /**
     * Reads a text from an error's body. A missing or wrong text is null, so that the other parts of the error are still used.
     *
     * @param array<mixed> $values
     */
    private static function text(array $values, string $name): ?string
    {
        $value = $values[$name] ?? null;

        return \is_string($value) ? $value : null;
    }

    /** @internal Makes the exception for an answer that is not from the service. */
    public static function unexpected(string $operation, Response $response, ?\Throwable $why = null): self
    {
        $kind = $response->headers['content-type'] ?? 'no content type';
        $to = $response->headers['location'] ?? '';
        $reason = $why !== null ? ' (' . $why->getMessage() . ')' : ($to !== '' ? " (it redirects to $to)" : '');

        return new self(
            "the answer, $response->status with $kind, is not the service's: "
                . "check the base URL and what stands before the service$reason",
            $operation,
            self::UNEXPECTED_ANSWER,
            $response->status,
            retryAfter: self::retryAfter($response),
            previous: $why,
        );
    }

    /** The Retry-After in seconds. A date, which some proxies send, is ignored. Of several values, the first counts. */
    private static function retryAfter(Response $response): ?int
    {
        [$text] = explode(',', $response->headers['retry-after'] ?? '');

        return preg_match('/^\d+$/D', $text) ? (int) substr($text, 0, 18) : null;
    }
}
