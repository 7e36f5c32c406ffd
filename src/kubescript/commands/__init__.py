"""Command lines as tools: `openstack` and `oc`, each in a separate confined process."""
