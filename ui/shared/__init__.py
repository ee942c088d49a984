"""What the pages share: session state, components, words."""
