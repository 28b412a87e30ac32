from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from enum import Enum
from typing import Any, TypeVar

T = TypeVar("T")
E = TypeVar("E", bound="OpenEnum")


class OpenEnum(str, Enum):
    """An enum of the API whose members are also str. A word that is newer than this package becomes a new member:
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

    # If this class did not define __eq__, mypy would report that status == "DRAFT" is never true for a ProductStatus.
    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True

    def __hash__(self) -> int:
        return hash(str(self.value))

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__class__, (str(self.value),)


def moment(value: datetime) -> str:
    """Formats a time as the API does: UTC with milliseconds."""
    if value.tzinfo is None:
        raise ValueError("a date must have a time zone, such as datetime.now(timezone.utc)")
    return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Answer:
    """The base of all models. It has a place for the response that an answer came with, which response_of returns."""

    __slots__ = ("_response",)


class Json:
    """Reads the fields of a decoded JSON object, each as its type. All methods raise ValueError for another type.

    An older service or a recorded event lacks the newer fields. A missing field is None if it can be null; otherwise it is "",
    0, (), the first moment of 1970, or an object with such fields."""

    def __init__(self, values: Mapping[str, Any], owner: str) -> None:
        self._values = values
        self._owner = owner

    def need(self, *names: str) -> Json:
        """Raises ValueError if the object lacks one of these fields, for example its id."""
        for name in names:
            if self._values.get(name) is None:
                raise ValueError(f"{self._owner} has no {name}")
        return self

    def string(self, name: str) -> str:
        return self._read(name, str, "", "text")

    def string_or_none(self, name: str) -> str | None:
        return None if self._values.get(name) is None else self.string(name)

    def integer(self, name: str) -> int:
        value = self._values.get(name)
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            return int(value)  # JSON may write 15 as 15.0 or 1.5e1
        if isinstance(value, bool):
            raise self._wrong(name, "a whole number")
        return self._read(name, int, 0, "a whole number")

    def integer_or_none(self, name: str) -> int | None:
        return None if self._values.get(name) is None else self.integer(name)

    def number(self, name: str) -> float:
        value = self._values.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(name, "a number")
        return float(value)

    def enum(self, name: str, words: type[E]) -> Any:
        """A member of an enum. It is typed Any, because models declare it as a Literal of the enum's words."""
        return words(self.string(name))

    def time(self, name: str) -> datetime:
        text = self._read(name, str, "1970-01-01T00:00:00.000Z", "a date")
        try:
            return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
        except ValueError:
            raise self._wrong(name, "a date") from None

    def time_or_none(self, name: str) -> datetime | None:
        return None if self._values.get(name) is None else self.time(name)

    def model(self, name: str, read: Callable[[dict[str, Any]], T]) -> T:
        return read(self._read(name, dict, {"id": ""}, "an object"))

    def model_or_none(self, name: str, read: Callable[[dict[str, Any]], T]) -> T | None:
        return None if self._values.get(name) is None else self.model(name, read)

    def list(self, name: str, read: Callable[[dict[str, Any]], T]) -> tuple[T, ...]:
        values = self._read(name, list, [], "a list")
        if not all(isinstance(one, dict) for one in values):
            raise self._wrong(name, "a list of objects")
        return tuple(read(one) for one in values)

    def map(self, name: str) -> dict[str, str]:
        values = self._read(name, dict, {}, "an object of texts")
        if not all(isinstance(one, str) for one in values.values()):
            raise self._wrong(name, "an object of texts")
        return dict(values)

    def _read(self, name: str, kind: type[T], zero: T, want: str) -> T:
        """The value of a field, or the zero value of its type if the field is absent."""
        value = self._values.get(name, zero)
        if not isinstance(value, kind):
            raise self._wrong(name, want)
        return value

    def _wrong(self, name: str, want: str) -> ValueError:
        return ValueError(f"{name} of {self._owner} is not {want}")
