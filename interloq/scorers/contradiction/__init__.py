# SPDX-License-Identifier: Apache-2.0
"""The scorer `contradiction`: does a reply contradict an earlier turn?"""
