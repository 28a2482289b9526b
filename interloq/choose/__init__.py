# SPDX-License-Identifier: Apache-2.0
"""Choose the metric that agrees best with people."""
