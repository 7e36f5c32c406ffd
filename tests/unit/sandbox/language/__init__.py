"""The language as scripts of kubescript meet it: what is said of a mistake is in the words of its guest."""

from kubescript.guest.advice import ADVICE
from kubescript_sandbox.language import advice

advice.use(ADVICE)
