"""One small driver for each queue that inspectd is compared with: `python -m peers.NAME --help`."""
