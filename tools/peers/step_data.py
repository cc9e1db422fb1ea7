"""The data of a workload: the same numbers in every framework.

step_data.cc has the same formulas in C++.
"""

import numpy as np

PAD, BEGIN, END, RESERVED = 1, 2, 3, 4

_MASK = (1 << 64) - 1


def _split_mix(stream, count):
    """SplitMix64 (Steele et al. 2014) of stream 2^32 + i, 0 <= i < count."""
    z = np.arange(count, dtype=np.uint64) + np.uint64(stream << 32)
    z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15 & _MASK)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(stream, shape, scale=1.0):
    """Returns floats in [-scale / 2, scale / 2), which float32 represents
    exactly."""
    count = int(np.prod(shape, dtype=np.int64))
    bits = (_split_mix(stream, count) >> np.uint64(40)).astype(np.float32)
    return ((bits * np.float32(2.0**-24) - np.float32(0.5))
            * np.float32(scale)).reshape(shape)


def words(stream, shape, vocabulary):
    """Returns ids of words, without reserved ids."""
    count = int(np.prod(shape, dtype=np.int64))
    ids = _split_mix(stream, count) % np.uint64(vocabulary - RESERVED)
    return (ids.astype(np.int64) + RESERVED).reshape(shape)


def _lengths(work, stream, time):
    """Returns lengths [batch]. All are `time`, or if ragged, from 4 to 40 as in
    captions."""
    if not work.ragged:
        return np.full(work.batch, time)
    first, second, tail, rare = (
        _split_mix(stream + i, work.batch).astype(np.uint64) % np.uint64(n)
        for i, n in enumerate((10, 10, 19, 16)))
    lengths = 4 + first + second + np.where(rare == 0, tail, 0)
    return np.minimum(lengths.astype(np.int64), time)


def source_lengths(work):
    return _lengths(work, 3, work.source_time)


def target_lengths(work):
    return _lengths(work, 7, work.target_time)


def _end(ids, lengths):
    """Ends each row with END and pads it."""
    positions = np.arange(ids.shape[1])
    ids[positions == lengths[:, None] - 1] = END
    ids[positions >= lengths[:, None]] = PAD


def sentences(work):
    """Returns (source, target input, target), each [batch, time], ending in
    END."""
    source = words(1, (work.batch, work.source_time), work.source_vocabulary)
    target = words(2, (work.batch, work.target_time), work.target_vocabulary)
    _end(source, source_lengths(work))
    _end(target, target_lengths(work))
    source = source[:, :source_lengths(work).max()]
    target = target[:, :target_lengths(work).max()]
    target_input = np.concatenate(
        [np.full((work.batch, 1), BEGIN, np.int64), target[:, :-1]], axis=1)
    return source, target_input, target


def text(count, vocabulary):
    """Returns the ids of a text, 0 <= id < vocabulary."""
    return (_split_mix(1, count) % np.uint64(vocabulary)).astype(np.int64)


def blocks(work):
    """Returns (input, target), each [batch, time], from blocks of a text."""
    ids = text(work.batch * work.target_time + 1, work.target_vocabulary)
    shape = (work.batch, work.target_time)
    return ids[:-1].reshape(shape), ids[1:].reshape(shape)


def tokens(ids):
    """Returns words for ids. CTranslate2 finds special words by their names."""
    special = ("<unk>", "<blank>", "<s>", "</s>")
    return [special[i] if i < len(special) else f"w{i}" for i in ids]


def prompts(work):
    """Returns the prompts, [batch, source_time]."""
    ids = text(work.batch * work.source_time, work.target_vocabulary)
    return ids.reshape(work.batch, work.source_time)


def images(work):
    """Returns (bytes [batch, channels, side, side], labels)."""
    side = work.source_time
    numbers = uniform(1, (work.batch, work.channels, side, side))
    pixels = ((numbers + np.float32(0.5)) * np.float32(256)).astype(np.uint8)
    return pixels, text(work.batch, work.target_vocabulary)


def sinusoids(time, width):
    """Returns positions [time, width]: even columns are sines, odd cosines."""
    angles = (np.arange(time)[:, None]
              * 10000.0**(-np.arange(0, width, 2) / width))
    return np.stack((np.sin(angles), np.cos(angles)), -1).reshape(
        time, width).astype(np.float32)


def curve(work):
    """Returns (x, y) of a regression, with sorted x."""
    x = np.sort((uniform(1, (work.batch,)) + np.float32(0.5))
                * np.float32(5)).astype(np.float32)
    y = (x * np.float32(0.5) + uniform(2, (work.batch,))).astype(np.float32)
    return x, y
