"""One file for every installation; what differs comes from the environment. The README's table lists each name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dj_database_url
from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from hitl_site import redis_server
from hitl_site.environment import envbool, envint, envlist, envsecret, envstr

BASE_DIR = Path(__file__).resolve().parent.parent

# Everything that an installation writes: database, secret key, sockets, the first login. Private to its user.
SAYSO_VAR = Path(envstr("SAYSO_VAR") or BASE_DIR / "var").absolute()

DEBUG = envbool("DEBUG")


def stored_secret_key() -> str:
    try:
        return (SAYSO_VAR / "secret_key").read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"The secret key file cannot be read: {error}.") from None


# Empty until `up` has written one: Django refuses every use of an empty key, and asgi.py refuses to start.
SECRET_KEY = envsecret("SECRET_KEY") or stored_secret_key()
SECRET_KEY_IS_SET = bool(SECRET_KEY)

ALLOWED_HOSTS = envlist("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = envlist("CSRF_TRUSTED_ORIGINS")

# --- the product's own ---------------------------------------------------------------------------------------------

SAYSO_GRAPHS = envlist("SAYSO_GRAPHS")
# Makes the models that agents name: a function from a name to a model. Empty: the scripted stand-in, without a network.
SAYSO_MODELS = envstr("SAYSO_MODELS")
# The audit chain is signed with it; without one, with a key derived from SECRET_KEY, whose change breaks verification.
SAYSO_AUDIT_KEY = envsecret("SAYSO_AUDIT_KEY")
SAYSO_LEASE_SECONDS = envint("SAYSO_LEASE_SECONDS", 20, minimum=1)
SAYSO_SLICE_SECONDS = envint("SAYSO_SLICE_SECONDS", 30, minimum=1)
SAYSO_SLICE_STEPS = envint("SAYSO_SLICE_STEPS", 200, minimum=1)
SAYSO_CLOCK_SECONDS = envint("SAYSO_CLOCK_SECONDS", 2, minimum=1)
# The outer fence of one job; nodes have their own, shorter deadline. A job past this is stopped by its worker.
SAYSO_JOB_SECONDS = envint("SAYSO_JOB_SECONDS", 1020, minimum=30)
SAYSO_WORKER_INPROCESS = envbool("SAYSO_WORKER_INPROCESS")
SAYSO_RQ_ADMIN = envbool("SAYSO_RQ_ADMIN")
SAYSO_FAILPOINT = envstr("SAYSO_FAILPOINT")

# --- applications --------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_rq",
    "graphs.apps.GraphsConfig",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "graphs.web.locales.ReaderMiddleware",
    "graphs.web.origins.OriginMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "hitl_site.urls"
ASGI_APPLICATION = "hitl_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "graphs.web.shell.shell",
            ],
            "builtins": ["graphs.web.tags", "graphs.web.form_tags"],
        },
    },
]

# --- database ------------------------------------------------------------------------------------------------------

# synchronous=FULL because NORMAL may lose a decision on power loss after its page said that it is recorded; IMMEDIATE
# because a transaction that reads first and then writes fails at once under DEFERRED, whatever the timeout.
SQLITE_OPTIONS = {
    "timeout": 30,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON",
}

# Only the web process pools (asgi.py raises this): a pool must not exist before a worker forks.
SAYSO_DATABASE_POOL = envint("SAYSO_DATABASE_POOL", 0)


def database(url: str) -> dict[str, Any]:
    try:
        config: dict[str, Any] = dict(dj_database_url.parse(url, conn_max_age=0, conn_health_checks=True))
    except (ValueError, KeyError):
        # The parser's own message would repeat the address, and with it a password.
        raise ImproperlyConfigured(
            "DATABASE_URL cannot be read. Write postgres://user:password@host:5432/name or sqlite:////path/to/file."
        ) from None
    options = config.setdefault("OPTIONS", {})
    if config["ENGINE"] == "django.db.backends.sqlite3":
        config["OPTIONS"] = {**SQLITE_OPTIONS, **options}
        # Tests use a file and real commits too: an in-memory database knows neither WAL nor a second process.
        config["TEST"] = {"NAME": str(SAYSO_VAR / "test.sqlite3")}
    elif config["ENGINE"] == "django.db.backends.postgresql":
        if SAYSO_DATABASE_POOL:
            config["OPTIONS"] = {**options, "pool": {"min_size": 1, "max_size": SAYSO_DATABASE_POOL, "timeout": 10}}
    else:
        raise ImproperlyConfigured("DATABASE_URL must be a PostgreSQL or SQLite address.")
    return config


DATABASE_URL = envsecret("DATABASE_URL")
if not DATABASE_URL:
    # SQLite cannot create the folder of its file, and `migrate` alone should work in a fresh checkout.
    SAYSO_VAR.mkdir(mode=0o700, parents=True, exist_ok=True)
DATABASES = {"default": database(DATABASE_URL or f"sqlite:///{SAYSO_VAR / 'sayso.sqlite3'}")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Redis, a doorbell: sessions, cache and throttles live elsewhere, so that a decision never needs it -------------

REDIS_URL = envsecret("REDIS_URL") or redis_server.private_url(SAYSO_VAR)

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        # Without the None redis-py drops a subscription that has been silent for five seconds.
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_timeout": None}], "prefix": "sayso"},
    },
}

RQ = {"JOB_CLASS": "graphs.queue.SaysoJob", "COMMIT_MODE": "auto"}
RQ_QUEUES = {
    name: {
        "URL": REDIS_URL,
        "DEFAULT_TIMEOUT": SAYSO_JOB_SECONDS,
        "DEFAULT_RESULT_TTL": 0,
        "SERIALIZER": "rq.serializers.JSONSerializer",
    }
    for name in ("threads", "background")
}
# Its own entry in the admin would open the same pages to everyone who is staff; urls.py has them for operators.
RQ_SHOW_ADMIN_LINK = False

CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
SESSION_ENGINE = "django.contrib.sessions.backends.db"

# --- people --------------------------------------------------------------------------------------------------------

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# --- requests ------------------------------------------------------------------------------------------------------

# On wherever people come by https: redirect, secure cookies. Off by default, or the first sign-in on localhost fails.
SAYSO_HTTPS = envbool("SAYSO_HTTPS")
SECURE_SSL_REDIRECT = SAYSO_HTTPS
SESSION_COOKIE_SECURE = SAYSO_HTTPS
CSRF_COOKIE_SECURE = SAYSO_HTTPS
SECURE_HSTS_SECONDS = envint("SAYSO_HSTS_SECONDS", 0)
# Only behind a proxy that sets this header itself: otherwise anyone may claim to have come by https.
SAYSO_BEHIND_PROXY = envbool("SAYSO_BEHIND_PROXY")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SAYSO_BEHIND_PROXY else None
# Subdomains and browser preload lists are the owner of the domain's to decide, not ours.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

SESSION_COOKIE_NAME = "sayso_session"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "sayso_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "font-src": [SELF],
        "worker-src": [SELF],
        "manifest-src": [SELF],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    },
}

# --- static files, language, mail ----------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Served from where they are, without a collectstatic step: two commands are all that an installation takes.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = envstr("SAYSO_TIME_ZONE", "UTC") or "UTC"
USE_TZ = True

# --- logs: events and ids, never payloads --------------------------------------------------------------------------

SAYSO_LOG_LEVEL = envstr("SAYSO_LOG_LEVEL", "INFO").upper()
if SAYSO_LOG_LEVEL not in {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}:
    raise ImproperlyConfigured(f"SAYSO_LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR; it is {SAYSO_LOG_LEVEL!r}.")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "hitl_site.logs.LineFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": SAYSO_LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "django.server": {"handlers": [], "propagate": True},
        # RQ names each job at INFO; with a wake-up for every step that is noise.
        "rq.worker": {"level": "WARNING"},
        "daphne": {"level": "WARNING"},
        # The clients of models and tool servers name each address they call at INFO, and an address may hold a key.
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        "mcp": {"level": "WARNING"},
    },
}
