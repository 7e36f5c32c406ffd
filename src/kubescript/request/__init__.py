"""An API request as data: its parts under kube-apiserver's names for them, its query and its body."""
