"""One story: what a script would change, who may approve it, and the application of exactly that.

requests, writer   a write is put in canonical form, tried by a dry run, and judged      attempt, rules/
draft              the tries of one script, in their order
planner, review    the draft becomes a plan, which is reviewed by the rules about conduct
store/             the plan waits, wherever its server is
view/, ask/, page/ a person is shown it, at the client, on a page or in a terminal, and decides
approval           whose answer counts
application        each step is tried again and sent, with its precondition                traces, rollouts
recovery           another server goes on with what a dead one has left
undo               the reverse of a plan is a plan
planning           puts these parts together for one caller
"""
