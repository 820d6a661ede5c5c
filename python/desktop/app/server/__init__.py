"""The server of a desktop app, which is pillion."""
