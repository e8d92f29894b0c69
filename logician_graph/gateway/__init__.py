"""The gateway: how work comes in and answers go out over HTTP, and who may come in at all.

It reaches the engine through :class:`EngineDoor` alone. Pages are not its business; guarding them is.
"""

from __future__ import annotations

from logician_graph.gateway.address import unavailable
from logician_graph.gateway.banner import banner
from logician_graph.gateway.middleware import AuthMiddleware, Guard
from logician_graph.gateway.oidc import oidc_configured, oidc_user
from logician_graph.gateway.policy import Rules, is_loopback
from logician_graph.gateway.probe import probe
from logician_graph.gateway.routes import Gateway, build_routes
from logician_graph.gateway.token import AccessToken, obtain_token, read_token
from logician_graph.gateway.types import EngineDoor, EngineHealth, ExportFormat, ProviderHealth

__all__ = [
    "AccessToken",
    "AuthMiddleware",
    "EngineDoor",
    "EngineHealth",
    "ExportFormat",
    "Gateway",
    "Guard",
    "ProviderHealth",
    "Rules",
    "banner",
    "build_routes",
    "is_loopback",
    "obtain_token",
    "oidc_configured",
    "oidc_user",
    "probe",
    "read_token",
    "unavailable",
]
