"""The rest of an address, whatever characters it has: a document's source may have a line break."""

from starlette.convertors import PathConvertor, register_url_convertor

ANY = "any"
"""`{name:any}` in a route's path."""


class AnyConvertor(PathConvertor):
    """Matches any text."""

    regex = "(?s:.*)"


register_url_convertor(ANY, AnyConvertor())
