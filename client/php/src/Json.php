<?php

declare(strict_types=1);

namespace Storefront;

/** @internal Reads a decoded JSON object by the types of its fields. */
final class Json
{
    /** @param array<mixed> $values */
    public function __construct(private readonly array $values, private readonly string $owner)
    {
    }

    /** A moment as the API writes it: UTC with milliseconds. */
    public static function moment(\DateTimeInterface $moment): string
    {
        $utc = \DateTimeImmutable::createFromInterface($moment)->setTimezone(new \DateTimeZone('UTC'));

        return $utc->format('Y-m-d\TH:i:s.v\Z');
    }

    public function string(string $name): string
    {
        return $this->stringOrNull($name) ?? throw $this->wrong($name, 'text');
    }

    public function stringOrNull(string $name): ?string
    {
        $value = $this->value($name);

        return $value === null || \is_string($value) ? $value : throw $this->wrong($name, 'text');
    }

    public function integer(string $name): int
    {
        return $this->integerOrNull($name) ?? throw $this->wrong($name, 'a whole number');
    }

    public function integerOrNull(string $name): ?int
    {
        $value = $this->value($name);

        return $value === null || \is_int($value) ? $value : throw $this->wrong($name, 'a whole number');
    }

    public function number(string $name): float
    {
        $value = $this->value($name);

        return \is_int($value) || \is_float($value) ? (float) $value : throw $this->wrong($name, 'a number');
    }

    public function time(string $name): \DateTimeImmutable
    {
        return $this->timeOrNull($name) ?? throw $this->wrong($name, 'a date');
    }

    public function timeOrNull(string $name): ?\DateTimeImmutable
    {
        $text = $this->stringOrNull($name);
        if ($text === null) {
            return null;
        }
        $moment = \DateTimeImmutable::createFromFormat('!Y-m-d\TH:i:s.v\Z', $text, new \DateTimeZone('UTC'));

        return $moment ?: throw $this->wrong($name, 'a date');
    }

    /**
     * @template T
     * @param callable(array<mixed>): T $read
     * @return T
     */
    public function model(string $name, callable $read): mixed
    {
        return $this->modelOrNull($name, $read) ?? throw $this->wrong($name, 'an object');
    }

    /**
     * @template T
     * @param callable(array<mixed>): T $read
     * @return T|null
     */
    public function modelOrNull(string $name, callable $read): mixed
    {
        $value = $this->value($name);
        if ($value === null) {
            return null;
        }

        return \is_array($value) ? $read($value) : throw $this->wrong($name, 'an object');
    }

    /**
     * @template T
     * @param callable(array<mixed>): T $read
     * @return list<T>
     */
    public function list(string $name, callable $read): array
    {
        $value = $this->value($name);
        if (!\is_array($value) || !array_is_list($value)) {
            throw $this->wrong($name, 'a list');
        }

        return array_map(fn (mixed $one): mixed => \is_array($one) ? $read($one) : throw $this->wrong($name, 'a list'), $value);
    }

    /** @return array<string, string> */
    public function map(string $name): array
    {
        $value = $this->value($name);
        $map = [];
        foreach (\is_array($value) ? $value : throw $this->wrong($name, 'an object of texts') as $key => $text) {
            $map[(string) $key] = \is_string($text) ? $text : throw $this->wrong($name, 'an object of texts');
        }

        return $map;
    }

    private function value(string $name): mixed
    {
        if (!\array_key_exists($name, $this->values)) {
            throw new \UnexpectedValueException("$this->owner has no $name");
        }

        return $this->values[$name];
    }

    private function wrong(string $name, string $want): \UnexpectedValueException
    {
        return new \UnexpectedValueException("$name of $this->owner is not $want");
    }
}
