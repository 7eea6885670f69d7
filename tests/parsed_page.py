"""A page as Python reads it, for tests that need no browser."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input"}


class Page(HTMLParser):
    """Elements of a page with their attributes and text, and whether its tags are balanced.

    Places where a name may break are left out: they are no part of the text.
    """

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.texts = [], [], []
        self.feed(text.replace("<wbr>", ""))
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]
