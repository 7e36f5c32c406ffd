"""An API request as data: its parts under the names that kube-apiserver gives them, its query and its body."""
