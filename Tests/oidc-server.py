"""An OpenID Connect provider for tests, on Authlib: the authorization code flow, with PKCE (S256) required of every client.

Usage: oidc-server.py PORT CLIENT REDIRECT [NAME=ROLE,ROLE...]...

Listens on 127.0.0.1. The sign-in page has one button for each NAME. Prints a line when it is ready.
"""

import html
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from authlib.jose import JsonWebKey, JsonWebToken
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, AuthorizationServer, ClientMixin, JsonRequest, OAuth2Request
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import UserInfo
from authlib.oidc.core.grants import OpenIDCode

PORT, CLIENT, REDIRECT = int(sys.argv[1]), sys.argv[2], sys.argv[3]
PEOPLE = {name: roles.split(",") for name, _, roles in (word.partition("=") for word in sys.argv[4:])}
ISSUER = f"http://127.0.0.1:{PORT}"
KEY = JsonWebKey.generate_key("RSA", 2048, {"use": "sig", "kid": "test"}, is_private=True)
CODES = {}
NONCES = set()


class Client(ClientMixin):
    """The console, a public client."""

    def get_client_id(self):
        return CLIENT

    def get_default_redirect_uri(self):
        return REDIRECT

    def get_allowed_scope(self, scope):
        return scope

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri == REDIRECT

    def check_endpoint_auth_method(self, method, endpoint):
        return method == "none"

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return grant_type == "authorization_code"


class Code(AuthorizationCodeMixin):
    """A code, with what the token request must repeat."""

    def __init__(self, user, request):
        data = request.payload.data
        self.user, self.scope, self.redirect_uri = user, request.payload.scope, request.payload.redirect_uri
        self.nonce = data.get("nonce")
        self.code_challenge, self.code_challenge_method = data.get("code_challenge"), data.get("code_challenge_method")
        self.auth_time = int(time.time())

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope

    def get_nonce(self):
        return self.nonce

    def get_auth_time(self):
        return self.auth_time

    def get_acr(self):
        return None

    def get_amr(self):
        return None


class Grant(AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none"]

    def save_authorization_code(self, code, request):
        CODES[code] = Code(request.user, request)

    def query_authorization_code(self, code, client):
        return CODES.get(code)

    def delete_authorization_code(self, authorization_code):
        for code in [code for code, held in CODES.items() if held is authorization_code]:
            del CODES[code]

    def authenticate_user(self, authorization_code):
        return authorization_code.user


class IDToken(OpenIDCode):
    def exists_nonce(self, nonce, request):
        if nonce in NONCES:
            return True
        NONCES.add(nonce)
        return False

    def get_jwt_config(self, grant):
        return {"key": KEY, "alg": "RS256", "iss": ISSUER, "exp": 300}

    def get_encode_header(self, client):
        return {"alg": "RS256", "kid": "test"}

    def encode_id_token(self, token, request):
        """By hand, since older versions write no key's name into the header."""
        held = request.authorization_code
        now = int(time.time())
        claims = {
            "iss": ISSUER, "aud": CLIENT, "sub": held.user, "iat": now, "exp": now + 300, "nonce": held.get_nonce(),
            "auth_time": held.get_auth_time(), "preferred_username": held.user, "roles": PEOPLE[held.user],
        }
        return JsonWebToken(["RS256"]).encode({"alg": "RS256", "kid": "test"}, claims, KEY).decode()

    def process_token(self, grant, response):
        _, body, _ = response
        body["id_token"] = self.encode_id_token(body, grant.request)
        return response

    def generate_user_info(self, user, scope):
        return UserInfo(sub=user)


class Server(AuthorizationServer):
    def query_client(self, client_id):
        return Client() if client_id == CLIENT else None

    def save_token(self, token, request):
        pass

    def create_oauth2_request(self, request):
        made = OAuth2Request(request["method"], request["uri"], headers=request["headers"])
        made.payload = BasicOAuth2Payload(request["form"])
        made._body = request["form"]
        return made

    def create_json_request(self, request):
        return JsonRequest(request["method"], request["uri"], headers=request["headers"])

    def handle_response(self, status, body, headers):
        return status, body, headers

    def send_signal(self, name, *args, **kwargs):
        pass


SERVER = Server()
SERVER.register_token_generator("default", lambda **_: {"token_type": "Bearer", "access_token": "unused", "expires_in": 60})
SERVER.register_grant(Grant, [CodeChallenge(required=True), IDToken()])


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def send(self, status, body, kind="application/json", headers=()):
        if isinstance(body, (dict, list)):
            import json

            body = json.dumps(body)
        data = (body or "").encode()
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("content-type", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def request_of(self, form):
        return {"method": self.command, "uri": ISSUER + self.path, "headers": dict(self.headers), "form": form}

    def do_GET(self):
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/.well-known/openid-configuration":
            self.send(200, {
                "issuer": ISSUER, "authorization_endpoint": ISSUER + "/authorize", "token_endpoint": ISSUER + "/token",
                "jwks_uri": ISSUER + "/keys", "response_types_supported": ["code"], "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"], "code_challenge_methods_supported": ["S256"],
            })
        elif url.path == "/keys":
            self.send(200, {"keys": [KEY.as_dict(is_private=False)]})
        elif url.path == "/authorize" and query.get("code_challenge_method") != "S256":
            self.send(400, {"error": "invalid_request", "error_description": "PKCE with S256 is required"})
        elif url.path == "/authorize" and query.get("user") in PEOPLE:
            user = query.pop("user")
            status, body, headers = SERVER.create_authorization_response(self.request_of(query), grant_user=user)
            self.send(status, body, headers=headers)
        elif url.path == "/authorize":
            links = "".join(
                f"<p><a href='/authorize?{html.escape(urlencode({**query, 'user': name}))}'>{html.escape(name)}</a></p>"
                for name in PEOPLE)
            self.send(200, f"<!DOCTYPE html><html lang='en'><title>Who?</title><h1>Who?</h1>{links}</html>", "text/html")
        else:
            self.send(404, {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        if self.path != "/token":
            self.send(404, {})
            return
        status, answer, headers = SERVER.create_token_response(self.request_of(form))
        self.send(status, answer, headers=headers)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    print("ready", flush=True)
    server.serve_forever()
