"""Says whether the settings in force still let in a user who authenticated earlier; the credential is not here."""

from __future__ import annotations

from kubescript import config, errors
from kubescript.auth import tokens_file, user

__all__ = ["check"]


def check(settings: config.Settings, known: user.User) -> None:
    """Raises AuthError unless one of the settings' ways of authentication would let this user in, with a credential
    that names the same groups. Whether an identity provider still gives one is not known here. Raises ConfigError when
    the file of tokens cannot be read."""
    auth = settings.auth
    if known.issuer == "tokens":
        is_known = known.name in auth.tokens
    elif known.issuer == "tokens_file":
        is_known = auth.tokens_file is not None and tokens_file.names(auth.tokens_file, known)
    elif known.issuer == "token_review":
        is_known = auth.token_review
    elif known.issuer == "client_ca_file":
        is_known = settings.tls.client_ca_file is not None
    else:
        # An endpoint's answer may name any issuer.
        is_known = known.issuer == auth.issuer or auth.introspection is not None
        is_known = is_known and known.scopes.issuperset(auth.scopes)
    if not is_known:
        raise errors.AuthError(f"{known.label} is no user of this server any more, or has other groups now")
