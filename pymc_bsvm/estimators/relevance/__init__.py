"""Relevance vector machines: few basis functions, chosen one by one by the marginal likelihood."""
