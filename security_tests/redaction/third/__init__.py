"""A third held-out part, by a platform engineer's memory of incident channels; written without a look at the rules.

How it is labelled. Secret is what an attacker could use as it stands: a weak password or a PIN as well as a key. Password hashes
and famous defaults (`changeme`, `postgres`) may be masked or not. References, names and keys of Secrets, templates, public keys,
ciphertext that is made to be published, stars, and blanks to fill in are no secrets and must survive.
"""
