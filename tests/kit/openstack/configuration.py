"""The settings of the three services, for a folder of their data and three ports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

__all__ = ["NAMES", "write"]

NAMES: Final = ("keystone", "glance", "placement")

_KEYSTONE: Final = """
[DEFAULT]
log_file = {folder}/keystone-own.log
[database]
connection = sqlite:///{folder}/keystone.db
[cache]
enabled = true
backend = oslo_cache.dict
[identity]
password_hash_rounds = 4
[fernet_tokens]
key_repository = {folder}/fernet
[credential]
key_repository = {folder}/credential
[token]
provider = fernet
"""
_LOGIN: Final = """
[keystone_authtoken]
www_authenticate_uri = http://127.0.0.1:{keystone}
auth_url = http://127.0.0.1:{keystone}
auth_type = password
username = admin
password = {password}
project_name = admin
user_domain_id = default
project_domain_id = default
[oslo_middleware]
enable_proxy_headers_parsing = false
"""
_GLANCE: Final = (
    """
[DEFAULT]
log_file = {folder}/glance-own.log
enabled_backends = files:file
enabled_import_methods = []
worker_self_reference_url = http://127.0.0.1:{glance}
lock_path = {folder}
node_staging_uri = file://{folder}/staging
[database]
connection = sqlite:///{folder}/glance.db
[glance_store]
default_backend = files
[files]
filesystem_store_datadir = {folder}/images
[os_glance_staging_store]
filesystem_store_datadir = {folder}/staging
[os_glance_tasks_store]
filesystem_store_datadir = {folder}/tasks
[oslo_concurrency]
lock_path = {folder}
[paste_deploy]
flavor = keystone
config_file = {paste}
"""
    + _LOGIN
)
_PLACEMENT: Final = (
    """
[DEFAULT]
log_file = {folder}/placement-own.log
[api]
auth_strategy = keystone
[placement_database]
connection = sqlite:///{folder}/placement.db
sync_on_startup = true
"""
    + _LOGIN
)


def write(folder: Path, ports: Mapping[str, int], password: str, environment: Path) -> None:
    """Write the files into the folder; `environment` is where the services are installed."""
    values = {"folder": folder, "password": password, "paste": environment / "etc/glance/glance-api-paste.ini", **ports}
    texts = {"keystone.conf": _KEYSTONE, "glance-api.conf": _GLANCE, "placement.conf": _PLACEMENT}
    for name, text in texts.items():
        (folder / name).write_text(text.format(**values), "utf-8")
    for name in ("images", "staging", "tasks"):
        (folder / name).mkdir(exist_ok=True)
