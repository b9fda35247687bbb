"""Layer 1: tables and statements as SQLAlchemy Core values. Executes nothing.

Every statement is named for the question it answers, and says which index makes it cheap. `prepare` turns
a statement into the text of one dialect, once; the drivers hand that text to the database themselves.
"""
