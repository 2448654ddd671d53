"""Places that the made-up runs photograph: (name, latitude, longitude, spread in degrees), and look-alikes."""

from __future__ import annotations

COUNTRIES: dict[str, tuple[str, float, float, float]] = {
    "US": ("United States", 39.5, -96.0, 12.0), "CA": ("Canada", 50.5, -98.0, 9.0),
    "MX": ("Mexico", 21.0, -101.0, 4.0), "BR": ("Brazil", -15.0, -49.0, 8.0),
    "AR": ("Argentina", -33.5, -63.5, 5.0), "CL": ("Chile", -34.5, -71.2, 3.0),
    "CO": ("Colombia", 5.0, -74.5, 2.5), "PE": ("Peru", -11.0, -75.5, 3.0),
    "GB": ("United Kingdom", 52.8, -1.6, 1.8), "IE": ("Ireland", 53.2, -7.8, 1.0),
    "FR": ("France", 46.8, 2.4, 2.6), "ES": ("Spain", 40.2, -3.8, 2.6),
    "IT": ("Italy", 43.5, 11.8, 2.4), "DE": ("Germany", 50.8, 10.0, 2.2),
    "PL": ("Poland", 52.1, 19.4, 1.8), "SE": ("Sweden", 59.8, 15.5, 2.6),
    "FI": ("Finland", 62.3, 25.8, 2.2), "GR": ("Greece", 39.0, 22.6, 1.4),
    "RO": ("Romania", 45.8, 25.0, 1.4), "TR": ("Turkey", 39.0, 34.5, 3.0),
    "RU": ("Russia", 56.5, 55.0, 14.0), "KZ": ("Kazakhstan", 47.5, 68.0, 6.0),
    "EG": ("Egypt", 28.5, 31.0, 1.8), "MA": ("Morocco", 32.5, -6.5, 1.8),
    "KE": ("Kenya", -0.6, 37.2, 1.6), "ZA": ("South Africa", -29.0, 25.5, 3.2),
    "NG": ("Nigeria", 8.5, 7.5, 2.2), "GH": ("Ghana", 6.9, -1.2, 1.2),
    "IN": ("India", 21.5, 78.5, 5.0), "BD": ("Bangladesh", 23.9, 90.2, 0.9),
    "LK": ("Sri Lanka", 7.2, 80.7, 0.8), "TH": ("Thailand", 14.8, 101.0, 2.2),
    "ID": ("Indonesia", -6.8, 110.0, 3.6), "MY": ("Malaysia", 3.4, 101.9, 1.2),
    "PH": ("Philippines", 13.6, 121.8, 2.4), "JP": ("Japan", 36.2, 138.2, 2.2),
    "KR": ("South Korea", 36.4, 127.8, 0.9), "TW": ("Taiwan", 24.0, 120.8, 0.6),
    "AU": ("Australia", -31.5, 145.5, 4.5), "NZ": ("New Zealand", -41.0, 174.2, 2.2),
    "SG": ("Singapore", 1.35, 103.82, 0.1), "MT": ("Malta", 35.89, 14.45, 0.08),
}  # fmt: skip

LOOKALIKES: dict[str, str] = {
    "CA": "US", "US": "CA", "AR": "CL", "CL": "AR", "MX": "CO", "BR": "CO", "CO": "BR", "PE": "CL", "GB": "IE",
    "IE": "GB", "FR": "ES", "ES": "IT", "IT": "ES", "DE": "PL", "PL": "DE", "SE": "FI", "FI": "SE", "GR": "TR",
    "RO": "PL", "TR": "GR", "RU": "KZ", "KZ": "RU", "EG": "MA", "MA": "EG", "KE": "ZA", "ZA": "AU", "NG": "GH",
    "GH": "NG", "IN": "BD", "BD": "IN", "LK": "IN", "TH": "MY", "ID": "MY", "MY": "ID", "PH": "ID", "JP": "KR",
    "KR": "JP", "TW": "JP", "AU": "NZ", "NZ": "AU", "SG": "MY", "MT": "IT",
}  # fmt: skip

DEMO = (
    "US", "CA", "MX", "BR", "AR", "GB", "FR", "ES", "SE", "FI", "GR", "RU", "EG", "MA", "ZA", "KE", "IN", "TH",
    "ID", "JP", "KR", "TW", "AU", "NZ",
)  # fmt: skip

CLUES = (
    "drives on the left", "drives on the right", "yellow centre line", "white dashed centre line",
    "signs in Cyrillic", "signs in Latin script", "signs in Devanagari", "red soil on the verge",
    "conifers and birches", "palms and broadleaf trees", "euroband plates", "concrete poles with ladder holes",
    "corrugated tin roofs", "low sun to the north", "wooden utility poles", "bollards with a red reflector",
)  # fmt: skip
