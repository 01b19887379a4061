"""The session: runs scripts as processes of their own, and finds them again after its own end."""
