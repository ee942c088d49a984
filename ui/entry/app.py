"""The script that Streamlit runs for `athena serve`.

Streamlit puts the script's folder first on `sys.path`. If this script were in `ui/`, `import mission` would
find `ui/mission`.
"""

from __future__ import annotations

from ui.app import show

show()
