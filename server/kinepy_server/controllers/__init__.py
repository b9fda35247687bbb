"""What a bare API server does by itself: the bootstrap objects and small controllers."""

from kinepy_server.controllers.running import ALL_CONTROLLERS, running_controllers

__all__ = ["ALL_CONTROLLERS", "running_controllers"]
