"""What stands behind a prompt, whatever draws it: history, drafts, completion, mentions and dropped images.

No channel and no SDK is imported here, so that all of it is there before the first paint.
"""
