# SPDX-License-Identifier: Apache-2.0
"""Stores on PostgreSQL and Qdrant."""
