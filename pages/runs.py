"""The whole history as a table, with all that is known of each run. The drawer has the same runs in short."""

import streamlit as st

from pages.parts import address, markup, runtime
from pages.parts.history import run_list
from pages.parts.history.history_actions import history_actions
from pages.parts.history.history_table import history_table
from pages.parts.problems import errors_stop_page, refusal

address.keep_history(None, opens=True)
run_list.open_chosen()
markup.show(markup.title("History", "Every run is stored on this machine, with all of its steps."))
with errors_stop_page:
    runs = runtime.history(run_list.MAX_RUNS)
_, listed_runs = run_list.filters(runs)
refusal()
repeated = run_list.repeated_question()
if listed_runs:
    actions = st.container()
    selected = history_table(listed_runs, run_list.open_run)
    with actions:
        history_actions(selected, runs)
    st.caption(run_list.count(runs, listed_runs))
else:
    run_list.nothing(runs)
run_list.refresh_while_live(runs, repeated)
