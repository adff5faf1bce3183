"""Joins the frames of a folder to a video that Chromium plays in place of a camera (YUV4MPEG2). Usage: video.py FOLDER FILE PID, once
the process PID, which renders them, has ended."""

import os
import sys
import time

from PIL import Image

folder, name, pid = sys.argv[1:]
while os.path.exists(f"/proc/{pid}") and open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
    time.sleep(0.1)
frames = sorted(file for file in os.listdir(folder) if file.endswith(".jpg"))
with open(name, "wb") as video:
    for index, frame in enumerate(frames):
        image = Image.open(os.path.join(folder, frame)).convert("YCbCr")
        if index == 0:
            video.write(f"YUV4MPEG2 W{image.width} H{image.height} F15:1 Ip A1:1 C420jpeg\n".encode())
        y, cb, cr = image.split()
        half = (image.width // 2, image.height // 2)
        video.write(b"FRAME\n" + y.tobytes() + cb.resize(half).tobytes() + cr.resize(half).tobytes())
print("written")
