"""Modules that the pages share: process, session state, links, messages, components."""
