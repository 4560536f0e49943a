"""What states, histograms, quantiles, groups and tables have in common in Python."""

import ctypes


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
