"""The learners beside others, on clean and dirty data; time to accuracy, time and memory of steps.

    python -m tests.benchmarks.learn accuracy [--quick] [--only WORDS] [--seeds 3]   # every data set x damage
    python -m tests.benchmarks.learn tables [--seeds 10]                             # of docs/performance
    python -m tests.benchmarks.learn reach FOLDER [--rows 20000000]                  # seconds to 0.99 of R2
    python -m tests.benchmarks.learn steps FOLDER [--rows 20000000]

Nothing here is asserted.
"""
