"""Playing until a ranking is settled, and audits of partner sets: where play, metrics and meta meet."""
