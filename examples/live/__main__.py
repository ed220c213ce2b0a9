"""`python -m live`."""

from live.demo import main

main()
