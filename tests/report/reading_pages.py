"""Read a page as a parser sees it: its elements, its texts, what its inline elements hold."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Elements as (tag, attributes) in order, and the text of each element that holds raw text."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.raw, self.texts, self.comments, self._open = [], [], [], [], None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open = (tag, dict(attrs)) if tag in ("script", "style") else None
        if self._open:
            self.raw.append([tag, dict(attrs), ""])

    def handle_endtag(self, tag):  # noqa: ARG002 - the parser's own signature
        self._open = None

    def handle_data(self, data):
        if self._open:
            self.raw[-1][2] += data
        else:
            self.texts.append(data)

    def handle_comment(self, data):
        self.comments.append(data)

    @property
    def text(self):
        return " ".join("".join(self.texts).split())

    def inline(self, tag, **attributes):
        return [
            text for name, its, text in self.raw if name == tag and all(its.get(k) == v for k, v in attributes.items())
        ]

    def shape(self):
        """What a page is made of, without the words: no name of a label may change it."""
        return [(tag, sorted(attributes)) for tag, attributes in self.elements]
