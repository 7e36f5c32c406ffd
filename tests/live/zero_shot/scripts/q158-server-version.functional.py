# question: q158-server-version · style: functional · author: a minimalist
(lambda v: v.git_version)(k8s.version().get_code())
