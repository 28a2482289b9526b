# SPDX-License-Identifier: Apache-2.0
"""Arguments and output that several verbs share."""
