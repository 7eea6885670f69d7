"""A page as a tree of its elements, in the order of the page; for tests that need no browser."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input", "wbr"}


class Node:
    """An element: its tag, attributes and children, which are elements and texts."""

    def __init__(self, tag, attrs=()):
        self.tag, self.attrs, self.children = tag, dict(attrs), []

    @property
    def text(self):
        """All text inside, without the tooltips of pictures; spaces as a browser shows them."""
        return re.sub(r"[ \t\r\n]+", " ", "".join(self._texts())).strip(" ")

    def _texts(self):
        for child in self.children:
            if isinstance(child, str):
                yield child
            elif child.tag not in ("title", "script", "style"):
                yield from child._texts()
                yield "" if child.tag in ("span", "strong", "code", "a") else " "

    def walk(self):
        """All elements inside, in the order of the page."""
        for child in self.children:
            if isinstance(child, Node):
                yield child
                yield from child.walk()

    def all(self, tag, class_=None, **attrs):
        """The elements inside with this tag, class and attributes."""
        return [
            node
            for node in self.walk()
            if node.tag == tag
            and (class_ is None or class_ in node.attrs.get("class", "").split())
            and all(node.attrs.get(key) == value for key, value in attrs.items())
        ]

    def one(self, tag, class_=None, **attrs):
        """The only element inside with this tag, class and attributes."""
        [node] = self.all(tag, class_, **attrs)
        return node

    @property
    def facts(self):
        """Terms and their texts."""
        rows = [node for node in self.all("div") if node.children_tags() == ["dt", "dd"]]
        return {row.all("dt")[0].text: row.all("dd")[0].text for row in rows}

    def children_tags(self):
        """The tags of the elements right below."""
        return [child.tag for child in self.children if isinstance(child, Node)]

    @property
    def rows(self):
        """The body of a table: for each row the texts of its cells, by the head of the column."""
        head = [cell.text for cell in self.one("thead").all("th")]
        body = self.one("tbody").all("tr")
        cells = [[cell for cell in row.walk() if cell.tag in ("th", "td")] for row in body]
        return [dict(zip(head, [c.text for c in row], strict=True)) for row in cells]

    @property
    def tooltips(self):
        """The texts of all tooltips of a picture."""
        return ["".join(title.children) for title in self.all("title")]


class _Reader(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.root = Node("page")
        self.open = [self.root]
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag == "wbr":  # a place where a name may break is no part of the name
            return
        node = Node(tag, attrs)
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag, attrs):
        if tag != "wbr":
            self.open[-1].children.append(Node(tag, attrs))

    def handle_endtag(self, tag):
        assert self.open.pop().tag == tag

    def handle_data(self, data):
        self.open[-1].children.append(data)


def tree_of(page):
    """The tree of a page, whose tags are balanced."""
    reader = _Reader(page)
    assert reader.open == [reader.root]
    return reader.root
