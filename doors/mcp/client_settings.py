"""What MCP clients want in their settings, to start Athena or to call a running one."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from athena import Settings


def for_clients(settings: Settings) -> str:
    """The settings of common clients, each under the name of its file."""
    program = shutil.which("athena")
    command, first = (program, []) if program else (sys.executable, ["-m", "athena"])
    arguments = [*first, "mcp", "--data-dir", str(Path(settings.data_dir).resolve())]
    start: dict[str, Any] = {"command": command, "args": arguments}
    call = {"url": f"http://{settings.host}:{settings.port}/mcp", "headers": {"Authorization": "Bearer KEY"}}
    shell = " ".join([command, *arguments])
    return "\n\n".join(
        (
            "# Claude Desktop (claude_desktop_config.json), Cursor (.cursor/mcp.json), and most others\n"
            + _json({"mcpServers": {"athena": start}}),
            f"# Claude Code\nclaude mcp add athena -- {shell}",
            "# VS Code (.vscode/mcp.json)\n" + _json({"servers": {"athena": {"type": "stdio", **start}}}),
            "# Codex (~/.codex/config.toml)\n[mcp_servers.athena]\n"
            f"command = {json.dumps(command)}\nargs = {json.dumps(arguments)}",
            "# A running `athena serve` with ATHENA_DOORS=mcp or all; KEY is of `athena keys add NAME`,\n"
            "# and on this machine none is needed as long as there is none\n"
            + _json({"mcpServers": {"athena": {"type": "http", **call}}}),
        )
    )


def _json(value: Any) -> str:
    return json.dumps(value, indent=2)
