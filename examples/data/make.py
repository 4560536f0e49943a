#!/usr/bin/env python3
"""Makes weather.csv and stations.csv: invented observations of a year, at stations of real cities;
and orders.csv, the orders of an invented shop.

The same files come out wherever it runs: only the generator's own bits are used, and no function of
the system's mathematics. Run it in this folder.
"""
import csv
import datetime
import random

# code, name, country, height in m, mean temperature in January and in July, share of days with rain
STATIONS = [
    ("AMS", "Amsterdam, Schiphol", "Netherlands", -3, 4, 18, 0.55),
    ("BCN", "Barcelona, Montjuïc", "Spain", 173, 10, 25, 0.22),
    ("BER", "Berlin, Dahlem", "Germany", 51, 1, 20, 0.45),
    ("BGO", "Bergen, Florida", "Norway", 12, 2, 15, 0.65),
    ("BOG", "Bogotá", "Colombia", 2625, 14, 13, 0.5),
    ("CAI", "Cairo", "Egypt", 75, 14, 28, 0.03),
    ("CPT", "Cape Town", "South Africa", 42, 21, 13, 0.2),
    ("DUB", "Dublin, Phoenix Park", "Ireland", 48, 5, 16, 0.5),
    ("HAM", "Hamburg, \"Planten un Blomen\"", "Germany", 8, 2, 18, 0.5),
    ("HEL", "Helsinki, Kaisaniemi", "Finland", 4, -4, 18, 0.45),
    ("JNB", "Johannesburg", "South Africa", 1753, 20, 10, 0.25),
    ("KEF", "Reykjavík", "Iceland", 52, 0, 12, 0.6),
    ("LAG", "Lagos, Ikeja", "Nigeria", 40, 27, 25, 0.35),
    ("LIM", "Lima", "Peru", 154, 23, 17, 0.02),
    ("LIS", "Lisbon, Geofísico", "Portugal", 77, 11, 23, 0.25),
    ("MAD", "Madrid, Retiro", "Spain", 667, 6, 26, 0.17),
    ("MUC", "Munich", "Germany", 515, 0, 19, 0.45),
    ("NBO", "Nairobi, Dagoretti", "Kenya", 1798, 19, 16, 0.25),
    ("OSL", "Oslo, Blindern", "Norway", 94, -4, 17, 0.35),
    ("OSA", "Osaka", "Japan", 23, 6, 28, 0.3),
    ("PAR", "Paris, Montsouris", "France", 75, 5, 21, 0.42),
    ("ROM", "Rome", "Italy", None, 8, 25, 0.22),
    ("SAO", "São Paulo, \"Mirante\"", "Brazil", 792, 23, 17, 0.35),
    ("SCL", "Santiago", "Chile", 520, 21, 9, 0.08),
    ("SYD", "Sydney, Observatory Hill", "Australia", 39, 24, 13, 0.35),
    ("TOS", "Tromsø", "Norway", 100, -3, 13, 0.5),
    ("TYO", "Tokyo", "Japan", 25, 5, 26, 0.3),
    ("VIE", "Vienna, Hohe Warte", "Austria", 198, 1, 22, 0.35),
    ("WAW", "Warsaw", "Poland", 106, -1, 20, 0.42),
    ("ZRH", "Zürich, Fluntern", "Switzerland", 556, 1, 19, 0.45),
]
CLOSED = ("GIB", "Gibraltar, \"the Rock\"", "United Kingdom", 5)  # it has sent nothing this year
NEW = ("XSA", 14, 14, 0.3)  # a ship, which no table lists

REMARKS = [
    "Fog until noon", "Fog in the morning,\nclear from noon on", "Gusts, thunder in the evening",
    "Sensor replaced; readings before 09:00 are from the old one",
    "Observer: \"hail as large as peas\"", "Hail, then rain,\nthen both", "Rainbow",
    "Power failed,\nrain gauge read by hand", "Dust from the south, visibility 2 km",
    "Gauge overflowed: \"at least\" this much", "Construction next door,\nwind is too low",
    "Calibrated", "Vane stuck, direction unknown",
]


CITIES = ["Bergen", "Lagos", "Lima", "Osaka", "Oslo", "Rome", "Vienna"]
ITEMS = [("book", 1250), ("chair", 7900), ("cup", 599), ("desk", 24900), ("lamp", 3495), ("pen", 120)]


def bell(r):
    """A number around 0, nearly normal."""
    return sum(r.random() for _ in range(12)) - 6


def season(day):
    """From 0 in the middle of January to 1 in the middle of July, and back: two parabolas."""
    x = (day - 15) % 365 / 365
    half = 2 * x if x < 0.5 else 2 - 2 * x
    return 2 * half * half if half < 0.5 else 1 - 2 * (1 - half) * (1 - half)


def observe(r, date, station, january, july, wet):
    """One row. The temperature is NA if the sensor failed; an empty field was not observed."""
    warm = january + (july - january) * season(date.timetuple().tm_yday)
    temperature = "%.1f" % (warm + 2.5 * bell(r))
    rain = "%.1f" % (12 * r.random() * r.random()) if r.random() < wet else "0"
    wind = "%d" % (3 + 12 * r.random() * r.random())
    failed, missing = r.random(), r.random()
    if failed < 0.015:
        temperature = "NA"
    if missing < 0.02:
        rain = ""
    elif missing > 0.95:
        wind = ""
    remark = REMARKS[int(r.random() * len(REMARKS))] if r.random() < 0.06 else ""
    return [date.year, date.month, date.day, station, temperature, rain, wind, remark]


def order(r, day):
    """One row. Few customers order often, and prices change a little."""
    customer = int(400 * r.random() * r.random() * r.random())
    item, cents = ITEMS[int(len(ITEMS) * r.random())]
    cents += int(cents * 0.2 * (r.random() - 0.5))
    date = datetime.date(2025, 1, 1) + datetime.timedelta(day)
    quantity = 1 + int(5 * r.random() * r.random())
    return [date, "C%03d" % customer, CITIES[customer % len(CITIES)], item, quantity,
            "%d.%02d" % (cents // 100, cents % 100)]


def write_orders():
    r = random.Random(2)
    with open("orders.csv", "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["date", "customer", "city", "item", "quantity", "price"])
        for row in range(2000):
            out.writerow(order(r, 365 * row // 2000))


def main():
    write_orders()
    r = random.Random(1)
    with open("weather.csv", "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["year", "month", "day", "station", "temperature", "rain", "wind",
                      "remark"])
        for day in range(365):
            date = datetime.date(2025, 1, 1) + datetime.timedelta(day)
            for s in STATIONS:
                out.writerow(observe(r, date, s[0], *s[4:]))
            if 100 <= day < 160:
                out.writerow(observe(r, date, *NEW))
    with open("stations.csv", "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["code", "name", "country", "height"])
        for s in sorted([s[:4] for s in STATIONS] + [CLOSED]):
            out.writerow(["" if field is None else field for field in s])


if __name__ == "__main__":
    main()
