"""Flask-Limiter on real Flask applications: each strategy, addresses of both kinds, scopes."""

import os
import time
import unittest
from importlib.metadata import version
from pathlib import Path

import redis
from flask import Blueprint, Flask, request
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address

from patience import PATIENCE

HERE = Path(__file__).resolve().parent
PORT = int(os.environ["KEYWARD_TEST_PORT"])
URL = f"redis://127.0.0.1:{PORT}/0"
ADDRESSES = ["203.0.113.7", "2001:db8::7", "::1", "::ffff:203.0.113.9"]
server = redis.Redis(port=PORT)


def build(strategy, key_func=get_remote_address, storage_prefix="LIMITS", **options):
    """An application with limits of every form."""
    app = Flask(__name__)
    limiter = Limiter(
        key_func,
        app=app,
        storage_uri=URL,
        storage_options={"key_prefix": storage_prefix},
        strategy=strategy,
        application_limits=["1000 per year", "900 per month"],
        default_limits=["500 per day", "200 per hour"],
        headers_enabled=True,
        **options,
    )
    shared = limiter.shared_limit("50 per 2 minutes", scope="search:all")
    pages = Blueprint("pages", __name__)

    @app.route("/twice")
    @limiter.limit("2 per minute")
    def twice():
        return "twice"

    @app.route("/second")
    @limiter.limit("2 per second")
    def second():
        return "second"

    @app.route("/method", methods=["GET", "POST"])
    @limiter.limit("3/minute", per_method=True)
    def method():
        return request.method

    @app.route("/cost")
    @limiter.limit("10/minute", cost=4)
    def cost():
        return "cost"

    @app.route("/one")
    @shared
    def one():
        return "one"

    @app.route("/other")
    @shared
    def other():
        return "other"

    @app.route("/failing")
    @limiter.limit("5/minute", deduct_when=lambda response: response.status_code == 404)
    def failing():
        return "none", 404

    @pages.route("/page")
    @limiter.limit("4/minute;40/hour")
    def page():
        return "page"

    app.register_blueprint(pages)
    return app, limiter


def codes(app, path, times, address=ADDRESSES[0], **options):
    with app.test_client() as client:
        place = {"environ_base": {"REMOTE_ADDR": address}}
        return [client.open(path, **place, **options).status_code for _ in range(times)]


class FlaskLimiter(unittest.TestCase):
    def test_the_library_names_these_versions(self):
        text = (HERE.parent.parent / "library" / "flask-limiter.toml").read_text()
        self.assertIn(f"Flask-Limiter {version('flask-limiter')} on limits {version('limits')}", text)

    def check(self, app, limiter):
        for address in ADDRESSES:
            self.assertEqual(codes(app, "/twice", 3, address), [200, 200, 429], address)
        self.assertEqual(codes(app, "/method", 4), [200] * 3 + [429])
        self.assertEqual(codes(app, "/method", 1, method="POST"), [200])
        self.assertEqual(codes(app, "/cost", 3), [200, 200, 429])
        self.assertEqual(codes(app, "/one", 2) + codes(app, "/other", 2), [200] * 4)
        self.assertEqual(codes(app, "/failing", 6), [404] * 5 + [429])
        self.assertEqual(codes(app, "/page", 5), [200] * 4 + [429])
        self.check_second(app)
        with app.test_request_context("/twice", environ_base={"REMOTE_ADDR": ADDRESSES[0]}):
            limiter.reset()
        self.assertEqual(codes(app, "/twice", 1), [200])

    def check_second(self, app):
        """A window ends, and another begins."""
        codes(app, "/second", 2)
        deadline = time.monotonic() + PATIENCE
        while codes(app, "/second", 1) != [200]:
            self.assertLess(time.monotonic(), deadline, "the window does not end")
            time.sleep(0.1)

    def test_fixed_windows(self):
        app, limiter = build("fixed-window")
        self.check(app, limiter)
        ttl = server.ttl(f"LIMITS:LIMITER/{ADDRESSES[0]}/twice/2/1/minute")
        self.assertTrue(0 < ttl <= 60, ttl)

    def test_moving_windows(self):
        self.check(*build("moving-window", storage_prefix="MOVING"))

    def test_sliding_windows(self):
        self.check(*build("sliding-window-counter"))

    def test_users_behind_a_prefix(self):
        user = lambda: request.headers.get("X-User", "nobody")
        app, _ = build("fixed-window", user, "USERS", key_prefix="shop")
        for name in ("ann", "bob@example.org"):
            self.assertEqual(codes(app, "/twice", 3, headers={"X-User": name}), [200, 200, 429])
        self.assertEqual(server.exists("USERS:LIMITER/shop/ann/twice/2/1/minute"), 1)
