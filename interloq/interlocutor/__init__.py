# SPDX-License-Identifier: Apache-2.0
"""Replies judged as the person in the dialogue judges them: would they answer, and how would they rate it?"""
