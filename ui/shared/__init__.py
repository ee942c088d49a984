"""What the pages share: the process and the session, links, messages, components."""
