// Cluster API, whose CustomResourceDefinitions the tests of a fleet install.
module kubescript/tests/cluster-api

go 1.26.0

require sigs.k8s.io/cluster-api v1.14.2
