"""Reads a FileDescriptorSet with comments. Requires no other packages.

google/protobuf/descriptor.proto has the numbers of the fields.
"""

import dataclasses

_RANGE = 50102  # (range) of options/config_options.proto
_FORMER_NAME = 50101  # (former_name)

_TYPES = {
    1: "number", 2: "number", 3: "integer", 4: "integer", 5: "integer",
    8: "boolean", 9: "string", 11: "message", 13: "integer", 14: "enum"
}
_REPEATED = 3


@dataclasses.dataclass
class Field:
    name: str
    type: str  # one of _TYPES
    type_name: str  # the full name of a message or enum: "regard.Data"
    repeated: bool
    default: str  # None if the field declares no default
    range: str  # "" without limits
    former_name: str
    oneof: str  # the name of its oneof, or ""
    comment: str


@dataclasses.dataclass
class Message:
    name: str  # without the package: "Loss"
    path: str  # the path of its file
    comment: str
    fields: list
    oneofs: dict  # comments by name
    extensible: bool


@dataclasses.dataclass
class Enum:
    comment: str
    values: list  # pairs of name and comment, without the unspecified value


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _decode(data):
    """Returns the values of a message by field number: integers or bytes."""
    values, at = {}, 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
        else:
            size, at = {
                1: lambda i: (8, i), 2: lambda i: _varint(data, i),
                5: lambda i: (4, i)
            }[key & 7](at)
            value, at = data[at:at + size], at + size
        values.setdefault(key >> 3, []).append(value)
    return values


def _text(values, number, default=""):
    return values[number][-1].decode() if number in values else default


def _packed(data):
    numbers, at = [], 0
    while at < len(data):
        number, at = _varint(data, at)
        numbers.append(number)
    return tuple(numbers)


class Descriptors:
    """The messages and enums of a descriptor set, by their full names."""

    def __init__(self, data):
        self.messages = {}
        self.enums = {}
        for file in _decode(data)[1]:
            self._add_file(_decode(file))

    def _add_file(self, file):
        self._path = _text(file, 1)
        self._comments = {}
        for location in _decode(file[9][0]).get(1, []) if 9 in file else []:
            location = _decode(location)
            if 3 in location and 1 in location:
                lines = _text(location, 3).split("\n")
                self._comments[_packed(location[1][0])] = "\n".join(
                    line.removeprefix(" ") for line in lines).strip()
        package = _text(file, 2)
        for i, message in enumerate(file.get(4, [])):
            self._add_message(_decode(message), package, (4, i))
        for i, enum in enumerate(file.get(5, [])):
            self._add_enum(_decode(enum), package, (5, i))

    def _comment(self, place):
        return self._comments.get(place, "")

    def _add_message(self, message, scope, place):
        name = _text(message, 1)
        full_name = f"{scope}.{name}"
        oneofs = [_text(_decode(oneof), 1) for oneof in message.get(8, [])]
        self.messages[full_name] = Message(
            name, self._path, self._comment(place),
            [self._field(_decode(field), oneofs, place + (2, i))
             for i, field in enumerate(message.get(2, []))],
            {oneof: self._comment(place + (8, i))
             for i, oneof in enumerate(oneofs)},
            extensible=5 in message)
        for i, nested in enumerate(message.get(3, [])):
            self._add_message(_decode(nested), full_name, place + (3, i))
        for i, enum in enumerate(message.get(4, [])):
            self._add_enum(_decode(enum), full_name, place + (4, i))

    def _add_enum(self, enum, scope, place):
        values = [(_text(_decode(value), 1), self._comment(place + (2, i)))
                  for i, value in enumerate(enum.get(2, []))]
        self.enums[f"{scope}.{_text(enum, 1)}"] = Enum(
            self._comment(place),
            [value for value in values if not value[0].endswith("UNSPECIFIED")])

    def _field(self, field, oneofs, place):
        options = _decode(field[8][0]) if 8 in field else {}
        return Field(
            name=_text(field, 1),
            type=_TYPES.get(field[5][0], ""),
            type_name=_text(field, 6).removeprefix("."),
            repeated=field[4][0] == _REPEATED,
            default=_text(field, 7, None),
            range=_text(options, _RANGE),
            former_name=_text(options, _FORMER_NAME),
            oneof=oneofs[field[9][0]] if 9 in field else "",
            comment=self._comment(place))
