"""An agent that chooses its tools: `from agent import open_agent` (docs/agent.md)."""

from agent.agent import Agent, agent_of, open_agent
from agent.tools import AgentTool, Consent, function_tool

__all__ = ["Agent", "AgentTool", "Consent", "agent_of", "function_tool", "open_agent"]
