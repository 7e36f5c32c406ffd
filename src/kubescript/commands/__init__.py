"""Command lines as tools: `openstack` and `oc`, each in a confined process of its own."""
