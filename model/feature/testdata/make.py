#!/usr/bin/env python3
"""Make opencv.json with OpenCV and PyWavelets.

    python3 make.py FOLDER_OF_FEATURES_PY

It holds the vectors of the picture that the tests call synthetic, in sizes that
shrink, grow and do both; of the Haar vectors every sixteenth element.
"""
import json
import os
import sys
import tempfile

import cv2
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import features  # noqa: E402


def synthetic(w, h):
    y, x = np.mgrid[0:h, 0:w]
    r = (x * 5 + y * 3 + x * y // 7) & 255
    g = (x * x // 11 + y * 9) & 255
    b = 255 - ((x * 2 + y * y // 5) & 255)
    return np.stack([b, g, r], -1).astype(np.uint8)


def main():
    golden = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "synthetic.png")
        for w, h in [(1, 1), (2, 3), (37, 53), (100, 60), (300, 50), (128, 192), (256, 256), (333, 500), (1000, 7), (701, 467)]:
            cv2.imwrite(path, synthetic(w, h))
            golden[f"{w}x{h}"] = {
                k: [float("%.6g" % round(float(x), 7)) for x in (v[::16] if k.startswith("haar") else v)]
                for k, v in features.extract(path).items()
            }
    with open(os.path.join(HERE, "opencv.json"), "w") as f:
        json.dump(golden, f, separators=(",", ":"))


main()
