"""Where a drawing of the whole page begins (decision 0037)."""

from streamlit.delta_generator_singletons import context_dg_stack, get_default_dg_stack_value


def draw_from_the_root() -> None:
    """Draw what follows into the page itself, not into the container of the fragment that was drawn before it."""
    context_dg_stack.set(get_default_dg_stack_value())
