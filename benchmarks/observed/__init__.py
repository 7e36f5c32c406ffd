"""Forty questions that join metrics, alerts and logs with the objects of a cluster: a lab that holds all four, the truths,
and what another way of asking costs."""
