"""Methods of `Expression` for texts, hashes and JSON."""

from __future__ import annotations

from typing import Any

from penstock.table.expression_base import ExpressionBase


class TextMethods(ExpressionBase):
    """Part of `Expression`: texts, hashes and JSON."""

    def concat(self, other: Any) -> Any:
        """Return this text and another."""
        return self._call("||", other)

    def starts_with(self, start_expr: Any) -> Any:
        """Return whether it starts so."""
        return self._call("STARTSWITH", start_expr)

    def ends_with(self, end_expr: Any) -> Any:
        """Return whether it ends so."""
        return self._call("ENDSWITH", end_expr)

    def substring(self, begin_index: Any, length: Any = None) -> Any:
        """Return a part of the text; positions begin with 1."""
        return self._call_given("SUBSTRING", begin_index, length)

    def substr(self, begin_index: Any, length: Any = None) -> Any:
        """Return a part of the text; positions begin with 1."""
        return self._call_given("SUBSTR", begin_index, length)

    def replace(self, search: Any, replacement: Any) -> Any:
        """Return the text with all occurrences replaced."""
        return self._call("REPLACE", search, replacement)

    def translate(self, from_str: Any, to_str: Any) -> Any:
        """Return the text with characters replaced by others."""
        return self._call("TRANSLATE", from_str, to_str)

    @property
    def char_length(self) -> Any:
        """Return the number of characters."""
        return self._call("CHAR_LENGTH")

    @property
    def upper_case(self) -> Any:
        """Return the text in upper case."""
        return self._call("UPPER")

    @property
    def lower_case(self) -> Any:
        """Return the text in lower case."""
        return self._call("LOWER")

    @property
    def init_cap(self) -> Any:
        """Return the text with a capital at each word."""
        return self._call("INITCAP")

    def like(self, pattern: Any, escape: Any = None) -> Any:
        """Return whether it fits % and _."""
        return self._call_given("LIKE", pattern, escape)

    def similar(self, pattern: Any) -> Any:
        """Return whether it fits a SQL regular expression."""
        return self._call("SIMILAR TO", pattern)

    def position(self, haystack: Any) -> Any:
        """Return where this text begins in another; or 0."""
        return self._call("POSITION", haystack)

    def lpad(self, length: Any, pad: Any) -> Any:
        """Return the text filled up on the left."""
        return self._call("LPAD", length, pad)

    def rpad(self, length: Any, pad: Any) -> Any:
        """Return the text filled up on the right."""
        return self._call("RPAD", length, pad)

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Any:
        """Return the text with a part replaced."""
        return self._call_given("OVERLAY", new_string, starting, length)

    def regexp(self, regex: Any) -> Any:
        """Return whether some part fits a regular expression."""
        return self._call("REGEXP", regex)

    def regexp_count(self, regex: Any) -> Any:
        """Return how many parts fit."""
        return self._call("REGEXP_COUNT", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Any:
        """Return the text with all parts that fit replaced."""
        return self._call("REGEXP_REPLACE", regex, replacement)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Any:
        """Return a group of the first part that fits."""
        return self._call_given("REGEXP_EXTRACT", regex, extract_index)

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Any:
        """Return a group of all parts that fit."""
        return self._call_given("REGEXP_EXTRACT_ALL", regex, extract_index)

    def regexp_instr(self, regex: Any) -> Any:
        """Return where the first part that fits begins."""
        return self._call("REGEXP_INSTR", regex)

    def regexp_substr(self, regex: Any) -> Any:
        """Return the first part that fits."""
        return self._call("REGEXP_SUBSTR", regex)

    @property
    def from_base64(self) -> Any:
        """Return the text decoded from base 64."""
        return self._call("FROM_BASE64")

    @property
    def to_base64(self) -> Any:
        """Return the text encoded in base 64."""
        return self._call("TO_BASE64")

    @property
    def ascii(self) -> Any:
        """Return the first byte as a number."""
        return self._call("ASCII")

    @property
    def chr(self) -> Any:
        """Return the character of this number."""
        return self._call("CHR")

    def decode(self, charset: Any) -> Any:
        """Return bytes as text."""
        return self._call("DECODE", charset)

    def encode(self, charset: Any) -> Any:
        """Return text as bytes."""
        return self._call("ENCODE", charset)

    def left(self, length: Any) -> Any:
        """Return the first characters."""
        return self._call("LEFT", length)

    def right(self, length: Any) -> Any:
        """Return the last characters."""
        return self._call("RIGHT", length)

    def instr(self, s: Any) -> Any:
        """Return where the other text begins in this; or 0."""
        return self._call("INSTR", s)

    def locate(self, s: Any, pos: Any = None) -> Any:
        """Return where this text begins in the other; or 0."""
        return self._call_given("LOCATE", s, pos)

    def url_decode(self) -> Any:
        """Return the text decoded as forms are."""
        return self._call("URL_DECODE")

    def url_encode(self) -> Any:
        """Return the text encoded as forms are."""
        return self._call("URL_ENCODE")

    def inet_aton(self) -> Any:
        """Return an IPv4 address as a number."""
        return self._call("INET_ATON")

    def inet_ntoa(self) -> Any:
        """Return a number as an IPv4 address."""
        return self._call("INET_NTOA")

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Any:
        """Return a part of an address."""
        return self._call_given("PARSE_URL", part_to_extract, key)

    def printf(self, *obj: Any) -> Any:
        """Return values written by this template."""
        return self._call("PRINTF", *obj)

    def ltrim(self, trim_str: Any = None) -> Any:
        """Return the text without characters in front."""
        return self._call_given("LTRIM", trim_str)

    def rtrim(self, trim_str: Any = None) -> Any:
        """Return the text without characters at the end."""
        return self._call_given("RTRIM", trim_str)

    def btrim(self, trim_str: Any = None) -> Any:
        """Return the text without characters at both ends."""
        return self._call_given("BTRIM", trim_str)

    def repeat(self, n: Any) -> Any:
        """Return the text some times over."""
        return self._call("REPEAT", n)

    @property
    def reverse(self) -> Any:
        """Return the text backwards."""
        return self._call("REVERSE")

    def split_index(self, separator: Any, index: Any) -> Any:
        """Return a piece by its number, from 0."""
        return self._call("SPLIT_INDEX", separator, index)

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Any:
        """Return a map of texts such as a=1,b=2."""
        return self._call_given("STR_TO_MAP", list_delimiter, key_value_delimiter)

    @property
    def md5(self) -> Any:
        """Return the MD5 hash."""
        return self._call("MD5")

    @property
    def sha1(self) -> Any:
        """Return the SHA-1 hash."""
        return self._call("SHA1")

    @property
    def sha224(self) -> Any:
        """Return the SHA-224 hash."""
        return self._call("SHA224")

    @property
    def sha256(self) -> Any:
        """Return the SHA-256 hash."""
        return self._call("SHA256")

    @property
    def sha384(self) -> Any:
        """Return the SHA-384 hash."""
        return self._call("SHA384")

    @property
    def sha512(self) -> Any:
        """Return the SHA-512 hash."""
        return self._call("SHA512")

    def sha2(self, hash_length: Any) -> Any:
        """Return a SHA-2 hash by length."""
        return self._call("SHA2", hash_length)

    def json_quote(self) -> Any:
        """Return the text as a JSON string."""
        return self._call("JSON_QUOTE")

    def json_unquote(self) -> Any:
        """Return the text of a JSON string."""
        return self._call("JSON_UNQUOTE")

    def split(self, delimiter: Any) -> Any:
        """Return the pieces between delimiters."""
        return self._call("SPLIT", delimiter)
