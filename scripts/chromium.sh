#!/usr/bin/env bash
# Makes sure that the browser tests find a Chromium: Debian's as root, Playwright's own elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."

for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
.venv/bin/python - <<'PY' && exit 0
import os, sys
from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    sys.exit(not os.path.exists(playwright.chromium.executable_path))
PY
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null && exit 0
fi
.venv/bin/python -m playwright install chromium && exit 0
echo "The browser tests need Chromium. Install it with: sudo apt-get install chromium" >&2
exit 1
