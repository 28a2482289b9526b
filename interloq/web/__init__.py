# SPDX-License-Identifier: Apache-2.0
"""The web app: people rate replies, compare systems, write references and chat; results are exported as records."""
