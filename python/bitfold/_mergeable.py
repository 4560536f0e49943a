"""What states, histograms, quantiles, groups and tables have in common in Python."""

import ctypes

from ._library import StateError


class Mergeable:
    """Merges with others of its kind; is pickled, copied and compared by its saved form."""

    def __iadd__(self, other):
        """a += b: merge."""
        return self.merge(other) if isinstance(other, type(self)) else NotImplemented

    def __add__(self, other):
        """a + b: a new one, merged of both, in the context of a."""
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._copied().merge(other)

    def _require_kind(self, other):
        """Raises StateError unless both are of one kind: the library cannot tell what a handle is of."""
        kind = next(each for each in type(self).__mro__ if Mergeable in each.__bases__)
        if not isinstance(other, kind):
            raise StateError(f"{type(other).__name__!r} is no {kind.__name__}")

    def _copied(self):
        return self.load(self.save(), self._context)

    def __eq__(self, other):
        """a == b: do they have the same saved form?"""
        return self.save() == other.save() if type(self) is type(other) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # they change

    def _saved(self, size_of, save):
        """Returns the bytes that the library saves. No thread changes the object between the calls."""
        with self._context._lock:
            data = ctypes.create_string_buffer(size_of(self._handle))
            self._context._call(save, self._handle, data)
        return data.raw

    def __reduce__(self):
        return type(self).load, (self.save(),)
