"""The roofline picture: an ``Analysis`` in, a matplotlib figure or a file out.

Nothing here knows hardware or counters: it draws the values of ``roofline.model`` as they are.
"""
