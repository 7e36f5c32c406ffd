"""The command lines of `oc` and `openstack`."""
