"""The whole path of a change: what a script would change, who may approve it, and applying exactly that.

requests, writer   a write is put in canonical form, tried by a dry run, and judged      attempt, rules/
draft              the tries of one script, in order
planner, review    the draft becomes a plan, which is reviewed by the rules about conduct
store/             the plan waits, even if its server ends
view/, ask/, page/ a person sees it, at the client, on a page or in a terminal, and decides
approval           whose answer counts
application, work  each step is tried again and sent, with its precondition                sameness, traces, rollouts
recovery           another server continues the plans of a dead one
undo               the reverse of a plan is another plan
planning           assembles these parts for one caller
"""
