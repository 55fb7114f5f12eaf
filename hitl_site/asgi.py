from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitl_site.settings")
# Read by settings.py: the web process alone pools its database connections, since only it never forks.
os.environ.setdefault("SAYSO_DATABASE_POOL", "10")

http_application = get_asgi_application()

# These import models, which needs the applications that the line above has loaded.
from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.exceptions import ImproperlyConfigured  # noqa: E402

from graphs.live.routing import websocket_urlpatterns  # noqa: E402

if not settings.SECRET_KEY:
    raise ImproperlyConfigured("There is no secret key: set SECRET_KEY or SECRET_KEY_FILE, or run `manage.py up` once.")

application = ProtocolTypeRouter(
    {
        "http": http_application,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
