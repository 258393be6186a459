def report(rows): return "\n".join(map(str, rows))
