"""One model trained with each activation: what is tried, what came out, and what that shows.

`trial` and `outcome` are what goes in and what comes out of one training run; `tasks`, `training`
and `models` run it, `execution` runs many and `store` keeps them; `statistics` and `record` say
what differs.
"""
