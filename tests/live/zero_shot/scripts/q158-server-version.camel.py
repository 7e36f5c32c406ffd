# question: q158-server-version · style: camel · author: a JavaScript developer new to Python
k8s.version().getCode()["gitVersion"]
