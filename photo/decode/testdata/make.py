#!/usr/bin/env python3
"""Make the images of this folder with OpenCV.

    python3 make.py

Every .jpg and .webp has its pixels as OpenCV decodes them in the .png beside it.
A JPEG with a chroma layout that OpenCV cannot write is put together from grey
ones: a frame header and one scan for each component.
"""
import os
import struct

import cv2
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))

W, H = 45, 31


def plane(w, h, a, b, c, amplitude=100):
    y, x = np.mgrid[0:h, 0:w].astype(float)
    return np.clip(128 + amplitude * np.sin(x / a + c) * np.cos(y / b - c), 0, 255).astype(np.uint8)


def grey_parts(grey):
    """The marker segments of a grey JPEG, by marker, and its entropy-coded data."""
    b = cv2.imencode(".jpg", grey, [cv2.IMWRITE_JPEG_QUALITY, 88])[1].tobytes()
    segments, i = {}, 2
    while True:
        marker, n = b[i + 1], struct.unpack(">H", b[i + 2:i + 4])[0]
        segments[marker] = segments.get(marker, b"") + b[i:i + 2 + n]
        i += 2 + n
        if marker == 0xDA:
            return segments, b[i:-2]


def compose(w, h, planes, sampling, adobe=None):
    parts = [grey_parts(p) for p in planes]
    out = b"\xff\xd8"
    if adobe is not None:
        out += b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00" + bytes([adobe])
    out += parts[0][0][0xDB]
    out += b"\xff\xc0" + struct.pack(">HBHHB", 8 + 3 * len(planes), 8, h, w, len(planes))
    out += b"".join(bytes([i + 1, s, 0]) for i, s in enumerate(sampling))
    out += parts[0][0][0xC4]
    for i, (_, data) in enumerate(parts):
        out += b"\xff\xda" + struct.pack(">HBBBBBB", 8, 1, i + 1, 0, 0, 63, 0) + data
    return out + b"\xff\xd9"


def save(name, data):
    path = os.path.join(HERE, name)
    with open(path, "wb") as f:
        f.write(data)
    pixels = cv2.imread(path)
    cv2.imwrite(os.path.splitext(path)[0] + ".png", pixels, [cv2.IMWRITE_PNG_COMPRESSION, 9])


def main():
    for name, hx, vx in [("444", 1, 1), ("422", 2, 1), ("440", 1, 2), ("420", 2, 2), ("411", 4, 1)]:
        cw, ch = -(-W // hx), -(-H // vx)
        planes = [plane(W, H, 5, 9, 0), plane(cw, ch, 7, 5, 1), plane(cw, ch, 4, 6, 2)]
        save(f"ycbcr{name}.jpg", compose(W, H, planes, [hx << 4 | vx, 0x11, 0x11]))
    four = [plane(W, H, 5, 9, 0), plane(W, H, 7, 5, 1), plane(W, H, 4, 6, 2), np.maximum(plane(W, H, 9, 9, 3), 60)]
    save("cmyk.jpg", compose(W, H, four, [0x11] * 4))
    save("cmyk-adobe.jpg", compose(W, H, four, [0x11] * 4, 0))
    save("ycck.jpg", compose(W, H, four, [0x11] * 4, 2))
    colour = np.dstack([plane(W, H, 5, 9, 0, 110), plane(W, H, 7, 4, 1, 110), plane(W, H, 11, 6, 2, 110)])
    save("progressive.jpg", cv2.imencode(".jpg", colour, [cv2.IMWRITE_JPEG_PROGRESSIVE, 1, cv2.IMWRITE_JPEG_QUALITY, 85])[1].tobytes())
    save("lossy.webp", cv2.imencode(".webp", colour, [cv2.IMWRITE_WEBP_QUALITY, 80])[1].tobytes())
    save("lossless.webp", cv2.imencode(".webp", colour, [cv2.IMWRITE_WEBP_QUALITY, 101])[1].tobytes())


main()
