"""A fourth held-out part, by an on-call engineer of a company with a mixed estate; written without a look at the rules.

How it was sampled. The estate: Spring and PHP and .NET services of twelve years beside Go, Python, Ruby and Elixir ones; vendors' charts
(databases, brokers, Keycloak, Grafana, Airflow, GitLab runners, registries); home-made operators; data pipelines; ML services.
We walked through it as an audit does: every namespace's pods first (env, args, commands, probes), then its ConfigMaps, its
custom resources and annotations, its events, its logs. Each place got what an audit finds in it, in about that proportion: three quarters
of the secrets are in ordinary places (env of charts, connection strings, application files, logs of frameworks). A quarter is in
unusual ones, and its headings say so: `| unusual`. No notation was looked for because it is hard to find. Of the look-alikes,
1,112 are lines of these texts (297 of them, `plain_estate*.py`, came after the first measurement); the rest is what an API server
writes round them (`scenery.py`).

How it is labelled. As the third part: secret is what an attacker could use as it stands. Password hashes, famous defaults, ids that go
with a key (access key ids, Sentry's public key) may be masked or not. Of everything else, a line or value that names a word of
credentials, an address or a long run of letters counts as a look-alike; the rest is judged with the other values.
"""
