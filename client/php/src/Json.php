<?php

declare(strict_types=1);

namespace Storefront;

/**
 * @internal Reads the fields of a decoded JSON object, each as its type.
 *
 * An older service or a recorded event lacks the newer fields. A missing field is null if it can be null; otherwise it
 * is '', 0, [], the first moment of 1970, or an object with such fields.
 */
final class Json
{
    /** @param array<mixed> $values */
    public function __construct(private readonly array $values, private readonly string $owner)
    {
    }

    /** Formats a time as the API does: UTC with milliseconds. */
    public static function moment(\DateTimeInterface $moment): string
    {
        $utc = \DateTimeImmutable::createFromInterface($moment)->setTimezone(new \DateTimeZone('UTC'));

        return $utc->format('Y-m-d\TH:i:s.v\Z');
    }

    /** Throws if the object lacks one of these fields, for example its id. */
    public function need(string ...$names): self
    {
        foreach ($names as $name) {
            if ($this->isNull($name)) {
                throw new \UnexpectedValueException("$this->owner has no $name");
            }
        }

        return $this;
    }

    public function string(string $name): string
    {
        $value = $this->value($name, '');

        return \is_string($value) ? $value : throw $this->wrong($name, 'text');
    }

    public function stringOrNull(string $name): ?string
    {
        return $this->isNull($name) ? null : $this->string($name);
    }

    public function integer(string $name): int
    {
        $value = $this->value($name, 0);
        if (\is_float($value) && floor($value) === $value && abs($value) < 2 ** 53) {
            return (int) $value; // JSON may write 15 as 15.0 or 1.5e1
        }

        return \is_int($value) ? $value : throw $this->wrong($name, 'a whole number');
    }

    public function integerOrNull(string $name): ?int
    {
        return $this->isNull($name) ? null : $this->integer($name);
    }

    public function number(string $name): float
    {
        $value = $this->value($name, 0);

        return \is_int($value) || \is_float($value) ? (float) $value : throw $this->wrong($name, 'a number');
    }

    public function time(string $name): \DateTimeImmutable
    {
        $value = $this->value($name, '1970-01-01T00:00:00.000Z');
        $zone = new \DateTimeZone('UTC');
        $moment = \is_string($value) ? \DateTimeImmutable::createFromFormat('!Y-m-d\TH:i:s.u\Z', $value, $zone) : false;

        return $moment ?: throw $this->wrong($name, 'a date');
    }

    public function timeOrNull(string $name): ?\DateTimeImmutable
    {
        return $this->isNull($name) ? null : $this->time($name);
    }

    /**
     * @template T
     * @param callable(array<mixed>): T $read
     * @return T
     */
    public function model(string $name, callable $read): mixed
    {
        $value = $this->value($name, ['id' => '']);

        return \is_array($value) ? $read($value) : throw $this->wrong($name, 'an object');
    }

    /**
     * @template T
     * @param callable(array<mixed>): T $read
     * @return T|null
     */
    public function modelOrNull(string $name, callable $read): mixed
    {
        return $this->isNull($name) ? null : $this->model($name, $read);
    }

    /**
     * @template T
     * @param callable(array<mixed>): T $read
     * @return list<T>
     */
    public function list(string $name, callable $read): array
    {
        $value = $this->value($name, []);
        if (!\is_array($value) || !array_is_list($value)) {
            throw $this->wrong($name, 'a list');
        }

        return array_map(fn (mixed $one): mixed => \is_array($one) ? $read($one) : throw $this->wrong($name, 'a list of objects'), $value);
    }

    /** @return array<string, string> */
    public function map(string $name): array
    {
        $value = $this->value($name, []);
        $map = [];
        foreach (\is_array($value) ? $value : throw $this->wrong($name, 'an object of texts') as $key => $text) {
            $map[(string) $key] = \is_string($text) ? $text : throw $this->wrong($name, 'an object of texts');
        }

        return $map;
    }

    /** The value of a field, or the zero value of its type if the field is absent. */
    private function value(string $name, mixed $zero): mixed
    {
        return \array_key_exists($name, $this->values) ? $this->values[$name] : $zero;
    }

    private function isNull(string $name): bool
    {
        return !isset($this->values[$name]);
    }

    private function wrong(string $name, string $want): \UnexpectedValueException
    {
        return new \UnexpectedValueException("$name of $this->owner is not $want");
    }
}
