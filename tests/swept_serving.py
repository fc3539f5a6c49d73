"""A template of a few rows of serving that is swept as the shipped one: a workbook of a third of the cells has it all.

While the fixture `swept_serve` says so, it has tables over batch, context and chips on the sheet Sweep, with charts.
"""

from __future__ import annotations

from tests.seeded import SERVE

SWEPT = f"""{SERVE}prefill_chips,Chips that prefill,chip,input,0,,
hbm_reserve_bytes,HBM kept free,byte/chip,input,0,,
weight_bytes_per_chip,Weights of a chip,byte/chip,calc,weight_bytes/n_chips,test,
decode_step_time_bound,Least decode step,s,output,decode_step_time,test,
decode_step_time_expected,Expected decode step,s,output,decode_step_time_bound/memory_efficiency,test,
bound_part_time,Bound of the step,s,calc,decode_step_time_bound,test,
time_per_output_token_bound,Least time of a token,s,output,decode_step_time_bound,test,
time_per_output_token_expected,Expected time of a token,s,output,decode_step_time_expected,test,
output_tokens_per_second_bound,Most tokens a second,1/s,output,batch/decode_step_time_bound,test,
output_tokens_per_second_expected,Expected tokens a second,1/s,output,batch/decode_step_time_expected,test,
"""
