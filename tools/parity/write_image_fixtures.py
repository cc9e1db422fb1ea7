#!/usr/bin/env python3
"""Writes images with the pixels that Pillow reads and resizes from them.

The test is //data/images:images_test. Its fixture comes from
`write_image_fixtures.py --files=46`. To compare more files, use

    pip install pillow==12.0.0
    write_image_fixtures.py --files=200 > /tmp/images.txt
    IMAGES=/tmp/images.txt bazel-bin/data/images/pillow_test

The fields of a line are separated by spaces. Bytes are in base64:

    file NAME BYTES
    pixels CHANNELS FILTER HEIGHT WIDTH [height, width, channels]

A line `pixels` describes the file before it. FILTER is `none` if the
image is not resized. The first file, jpeg_cmyk, cannot be read.
"""

import argparse
import base64
import io
import random
import struct
import zlib

from PIL import Image, ImageOps

# Passes of Adam7: the first row and column, and the distances between rows and
# between columns.
PASSES = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2),
          (0, 1, 2, 2), (1, 0, 2, 1)]
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PNG_KINDS = [(color, depth, interlaced)
             for color, depths in [(0, (1, 2, 4, 8, 16)), (2, (8, 16)),
                                   (3, (1, 2, 4, 8)), (4, (8, 16)), (6, (8, 16))]
             for depth in depths for interlaced in (False, True)]
JPEG_KINDS = [(mode, subsampling, progressive)
              for mode in ("L", "RGB") for subsampling in (0, 1, 2)
              for progressive in (False, True) if mode == "RGB" or not subsampling]


def exif(rng, orientation):
    """Returns a TIFF structure of two entries, in either byte order."""
    order = rng.choice("<>")
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8)
    entries = struct.pack(order + "HHIHH", 0x0101, 3, 1, 7, 0)
    entries += struct.pack(order + "HHIHH", 0x0112, 3, 1, orientation, 0)
    return head + struct.pack(order + "H", 2) + entries + bytes(4)


def chunk(kind, data):
    checksum = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + checksum


def packed_row(samples, depth):
    if depth == 16:
        return b"".join(struct.pack(">H", s) for s in samples)
    bits = "".join(format(s, f"0{depth}b") for s in samples)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))


def png(rng, color, depth, interlaced):
    """Writes interlaced files or 16-bit colours, unlike Pillow."""
    height, width = rng.randint(1, 13), rng.randint(1, 13)
    channels = CHANNELS[color]
    colors = rng.randint(1, 2 ** depth) if color == 3 else 2 ** depth
    rows = [[[rng.randrange(colors) for _ in range(channels)]
             for _ in range(width)] for _ in range(height)]
    data = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0,
                                      0, int(interlaced)))
    if rng.random() < 0.5:
        data += chunk(b"gAMA", struct.pack(">I", 45455))
    if color == 3:
        data += chunk(b"PLTE", rng.randbytes(3 * colors))
    if color in (0, 2, 3) and rng.random() < 0.5:
        transparent = bytes([rng.randrange(256)]) if color == 3 else b"".join(
            struct.pack(">H", s) for s in rows[0][0])
        data += chunk(b"tRNS", transparent)
    if rng.random() < 0.5:
        data += chunk(b"eXIf", exif(rng, rng.randint(1, 8)))
    raw = b""
    for top, left, down, right in PASSES if interlaced else [(0, 0, 1, 1)]:
        for row in rows[top::down]:
            samples = [s for pixel in row[left::right] for s in pixel]
            if not samples:
                continue
            line = packed_row(samples, depth)
            # Chooses filter 0 (none) or 1 (left) of PNG.
            kind = rng.randrange(2)
            step = max(1, channels * depth // 8)
            before = bytes(step) + line
            raw += bytes([kind]) + (bytes(
                (a - b) % 256 for a, b in zip(line, before)) if kind else line)
    data += chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


def jpeg(rng, mode, subsampling, progressive):
    """Returns coarse noise, so that neighbouring blocks differ."""
    size = (rng.randint(1, 21), rng.randint(1, 21))
    image = Image.frombytes(mode, (4, 4), rng.randbytes(16 * len(mode)))
    file = io.BytesIO()
    extra = {}
    if rng.random() < 0.7:
        extra["exif"] = b"Exif\0\0" + exif(rng, rng.randint(1, 8))
    image.resize(size, Image.BICUBIC).save(
        file, "JPEG", quality=rng.choice([30, 75, 95]), subsampling=subsampling,
        progressive=progressive, **extra)
    return file.getvalue()


def read(data, mode):
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    if image.mode.startswith("I"):
        # Pillow would clip 16-bit values instead of shifting them.
        upper = bytes(value >> 8 for value in image.getdata())
        image = Image.frombytes("L", image.size, upper)
    return image.convert(mode)


def print_pixels(image, kind):
    print("pixels", len(image.mode), kind, image.height, image.width,
          base64.b64encode(image.tobytes()).decode())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=46)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    cmyk = io.BytesIO()
    Image.new("CMYK", (2, 3)).save(cmyk, "JPEG")
    print("file", "jpeg_cmyk", base64.b64encode(cmyk.getvalue()).decode())
    kinds = [(png, kind) for kind in PNG_KINDS]
    kinds += [(jpeg, kind) for kind in JPEG_KINDS]
    for i in range(arguments.files):
        write, kind = kinds[i % len(kinds)]
        data = write(rng, *kind)
        name = "_".join([write.__name__, *map(str, kind)])
        print("file", name, base64.b64encode(data).decode())
        for mode in ("L", "RGB"):
            image = read(data, mode)
            print_pixels(image, "none")
            size = (rng.randint(1, 17), rng.randint(1, 17))
            for kind_name in ("BILINEAR", "BICUBIC"):
                if rng.random() < 0.5:
                    print_pixels(
                        image.resize(size, getattr(Image, kind_name)),
                        kind_name.lower())


if __name__ == "__main__":
    main()
