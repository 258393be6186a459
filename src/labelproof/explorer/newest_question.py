"""One search for each page at a time: a newer question ends the one before."""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError
from threading import Event, Lock
from typing import TypeVar

__all__ = ["NewestWins"]

T = TypeVar("T")
MOST_PAGES = 32


class NewestWins:
    """Run searches one after the other; of each page, and of all pages, only the newest are worth an answer."""

    def __init__(self) -> None:
        self._searching, self._lock = Lock(), Lock()
        self._newest: OrderedDict[str, Event] = OrderedDict()

    def run(self, page: str, search: Callable[[Event], T]) -> T | None:
        """Return what the search finds, or None if a newer question of this page came; the search gets the event."""
        cancelled = self._enter(page)
        while not self._searching.acquire(timeout=0.02):
            if cancelled.is_set():
                return None
        try:
            return None if cancelled.is_set() else search(cancelled)
        except CancelledError:
            return None
        finally:
            self._searching.release()

    def cancel_all(self) -> None:
        """End all searches."""
        with self._lock:
            for event in self._newest.values():
                event.set()

    def _enter(self, page: str) -> Event:
        with self._lock:
            older = self._newest.pop(page, None)
            if older is not None:
                older.set()
            self._newest[page] = Event()
            while len(self._newest) > MOST_PAGES:
                self._newest.popitem(last=False)[1].set()
            return self._newest[page]
