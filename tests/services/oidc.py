"""An OpenID Connect provider on loopback, with the people that a test gives it. Its tokens are really signed."""

import base64
import hashlib
import secrets
import time
from html import escape
from typing import Any
from urllib.parse import parse_qs, urlencode

from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.services.loopback import Loopback, Reply, Request, html_reply, json_reply

CLIENT, SECRET = "openquery", "a-secret-of-the-provider"


class Provider(Loopback):
    """Its page of authorisation has a link for each person, by which they agree."""

    def __init__(self, *people: str) -> None:
        super().__init__(self._answer)
        self.people = people
        self.forged = False
        """Sign with a key that the provider does not publish."""
        self._key = RSAKey.generate_key(2048, parameters={"kid": "1"})
        self._other = RSAKey.generate_key(2048, parameters={"kid": "1"})
        self._codes: dict[str, tuple[str, dict[str, str]]] = {}

    def secrets(self, redirect: str) -> str:
        """What an operator writes into secrets.toml."""
        return (
            f'[auth]\nredirect_uri = "{redirect}"\ncookie_secret = "{secrets.token_hex(32)}"\n'
            f'client_id = "{CLIENT}"\nclient_secret = "{SECRET}"\n'
            f'server_metadata_url = "{self.url}/.well-known/openid-configuration"\n'
        )

    async def _answer(self, request: Request) -> Reply:
        match request.path:
            case "/.well-known/openid-configuration":
                return json_reply(self._metadata())
            case "/jwks":
                return json_reply({"keys": [self._key.as_dict(private=False)]})
            case "/authorize":
                return self._authorise(request.query)
            case "/token":
                form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
                return self._token(form, request.headers.get("authorization", ""))
            case "/end":
                return _to(request.query["post_logout_redirect_uri"])
            case _:
                return html_reply("", status=404)

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            "end_session_endpoint": f"{self.url}/end",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def _authorise(self, asked: dict[str, str]) -> Reply:
        assert asked["client_id"] == CLIENT
        assert asked["response_type"] == "code"
        links = []
        for person in self.people:
            code = secrets.token_urlsafe(16)
            self._codes[code] = (person, asked)
            back = urlencode({"code": code, "state": asked["state"]})
            links.append(f'<a href="{escape(asked["redirect_uri"])}?{escape(back)}">{escape(person)}</a>')
        return html_reply(f"<html><body>{' '.join(links)}</body></html>")

    def _token(self, form: dict[str, str], authorization: str) -> Reply:
        person, asked = self._codes.pop(form["code"])
        challenge = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(challenge).decode().rstrip("=") == asked["code_challenge"]
        assert base64.b64decode(authorization.removeprefix("Basic ")).decode() == f"{CLIENT}:{SECRET}"
        assert form["redirect_uri"] == asked["redirect_uri"]
        now = int(time.time())
        claims = {
            "iss": self.url,
            "sub": hashlib.sha256(person.encode()).hexdigest(),
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            "email": person,
            "email_verified": True,
        }
        token = jwt.encode({"alg": "RS256", "kid": "1"}, claims, self._other if self.forged else self._key)
        return json_reply(
            {"access_token": "at", "token_type": "Bearer", "expires_in": 300, "id_token": token}
        )


def _to(address: str) -> Reply:
    return Reply((b"",), status=302, headers={"Location": address})
