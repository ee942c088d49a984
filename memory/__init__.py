"""The assistant's memory of each user: extraction, storage, recall and deletion of facts, names and turns."""
