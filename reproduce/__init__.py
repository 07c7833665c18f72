"""The experiments of the papers, run again and set beside the papers' figures.

    python -m reproduce --quick --data FOLDER
    python -m reproduce --full --data FOLDER --budget 60

An experiment is a module with three functions: `cells` says what to measure, `section` what to
write of it, and those that the cells name take the measures. `EXPERIMENTS` is their order.
"""
