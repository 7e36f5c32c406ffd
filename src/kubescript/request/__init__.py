"""An API request as data: its parts as kube-apiserver names them, its query and its body."""
