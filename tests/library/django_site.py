"""The site that test_django.py visits: sessions, cached pages and fragments, two caches."""

import os

import django
from django.conf import settings
from django.http import HttpResponse
from django.template import engines
from django.urls import path
from django.views.decorators.cache import cache_page
from django.views.decorators.vary import vary_on_headers

PORT = int(os.environ["KEYWARD_TEST_PORT"])
LOCATION = f"redis://127.0.0.1:{PORT}/0"
FRAGMENT = "{% load cache %}{% cache 60 basket user %}basket of {{ user }}: {{ count }}{% endcache %}"

settings.configure(
    SECRET_KEY="of a test",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["django.contrib.sessions"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
    CACHES={
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": LOCATION},
        "extra": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": LOCATION, "KEY_PREFIX": "shop"},
        "herd": {
            "BACKEND": "django_redis.cache.RedisCache",
            "LOCATION": LOCATION,
            "KEY_PREFIX": "shop",
            "OPTIONS": {"CLIENT_CLASS": "django_redis.client.HerdClient"},
        },
    },
    SESSION_ENGINE="django.contrib.sessions.backends.cache",
)
django.setup()
views = 0


def count(request):
    """Counts a visitor's visits."""
    request.session["visits"] = request.session.get("visits", 0) + 1
    if "hours" in request.GET:
        request.session.set_expiry(int(request.GET["hours"]) * 3600)
    return HttpResponse(str(request.session["visits"]))


def leave(request):
    request.session.flush()
    return HttpResponse("bye")


def renew(request):
    request.session.cycle_key()
    return HttpResponse(request.session.session_key)


def page(request):
    """A page that says how often it was made."""
    global views
    views += 1
    return HttpResponse(str(views))


def fragment(request):
    template = engines["django"].from_string(FRAGMENT)
    return HttpResponse(template.render({"user": request.GET["user"], "count": request.GET["count"]}))


urlpatterns = [
    path("count", count),
    path("leave", leave),
    path("renew", renew),
    path("page", cache_page(60)(vary_on_headers("User-Agent")(page))),
    path("extra-page", cache_page(60, cache="extra", key_prefix="site")(page)),
    path("fragment", fragment),
]
