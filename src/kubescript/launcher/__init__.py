"""The confined processes that run command lines: `openstack` as a library, and `oc` as a program. Nothing imports this
package."""
