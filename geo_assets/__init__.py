"""Post-train a vision-language model to say where a street-level photo was taken."""
