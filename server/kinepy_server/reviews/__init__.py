"""Resources that are questions: what is created is answered and never stored (AUTH-5)."""
