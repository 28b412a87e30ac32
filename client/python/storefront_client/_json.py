from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from enum import Enum
from typing import Any, TypeVar

T = TypeVar("T")
E = TypeVar("E", bound="OpenEnum")


class OpenEnum(str, Enum):
    """Words of the API. Each is a text too, and a word that is newer than this package becomes a member of its own:
    ProductStatus("PREORDER") == "PREORDER"."""

    @classmethod
    def _missing_(cls: type[E], value: object) -> E | None:
        if not isinstance(value, str):
            return None
        word = str.__new__(cls, value)
        word._name_ = value
        word._value_ = value
        return word

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(str(self.value), spec)

    def __hash__(self) -> int:
        return hash(str(self.value))

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__class__, (str(self.value),)


def moment(value: datetime) -> str:
    """A moment as the API writes it: UTC with milliseconds."""
    if value.tzinfo is None:
        raise ValueError("a date must have a time zone, such as datetime.now(timezone.utc)")
    return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Json:
    """Reads a decoded JSON object by the types of its fields. All methods raise ValueError."""

    def __init__(self, values: Mapping[str, Any], owner: str) -> None:
        self._values = values
        self._owner = owner

    def string(self, name: str) -> str:
        return self._read(name, str, "text")

    def string_or_none(self, name: str) -> str | None:
        return None if self._value(name) is None else self.string(name)

    def integer(self, name: str) -> int:
        if isinstance(self._value(name), bool):
            raise self._wrong(name, "a whole number")
        return self._read(name, int, "a whole number")

    def integer_or_none(self, name: str) -> int | None:
        return None if self._value(name) is None else self.integer(name)

    def number(self, name: str) -> float:
        value = self._value(name)
        return value if isinstance(value, float) else float(self.integer(name))

    def enum(self, name: str, words: type[E]) -> E:
        return words(self.string(name))

    def time(self, name: str) -> datetime:
        text = self.string(name)
        try:
            return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
        except ValueError:
            raise self._wrong(name, "a date") from None

    def time_or_none(self, name: str) -> datetime | None:
        return None if self._value(name) is None else self.time(name)

    def model(self, name: str, read: Callable[[dict[str, Any]], T]) -> T:
        return read(self._read(name, dict, "an object"))

    def model_or_none(self, name: str, read: Callable[[dict[str, Any]], T]) -> T | None:
        return None if self._value(name) is None else self.model(name, read)

    def list(self, name: str, read: Callable[[dict[str, Any]], T]) -> tuple[T, ...]:
        values = self._read(name, list, "a list")
        if not all(isinstance(one, dict) for one in values):
            raise self._wrong(name, "a list of objects")
        return tuple(read(one) for one in values)

    def map(self, name: str) -> dict[str, str]:
        values = self._read(name, dict, "an object")
        if not all(isinstance(one, str) for one in values.values()):
            raise self._wrong(name, "an object of texts")
        return dict(values)

    def _value(self, name: str) -> Any:
        if name not in self._values:
            raise ValueError(f"{self._owner} has no {name}")
        return self._values[name]

    def _read(self, name: str, kind: type[T], want: str) -> T:
        value = self._value(name)
        if not isinstance(value, kind):
            raise self._wrong(name, want)
        return value

    def _wrong(self, name: str, want: str) -> ValueError:
        return ValueError(f"{name} of {self._owner} is not {want}")
