"""One self-contained HTML report; it computes nothing, it shows what metrics and meta-evaluation said."""
